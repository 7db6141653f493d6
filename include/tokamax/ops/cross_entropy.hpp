// tokamax/ops/cross_entropy.hpp: the loss of classification, without a table of probabilities in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/indexing/gather.hpp>  // index_in_i32
#include <tokamax/ops/softmax.hpp>          // logsumexp, log_softmax

#include <limits>  // numeric_limits

namespace tokamax {

constexpr array softmax_cross_entropy(const array& logits, const array& labels, source_line l = source_line::current());
constexpr array cross_entropy_vjp(const array& logits, const array& labels, const array& lse,
                                  const array& ct_probabilities, const array& ct_label,
                                  source_line l = source_line::current());

namespace detail {
/// exp(logits - lse): the probabilities of a row, if lse is exact.
constexpr array probabilities(const array& logits, const array& lse) {
  return exp(carried(logits) - expand_dims(lse, -1));
}
/// A negative label counts from the end.
constexpr array nonnegative_label(const array& label, std::int64_t classes) {
  return select(label < 0, label + array(static_cast<double>(classes), {i32, false, {}}), label);
}
}  // namespace detail

/// The gradient of cross_entropy: one pass over the logits.
inline constexpr op cross_entropy_vjp_p{
    .name = "cross_entropy_vjp",
    .precision = {.kernels_in_f32 = true},
    .infer = [](const call& c) -> array_type {
      if (!is_floating(c[0].dtype()) || c[0].rank() == 0 || c[1].dtype() != i32)
        return c.fail("cross_entropy_vjp: logits, labels", message(c[0].type()) << ", " << c[1].type(), "floats, i32");
      for (int i = 2; i <= 4; ++i)
        if (c[i].dtype() != carrying(c[0].dtype()))
          return c.fail("cross_entropy_vjp: dtype", c[i].type(), name(carrying(c[0].dtype())));
      detail::extents_are(c, 1, 4, detail::leading(c[0]));
      return c[0].type();
    },
    // dlogits = exp(logits - lse) * ct_probabilities - one_hot(label) * ct_label
    .compose = [](const call& c) -> arrays {
      const std::int64_t n = c[0].extent(-1);
      const array hit = one_hot(detail::nonnegative_label(c[1], n), n, carrying(c[0].dtype()));
      return astype(detail::probabilities(c[0], c[2]) * expand_dims(c[3], -1) - hit * expand_dims(c[4], -1),
                    c[0].dtype());
    },
    .batch = [](const call& c) -> arrays {
      return cross_entropy_vjp(with_batch_axis(c, 0), with_batch_axis(c, 1), with_batch_axis(c, 2),
                               with_batch_axis(c, 3), with_batch_axis(c, 4));
    },
    .kernels = kernels_of<cross_entropy_vjp_p>,
};

/// The loss. For the backward pass it also returns lse, the logarithm of the normaliser of each row, and a correction for
/// the rounding of lse: the probabilities are exp(logits - lse) * correction. In exact arithmetic the correction is 1.
inline constexpr op cross_entropy_p{
    .name = "cross_entropy",
    .precision = {.kernels_in_f32 = true},
    .infer_all = [](const call& c) -> types {
      array_type t{carrying(c[0].dtype()), false, {}};
      for (int i = 0; i + 1 < c[0].rank(); ++i) t.shape.push_back(c[0].extent(i));
      const bool logits = is_floating(c[0].dtype()) && c[0].rank() > 0;
      if (!logits)
        c.fail("softmax_cross_entropy: logits", c[0].type(), "floats with an axis of classes");
      else if (c[1].dtype() != i32 || !(c[1].shape() == t.shape))
        c.fail("softmax_cross_entropy: labels", c[1].type(), message("i32") << t.shape);
      return {t, t, t};
    },
    // The logit of the label is computed as a masked sum. A label outside the classes has none, and its loss is NaN.
    .compose = [](const call& c) -> arrays {
      const array logits = detail::carried(c[0]);
      const array n(static_cast<double>(c[0].extent(-1)), {i32, false, {}});
      const array label = detail::nonnegative_label(c[1], c[0].extent(-1));
      const array hit = expand_dims(label, -1) == iota(i32, c[0].shape(), c[0].rank() - 1);
      const array at_label = sum(select(hit, logits, 0.0f), {{-1}}), inside = logical_and(label >= 0, label < n);
      const array lse = logsumexp(logits, {{-1}});
      return {lse - select(inside, at_label, std::numeric_limits<double>::quiet_NaN()), lse, ones_like(lse)};
    },
    .vjp = [](const call& c) -> arrays {
      const array& loss = c.cotangents[0];
      const array& lse = c.cotangents[1];
      if (!loss.exists() && !lse.exists()) return {array(), array()};
      const array of_probabilities = !lse.exists() ? loss : !loss.exists() ? lse : loss + lse;
      const array of_label = loss.exists() ? loss : zeros_like(lse);
      return {cross_entropy_vjp(c[0], c[1], c.outputs[1], of_probabilities * c.outputs[2], of_label), array()};
    },
    .batch = [](const call& c) -> arrays {
      const array in[] = {with_batch_axis(c, 0), with_batch_axis(c, 1)};
      return bind_all(*c.self, in, 2, words{}, c.where);
    },
    .kernels = kernels_of<cross_entropy_p>,
};

/// The cross entropy between labels and the softmax of logits, one value a row.
///
///   loss = log(sum(exp(logits))) - logits[label]            for integer labels
///   loss = -sum(labels * log_softmax(logits))               for a distribution over the classes, where 0 log 0 = 0
///
/// shapes  logits [..., V], labels [...] or [..., V] -> [...]
/// dtypes  logits any float; labels i32 or i64, or floats for a distribution; the loss is f32 (Optax keeps bf16),
///         that of f64 logits f64
/// errors  "softmax_cross_entropy: labels"; a label outside [-V, V) gives NaN, a negative one counts from the end
/// source  optax.softmax_cross_entropy_with_integer_labels, optax.softmax_cross_entropy
constexpr array softmax_cross_entropy(const array& logits, const array& labels, source_line l) {
  if (is_floating(labels.dtype())) {
    bool fits = true;
    const shape all = broadcast_shapes(logits.shape(), labels.shape(), fits);
    if (!fits || all.rank() == 0) {
      const array both[] = {logits, labels};
      reject(both, 2, l, "softmax_cross_entropy: labels", labels.type(),
             message("integers of the rows of ") << logits.type() << ", or floats of its shape");
      return logits;
    }
    const array share = detail::carried(labels), log_share = log_softmax(detail::carried(logits), -1, l);
    const array none = logical_and(share == 0.0, log_share == -std::numeric_limits<double>::infinity());
    return -sum(share * located(select(none, 0.0, log_share), l), {{-1}}, l);
  }
  const array in[] = {logits, detail::index_in_i32(labels)};
  return bind_all(described<cross_entropy_p>(), in, 2, words{}, l)[0];
}

/// The cotangent of `logits`, with `lse` the logsumexp of each row:
///
///   dlogits = exp(logits - lse) * ct_probabilities - one_hot(label) * ct_label
///
/// shapes  logits [..., V], labels, lse, ct_probabilities and ct_label [...] -> [..., V]
constexpr array cross_entropy_vjp(const array& logits, const array& labels, const array& lse,
                                  const array& ct_probabilities, const array& ct_label, source_line l) {
  return bind(described<cross_entropy_vjp_p>(), {logits, detail::index_in_i32(labels), lse, ct_probabilities, ct_label},
              words{}, l);
}

}  // namespace tokamax
