// tokamax/train.hpp: all of train.
// SPDX-License-Identifier: Apache-2.0
//
//   train/generate.hpp  continue a text with a model, one token after the other.
#pragma once

#include <tokamax/train/generate.hpp>
