// tokamax/nn.hpp: all of nn.
// SPDX-License-Identifier: Apache-2.0
//
//   nn/attention.hpp     multi-head self-attention with learned projections.
//   nn/dropout.hpp       zero random elements while training.
//   nn/embed.hpp         a learned vector for each of a number of ids.
//   nn/init.hpp          give the parameters of a model their first values.
//   nn/initializers.hpp  functions (key, shape) -> array that parameters start from.
//   nn/layer_norm.hpp    layer_norm with a learned scale and offset.
//   nn/linear.hpp        a matrix product with learned weights.
//   nn/mlp.hpp           two linear layers with a nonlinearity between them, plain and gated.
//   nn/rms_norm.hpp      rms_norm with a learned scale.
#pragma once

#include <tokamax/nn/attention.hpp>
#include <tokamax/nn/dropout.hpp>
#include <tokamax/nn/embed.hpp>
#include <tokamax/nn/init.hpp>
#include <tokamax/nn/initializers.hpp>
#include <tokamax/nn/layer_norm.hpp>
#include <tokamax/nn/linear.hpp>
#include <tokamax/nn/mlp.hpp>
#include <tokamax/nn/rms_norm.hpp>
