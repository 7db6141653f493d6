// tokamax/ops/linear_softmax_cross_entropy.hpp: the loss of a language model from its last layer's input to one number.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/scope/use_implementation.hpp>  // implementation_names
#include <tokamax/ops/linear_cross_entropy.hpp>       // linear_cross_entropy_rows

#include <optional>  // optional

namespace tokamax {

/// What becomes of the losses of rows.
enum class loss_reduction : std::uint8_t {
  sum,
  mean,  ///< the sum divided by the sum of the weights of rows, which are 1 unless given; NaN if that is 0
  none,  ///< one loss for each row
};

/// How linear_softmax_cross_entropy_loss is asked to behave: `{.reduction = loss_reduction::mean, .ignore_index = -100}`.
struct linear_softmax_cross_entropy_options {
  loss_reduction reduction = loss_reduction::sum;
  array bias = {};         ///< [V], of the dtype of x, added to the logits
  array row_weights = {};  ///< floats with the extents of labels; the loss of a row is multiplied
  std::optional<std::int64_t> ignore_index = {};  ///< rows with this label count as if they were not there
  double logits_soft_cap = 0;                     ///< logits become cap * tanh(logits / cap); 0: they stay as they are
  double z_loss = 0;                              ///< times lse^2, added to the loss of each row
  double label_smoothing = 0;                     ///< the share of the target that all classes have in equal parts
  bool transposed = false;                        ///< weights [V, D], as the table of an embedding
  dot_algorithm algorithm = dot_algorithm::unspecified;  ///< of all products
  implementation_names implementation = {};              ///< of the op linear_cross_entropy, see use_implementation
};

namespace detail {
/// Are the logits few enough to stay in memory for the gradient, 64 MB at most? In f32, writing and reading them takes less
/// time than a second product. Products of bf16 are fast enough not to keep any. Operands that do not fit have none.
constexpr bool keeps_logits(const array& x, const array& weights, const array& labels, const array& bias,
                            bool transposed) {
  constexpr std::int64_t most = std::int64_t{1} << 24;
  if (x.dtype() != f32 || weights.dtype() != f32 || x.rank() == 0 || weights.rank() != 2 || labels.dtype() != i32)
    return false;
  const std::int64_t classes = weights.extent(transposed ? 0 : 1), count = mul_extent(size(labels.shape()), classes);
  const bool bias_fits = !bias.exists() || (bias.dtype() == f32 && bias.shape() == shape{classes});
  return bias_fits && labels.shape() == leading(x) && weights.extent(transposed ? 1 : 0) == x.extent(-1) &&
         !is_dyn(count) && count <= most;
}
/// {loss, lse, correction} of each row, as linear_cross_entropy_rows has them, from logits that stay in memory.
constexpr arrays rows_of_logits(const array& x, const array& weights, const array& labels, const array& bias,
                                const linear_cross_entropy_options& o, source_line l) {
  const array logits = linear_logits(x, weights, bias, o), in[] = {logits, labels};
  arrays y = bind_all(described<cross_entropy_p>(), in, 2, words{}, l);
  if (o.label_smoothing != 0) y[0] = y[0] * (1 - o.label_smoothing) + (y[1] - mean(logits, {{-1}})) * o.label_smoothing;
  return y;
}
}  // namespace detail

/// The cross entropy between labels and the softmax of x W + bias. Of many logits [..., V] only a piece is in memory at once,
/// both for the loss and for its gradient.
///
///   z    = cap * tanh((x W + bias) / cap), or x W + bias
///   lse  = log(sum(exp(z)))
///   loss = lse - (1 - label_smoothing) * z[label] - label_smoothing * mean(z) + z_loss * lse^2
///
/// shapes  x [..., D], labels [...], weights [D, V] -> a scalar, or [...] without a reduction
/// dtypes  x, weights and bias one float dtype; labels i32 or i64; the loss is f32, or f64 for f64
/// errors  those of linear_cross_entropy; "linear_softmax_cross_entropy_loss: row_weights", and
///         "linear_softmax_cross_entropy_loss: options" if a number is negative or label_smoothing above 1
/// memory  that of the logits if these are f32, at most 64 MB, and no implementation is named; else 8 MB for any number of rows
///         and classes. Under vmap, that of all logits
/// source  tokamax.linear_softmax_cross_entropy_loss, with the options of optax and torch.nn.functional.cross_entropy
constexpr array linear_softmax_cross_entropy_loss(const array& x, const array& labels, const array& weights,
                                                  const linear_softmax_cross_entropy_options& o = {},
                                                  source_line l = source_line::current()) {
  if (!(o.logits_soft_cap >= 0 && o.z_loss >= 0 && o.label_smoothing >= 0 && o.label_smoothing <= 1)) {
    reject(x, l, "linear_softmax_cross_entropy_loss: options", "a number out of range",
           "0 or more, label_smoothing at most 1");
    return x;
  }
  if (o.row_weights.exists() && (!is_floating(o.row_weights.dtype()) || o.row_weights.shape() != labels.shape())) {
    reject(x, l, "linear_softmax_cross_entropy_loss: row_weights", o.row_weights.type(),
           message("floats") << labels.shape());
    return x;
  }
  array at = detail::index_in_i32(labels), counts;
  if (o.ignore_index && is_integer(labels.dtype())) {
    counts = labels != array(static_cast<double>(*o.ignore_index), {labels.dtype(), false, {}});
    at = select(counts, at, zeros_like(at), l);
  }
  const linear_cross_entropy_options of_rows{o.transposed, o.logits_soft_cap, o.label_smoothing, o.algorithm};
  const use_implementation named("linear_cross_entropy", o.implementation, x, weights);
  const bool keeps = o.implementation.empty() && detail::keeps_logits(x, weights, at, o.bias, o.transposed);
  arrays rows;  // assigned in branches, because g++ 12 frees the result of a ?: too early in constant expressions
  if (keeps)
    rows = detail::rows_of_logits(x, weights, at, o.bias, of_rows, l);
  else
    rows = detail::linear_cross_entropy_rows(x, weights, at, o.bias, of_rows, l);
  array loss = rows[0];
  if (o.z_loss > 0) loss = loss + rows[1] * rows[1] * o.z_loss;
  array weight;  // of each row
  if (o.row_weights.exists()) weight = astype(o.row_weights, loss.dtype(), l);
  if (counts.exists()) {
    loss = select(counts, loss, zeros_like(loss), l);
    if (weight.exists())
      weight = select(counts, weight, zeros_like(weight), l);
    else
      weight = astype(counts, loss.dtype(), l);
  }
  if (weight.exists()) loss = loss * weight;
  if (o.reduction == loss_reduction::none) return loss;
  if (o.reduction == loss_reduction::sum) return sum(loss, {}, l);
  return weight.exists() ? sum(loss, {}, l) / sum(weight, {}, l) : mean(loss, {}, l);
}

}  // namespace tokamax
