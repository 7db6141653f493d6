// tokamax/ops/attention/layout.hpp: the attributes of attention, and the products with heads that are grouped by key.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention.cpp
#pragma once

#include <tokamax/lax/dot_general.hpp>     // dot_general
#include <tokamax/lax/shapes/reshape.hpp>  // reshape

namespace tokamax {

/// The attributes of the op attention.
struct attention_attributes {
  bool causal = false;                 ///< query t sees keys 0 ... t
  double scale = 0;                    ///< of the scores
  double soft_cap = 0;                 ///< c: scores become c * tanh(score / c); 0: none
  std::int64_t left = -1, right = -1;  ///< query t sees the keys t - left ... t + right; -1: no limit
  bool has_bias = false;  ///< is there an operand [B, N, T, S] that is added to the scores? Extents may be 1.
  bool has_mask = false;  ///< is the last operand booleans [B, N, T, S] of the keys that queries see? Extents may be 1.
  std::int64_t ranges =
      0;  ///< R: query t sees the keys in R ranges [first, end), of i32 operands [B, N, T, 2 R]; 0: all
  bool has_segments = false;       ///< are there i32 operands [B, 1, T, 1] and [B, 1, 1, S], equal where a key is seen?
  bool has_lse_cotangent = false;  ///< of attention_vjp: is there one, [B, N, T], before these operands?
  bool bias_gradient = false;      ///< of attention_vjp: is the cotangent of the bias its last result?
  dot_algorithm algorithm = dot_algorithm::unspecified;  ///< of all products; that of bf16 arrays is bf16_bf16_f32
};

namespace detail {

inline constexpr double masked_score = -0.7 * 3.4028234663852886e38;  // JAX's score of a hidden key, a finite number

constexpr double inverse_sqrt(double x) {  // Newton's method; std::sqrt is no constant expression in clang 19
  double r = 1;
  while (r * r * x > 1) r *= 0.5;
  for (int i = 0; i < 60; ++i) r *= 1.5 - 0.5 * x * r * r;
  return r;
}

// The products of attention. Heads are grouped by the key they share: N = K * G, head n = k * G + g.
//   per query  [B, K, G, T, *]      per key  [B, K, S, *]
struct attention_layout {
  std::int64_t groups;  // G
  attention_attributes options;
  dot_algorithm of_values = dot_algorithm::unspecified;  // of the sums over keys
  constexpr explicit attention_layout(const array& q, const array& k, const attention_attributes& o)
      : groups(q.extent(2) / k.extent(2)), options(o) {
    of_values = options.algorithm = algorithm_of(q.dtype(), o.algorithm);
  }

  constexpr array per_query(const array& x) const {  // [B, T, N, H]
    const array y = reshape(carried(x), {x.extent(0), x.extent(1), x.extent(2) / groups, groups, x.extent(3)});
    return transpose(y, {0, 2, 3, 1, 4});
  }
  constexpr array per_key(const array& x) const { return transpose(carried(x), {0, 2, 1, 3}); }  // [B, S, K, H]
  constexpr array grouped(const array& x) const {  // [B, N, T, S] -> [B, K, G, T, S]
    return reshape(x, {x.extent(0), div_extent(x.extent(1), groups), groups, x.extent(2), x.extent(3)});
  }
  static constexpr array merge_query(const array& x, dtype type) {  // [B, K, G, T, H] -> [B, T, N, H]
    const array y = transpose(x, {0, 3, 1, 2, 4});
    return astype(reshape(y, {y.extent(0), y.extent(1), mul_extent(y.extent(2), y.extent(3)), y.extent(4)}), type);
  }
  static constexpr array merge_key(const array& x, dtype type) { return astype(transpose(x, {0, 2, 1, 3}), type); }

  constexpr array times_keys(const array& a, const array& b) const {  // [.., T, H], [.., S, H] -> [.., T, S]
    return dot_general(a, b, {{4}, {3}, {0, 1}, {0, 1}, dtype::none, options.algorithm});
  }
  constexpr array sum_keys(const array& p, const array& b) const {  // [.., T, S], [.., S, H] -> [.., T, H]
    return dot_general(p, b, {{4}, {2}, {0, 1}, {0, 1}, dtype::none, of_values});
  }
  constexpr array sum_queries(const array& p, const array& a) const {  // [.., T, S], [.., T, H] -> [.., S, H]
    return dot_general(p, a, {{2, 3}, {2, 3}, {0, 1}, {0, 1}, dtype::none, options.algorithm});
  }
};

constexpr bool attention_shapes_fit(const array& q, const array& k, const array& v) {
  return q.rank() == 4 && k.rank() == 4 && v.shape() == k.shape() && q.extent(0) == k.extent(0) &&
         q.extent(3) == k.extent(3) && k.extent(2) > 0 && q.extent(2) % k.extent(2) == 0;
}

}  // namespace detail
}  // namespace tokamax
