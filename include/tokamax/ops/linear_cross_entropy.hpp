// tokamax/ops/linear_cross_entropy.hpp: the loss of a last layer and its softmax, without all logits in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/dot_general.hpp>    // dot_general
#include <tokamax/numpy/statistics.hpp>   // mean
#include <tokamax/ops/cross_entropy.hpp>  // cross_entropy_p, probabilities

namespace tokamax {

/// How linear_cross_entropy reads its weights, changes its logits and multiplies.
struct linear_cross_entropy_options {
  bool transposed = false;     ///< weights [V, D], as the table of an embedding
  double logits_soft_cap = 0;  ///< logits become cap * tanh(logits / cap); 0: they stay as they are
  double label_smoothing = 0;  ///< the share of the target that all classes have in equal parts
  dot_algorithm algorithm = dot_algorithm::unspecified;  ///< of all products; that of bf16 arrays is bf16_bf16_f32
};

namespace detail {
/// x [..., D] and weights as logits [..., V]: with a bias [V] if there is one, and capped.
constexpr array linear_logits(const array& x, const array& weights, const array& bias,
                              const linear_cross_entropy_options& o) {
  array z = dot_general(x, weights, {{x.rank() - 1}, {o.transposed ? 1 : 0}, {}, {}, carrying(x.dtype()), o.algorithm});
  if (bias.exists()) z = z + carried(bias);
  if (o.logits_soft_cap > 0) z = tanh(z / o.logits_soft_cap) * o.logits_soft_cap;
  return z;
}
/// The operand `i` of a call, if it has so many.
constexpr array optional_operand(const call& c, int i) { return c.count > i ? c[i] : array(); }

/// `products` of 2 N D V operations, and N V exponentials.
constexpr op_cost linear_cross_entropy_cost(const call& c, int products) {
  const auto o = c.attrs<linear_cross_entropy_options>();
  const auto rows = static_cast<double>(c[2].size());
  op_cost cost = product_cost(products * 2.0 * rows * static_cast<double>(c[1].size()), c[0].dtype(), o.algorithm);
  cost.transcendentals = rows * static_cast<double>(c[1].extent(o.transposed ? 0 : 1));
  return cost;
}
/// Does the operand `bias` fit, if there is one?
constexpr bool fits_bias(const call& c, int bias) {
  const int classes = c.attrs<linear_cross_entropy_options>().transposed ? 0 : 1;
  return c.count <= bias ||
         (c[bias].rank() == 1 && c[bias].dtype() == c[0].dtype() && c[bias].extent(0) == c[1].extent(classes));
}
}  // namespace detail

/// The gradients of linear_cross_entropy for x, weights, labels, lse, ct_probabilities, ct_label and perhaps a bias. They
/// compute the logits again.
inline constexpr op linear_cross_entropy_vjp_p{
    .name = "linear_cross_entropy_vjp",
    .precision = {.kernels_in_f32 = true},
    .cost = {.operations = [](const call& c) { return detail::linear_cross_entropy_cost(c, 3); }},
    .attributes = schema<linear_cross_entropy_options>,
    .infer_all = [](const call& c) -> types {
      const int features = c.attrs<linear_cross_entropy_options>().transposed ? 1 : 0;
      const bool fit = detail::has_products(c[0].dtype()) && c[0].rank() > 0 && c[1].rank() == 2 &&
                       c[1].dtype() == c[0].dtype() && c[1].extent(features) == c[0].extent(-1) &&
                       c[2].dtype() == i32 && detail::fits_bias(c, 6);
      if (!fit)
        c.fail("linear_cross_entropy_vjp: x, weights", message(c[0].type()) << ", " << c[1].type(),
               "[..,D], [D,V] of one dtype");
      else
        detail::extents_are(c, 2, 5, detail::leading(c[0]));
      types t{c[0].type(), c[1].type()};
      if (c.count > 6) t.push_back(c[6].type());
      return t;
    },

    // dlogits = exp(logits - lse) * ct_probabilities - target * ct_label, times the derivative of the cap;
    // dx = dlogits W^T; dW = x^T dlogits
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<linear_cross_entropy_options>();
      const array logits = detail::linear_logits(c[0], c[1], detail::optional_operand(c, 6), o);
      const std::int64_t classes = logits.extent(-1);
      const array hit = one_hot(detail::nonnegative_label(c[2], classes), classes, logits.dtype());
      array d = detail::probabilities(logits, c[3]) * expand_dims(c[4], -1);  // [..., V]
      if (o.label_smoothing == 0) {
        d = d - hit * expand_dims(c[5], -1);
      } else {
        const array others = c[5] * o.label_smoothing / astype(detail::extent_operand(classes, {}), logits.dtype());
        d = d - hit * expand_dims(c[5] * (1 - o.label_smoothing), -1) - expand_dims(others, -1);
      }
      if (o.logits_soft_cap > 0) {
        const array slope = logits / o.logits_soft_cap;
        d = d * (1.0 - slope * slope);
      }
      const int rows = d.rank() - 1;
      const axes all = iota_axes(rows);
      const array x = detail::carried(c[0]), w = detail::carried(c[1]);
      const dot_algorithm algorithm = detail::algorithm_of(c[0].dtype(), o.algorithm);
      const array dx = dot_general(d, w, {{rows}, {o.transposed ? 0 : 1}, {}, {}, dtype::none, algorithm});
      const array dw = o.transposed ? dot_general(d, x, {all, all, {}, {}, dtype::none, algorithm})
                                    : dot_general(x, d, {all, all, {}, {}, dtype::none, algorithm});
      arrays out{astype(dx, c[0].dtype()), astype(dw, c[1].dtype())};
      if (c.count > 6) out.push_back(astype(reduce_sum(d, all), c[6].dtype()));
      return out;
    },
    .kernels = kernels_of<linear_cross_entropy_vjp_p>,
};

/// The loss of x, weights, labels and perhaps a bias. For the backward pass it also returns the logarithm of the normaliser of
/// each row and its correction, as cross_entropy returns them.
inline constexpr op linear_cross_entropy_p{
    .name = "linear_cross_entropy",
    .precision = {.kernels_in_f32 = true},
    .cost = {.operations = [](const call& c) { return detail::linear_cross_entropy_cost(c, 1); }},
    .attributes = schema<linear_cross_entropy_options>,
    .infer_all = [](const call& c) -> types {
      array_type t{carrying(c[0].dtype()), false, {}};
      for (int i = 0; i + 1 < c[0].rank(); ++i) t.shape.push_back(c[0].extent(i));
      const auto o = c.attrs<linear_cross_entropy_options>();
      const bool transposed = o.transposed;
      if (!detail::has_products(c[0].dtype()) || c[0].rank() == 0)
        c.fail("linear_cross_entropy: x", c[0].type(), "floats with an axis of features");
      else if (c[1].rank() != 2 || c[1].dtype() != c[0].dtype() || c[1].extent(transposed ? 1 : 0) != c[0].extent(-1))
        c.fail("linear_cross_entropy: weights", c[1].type(),
               message(transposed ? "[V,D]" : "[D,V]") << " of the dtype and the D of " << c[0].type());
      else if (c[2].dtype() != i32 || !(c[2].shape() == t.shape))
        c.fail("linear_cross_entropy: labels", c[2].type(), message("i32") << t.shape);
      else if (!detail::fits_bias(c, 3))
        c.fail("linear_cross_entropy: bias", c[3].type(), message("[V] of the dtype and the V of ") << c[1].type());
      return {t, t, t};
    },
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<linear_cross_entropy_options>();
      const array logits = detail::linear_logits(c[0], c[1], detail::optional_operand(c, 3), o);
      const array in[] = {logits, c[2]};
      arrays y = bind_all(described<cross_entropy_p>(), in, 2, words{}, c.where);
      if (o.label_smoothing != 0)
        y[0] = y[0] * (1 - o.label_smoothing) + (y[1] - mean(logits, {{-1}})) * o.label_smoothing;
      return y;
    },
    .vjp = [](const call& c) -> arrays {
      const array& loss = c.cotangents[0];
      const array& lse = c.cotangents[1];
      arrays out(static_cast<std::size_t>(c.count), array());
      if (!loss.exists() && !lse.exists()) return out;
      const array of_probabilities = !lse.exists() ? loss : !loss.exists() ? lse : loss + lse;
      const array of_label = loss.exists() ? loss : zeros_like(lse);
      arrays in{c[0], c[1], c[2], c.outputs[1], of_probabilities * c.outputs[2], of_label};
      if (c.count > 3) in.push_back(c[3]);
      const arrays d =
          bind_all(described<linear_cross_entropy_vjp_p>(), in.data(), in.count(), c.attribute_words(), c.where);
      out[0] = d[0], out[1] = d[1];
      if (c.count > 3) out[3] = d[2];
      return out;
    },
    .kernels = kernels_of<linear_cross_entropy_p>,
};

namespace detail {
/// {loss, lse, correction} of each row, of operands of any float dtype.
constexpr arrays linear_cross_entropy_rows(const array& x, const array& weights, const array& labels, const array& bias,
                                           const linear_cross_entropy_options& options, source_line l) {
  const bool wide = is_floating(x.dtype()) && !has_products(x.dtype()) && x.dtype() == weights.dtype();
  arrays in{x, weights, index_in_i32(labels)};
  if (wide) in[0] = astype(x, f32, l), in[1] = astype(weights, f32, l);
  if (bias.exists()) in.push_back(wide && bias.dtype() == x.dtype() ? array(astype(bias, f32, l)) : bias);
  return bind_all(described<linear_cross_entropy_p>(), in.data(), in.count(), pack(options), l);
}
}  // namespace detail

/// The cross entropy between labels and the softmax of x W, one value for each row. The logits [..., V] are never in
/// memory at once: they are computed piece by piece, and once more for the gradient. So this takes one more product of x
/// and W than softmax_cross_entropy(matmul(x, weights), labels).
///
///   loss = log(sum(exp(x W))) - (x W)[label]
///
/// With options.label_smoothing s, the logit of the label is replaced by 1 - s of it plus s of the mean of the row.
///
/// shapes  x [..., D], weights [D, V] or with options.transposed [V, D], labels [...] -> [...]
/// dtypes  x and weights one float dtype; labels i32 or i64; logits and loss are f32, or f64 for f64; the operands of the products
///         are f32, or bf16 for bf16 arrays and under with_precision<bf16_products>
/// errors  "linear_cross_entropy: x", "linear_cross_entropy: weights", "linear_cross_entropy: labels"; a label outside
///         [-V, V) gives NaN, a negative one counts from the end
/// memory  8 MB for any number of rows and classes; under vmap, that of all logits
/// source  Hsu et al. 2024, arXiv:2410.10989
/// see     linear_softmax_cross_entropy_loss
constexpr array linear_cross_entropy(const array& x, const array& weights, const array& labels,
                                     linear_cross_entropy_options options = {},
                                     source_line l = source_line::current()) {
  return detail::linear_cross_entropy_rows(x, weights, labels, {}, options, l)[0];
}

/// The cotangents {dx, dweights} of linear_cross_entropy.
///
///   dlogits = exp(x W - lse) * ct_probabilities - one_hot(label) * ct_label
///
/// shapes  labels, lse, ct_probabilities and ct_label [...]; lse is logsumexp of each row of logits
constexpr arrays linear_cross_entropy_vjp(const array& x, const array& weights, const array& labels, const array& lse,
                                          const array& ct_probabilities, const array& ct_label,
                                          linear_cross_entropy_options options = {},
                                          source_line l = source_line::current()) {
  const array in[] = {x, weights, detail::index_in_i32(labels), lse, ct_probabilities, ct_label};
  return bind_all(described<linear_cross_entropy_vjp_p>(), in, 6, pack(options), l);
}

}  // namespace tokamax
