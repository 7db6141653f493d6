// tokamax/nn/attention/attention.hpp: multi-head self-attention with learned projections.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/shapes/split.hpp>  // split
#include <tokamax/nn/linear/linear.hpp>  // linear
#include <tokamax/ops/attention.hpp>     // dot_product_attention

namespace tokamax::nn {

/// Self-attention: one projection to queries, keys and values, attention in each head, and a projection back.
/// `attention attend{.width = 256, .heads = 8, .causal = true}`.
///
/// shapes  x [B, T, width] -> the same; qkv.kernel [width, (heads + 2 kv_heads) * head_size]
/// init    as linear
/// errors  "nn::attention: heads", "nn::attention: width" if the heads do not divide it
/// source  flax.nnx.MultiHeadAttention; with fewer key heads: Ainslie et al. 2023, arXiv:2305.13245
struct attention {
  int width = 0, heads = 1;
  int kv_heads = heads;  ///< heads of keys and values; divides `heads`
  int head_size = heads > 0 ? width / heads : 0;
  bool causal = false;  ///< position t sees positions 0 ... t
  bool use_bias = true;
  initializer kernel_init = initializers::lecun_normal;
  linear qkv = {
      .in = width, .out = (heads + 2 * kv_heads) * head_size, .use_bias = use_bias, .kernel_init = kernel_init};
  linear projection = {.in = heads * head_size, .out = width, .use_bias = use_bias, .kernel_init = kernel_init};

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const arrays p = parts(x, l);
    return merge(dot_product_attention(p[0], p[1], p[2], {.is_causal = causal}, l), l);
  }
  /// The same, where a position sees only the keys with a true mask, which broadcasts to [B, heads, T, T].
  constexpr array operator()(const array& x, const array& mask, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const arrays p = parts(x, l);
    return merge(dot_product_attention(p[0], p[1], p[2], mask, {.is_causal = causal}, l), l);
  }

 private:
  constexpr void require_heads(const array& x, source_line l) const {
    if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0)
      reject(x, l, "nn::attention: heads", message() << heads << " for " << kv_heads << " of keys",
             "a multiple, from 1 on");
    else if (head_size < 1 || (head_size == width / heads && width % heads != 0))
      reject(x, l, "nn::attention: width", message() << width, message("a multiple of ") << heads << " heads");
  }
  /// Queries [B, T, N, H], keys and values [B, T, K, H]: views.
  constexpr arrays parts(const array& x, source_line l) const {
    require_heads(x, l);
    const std::int64_t n = heads * head_size, k = kv_heads * head_size;
    const arrays p = split(qkv(x, l), {n, k, k}, -1, l);
    auto in_heads = [&](const array& a, int count) {
      return reshape(a, {a.extent(0), a.extent(1), count, head_size}, l);
    };
    return {in_heads(p[0], heads), in_heads(p[1], kv_heads), in_heads(p[2], kv_heads)};
  }
  constexpr array merge(const array& y, source_line l) const {
    return projection(reshape(y, {y.extent(0), y.extent(1), heads * head_size}, l), l);
  }
};

}  // namespace tokamax::nn
