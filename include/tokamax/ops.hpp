// tokamax/ops.hpp: all of ops.
// SPDX-License-Identifier: Apache-2.0
//
//   ops/activations.hpp           the nonlinearities between layers.
//   ops/attention.hpp             scaled dot-product attention with grouped heads, causal or masked.
//   ops/cross_entropy.hpp         the loss of classification, without a table of probabilities in memory.
//   ops/layer_norm.hpp            normalise the last axis to zero mean and unit variance.
//   ops/linear_cross_entropy.hpp  the loss of a last layer and its softmax, without all logits in memory.
//   ops/rms_norm.hpp              scale the last axis to a root mean square of one.
//   ops/rotary_embedding.hpp      turn pairs of features by angles that grow with the position.
//   ops/softmax.hpp               softmax, log_softmax and logsumexp, stable for large values.
#pragma once

#include <tokamax/ops/activations.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/ops/cross_entropy.hpp>
#include <tokamax/ops/layer_norm.hpp>
#include <tokamax/ops/linear_cross_entropy.hpp>
#include <tokamax/ops/rms_norm.hpp>
#include <tokamax/ops/rotary_embedding.hpp>
#include <tokamax/ops/softmax.hpp>
