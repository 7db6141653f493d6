// tokamax/nn.hpp: all of nn.
// SPDX-License-Identifier: Apache-2.0
//
//   nn/attention/attention.hpp             multi-head self-attention with learned projections.
//   nn/attention/attention_masks.hpp       masks of attention as booleans.
//   nn/attention/multi_head_attention.hpp  attention between any two sequences, with all that its op has, and with a cache for decoding.
//   nn/attention/rotary.hpp                rotary position embedding, with the frequencies of models that were stretched to longer contexts.
//   nn/cache.hpp                           an array that a layer remembers from call to call, such as the keys of tokens that it has seen.
//   nn/capture.hpp                         what layers of a model return, beside the result of a function that calls them.
//   nn/copies.hpp                          equal layers in a row.
//   nn/dropout.hpp                         zero random elements while training.
//   nn/experts/expert_router.hpp           which experts take a token, and how much each of them counts.
//   nn/experts/mixture_of_experts.hpp      networks of which each token takes a few, without dropping tokens.
//   nn/experts/router_losses.hpp           losses of the logits of a router, by which experts are used alike and logits stay small.
//   nn/initializers/init.hpp               give the parameters of a model their first values.
//   nn/initializers/initializers.hpp       functions (key, shape) -> array that parameters start from.
//   nn/linear/einsum.hpp                   a layer that multiplies by a kernel as an equation says.
//   nn/linear/embed.hpp                    a learned vector for each of a number of ids.
//   nn/linear/linear.hpp                   a matrix product with learned weights.
//   nn/linear/linear_general.hpp           a linear layer over several axes at once.
//   nn/linear/mlp.hpp                      two linear layers with a nonlinearity between them, plain and gated.
//   nn/lora.hpp                            low-rank adapters beside a model of any kind, which are trained in place of its matrices.
//   nn/metrics.hpp                         averages over many batches, as values that a program carries.
//   nn/mode.hpp                            whether a layer is trained or used.
//   nn/norms/batch_norm.hpp                normalisation over a batch, with running averages for later use.
//   nn/norms/group_norm.hpp                normalisation of groups of channels of one example.
//   nn/norms/instance_norm.hpp             normalisation of each channel of one example.
//   nn/norms/layer_norm.hpp                layer_norm with a learned scale and offset.
//   nn/norms/moments.hpp                   the mean and variance by which layers normalise, of chosen elements and over named axes.
//   nn/norms/norm_over.hpp                 layer and RMS norm over any axes, with a mask, and over a named axis.
//   nn/norms/rms_norm.hpp                  rms_norm with a learned scale.
//   nn/norms/spectral_norm.hpp             a layer whose kernel is divided by its largest singular value.
//   nn/norms/weight_norm.hpp               a layer whose kernel has length and direction as parameters of their own.
//   nn/prelu.hpp                           a rectifier whose slope below zero is learned.
//   nn/recurrent/bidirectional.hpp         two recurrent layers over one series, forwards and backwards.
//   nn/recurrent/conv_lstm_cell.hpp        a recurrent cell for series of images.
//   nn/recurrent/flip_sequences.hpp        sequences from their last entry to their first, with what pads them kept behind.
//   nn/recurrent/gru_cell.hpp              recurrent cells whose gates mix the state with a candidate.
//   nn/recurrent/lstm_cell.hpp             a recurrent cell with a memory.
//   nn/recurrent/no_state.hpp              what recurrent cells begin with.
//   nn/recurrent/rnn.hpp                   a layer that takes a recurrent cell over time.
//   nn/recurrent/simple_cell.hpp           a recurrent cell of one layer.
//   nn/sequential.hpp                      layers that are called one after the other.
//   nn/stacked.hpp                         equal layers as one, with a leading axis on their arrays and a loop over it.
//   nn/statistic.hpp                       an array that a layer computes while it is trained, such as a running mean.
//   nn/tabulate.hpp                        the layers of a model as a table: shapes, parameters, bytes and operations.
//   nn/tie.hpp                             one array in two places of a model.
//   nn/windows/conv.hpp                    a convolution over any number of axes.
//   nn/windows/conv_padding.hpp            what stands beyond the edges of an image, for layers of convolutions.
//   nn/windows/conv_transpose.hpp          a layer that enlarges images.
#pragma once

#include <tokamax/nn/attention/attention.hpp>
#include <tokamax/nn/attention/attention_masks.hpp>
#include <tokamax/nn/attention/multi_head_attention.hpp>
#include <tokamax/nn/attention/rotary.hpp>
#include <tokamax/nn/cache.hpp>
#include <tokamax/nn/capture.hpp>
#include <tokamax/nn/copies.hpp>
#include <tokamax/nn/dropout.hpp>
#include <tokamax/nn/experts/expert_router.hpp>
#include <tokamax/nn/experts/mixture_of_experts.hpp>
#include <tokamax/nn/experts/router_losses.hpp>
#include <tokamax/nn/initializers/init.hpp>
#include <tokamax/nn/initializers/initializers.hpp>
#include <tokamax/nn/linear/einsum.hpp>
#include <tokamax/nn/linear/embed.hpp>
#include <tokamax/nn/linear/linear.hpp>
#include <tokamax/nn/linear/linear_general.hpp>
#include <tokamax/nn/linear/mlp.hpp>
#include <tokamax/nn/lora.hpp>
#include <tokamax/nn/metrics.hpp>
#include <tokamax/nn/mode.hpp>
#include <tokamax/nn/norms/batch_norm.hpp>
#include <tokamax/nn/norms/group_norm.hpp>
#include <tokamax/nn/norms/instance_norm.hpp>
#include <tokamax/nn/norms/layer_norm.hpp>
#include <tokamax/nn/norms/moments.hpp>
#include <tokamax/nn/norms/norm_over.hpp>
#include <tokamax/nn/norms/rms_norm.hpp>
#include <tokamax/nn/norms/spectral_norm.hpp>
#include <tokamax/nn/norms/weight_norm.hpp>
#include <tokamax/nn/prelu.hpp>
#include <tokamax/nn/recurrent/bidirectional.hpp>
#include <tokamax/nn/recurrent/conv_lstm_cell.hpp>
#include <tokamax/nn/recurrent/flip_sequences.hpp>
#include <tokamax/nn/recurrent/gru_cell.hpp>
#include <tokamax/nn/recurrent/lstm_cell.hpp>
#include <tokamax/nn/recurrent/no_state.hpp>
#include <tokamax/nn/recurrent/rnn.hpp>
#include <tokamax/nn/recurrent/simple_cell.hpp>
#include <tokamax/nn/sequential.hpp>
#include <tokamax/nn/stacked.hpp>
#include <tokamax/nn/statistic.hpp>
#include <tokamax/nn/tabulate.hpp>
#include <tokamax/nn/tie.hpp>
#include <tokamax/nn/windows/conv.hpp>
#include <tokamax/nn/windows/conv_padding.hpp>
#include <tokamax/nn/windows/conv_transpose.hpp>
