// tokamax/ops.hpp: all of ops.
// SPDX-License-Identifier: Apache-2.0
//
//   ops/activations.hpp                     the nonlinearities between layers.
//   ops/attention.hpp                       scaled dot-product attention with grouped heads, biases, masks, windows and sinks.
//   ops/attention/attention.hpp             the op attention and its gradients, which devices have kernels for.
//   ops/attention/fast_attention.hpp        attention with the options that the op attention has, by that op.
//   ops/attention/flex_attention.hpp        attention whose scores and mask are functions of the caller.
//   ops/attention/flex_blocks.hpp           flex_attention block by block, in memory that grows with the lengths alone.
//   ops/attention/flex_functions.hpp        the score and mask functions of flex_attention, and what can be made of them.
//   ops/attention/layout.hpp                the attributes of attention, and the products with heads that are grouped by key.
//   ops/attention/mask.hpp                  which keys a query sees, as a value: ranges, windows, chunks, segments, and their unions.
//   ops/attention/mask_operands.hpp         a mask as attributes and operands of the op attention, small ones where it can be.
//   ops/attention/operands.hpp              checks the arrays of dot_product_attention, and gives them one batch axis.
//   ops/attention/options.hpp               how dot_product_attention is asked to behave.
//   ops/attention/paged.hpp                 the op paged_attention, attention of tokens to the pages of a cache.
//   ops/attention/partial_attention.hpp     attention to a part of the keys, and how such parts become one result.
//   ops/attention/plain.hpp                 attention in plain ops, with everything that may be done to its scores.
//   ops/attention/window.hpp                how far around its own position a query sees.
//   ops/attention/with_options.hpp          attention with any options in plain ops, from arrays with any batch axes.
//   ops/causal_conv1d.hpp                   a convolution of each channel over its last tokens, with a state between calls.
//   ops/causal_conv1d_gated_delta_rule.hpp  the middle of a layer of Qwen3-Next, from projections to results of heads.
//   ops/causal_conv1d_sums.hpp              the sums of causal_conv1d over windows of tokens, with gradients that need no padding.
//   ops/cross_entropy.hpp                   the loss of classification, without a table of probabilities in memory.
//   ops/gated_delta_rule.hpp                linear attention that forgets and corrects, of whole batches and of packed sequences.
//   ops/gated_delta_rule/chunks.hpp         the gated delta rule as products of chunks of tokens, one chunk after the other.
//   ops/gated_delta_rule/op.hpp             the op gated_delta_rule, a recurrence of matrices that devices have kernels for.
//   ops/gated_linear_unit.hpp               a product of two projections, one of them after an activation.
//   ops/latent_attention.hpp                attention of many heads to one latent row of each token, which is key and value at once.
//   ops/layer_norm.hpp                      normalise an axis to zero mean and unit variance.
//   ops/layer_norm_across.hpp               layer_norm of an axis with long rows after it, as one op.
//   ops/linear_cross_entropy.hpp            the loss of a last layer and its softmax, without all logits in memory.
//   ops/linear_softmax_cross_entropy.hpp    the loss of a language model from its last layer's input to one number.
//   ops/low_rank_update.hpp                 a matrix and a product of two narrow ones, whose products need no sum of matrices.
//   ops/packed_sequences.hpp                sequences of any lengths one after the other, whose states lie in the slots of a pool.
//   ops/paged_attention.hpp                 attention of new tokens to a cache of keys and values in pages, and its update.
//   ops/piecewise_activations.hpp           activations of few operations: hard_tanh, hard_sigmoid, celu, mish, glu, squareplus.
//   ops/quantized/as_quantized.hpp          floats that a product quantises when it reads them.
//   ops/quantized/attention.hpp             dot_product_attention of quantised queries, keys and values.
//   ops/quantized/dot_general.hpp           dot_general and matmul of quantised arrays.
//   ops/quantized/fp4_levels.hpp            the numbers of floats of 4 bits.
//   ops/quantized/gated_linear_unit.hpp     gated linear units whose input or weights are quantised arrays.
//   ops/quantized/grouped_matmul.hpp        ragged_dot with scales, a bias and a gated activation, as experts are served.
//   ops/quantized/mixed_dot.hpp             the op that multiplies floats with numbers of 8 bits, which it does not convert in memory.
//   ops/quantized/packed_dot.hpp            products of floats with packed weights.
//   ops/quantized/packed_ragged_dot.hpp     products of groups of rows with packed weights for each group, as experts need them.
//   ops/quantized/packed_weights.hpp        matrices of 8 or 4 bits in the order in which products read them.
//   ops/quantized/quantize.hpp              makes quantised arrays of floats.
//   ops/quantized/quantized_array.hpp       numbers of few bits with a scale for each tile of them, as operands of products.
//   ops/quantized/ragged_dot.hpp            ragged_dot and its forms of quantised arrays.
//   ops/quantized/ragged_scaled_dot.hpp     scaled_dot of groups of rows with a matrix for each group.
//   ops/quantized/scaled_dot.hpp            the op that multiplies integers of 8 bits and scales the sums of tiles.
//   ops/quantized/scaled_dot_general.hpp    products of floats that are rounded to blocks of few bits, for training.
//   ops/ragged_dot.hpp                      products of groups of rows with a matrix for each group, as experts need them.
//   ops/ragged_gather.hpp                   rows by index within a range, which carry tokens to experts and back.
//   ops/ragged_gather_reduce.hpp            rows by index, weighted and summed in groups, which brings results of experts to tokens.
//   ops/rms_norm.hpp                        scale an axis to a root mean square of one.
//   ops/rotary_embedding.hpp                turn pairs of features by angles that grow with the position.
//   ops/softmax.hpp                         softmax, log_softmax and logsumexp, stable for large values.
//   ops/standardize.hpp                     arrays of mean 0 and variance 1, without parameters.
//   ops/triangle_multiplication.hpp         pairs updated along the two other sides of their triangles, as in AlphaFold.
#pragma once

#include <tokamax/ops/activations.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/ops/attention/attention.hpp>
#include <tokamax/ops/attention/fast_attention.hpp>
#include <tokamax/ops/attention/flex_attention.hpp>
#include <tokamax/ops/attention/flex_blocks.hpp>
#include <tokamax/ops/attention/flex_functions.hpp>
#include <tokamax/ops/attention/layout.hpp>
#include <tokamax/ops/attention/mask.hpp>
#include <tokamax/ops/attention/mask_operands.hpp>
#include <tokamax/ops/attention/operands.hpp>
#include <tokamax/ops/attention/options.hpp>
#include <tokamax/ops/attention/paged.hpp>
#include <tokamax/ops/attention/partial_attention.hpp>
#include <tokamax/ops/attention/plain.hpp>
#include <tokamax/ops/attention/window.hpp>
#include <tokamax/ops/attention/with_options.hpp>
#include <tokamax/ops/causal_conv1d.hpp>
#include <tokamax/ops/causal_conv1d_gated_delta_rule.hpp>
#include <tokamax/ops/causal_conv1d_sums.hpp>
#include <tokamax/ops/cross_entropy.hpp>
#include <tokamax/ops/gated_delta_rule.hpp>
#include <tokamax/ops/gated_delta_rule/chunks.hpp>
#include <tokamax/ops/gated_delta_rule/op.hpp>
#include <tokamax/ops/gated_linear_unit.hpp>
#include <tokamax/ops/latent_attention.hpp>
#include <tokamax/ops/layer_norm.hpp>
#include <tokamax/ops/layer_norm_across.hpp>
#include <tokamax/ops/linear_cross_entropy.hpp>
#include <tokamax/ops/linear_softmax_cross_entropy.hpp>
#include <tokamax/ops/low_rank_update.hpp>
#include <tokamax/ops/packed_sequences.hpp>
#include <tokamax/ops/paged_attention.hpp>
#include <tokamax/ops/piecewise_activations.hpp>
#include <tokamax/ops/quantized/as_quantized.hpp>
#include <tokamax/ops/quantized/attention.hpp>
#include <tokamax/ops/quantized/dot_general.hpp>
#include <tokamax/ops/quantized/fp4_levels.hpp>
#include <tokamax/ops/quantized/gated_linear_unit.hpp>
#include <tokamax/ops/quantized/grouped_matmul.hpp>
#include <tokamax/ops/quantized/mixed_dot.hpp>
#include <tokamax/ops/quantized/packed_dot.hpp>
#include <tokamax/ops/quantized/packed_ragged_dot.hpp>
#include <tokamax/ops/quantized/packed_weights.hpp>
#include <tokamax/ops/quantized/quantize.hpp>
#include <tokamax/ops/quantized/quantized_array.hpp>
#include <tokamax/ops/quantized/ragged_dot.hpp>
#include <tokamax/ops/quantized/ragged_scaled_dot.hpp>
#include <tokamax/ops/quantized/scaled_dot.hpp>
#include <tokamax/ops/quantized/scaled_dot_general.hpp>
#include <tokamax/ops/ragged_dot.hpp>
#include <tokamax/ops/ragged_gather.hpp>
#include <tokamax/ops/ragged_gather_reduce.hpp>
#include <tokamax/ops/rms_norm.hpp>
#include <tokamax/ops/rotary_embedding.hpp>
#include <tokamax/ops/softmax.hpp>
#include <tokamax/ops/standardize.hpp>
#include <tokamax/ops/triangle_multiplication.hpp>
