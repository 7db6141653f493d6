// tokamax/zstd.hpp: all of zstd: files compressed by Zstandard, for programs that link tokamax::zstd.
// SPDX-License-Identifier: Apache-2.0
// needs <zstd.h>
// umbrella: no (it needs libzstd, which few programs need)
//
// To include it is all that readers of ArrayRecord and of Orbax need.
//
//   zstd/codec.hpp  Zstandard for readers and writers of files, by libzstd.
#pragma once

#include <tokamax/zstd/codec.hpp>
