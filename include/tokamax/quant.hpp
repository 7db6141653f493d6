// tokamax/quant.hpp: all of quant.
// SPDX-License-Identifier: Apache-2.0
//
//   quant/pack.hpp         makes packed weights, once, of floats or of a quantised array.
//   quant/rule.hpp         which weights of a model are quantised, and how.
//   quant/weight_only.hpp  matrices of a model as integers with scales, without a change of the model.
#pragma once

#include <tokamax/quant/pack.hpp>
#include <tokamax/quant/rule.hpp>
#include <tokamax/quant/weight_only.hpp>
