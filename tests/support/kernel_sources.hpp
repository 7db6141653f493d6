// tests/support/kernel_sources.hpp: kernels that are written once, for all devices, with arguments and their meaning.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/kernel.hpp>
#include <tokamax/kernel/ops/elementwise.hpp>
#include <tokamax/kernel/ops/flash_attention.hpp>
#include <tokamax/kernel/ops/gated_linear_unit.hpp>
#include <tokamax/kernel/ops/matmul.hpp>
#include <tokamax/kernel/ops/norms.hpp>
#include <tokamax/kernel/ops/ragged_dot.hpp>
#include <tokamax/kernel/ops/softmax_cross_entropy.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/lax/shapes/concatenate.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/where.hpp>
#include <tokamax/ops/cross_entropy.hpp>
#include <tokamax/ops/layer_norm.hpp>
#include <tokamax/ops/ragged_dot.hpp>
#include <tokamax/ops/rms_norm.hpp>
#include <tokamax/ops/softmax.hpp>
#include <tokamax/transforms/grad.hpp>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace tokamax::test::sources {

/// A source with arguments, and its meaning on whole arrays.
struct source {
  std::string name;
  std::function<array(const arrays&)> kernel, meaning;
  arrays in;
  bool products = true;  ///< does it multiply matrices?
};

/// Attention of heads [H, T, D] on whole arrays.
inline array plain_attention(const array& q, const array& k, const array& v, bool causal) {
  array s = matmul(q, swapaxes(k, 1, 2)) * (1.0f / std::sqrt(static_cast<float>(q.extent(2))));
  if (causal) s = where(iota(i32, s.shape(), 1) >= iota(i32, s.shape(), 2), s, -1e30f);
  return matmul(softmax(s), v);
}
/// The gradients of attention for three arguments, behind each other.
template <class F>
array gradients(const F& attention, const arrays& a) {
  const auto loss = [&](const array& q, const array& k, const array& v) {
    return sum(attention(q, k, v) * sin(q + v));
  };
  const auto [dq, dk, dv] = grad<0, 1, 2>(loss)(a[0], a[1], a[2]);
  return concatenate(arrays{dq, dk, dv}, 0);
}

/// Attention of heads in blocks of 8 queries and 4 keys, or its gradients.
inline source attention(const arrays& heads, bool causal, bool gradient) {
  const auto flash = [causal](const array& q, const array& k, const array& v) {
    return kernel_ops::flash_attention(q, k, v, {.queries = 8, .keys = 4, .causal = causal});
  };
  const auto plain = [causal](const array& q, const array& k, const array& v) {
    return plain_attention(q, k, v, causal);
  };
  const std::string name = causal ? "causal flash attention" : "flash attention";
  if (gradient)
    return {"gradients of " + name, [=](const arrays& a) { return gradients(flash, a); },
            [=](const arrays& a) { return gradients(plain, a); }, heads};
  return {name, [=](const arrays& a) { return flash(a[0], a[1], a[2]); },
          [=](const arrays& a) { return plain(a[0], a[1], a[2]); }, heads};
}

/// Kernels that run on every device, on arguments that `made` makes of shapes.
inline std::vector<source> all(const std::function<array(const shape&)>& made) {
  namespace ko = kernel_ops;
  const auto groups = [](const arrays& a) { return ko::ragged_dot(a[0], a[1], a[2], {.block = {4, 8, 8}}); };
  const auto of_groups = [](const arrays& a) { return ragged_dot(a[0], a[1], a[2]); };
  const arrays heads{made({2, 16, 8}), made({2, 16, 8}), made({2, 16, 8})};
  const array x = made({16, 16}), experts = made({3, 16, 8});
  return {{"product",
           [](const arrays& a) { return ko::matmul(a[0], a[1], {.block = {8, 4, 16}}); },
           [](const arrays& a) { return matmul(a[0], a[1]); },
           {made({16, 12}), made({12, 32})}},
          attention(heads, false, false),
          attention(heads, true, false),
          {"layer norm",
           [](const arrays& a) { return ko::layer_norm(a[0], a[1], a[2], {.rows = 3}); },
           [](const arrays& a) { return layer_norm(a[0], a[1], a[2]); },
           {made({7, 6}), made({6}), made({6})},
           false},
          {"ragged dot", groups, of_groups, {x, experts, array::from<std::int32_t>({3, 0, 8})}},
          {"ragged dot of all rows", groups, of_groups, {x, experts, array::from<std::int32_t>({4, 11, 1})}},
          {"ragged dot of no rows", groups, of_groups, {x, experts, array::from<std::int32_t>({0, 0, 0})}}};
}
/// The other kernels of kernel_ops.
inline std::vector<source> more(const std::function<array(const shape&)>& made) {
  namespace ko = kernel_ops;
  const arrays heads{made({2, 16, 8}), made({2, 16, 8}), made({2, 16, 8})};
  return {attention(heads, false, true),
          attention(heads, true, true),
          {"product of blocks that hang over",
           [](const arrays& a) { return ko::matmul(a[0], a[1], {.block = {8, 4, 4}}); },
           [](const arrays& a) { return matmul(a[0], a[1]); },
           {made({13, 10}), made({10, 7})}},
          {"rms norm",
           [](const arrays& a) { return ko::rms_norm(a[0], a[1], {.rows = 3}); },
           [](const arrays& a) { return rms_norm(a[0], a[1]); },
           {made({7, 6}), made({6})},
           false},
          {"gated linear unit",
           [](const arrays& a) {
             return ko::gated_linear_unit(a[0], a[1], a[2], [](const array& v) { return tanh(v); },
                                          {.block = {8, 4, 8}});
           },
           [](const arrays& a) { return tanh(matmul(a[0], a[1])) * matmul(a[0], a[2]); },
           {made({12, 8}), made({8, 20}), made({8, 20})}},
          {"softmax cross entropy",
           [](const arrays& a) { return ko::softmax_cross_entropy(a[0], a[1], {.rows = 3, .classes = 4}); },
           [](const arrays& a) { return softmax_cross_entropy(a[0], a[1]); },
           {made({5, 10}), array::from<std::int32_t>({3, 0, 9, 4, 7})},
           false},
          {"elementwise",
           [](const arrays& a) {
             return ko::elementwise([](const array& u, const array& v) { return u * sin(v) + v; }, {.block = {2, 4}},
                                    a[0], a[1]);
           },
           [](const arrays& a) { return a[0] * sin(a[1]) + a[1]; },
           {made({7, 6}), made({7, 6})},
           false}};
}

}  // namespace tokamax::test::sources
