// tokamax/models/latent_attention.hpp: attention whose keys and values are made of one small row of each token.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/decoder.cpp
#pragma once

#include <tokamax/lax/dot_general.hpp>          // dot_general
#include <tokamax/lax/indexing/slice.hpp>       // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>   // concatenate
#include <tokamax/models/decoder_norm.hpp>      // decoder_norm
#include <tokamax/nn/linear/linear.hpp>         // linear
#include <tokamax/numpy/manipulation/axes.hpp>  // moveaxis

#include <optional>  // optional

namespace tokamax::models {

/// Multi-head latent attention. Of a token, a row of `rank` features and a key of `turned` features, which all heads share, are kept.
/// Keys of heads would be products of that row with matrices; these multiply the queries in their place, so that a head's query meets
/// the row itself, and what it finds is multiplied by the matrix of values:
///
///   score = scale * ((q_plain K^T) . row + q_turned . key), out = sum of softmax(score) row, times V
///
/// To the caller it is attention of many heads to one key of rank + turned features, whose first `rank` are its value.
///
/// shapes  x [..., width] -> the same; up [rank, heads (plain + value)]
/// source  DeepSeek-AI 2024, arXiv:2405.04434, section 2.1
struct latent_attention {
  int heads = 1, rank = 0, plain = 0, turned = 0, values = 0;
  nn::linear query, query_down, query_up, down, up, out;  // without a query_rank only `query`, else the other two
  decoder_norm query_norm, norm;

  /// That of a config, if it has a rank.
  static std::optional<latent_attention> of(const decoder_config& c) {
    const latent_config& m = c.latent;
    if (m.rank == 0) return std::nullopt;
    const auto linear = [](int in, int outputs, bool bias) {
      return nn::linear{.in = in, .out = outputs, .use_bias = bias, .kernel_init = nn::initializers::normal<0.02>};
    };
    const int queries = c.heads * (m.plain_size + c.rotary_size);
    const bool low = m.query_rank > 0;
    return latent_attention{.heads = c.heads,
                            .rank = m.rank,
                            .plain = m.plain_size,
                            .turned = c.rotary_size,
                            .values = m.value_size,
                            .query = linear(c.width, low ? 0 : queries, false),
                            .query_down = linear(c.width, m.query_rank, low && c.qkv_bias),
                            .query_up = linear(m.query_rank, low ? queries : 0, false),
                            .down = linear(c.width, m.rank + c.rotary_size, c.qkv_bias),
                            .up = linear(m.rank, c.heads * (m.plain_size + m.value_size), false),
                            .out = linear(c.heads * m.value_size, c.width, c.out_bias),
                            .query_norm = decoder_norm::of(c, m.query_rank, low),
                            .norm = decoder_norm::of(c, m.rank)};
  }
  template <class Attend>
  array operator()(const array& x, const nn::rotary& turn, const nn::rotary_angles& by, const Attend& attend,
                   source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const int last = x.rank() - 1;
    const auto part = [&](const array& a, int from, int to) { return slice_in_dim(a, from, to, a.rank() - 1, l); };
    const array q =
        in_heads(query_norm.width > 0 ? query_up(query_norm(query_down(x, l), l), l) : query(x, l), heads, l);
    const array both = down(x, l), row = in_heads(norm(part(both, 0, rank), l), 1, l);
    const array key = turn(in_heads(part(both, rank, rank + turned), 1, l), by, l);
    const array matrices = reshape(up.kernel, {rank, heads, plain + values}, l);
    const array of_heads = by_heads(part(q, 0, plain), part(matrices, 0, plain), 2, l);
    const array found = attend(concatenate({of_heads, turn(part(q, plain, plain + turned), by, l)}, last + 1, l),
                               concatenate({row, key}, last + 1, l), row, array());
    const array y = by_heads(found, part(matrices, plain, plain + values), 0, l);
    shape s = x.shape();
    s[-1] = heads * values;
    return out(reshape(y, s, l), l);
  }

 private:
  static array in_heads(const array& y, int count, source_line l) {
    shape s = y.shape();
    s[-1] = count;
    s.push_back(y.extent(-1) / count);
    return reshape(y, s, l);
  }
  // x [..., heads, n] times the matrix of each head, in matrices [rank, heads, m], of which `axis` is summed: [..., heads, the other].
  static array by_heads(const array& x, const array& matrices, int axis, source_line l) {
    const int n = x.rank();
    return moveaxis(dot_general(x, matrices, {{n - 1}, {axis}, {n - 2}, {1}}, l), 0, -2, l);
  }
};

}  // namespace tokamax::models
