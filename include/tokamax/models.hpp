// tokamax/models.hpp: all of models.
// SPDX-License-Identifier: Apache-2.0
//
//   models/gpt.hpp  a decoder-only transformer, with its size fixed in its type or chosen at run time.
#pragma once

#include <tokamax/models/gpt.hpp>
