// tokamax/ops/attention/paged.hpp: the op paged_attention, attention of tokens to the pages of a cache.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are served use it)
// tested by tests/ops/attention/paged.cpp
#pragma once

#include <tokamax/lax/indexing/gather.hpp>  // gather
#include <tokamax/lax/indexing/slice.hpp>   // slice_in_dim
#include <tokamax/ops/attention/plain.hpp>  // plain_attention

namespace tokamax {

/// The attributes of the op paged_attention.
struct paged_attention_attributes {
  double scale = 0;             ///< of the scores
  double soft_cap = 0;          ///< c: scores become c * tanh(score / c); 0: none
  std::int64_t window = 0;      ///< the number of keys that a token sees, its own one and those before it; 0: all
  bool has_scales = false;      ///< are there operands [P, page, K] by which keys and values are multiplied?
  bool has_sinks = false;       ///< is the last operand [N], a score more in the softmax of each head?
  std::int64_t value_size = 0;  ///< h > 0: the values are the first h numbers of the keys, which are the operand again
  bool same_bits = false;       ///< are the bits of a token those that it has without the other tokens?
};

namespace detail {

/// The operands of paged_attention by name.
struct paged_operands {
  const array &q, &keys, &values, &kv_lens, &page_indices, &cu_q_lens, &num_seqs;
  array key_scales, value_scales, sinks;

  constexpr explicit paged_operands(const call& c)
      : q(c[0]), keys(c[1]), values(c[2]), kv_lens(c[3]), page_indices(c[4]), cu_q_lens(c[5]), num_seqs(c[6]) {
    const auto o = c.attrs<paged_attention_attributes>();
    if (o.has_scales) key_scales = c[7], value_scales = c[8];
    if (o.has_sinks) sinks = c[c.count - 1];
  }
  /// How many operands these attributes ask for.
  static constexpr int count(const paged_attention_attributes& o) { return 7 + 2 * o.has_scales + o.has_sinks; }
};

constexpr bool is_i32(const array& x, const shape& s) { return x.dtype() == i32 && x.shape() == s; }

/// Rejects operands that do not fit each other.
constexpr array_type paged_attention_type(const call& c) {
  const auto o = c.attrs<paged_attention_attributes>();
  if (c.count != paged_operands::count(o))
    return c.fail("paged_attention: operands", message() << c.count, message() << paged_operands::count(o));
  const paged_operands in(c);
  array_type t = in.q.type();
  if (!is_floating(t.dtype) || t.shape.rank() != 3) return c.fail("paged_attention: q", t, "floats [T,N,H]");
  if (is_dyn(t.shape[2])) return c.fail("dynamic extent: paged_attention", t, "heads of a known size");
  const array_type k = in.keys.type(), v = in.values.type();
  const bool fits = k.shape.rank() == 4 && v.shape.rank() == 4 && k.dtype == v.dtype &&
                    (is_floating(k.dtype) || k.dtype == i8) && k.shape[0] == v.shape[0] && k.shape[1] == v.shape[1] &&
                    k.shape[2] == v.shape[2] && k.shape[3] == t.shape[2] && k.shape[1] > 0 && k.shape[2] > 0 &&
                    t.shape[1] != 0 && t.shape[1] % k.shape[2] == 0 &&
                    (o.value_size == 0 || (o.value_size > 0 && o.value_size <= k.shape[3] && v == k));
  if (!fits)
    return c.fail("paged_attention: pages", message(k) << ", " << v, message("[P,page,K,H], [P,page,K,h] for q ") << t);
  if (in.page_indices.dtype() != i32 || in.page_indices.rank() != 2)
    return c.fail("paged_attention: page_indices", in.page_indices.type(), "i32[R,M]");
  const std::int64_t sequences = in.page_indices.extent(0);
  if (!is_i32(in.kv_lens, {sequences}))
    return c.fail("paged_attention: kv_lens", in.kv_lens.type(), message("i32[") << sequences << "]");
  if (!is_i32(in.cu_q_lens, {add_extent(sequences, 1)}))
    return c.fail("paged_attention: cu_q_lens", in.cu_q_lens.type(),
                  message("i32[") << add_extent(sequences, 1) << "]");
  if (!is_i32(in.num_seqs, {1})) return c.fail("paged_attention: num_seqs", in.num_seqs.type(), "i32[1]");
  array_type scales{carrying(t.dtype), false, {k.shape[0], k.shape[1], k.shape[2]}};  // g++ 12 fills no const shapes
  if (o.has_scales && (in.key_scales.type() != scales || in.value_scales.type() != scales))
    return c.fail("paged_attention: scales", message(in.key_scales.type()) << ", " << in.value_scales.type(),
                  message() << scales);
  array_type sinks{carrying(t.dtype), false, {t.shape[1]}};
  if (o.has_sinks && in.sinks.type() != sinks)
    return c.fail("paged_attention: sinks", in.sinks.type(), message() << sinks);
  t.shape[2] = o.value_size > 0 ? o.value_size : v.shape[3];
  return t;
}

/// Of each token [T]: the sequence to which it belongs, whether there is one, and its position in it.
struct paged_tokens {
  array sequence, inside, position;

  constexpr paged_tokens(std::int64_t tokens, const array& kv_lens, const array& cu_q_lens, const array& num_seqs) {
    const std::int64_t sequences = kv_lens.extent(0);
    const array token = iota(i32, {tokens, 1}, 0), number = iota(i32, {1, sequences}, 1);
    const array ends = slice_in_dim(cu_q_lens, 1, sequences + 1, 0);
    const array before = logical_and(reshape(ends, {1, sequences}) <= token, number < reshape(num_seqs, {1, 1}));
    const array found = sum(astype(before, i32), {{-1}});
    inside = logical_and(found < num_seqs, iota(i32, {tokens}, 0) >= slice_in_dim(cu_q_lens, 0, 1, 0));
    sequence = select(inside, found, 0);
    position = gather(kv_lens, sequence) - gather(ends, sequence) + iota(i32, {tokens}, 0);
  }
};

/// The cached rows [P, page, ...] that `pages` [T, M] name, as [T, M * page, ...].
constexpr array rows_of_pages(const array& cache, const array& pages) {
  const array found = gather(cache, pages);  // [T, M, page, ...]
  shape s{found.extent(0), mul_extent(found.extent(1), found.extent(2))};
  for (int i = 3; i < found.rank(); ++i) s.push_back(found.extent(i));
  return reshape(found, s);
}

constexpr arrays paged_attention_meaning(const call& c) {
  const auto o = c.attrs<paged_attention_attributes>();
  const paged_operands in(c);
  const std::int64_t tokens = in.q.extent(0), size = in.keys.extent(1), keys = in.page_indices.extent(1) * size;
  const std::int64_t pages = in.keys.extent(0), values = o.value_size > 0 ? o.value_size : in.values.extent(3);
  if (keys == 0 || pages == 0 || in.kv_lens.extent(0) == 0)
    return full({tokens, in.q.extent(1), values}, 0.0f, in.q.dtype());
  const paged_tokens at(tokens, in.kv_lens, in.cu_q_lens, in.num_seqs);
  const array table = gather(in.page_indices, at.sequence);  // [T, M]
  const array known = logical_and(table >= 0, table < extent_operand(pages, {}));
  const array chosen = select(known, table, 0);
  const array position = expand_dims(at.position, -1), key = iota(i32, {1, keys}, 1);
  array seen = logical_and(key <= position, expand_dims(at.inside, -1));
  if (o.window > 0) seen = logical_and(seen, key > position - reach(o.window));
  const array of_page = broadcast_in_dim(known, {tokens, table.extent(1), size}, {0, 1});
  seen = logical_and(seen, reshape(of_page, {tokens, keys}));
  // what no token may see is not read: it may hold anything
  const dtype type = in.q.dtype() == in.keys.dtype() ? in.q.dtype() : carrying(in.q.dtype());
  const auto rows = [&](const array& cache, const array& scales) {
    array x = astype(rows_of_pages(cache, chosen), o.has_scales ? carrying(type) : type);
    if (o.has_scales) x = x * expand_dims(rows_of_pages(scales, chosen), -1);
    return select(broadcast_in_dim(seen, x.shape(), {0, 1}), x, 0.0f);
  };
  const array k = rows(in.keys, in.key_scales);
  const array v = slice_in_dim(rows(in.values, in.value_scales), 0, values, 3);  // [T, keys, K, h]
  score_terms terms{.seen = reshape(seen, {tokens, 1, 1, keys}), .soft_cap = o.soft_cap};
  if (o.has_sinks) terms.sinks = reshape(in.sinks, {1, in.q.extent(1), 1, 1});
  const array q = expand_dims(astype(in.q, k.dtype()), 1);  // [T, 1, N, H]
  const attention_layout layout(q, k, {.scale = o.scale});
  const array y = plain_attention(layout, q, k, v, terms, unchanged_scores).out;
  const array out = reshape(astype(y, in.q.dtype()), {tokens, in.q.extent(1), values});
  return select(broadcast_in_dim(any(seen, {{-1}}), out.shape(), {0}), out, 0.0f);
}

/// Two products for each pair of a token and a key of a full page table.
constexpr op_cost paged_attention_cost(const call& c) {
  const double pairs =
      static_cast<double>(c[0].extent(0) * c[0].extent(1)) * static_cast<double>(c[4].extent(1) * c[1].extent(1));
  op_cost cost = product_cost(2.0 * pairs * static_cast<double>(c[1].extent(3) + c.type.shape[2]), c[0].dtype(),
                              dot_algorithm::unspecified);
  cost.transcendentals = pairs;
  return cost;
}
/// The pages that a full page table names, or all of a smaller cache, beside the other operands and the result.
constexpr double paged_attention_bytes(const call& c) {
  const double pages = static_cast<double>(c[1].extent(0)), named = static_cast<double>(c[4].size());
  const double share = pages > named ? named / pages : 1;
  const bool apart = c.attrs<paged_attention_attributes>().value_size == 0;
  const double cache = bytes_of(c[1].type()) + (apart ? bytes_of(c[2].type()) : 0.0);
  return bytes_of(c[0].type()) + cache * share + bytes_of_operands(c, 3) + bytes_of(c.type);
}

}  // namespace detail

/// Attention of q [T, N, H] to keys [P, page, K, H] and values [P, page, K, h] in pages: see ragged_paged_attention.
/// The other operands are kv_lens [R], page_indices [R, M], cu_q_lens [R + 1], num_seqs [1], and those that the attributes
/// announce.
inline constexpr op paged_attention_p{
    .name = "paged_attention",
    .precision = {.kernels_in_f32 = true},
    .cost = {.operations = [](const call& c) { return detail::paged_attention_cost(c); },
             .bytes = [](const call& c) { return detail::paged_attention_bytes(c); }},
    .attributes = schema<paged_attention_attributes>,
    .infer = [](const call& c) -> array_type { return detail::paged_attention_type(c); },
    .compose = [](const call& c) -> arrays { return detail::paged_attention_meaning(c); },
    .kernels = kernels_of<paged_attention_p>,
};

}  // namespace tokamax
