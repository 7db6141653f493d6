// tokamax/backend/systolic/chip_kernels.hpp: the ops of the library for which a TPU has a kernel.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/device.cpp
// umbrella: no (what only simulates instructions needs no kernels)
#pragma once

#include <tokamax/kernel/ops/flash_attention.hpp>        // flash_forward, flash_queries, flash_keys
#include <tokamax/kernel/ops/norms.hpp>                  // layer_norm, rms_norm
#include <tokamax/kernel/ops/softmax_cross_entropy.hpp>  // softmax_cross_entropy
#include <tokamax/lax/reduce.hpp>                        // sum
#include <tokamax/ops/attention.hpp>                     // attention_p
#include <tokamax/ops/cross_entropy.hpp>                 // cross_entropy_p
#include <tokamax/ops/layer_norm.hpp>                    // layer_norm_p
#include <tokamax/ops/rms_norm.hpp>                      // rms_norm_p
#include <tokamax/transforms/eval_shape.hpp>             // make_graph
#include <tokamax/transforms/grad.hpp>                   // grad

#include <algorithm>  // max, min
#include <optional>   // optional
#include <vector>     // vector

namespace tokamax::systolic_backend {

namespace detail {

/// The largest divisor of n that is not above `most`: blocks that tile n.
inline std::int64_t divisor_at_most(std::int64_t n, std::int64_t most) {
  std::int64_t d = std::max<std::int64_t>(1, std::min(n, most));
  while (n % d != 0) --d;
  return d;
}

/// Attention of heads, or its gradients, if nothing but the causal order hides keys and no bias is added.
inline std::optional<graph> attention_kernel(const call& c, bool backward) {
  const auto o = c.attrs<attention_attributes>();
  const bool plain = !o.has_bias && !o.has_mask && !o.has_segments && o.ranges == 0 && o.left < 0 && o.right < 0;
  if (!plain || o.soft_cap != 0 || o.has_lse_cotangent || c[0].size() == 0 || c[1].size() == 0 ||
      c[2].extent(3) != c[0].extent(3))
    return {};
  const std::int64_t heads = c[0].extent(0) * c[0].extent(2);
  const auto of = [&](dtype t, std::int64_t rows, std::int64_t columns) {
    return array(array_type{t, false, {heads, rows, columns}});
  };
  const array q = of(c[0].dtype(), c[0].extent(1), c[0].extent(3)),
              k = of(c[1].dtype(), c[1].extent(1), c[0].extent(3)),
              v = of(c[2].dtype(), c[1].extent(1), c[0].extent(3)), column = of(f32, c[0].extent(1), 1);
  const kernel_ops::flash_attention_options f{
      .queries = divisor_at_most(q.extent(1), 512), .keys = divisor_at_most(k.extent(1), 512), .causal = o.causal};
  const auto blocks = [f](const array& a, const array& b) { return kernel_ops::detail::flash_blocks(a, b, f, {}); };
  namespace ko = kernel_ops::detail;
  if (!backward)
    return make_graph(
        [=](const array& a, const array& b, const array& d) { return ko::flash_forward(a, b, d, blocks(a, b)); }, q, k,
        v);
  return make_graph(
      [=](const std::vector<array>& x) {
        const tokamax::arrays in(x.data(), x.size());
        const auto [dk, dv] = ko::flash_keys(in, blocks(x[0], x[1]));
        return std::vector<array>{ko::flash_queries(in, blocks(x[0], x[1])), dk, dv};
      },
      std::vector<array>{q, k, v, q, column, column});
}

/// x as rows, of which a step takes as many as 1 MiB holds and tile them.
inline array rows_of(const array& x) {
  return array(array_type{x.dtype(), false, {x.size() / std::max<std::int64_t>(1, x.extent(-1)), x.extent(-1)}});
}
inline std::int64_t rows_of_step(const array& x) {
  const std::int64_t columns = std::max<std::int64_t>(1, x.extent(-1));
  return divisor_at_most(x.size() / columns, std::max<std::int64_t>(8, (1 << 18) / columns / 8 * 8));
}

/// A norm of rows, or its gradients: the kernel's derivative.
inline std::optional<graph> norm_kernel(const call& c, bool centred, bool backward) {
  if (c[0].size() == 0 || c[0].extent(-1) > 1 << 16) return {};  // 8 rows and their gradients fit the least VMEM
  const kernel_ops::norm_options o{.rows = rows_of_step(c[0])};
  const auto norm = [=](const array& x, const array& scale, const array& offset) {
    return centred ? kernel_ops::layer_norm(x, scale, offset, o) : kernel_ops::rms_norm(x, scale, o);
  };
  const array x = rows_of(c[0]), scale(c[1].type());
  if (!backward) return make_graph(norm, x, scale, scale);
  return make_graph(
      [=](const array& a, const array& s, const array& ct) {
        return grad<0, 1, 2>([&](const array& b, const array& t, const array& u) { return sum(norm(b, t, u) * ct); })(
            a, s, s);
      },
      x, scale, x);
}

}  // namespace detail

/// Has the chip a kernel for some calls of an op?
inline bool has_chip_kernel(const op& o) {
  for (const op* const known : {&attention_p, &attention_vjp_p, &layer_norm_p, &layer_norm_vjp_p, &rms_norm_p,
                                &rms_norm_vjp_p, &cross_entropy_p})
    if (&o == known) return true;
  return false;
}

/// The kernel for a call, as a graph on arguments of its own; empty: the chip runs the op's meaning.
///
/// Heads lie behind each other, as XLA lays attention out for its kernels, and each head of queries reads its keys.
inline std::optional<graph> chip_kernel(const call& c) {
  const op* const o = c.self;
  if (o == &attention_p || o == &attention_vjp_p) return detail::attention_kernel(c, o == &attention_vjp_p);
  if (o == &layer_norm_p || o == &layer_norm_vjp_p) return detail::norm_kernel(c, true, o == &layer_norm_vjp_p);
  if (o == &rms_norm_p || o == &rms_norm_vjp_p) return detail::norm_kernel(c, false, o == &rms_norm_vjp_p);
  if (o == &cross_entropy_p && c[0].size() > 0) {
    const array logits = detail::rows_of(c[0]), labels(array_type{i32, false, {logits.extent(0)}});
    return make_graph([](const array& x, const array& l) { return kernel_ops::softmax_cross_entropy(x, l); }, logits,
                      labels);
  }
  return {};
}

}  // namespace tokamax::systolic_backend
