// tokamax/zlib.hpp: all of zlib: files compressed by deflate, for programs that link tokamax::zlib.
// SPDX-License-Identifier: Apache-2.0
// needs <zlib.h>
// umbrella: no (it needs zlib, which few programs need)
//
// To include it is all that readers of compressed .npz files need.
//
//   zlib/codec.hpp  deflate for readers and writers of files, by zlib.
#pragma once

#include <tokamax/zlib/codec.hpp>
