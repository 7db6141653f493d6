// tokamax/ops/gated_delta_rule/op.hpp: the op gated_delta_rule, a recurrence of matrices that devices have kernels for.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
#pragma once

#include <tokamax/ops/gated_delta_rule/chunks.hpp>  // delta_rule_of_batch

namespace tokamax {

namespace detail {

/// Rejects operands that do not fit each other.
constexpr types gated_delta_rule_types(const call& c) {
  const auto bad = [&](const char* what, const message& found, const message& expected) {
    c.fail(what, found, expected);
    return types{c[c.count > 5 ? 5 : 0].type(), c[c.count > 2 ? 2 : 0].type()};
  };
  if (c.count != 6 && c.count != 10) return bad("gated_delta_rule: operands", message() << c.count, "6 or 10");
  const array &q = c[0], &k = c[1], &v = c[2], &g = c[3], &beta = c[4], &state = c[5];
  for (int i = 0; i < 3; ++i)
    if (!is_floating(c[i].dtype()) || c[i].rank() != 3)
      return bad("gated_delta_rule: q, k, v", c[i].type(), "floats [T,H,D]");
  for (int i = 0; i < c.count; ++i)
    for (const std::int64_t e : c[i].shape())
      if (is_dyn(e)) return bad("dynamic extent: gated_delta_rule", c[i].type(), "known sizes");
  const std::int64_t tokens = q.extent(0), heads = v.extent(1), key_heads = q.extent(1);
  const dtype type = carrying(v.dtype());
  if (k.type() != q.type() || carrying(q.dtype()) != type || v.extent(0) != tokens || q.size() < 0 ||
      (key_heads == 0 ? heads != 0 : heads % key_heads != 0))
    return bad("gated_delta_rule: q, k, v", message(q.type()) << ", " << k.type() << ", " << v.type(),
               "[T,H,D], [T,H,D], [T,N,E] with N a multiple of H");
  const array_type gates{type, false, {tokens, heads}};
  if (g.type() != gates || beta.type() != gates)
    return bad("gated_delta_rule: g, beta", message(g.type()) << ", " << beta.type(), message() << gates);
  const std::int64_t slot_count = state.rank() == 4 ? state.extent(0) : 0;
  const array_type states{type, false, {slot_count, heads, q.extent(2), v.extent(2)}};
  if (state.type() != states) return bad("gated_delta_rule: state", state.type(), message() << states);
  if (c.count == 6 && (slot_count == 0 ? tokens != 0 : tokens % slot_count != 0))
    return bad("gated_delta_rule: state", state.type(), message("a divisor of ") << tokens << " sequences");
  for (int i = 6; i < c.count; ++i)
    if (c[i].type() != array_type{i32, false, {c[6].rank() == 1 ? c[6].extent(0) : 0}})
      return bad("gated_delta_rule: sequences", c[i].type(), "i32[R] each");
  return {states, array_type{v.dtype(), false, v.shape()}};
}

constexpr arrays gated_delta_rule_meaning(const call& c) {
  const delta_rule_operands in(c);
  const auto o = c.attrs<gated_delta_rule_attributes>();
  if (in.tokens == 0 || in.v.size() == 0 || in.state.extent(0) == 0) {
    const bool resets = in.packed && in.state.size() > 0;
    return {resets ? scatter(in.state, in.to, states_of(in.state, in.from)) : in.state, zeros_like(in.v)};
  }
  return in.packed ? delta_rule_of_packed(in, o) : delta_rule_of_batch(in, o);
}

/// All entries of the batch become sequences of one call.
constexpr arrays gated_delta_rule_batch(const call& c) {
  const std::int64_t slot_count = c[5].extent(c.batched(5) ? 1 : 0), tokens = c[0].extent(c.batched(0) ? 1 : 0);
  const array entry = iota(i32, {c.batch_size, 1}, 0);
  arrays in;
  for (int i = 0; i < c.count; ++i) {
    array x = with_batch_axis(c, i);
    if (i == 6) x = x + entry * extent_operand(tokens, {});
    if (i >= 8) x = batch_indices(c, x, true, slot_count);
    in.push_back(joined_rows(x, 2));
  }
  arrays out = bind_all(*c.self, in.data(), in.count(), c.attribute_words(), c.where);
  for (int k = 0; k < 2; ++k) {
    shape s{c.batch_size, out[k].extent(0) / c.batch_size};
    for (int i = 1; i < out[k].rank(); ++i) s.push_back(out[k].extent(i));
    out[k] = reshape(out[k], s);
  }
  return out;
}

/// Three products of a state with a vector for each token and head.
constexpr op_cost gated_delta_rule_cost(const call& c) {
  const double pairs = static_cast<double>(c[2].size()) * static_cast<double>(c[0].extent(2));
  op_cost cost{6.0 * pairs};
  cost.transcendentals = static_cast<double>(c[3].size());
  return cost;
}

}  // namespace detail

/// The states after, and the results of, sequences of tokens: see the function gated_delta_rule.
///
/// shapes  q, k [T, H, D], v [T, N, E], g, beta [T, N], state [S, N, D, E] -> state [S, N, D, E], out [T, N, E]
///         With these alone there are S sequences of T / S tokens. Further operands i32 [R] say where each of R sequences is:
///         its first token, its number of tokens, the slot that it reads, and the slot that it writes. No token and no slot
///         belongs to two sequences; a sequence reads the slot that it writes or none, which is -1.
inline constexpr op gated_delta_rule_p{
    .name = "gated_delta_rule",
    .memory = {.overwrites = 5},
    .precision = {.kernels_in_f32 = true},
    .cost = {.operations = [](const call& c) { return detail::gated_delta_rule_cost(c); }},
    .attributes = schema<gated_delta_rule_attributes>,
    .infer_all = [](const call& c) -> types { return detail::gated_delta_rule_types(c); },
    .compose = [](const call& c) -> arrays { return detail::gated_delta_rule_meaning(c); },
    .batch = [](const call& c) -> arrays { return detail::gated_delta_rule_batch(c); },
    .kernels = kernels_of<gated_delta_rule_p>,
};

}  // namespace tokamax
