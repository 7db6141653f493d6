// tokamax/models/t5_block.hpp: a block of T5: attention to its own text, to the other one, and a network.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/t5.cpp
#pragma once

#include <tokamax/lax/dot_general.hpp>       // dot_general
#include <tokamax/lax/shapes/transpose.hpp>  // transpose
#include <tokamax/models/decoder_block.hpp>  // decoder_mlp, decoder_norm
#include <tokamax/nn/linear/embed.hpp>       // embed
#include <tokamax/ops/softmax.hpp>           // softmax

#include <limits>  // numeric_limits

namespace tokamax::models {

/// The sizes of a T5. The defaults are those that its files may leave out.
struct t5_config {
  int vocabulary = 0, width = 0, heads = 1, head_size = 0;
  int layers = 0, decoder_layers = 0;
  int hidden = 0;                        ///< of the network in each block
  int buckets = 32, max_distance = 128;  ///< of distances
  double epsilon = 1e-6;
  nn::activation_function activation = relu;
  bool gated = false;
  bool tied = true;    ///< are logits products with the embedding?
  bool scaled = true;  ///< is what they are made of divided by the root of the width?
  int start = 0;       ///< the token before the first that is written
};

/// Throws unless the numbers fit each other.
/// errors  tokamax::error that names the number
inline void require_possible(const t5_config& c, const std::string& where = {}) {
  const auto require = [&](bool fits, const char* name, int found, const std::string& expected) {
    if (!fits)
      throw error(where.empty() ? error_kind::argument : error_kind::file, std::string("t5: ") + name,
                  std::to_string(found), expected, where);
  };
  static constexpr int most = 1 << 28, longest = 1 << 16;
  for (const auto& [name, size] : {std::pair{"vocabulary", c.vocabulary},
                                   {"width", c.width},
                                   {"heads", c.heads},
                                   {"head_size", c.head_size},
                                   {"layers", c.layers},
                                   {"decoder_layers", c.decoder_layers},
                                   {"hidden", c.hidden}})
    require(size >= 1 && size <= most, name, size, "1 to " + std::to_string(most));
  require(std::int64_t{c.heads} * c.head_size <= most, "head_size", c.head_size, "fewer features of all heads");
  require(c.buckets >= 4 && c.buckets % 2 == 0 && c.buckets <= longest, "buckets", c.buckets,
          "an even number from 4 on");
  require(c.max_distance > c.buckets / 2 && c.max_distance <= longest, "max_distance", c.max_distance,
          "more than half of the buckets, at most " + std::to_string(longest));
  require(c.start >= 0 && c.start < c.vocabulary, "start", c.start, "a token");
}

namespace detail {
/// The bucket of each distance from -max_distance to max_distance. Small ones have their own, larger ones share by their logarithm.
inline std::vector<std::int32_t> distance_buckets(const t5_config& c, bool both_ways) {
  const int count = both_ways ? c.buckets / 2 : c.buckets, exact = count / 2;
  std::vector<std::int32_t> all;
  for (int d = -c.max_distance; d <= c.max_distance; ++d) {
    const int far = both_ways ? std::abs(d) : std::max(-d, 0);
    const float part = std::log(static_cast<float>(far) / static_cast<float>(exact)) /
                       static_cast<float>(std::log(static_cast<double>(c.max_distance) / exact));
    const int shared = exact + static_cast<int>(part * static_cast<float>(count - exact));
    all.push_back((far < exact ? far : std::min(shared, count - 1)) + (both_ways && d > 0 ? count : 0));
  }
  return all;
}
}  // namespace detail

/// The score of each head for each pair of positions, that of a query and that of a key.
/// shapes  queries i32 [T], keys i32 [S] -> [heads, T, S]
inline array distance_bias(const nn::embed& table, const t5_config& c, bool both_ways, const array& queries,
                           const array& keys, source_line l = source_line::current()) {
  const array buckets = array::from(detail::distance_buckets(c, both_ways));
  const array apart = expand_dims(keys, 0, l) - located(expand_dims(queries, 1, l), l);
  const array cut = minimum(maximum(apart, -c.max_distance, l), c.max_distance, l) + c.max_distance;
  return transpose(table(gather(buckets, cut, l), l), {2, 0, 1}, l);
}

/// Attention whose rows are computed each by itself, so that their bits do not depend on the others. Scores are not scaled.
/// shapes  q [B, n, N, H], k and v [B, S, N, H], bias [N, n, S] or none, seen broadcasts to [B, N, n, S]
inline array attention_by_rows(const array& q, const array& k, const array& v, const array& bias, const array& seen,
                               source_line l = source_line::current()) {
  array scores = dot_general(q, k, {{3}, {3}, {0, 2}, {0, 2}}, l);  // [B, N, n, S]
  if (bias.exists()) scores = scores + located(bias, l);
  scores = select(broadcast_to(seen, scores.shape(), l), scores,
                  full_like(scores, -std::numeric_limits<double>::infinity()), l);
  return transpose(dot_general(softmax(scores, -1, l), v, {{3}, {1}, {0, 1}, {0, 2}}, l), {0, 2, 1, 3}, l);
}

/// The four matrices of an attention.
struct t5_attention {
  int heads = 1, head_size = 0;
  nn::linear query, key, value, out;

  static t5_attention of(const t5_config& c, bool exists) {
    if (!exists) return {};
    const int n = c.heads * c.head_size;
    const nn::linear in{.in = c.width, .out = n, .use_bias = false};
    return {c.heads, c.head_size, in, in, in, {.in = n, .out = c.width, .use_bias = false}};
  }
  array in_heads(const array& y, source_line l) const {
    return reshape(y, {y.extent(0), y.extent(1), heads, head_size}, l);
  }
  array joined(const array& y, source_line l) const {
    return out(reshape(y, {y.extent(0), y.extent(1), heads * head_size}, l), l);
  }
};

/// Each part gets a normalised input, and what it gives is added to the residual path. `own(q, k, v)` finds the values of queries in the
/// text itself, and `other(q)` in the text that was read, unless it is nullptr.
/// shapes  x [B, T, width] -> the same
struct t5_block {
  decoder_norm before_own, before_cross, before_mlp;
  t5_attention own, cross;  // the encoder's have no cross
  decoder_mlp mlp;

  static t5_block of(const t5_config& c, bool crosses) {
    const decoder_norm norm{.width = c.width, .epsilon = c.epsilon};
    const auto linear = [](int in, int outputs) { return nn::linear{.in = in, .out = outputs, .use_bias = false}; };
    return {norm,
            {.width = crosses ? c.width : 0, .epsilon = c.epsilon},
            norm,
            t5_attention::of(c, true),
            t5_attention::of(c, crosses),
            {.gated = c.gated,
             .activation = c.activation,
             .gate = linear(c.width, c.gated ? c.hidden : 0),
             .up = linear(c.width, c.hidden),
             .down = linear(c.hidden, c.width)}};
  }
  template <class Own, class Other>
  array operator()(array x, const Own& find, const Other& find_in_text, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const array y = before_own(x, l);
    const auto part = [&](const nn::linear& f) { return own.in_heads(f(y, l), l); };
    x = x + located(own.joined(find(part(own.query), part(own.key), part(own.value)), l), l);
    if constexpr (!std::is_null_pointer_v<Other>) {
      const array q = cross.in_heads(cross.query(before_cross(x, l), l), l);
      x = x + located(cross.joined(find_in_text(q), l), l);
    }
    return x + located(mlp(before_mlp(x, l), l), l);
  }
};

}  // namespace tokamax::models
