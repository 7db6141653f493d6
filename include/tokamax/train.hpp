// tokamax/train.hpp: all of train.
// SPDX-License-Identifier: Apache-2.0
//
//   train/generate.hpp  continue a text with a model, one token after the other.
//   train/gpt.hpp       a decoder-only transformer, with its size fixed in its type or chosen at run time.
#pragma once

#include <tokamax/train/generate.hpp>
#include <tokamax/train/gpt.hpp>
