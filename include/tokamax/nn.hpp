// tokamax/nn.hpp: all of nn.
// SPDX-License-Identifier: Apache-2.0
//
//   nn/attention.hpp     multi-head self-attention with learned projections.
//   nn/batch_norm.hpp    normalisation over a batch, with running averages for later use.
//   nn/capture.hpp       what layers of a model return, beside the result of a function that calls them.
//   nn/conv.hpp          a convolution over any number of axes.
//   nn/dropout.hpp       zero random elements while training.
//   nn/embed.hpp         a learned vector for each of a number of ids.
//   nn/group_norm.hpp    normalisation of groups of channels of one example.
//   nn/init.hpp          give the parameters of a model their first values.
//   nn/initializers.hpp  functions (key, shape) -> array that parameters start from.
//   nn/layer_norm.hpp    layer_norm with a learned scale and offset.
//   nn/linear.hpp        a matrix product with learned weights.
//   nn/lora.hpp          low-rank adapters beside a model of any kind, which are trained in place of its matrices.
//   nn/metrics.hpp       averages over many batches, as values that a program carries.
//   nn/mlp.hpp           two linear layers with a nonlinearity between them, plain and gated.
//   nn/mode.hpp          whether a layer is trained or used.
//   nn/recurrent.hpp     recurrent cells (LSTM, GRU, simple), and a layer that takes one over time.
//   nn/rms_norm.hpp      rms_norm with a learned scale.
//   nn/stacked.hpp       equal layers as one, with a leading axis on their arrays and a loop over it.
//   nn/statistic.hpp     an array that a layer computes while it is trained, such as a running mean.
//   nn/tabulate.hpp      the layers of a model as a table: shapes, parameters, bytes and operations.
//   nn/tie.hpp           one array in two places of a model.
#pragma once

#include <tokamax/nn/attention.hpp>
#include <tokamax/nn/batch_norm.hpp>
#include <tokamax/nn/capture.hpp>
#include <tokamax/nn/conv.hpp>
#include <tokamax/nn/dropout.hpp>
#include <tokamax/nn/embed.hpp>
#include <tokamax/nn/group_norm.hpp>
#include <tokamax/nn/init.hpp>
#include <tokamax/nn/initializers.hpp>
#include <tokamax/nn/layer_norm.hpp>
#include <tokamax/nn/linear.hpp>
#include <tokamax/nn/lora.hpp>
#include <tokamax/nn/metrics.hpp>
#include <tokamax/nn/mlp.hpp>
#include <tokamax/nn/mode.hpp>
#include <tokamax/nn/recurrent.hpp>
#include <tokamax/nn/rms_norm.hpp>
#include <tokamax/nn/stacked.hpp>
#include <tokamax/nn/statistic.hpp>
#include <tokamax/nn/tabulate.hpp>
#include <tokamax/nn/tie.hpp>
