// tokamax/ops/gated_delta_rule.hpp: linear attention that forgets and corrects, of whole batches and of packed sequences.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/ops/gated_delta_rule/op.cpp
#pragma once

#include <tokamax/ops/attention/layout.hpp>     // inverse_sqrt
#include <tokamax/ops/gated_delta_rule/op.hpp>  // gated_delta_rule_p

namespace tokamax {

/// How gated_delta_rule is asked to behave.
struct gated_delta_rule_options {
  double scale = 0;           ///< of the queries; 0 means 1 / sqrt(D)
  bool normalize_qk = false;  ///< divide each query and key by its length: x / sqrt(sum(x^2) + 1e-6)
  std::int64_t chunk = 0;     ///< tokens in a step of gradients, and of devices without a kernel; 0: 64, or fewer if
                              ///< sequences are shorter. Steps of one token keep NaN from the tokens before it
};

/// The result of gated_delta_rule, and what the next call goes on from.
struct gated_delta_rule_result {
  array out;    ///< like v
  array state;  ///< [..., N, D, E], or the pool
};

namespace detail {

constexpr array unit_length(const array& x) {
  const array wide = carried(x);
  return wide * rsqrt(expand_dims(sum(wide * wide, {{-1}}), -1) + 1e-6);
}

/// Binds the op; tokens, and states if there are some, have their batch axes joined.
constexpr arrays bind_gated_delta_rule(arrays in, const gated_delta_rule_options& o, source_line l) {
  const dtype type = carrying(in[2].dtype());
  gated_delta_rule_attributes a{.scale = o.scale, .chunk = o.chunk};
  if (a.scale == 0) a.scale = inverse_sqrt(static_cast<double>(in[0].extent(-1)));
  if (o.normalize_qk) in[0] = astype(unit_length(in[0]), type, l), in[1] = astype(unit_length(in[1]), type, l);
  for (int i = 3; i < 6; ++i) in[i] = astype(in[i], type, l);
  return bind_all(described<gated_delta_rule_p>(), in.data(), in.count(), pack(a), l);
}

/// Rejects operands of other ranks than tokens [..., T, H, D] with `axes` axes have, and options. False if it has.
constexpr bool delta_rule_operands_fit(const arrays& in, const gated_delta_rule_options& o, int axes, source_line l) {
  const auto refuse = [&](const char* what, const message& found, const char* expected) {
    reject(in.data(), in.count(), l, what, found, expected);
    return false;
  };
  for (int i = 0; i < 3; ++i)
    if (!is_floating(in[i].dtype()) || in[i].rank() < 3 || (axes > 0 && in[i].rank() != axes) ||
        in[i].rank() != in[0].rank())
      return refuse("gated_delta_rule: q, k, v", in[i].type(), axes > 0 ? "floats [T,H,D]" : "floats [..,T,H,D]");
  for (int i = 3; i < 5; ++i)
    if (!is_floating(in[i].dtype()) || in[i].rank() != in[0].rank() - 1)
      return refuse("gated_delta_rule: g, beta", in[i].type(), axes > 0 ? "floats [T,N]" : "floats [..,T,N]");
  for (int i = 0; i < 5; ++i)
    for (int k = 0; k + 2 < in[0].rank(); ++k)
      if (in[i].extent(k) != in[0].extent(k))
        return refuse("gated_delta_rule: tokens", in[i].type(), "the leading axes of q");
  if (o.chunk < 0) return refuse("gated_delta_rule: chunk", message() << o.chunk, "0 or more");
  return true;
}

}  // namespace detail

/// A linear attention whose state is a matrix for each head. It forgets by exp(g), and replaces what it has for a key by
/// beta of the new value: the layers of Qwen3-Next.
///
///   S = exp(g_t) S;  u = beta_t (v_t - S^T k_t);  S = S + k_t u^T;  out_t = scale * S^T q_t
///
/// Consecutive value heads share a key head. Tokens are computed in chunks, so that almost all work is products.
///
/// shapes  q, k [..., T, H, D], v [..., T, N, E], g, beta [..., T, N], N a multiple of H, state [..., N, D, E], without which
///         it is zero -> out [..., T, N, E], state [..., N, D, E]
/// dtypes  any floats; the state and all sums are f32, f64 for f64; out has the dtype of v
/// errors  "gated_delta_rule: q, k, v", "g, beta", "tokens", "state", "chunk"
/// source  Yang, Kautz, Hatamizadeh 2024, arXiv:2412.06464, eq. 10, and the chunks of arXiv:2406.06484
constexpr gated_delta_rule_result gated_delta_rule(const array& q, const array& k, const array& v, const array& g,
                                                   const array& beta, const array& state = {},
                                                   const gated_delta_rule_options& options = {},
                                                   source_line l = source_line::current()) {
  arrays in{q, k, v, g, beta};
  if (!detail::delta_rule_operands_fit(in, options, 0, l)) return {v, state};
  const int batch = q.rank() - 3;  // axes before T
  shape states;
  for (int i = 0; i < batch; ++i) states.push_back(q.extent(i));
  const std::int64_t sequences = size(states);
  for (const std::int64_t e : {v.extent(-2), q.extent(-1), v.extent(-1)}) states.push_back(e);
  const bool fits = !state.exists() || (is_floating(state.dtype()) && state.shape() == states);
  if (!fits) {
    reject(state, l, "gated_delta_rule: state", state.type(), message("floats ") << states);
    return {v, state};
  }
  in.push_back(state.exists() ? state : full(states, 0.0f, carrying(v.dtype()), l));
  for (int i = 0; i < 6; ++i) {
    shape s{i < 5 ? mul_extent(sequences, q.extent(batch)) : sequences};
    for (int a = i < 5 ? batch + 1 : batch; a < in[i].rank(); ++a) s.push_back(in[i].extent(a));
    in[i] = reshape(in[i], s, l);
  }
  const arrays y = detail::bind_gated_delta_rule(in, options, l);
  if (y.count() < 2) return {v, v};
  return {reshape(y[1], v.shape(), l), reshape(y[0], states, l)};
}

/// The same for sequences of any lengths one after the other, whose states lie in the slots of a pool: prefill, chunks of
/// it, and decoding in one call. A program that was given the pool to keep writes into its memory.
///
/// Tokens of no sequence get 0. Slots of no sequence stay as they are. Of sequences with the same slot only the last one has it.
///
/// shapes  q, k [T, H, D], v [T, N, E], g, beta [T, N], pool [S, N, D, E] -> out [T, N, E], the pool
/// dtypes  those above; a pool of another dtype than f32 (f64 for f64) is converted
/// errors  those above, and "gated_delta_rule: sequences"; lengths that do not fit are no error
constexpr gated_delta_rule_result gated_delta_rule(const array& q, const array& k, const array& v, const array& g,
                                                   const array& beta, const array& pool,
                                                   const packed_sequences& sequences,
                                                   const gated_delta_rule_options& options = {},
                                                   source_line l = source_line::current()) {
  arrays in{q, k, v, g, beta};
  if (!detail::delta_rule_operands_fit(in, options, 3, l) ||
      !detail::are_sequences(q, sequences, "gated_delta_rule: sequences", l))
    return {v, pool};
  if (!is_floating(pool.dtype()) || pool.rank() != 4) {
    reject(q, l, "gated_delta_rule: state", pool.type(), "floats [S,N,D,E]");
    return {v, pool};
  }
  const detail::sequence_places places(sequences, q.extent(0), pool.extent(0));
  for (const array& x : {pool, places.first, places.length, places.from, places.to}) in.push_back(x);
  const arrays y = detail::bind_gated_delta_rule(in, options, l);
  if (y.count() < 2) return {v, pool};
  return {y[1], astype(y[0], pool.dtype(), l)};
}

}  // namespace tokamax
