// tokamax/ops/gated_delta_rule/chunks.hpp: the gated delta rule as products of chunks of tokens, one chunk after the other.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/ops/gated_delta_rule/op.cpp
#pragma once

#include <tokamax/lax/cumulative.hpp>                // cumsum
#include <tokamax/lax/elementwise/division.hpp>      // quotient
#include <tokamax/lax/indexing/scatter.hpp>          // scatter
#include <tokamax/numpy/einsum.hpp>                  // einsum
#include <tokamax/ops/packed_sequences.hpp>          // token_places
#include <tokamax/transforms/control_flow/scan.hpp>  // scan
#include <tokamax/transforms/custom/custom_jvp.hpp>  // custom_jvp

#include <algorithm>  // min
#include <utility>    // pair

namespace tokamax {

/// The attributes of the op gated_delta_rule.
struct gated_delta_rule_attributes {
  double scale = 1;        ///< of the queries
  std::int64_t chunk = 0;  ///< tokens in a step of the loop of compose; 0: as many as sequences have on average, or 64
};

namespace detail {

/// A chunk of C tokens of N sequences. Heads h share a key, and each has G value heads g:
///   q, k [N, C, H, D], v [N, C, H, G, E], g, beta [N, C, H, G], state [N, H, G, D, E]
struct delta_rule_step {
  array q, k, v, g, beta;
};
/// The results of a chunk, [N, C, H, G, E], and the state after it.
struct delta_rule_stepped {
  array out, state;
};

/// (I + L)^-1 of strictly lower triangular L [..., C, C]: blocks are inverted in pairs, as forward substitution would. The
/// series of powers of L would lose all digits where keys repeat.
///
///   [A 0; B D]^-1 = [A^-1 0; -D^-1 B A^-1 D^-1]
constexpr array inverse_by_pairs(const array& lower) {
  const std::int64_t n = lower.extent(-1);
  const array i = iota(i32, {n, 1}, 0), j = iota(i32, {1, n}, 1);
  array x = broadcast_in_dim(astype(i == j, lower.dtype()), lower.shape(), {lower.rank() - 2, lower.rank() - 1});
  for (std::int64_t s = 1; s < n; s *= 2) {
    const int size = static_cast<int>(s), pair = static_cast<int>(2 * s);
    const array below = logical_and(quotient(i, pair) == quotient(j, pair), quotient(i, size) > quotient(j, size));
    const array b = select(broadcast_in_dim(below, lower.shape(), {lower.rank() - 2, lower.rank() - 1}), lower, 0.0f);
    x = s == 1 ? array(x - b) : array(x - einsum("nhgij,nhgjk->nhgik", x, einsum("nhgij,nhgjk->nhgik", b, x)));
  }
  return x;
}
/// The same, with its derivative: two products instead of those of every pair.
///
///   X = (I + L)^-1,   dX = -X dL X
constexpr array inverse_of_unit_lower(const array& lower) {
  return custom_jvp([](const array& l) { return inverse_by_pairs(l); },
                    [](const array& l, const array& dl) {
                      const array x = inverse_by_pairs(l);
                      return std::pair{x, -einsum("nhgij,nhgjk->nhgik", x, einsum("nhgij,nhgjk->nhgik", dl, x))};
                    })(lower);
}

/// One step of the loop. With G_i the sum of g up to token i of the chunk, and S the state before it:
///
///   u_i = beta_i (v_i - exp(G_i) S^T k_i - sum over j < i of exp(G_i - G_j) (k_i . k_j) u_j)
///   o_i = scale (exp(G_i) S^T q_i + sum over j <= i of exp(G_i - G_j) (q_i . k_j) u_j)
///   the next S = exp(G_C) S + sum over j of exp(G_C - G_j) k_j u_j^T
constexpr delta_rule_stepped delta_rule_chunk(const array& state, const delta_rule_step& x, double scale) {
  const std::int64_t tokens = x.q.extent(1);
  const array i = iota(i32, {tokens, 1}, 0), j = iota(i32, {1, tokens}, 1);
  const array total = transpose(cumsum(x.g, 1), axes{0, 2, 3, 1}), beta = transpose(x.beta, axes{0, 2, 3, 1});
  const array since = expand_dims(exp(total), -1);  // [N, H, G, C, 1]: the decay of the state before the chunk
  shape square = total.shape();
  square.push_back(tokens);
  const auto where = [&](const array& condition, const array& yes, double no) {
    return select(broadcast_in_dim(condition, square, {3, 4}), yes, full_like(yes, no));
  };
  // the diagonal is 1 also where g is -inf, and nothing above it is computed from
  const array between = where(i > j, expand_dims(total, -1) - expand_dims(total, -2), 0);
  const array decay = where(i >= j, exp(between), 0);  // [N, H, G, C, C]
  const array old_v = einsum("nihd,nhgde->nhgie", x.k, state), old_o = einsum("nihd,nhgde->nhgie", x.q, state);
  const array v = transpose(x.v, axes{0, 2, 3, 1, 4});
  array u = expand_dims(beta, -1) * (v - since * old_v);  // [N, H, G, C, E]
  if (tokens > 1) {
    const array keys = expand_dims(einsum("nihd,njhd->nhij", x.k, x.k), 2);
    const array lower = where(i > j, expand_dims(beta, -1) * decay * keys, 0);
    u = einsum("nhgij,nhgje->nhgie", inverse_of_unit_lower(lower), u);
  }
  const array scores = where(i >= j, expand_dims(einsum("nihd,njhd->nhij", x.q, x.k), 2) * decay, 0);
  const array out = (since * old_o + einsum("nhgij,nhgje->nhgie", scores, u)) * scale;
  const array to_end = transpose(slice_in_dim(decay, tokens - 1, tokens, 3), axes{0, 1, 2, 4, 3});  // [N, H, G, C, 1]
  const array next = slice_in_dim(since, tokens - 1, tokens, 3) * state + einsum("njhd,nhgje->nhgde", x.k, u * to_end);
  return {transpose(out, axes{0, 3, 1, 2, 4}), next};
}

/// The operands of gated_delta_rule by name; those of packed sequences may be missing.
struct delta_rule_operands {
  const array &q, &k, &v, &g, &beta, &state;
  array first, length, from, to;
  bool packed;
  std::int64_t tokens, heads, groups, key_size, value_size;

  constexpr explicit delta_rule_operands(const call& c)
      : q(c[0]), k(c[1]), v(c[2]), g(c[3]), beta(c[4]), state(c[5]), packed(c.count > 6) {
    if (packed) first = c[6], length = c[7], from = c[8], to = c[9];
    tokens = q.extent(0), heads = q.extent(1), key_size = q.extent(2), value_size = v.extent(2);
    groups = heads == 0 ? 0 : v.extent(1) / heads;
  }
  /// The extents of a state with heads in groups.
  constexpr shape state_shape(std::int64_t n) const { return {n, heads, groups, key_size, value_size}; }
  /// How many tokens a step has.
  constexpr std::int64_t chunk(std::int64_t asked) const {
    if (asked > 0) return asked;
    const std::int64_t sequences = packed ? first.extent(0) : state.extent(0);
    std::int64_t n = 1;
    while (n < 64 && n * sequences < tokens) n *= 2;
    return n;
  }
  /// The five sequences as `rows` makes them of an array [T, ...].
  template <class Rows>
  constexpr delta_rule_step steps(Rows rows) const {
    const auto grouped = [&](const array& x) {
      const array r = rows(astype(x, state.dtype()));  // [M, N, C, H * G, ...]
      shape s;
      for (int i = 0; i < r.rank(); ++i) {
        if (i == 3) s.push_back(heads);
        s.push_back(i == 3 ? groups : r.extent(i));
      }
      return reshape(r, s);
    };
    return {rows(astype(q, state.dtype())), rows(astype(k, state.dtype())), grouped(v), grouped(g), grouped(beta)};
  }
};

/// Sequences of the same length: all of them take a step at once.
constexpr arrays delta_rule_of_batch(const delta_rule_operands& in, const gated_delta_rule_attributes& o) {
  const std::int64_t sequences = in.state.extent(0), length = in.tokens / sequences;
  const std::int64_t chunk = std::min(in.chunk(o.chunk), length), steps = (length + chunk - 1) / chunk;
  const delta_rule_step xs = in.steps([&](const array& x) {
    shape apart{sequences, length}, cut{sequences, steps, chunk}, none{0, 0};
    shape more{0, steps * chunk - length};  // tokens of zeros change nothing
    axes order{1, 0, 2};
    for (int i = 1; i < x.rank(); ++i) {
      apart.push_back(x.extent(i)), cut.push_back(x.extent(i)), none.push_back(0), more.push_back(0);
      order.push_back(i + 2);
    }
    return transpose(reshape(pad(reshape(x, apart), array(0.0, {x.dtype(), false, {}}), none, more), cut), order);
  });
  const auto [state, out] = scan(
      [&](const array& s, const delta_rule_step& x) {
        const delta_rule_stepped y = delta_rule_chunk(s, x, o.scale);
        return std::pair{y.state, y.out};
      },
      reshape(in.state, in.state_shape(sequences)), xs);
  const array rows =
      reshape(transpose(out, axes{1, 0, 2, 3, 4, 5}), {sequences, steps * chunk, in.heads * in.groups, in.value_size});
  const array found = reshape(slice_in_dim(rows, 0, length, 1), in.v.shape());
  return {reshape(state, in.state.shape()), astype(found, in.v.dtype())};
}

/// What a step of packed sequences takes: a chunk of one sequence, and the state with which that begins.
struct packed_delta_rule_step {
  delta_rule_step x;
  array begins;  ///< [1] is it the first chunk of its sequence?
  array state;   ///< [1, H, G, D, E] zeros in other chunks
};

/// Packed sequences: each is cut into chunks of its own, and all chunks take a step one after the other. There are at most
/// T / C + R (C - 1) / C of them.
constexpr arrays delta_rule_of_packed(const delta_rule_operands& in, const gated_delta_rule_attributes& o) {
  const std::int64_t sequences = in.first.extent(0), chunk = in.chunk(o.chunk);
  const std::int64_t steps = (in.tokens + sequences * (chunk - 1)) / chunk;
  const int c = static_cast<int>(chunk);
  const array ends = cumsum(quotient(in.length + (c - 1), c), 0);  // [R] in chunks
  const array begins = ends - quotient(in.length + (c - 1), c);
  const array number = iota(i32, {steps}, 0);
  const array passed = sum(astype(expand_dims(ends, 0) <= expand_dims(number, 1), i32), {{-1}});
  const array exists = passed < extent_operand(sequences, {}), r = select(exists, passed, 0);  // [M]
  const array at_first = logical_and(exists, number == gather(begins, r));
  const array place = expand_dims((number - gather(begins, r)) * c, 1) + iota(i32, {1, chunk}, 1);  // [M, C]
  const array known = logical_and(expand_dims(exists, 1), place < expand_dims(gather(in.length, r), 1));
  const array token = select(known, expand_dims(gather(in.first, r), 1) + place, 0);
  const delta_rule_step xs = in.steps([&](const array& x) {
    const array rows = gather(x, token);
    return expand_dims(select(broadcast_in_dim(known, rows.shape(), {0, 1}), rows, zeros_like(rows)), 1);
  });
  shape each = in.state_shape(1);
  shape all{steps};
  for (const std::int64_t e : each) all.push_back(e);
  const array initial = reshape(states_of(in.state, select(at_first, gather(in.from, r), -1)), all);
  const auto [last, found] = scan(
      [&](const array& s, const packed_delta_rule_step& x) {
        const array before = select(broadcast_in_dim(x.begins, s.shape(), {0}), x.state, s);
        const delta_rule_stepped y = delta_rule_chunk(before, x.x, o.scale);
        return std::pair{y.state, std::pair{y.out, y.state}};
      },
      full(each, 0.0f, in.state.dtype()), packed_delta_rule_step{xs, expand_dims(at_first, 1), initial});
  const auto& [outs, states] = found;
  const token_places at(in.tokens, in.first, in.length);
  const array row = gather(begins, at.sequence) * c + at.position;
  const array out = gather(reshape(outs, {steps * chunk, in.heads * in.groups, in.value_size}), row);
  const shape one = in.state.shape();
  shape rows{steps};
  for (int i = 1; i < one.rank(); ++i) rows.push_back(one[i]);
  const array done = gather(reshape(states, rows), maximum(ends - 1, 0)), kept = states_of(in.state, in.from);
  const array next = select(broadcast_in_dim(in.length > 0, kept.shape(), {0}), done, kept);
  return {scatter(in.state, in.to, next),
          astype(select(broadcast_in_dim(at.inside, out.shape(), {0}), out, zeros_like(out)), in.v.dtype())};
}

}  // namespace detail

}  // namespace tokamax
