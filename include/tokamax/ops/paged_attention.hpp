// tokamax/ops/paged_attention.hpp: attention of new tokens to a cache of keys and values in pages, and its update.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are served use it)
// tested by tests/ops/attention/paged.cpp
#pragma once

#include <tokamax/lax/elementwise/division.hpp>  // quotient
#include <tokamax/lax/indexing/scatter.hpp>      // scatter
#include <tokamax/ops/attention/paged.hpp>       // paged_attention_p

namespace tokamax {

/// The keys and values of many sequences in pages of a fixed number of rows. Which pages a sequence has, a page table says.
struct paged_cache {
  array keys;    ///< [P, page, K, H]
  array values;  ///< [P, page, K, h]
};

/// Which tokens and pages belong to which sequence. All sizes are upper bounds, and the numbers say how much of them counts,
/// so that one program serves every batch.
struct paged_batch {
  array kv_lens;       ///< i32 [R] the keys of each sequence, those of the new tokens included
  array page_indices;  ///< i32 [R, M] the pages of each sequence, in order
  array cu_q_lens;     ///< i32 [R + 1] tokens cu_q_lens[r] ... cu_q_lens[r + 1] - 1 belong to sequence r, its last ones
  array num_seqs;      ///< i32 [1] the number of sequences
};

/// How paged_attention and its relatives are asked to behave.
struct paged_attention_options {
  double scale = 0;                 ///< of the scores; 0 means 1 / sqrt(H)
  double logits_soft_cap = 0;       ///< c: scores become c * tanh(score / c); 0 means none
  std::int64_t sliding_window = 0;  ///< the number of keys that a token sees, its own included; 0 means all
  array sinks = {};                 ///< [N] scores that take part in the softmax of each token of a head
  array key_scales = {};            ///< [P, page, K] by which cached keys are multiplied, as quantised ones need it
  array value_scales = {};          ///< [P, page, K] the same for values; there are both or none
  bool same_bits = false;  ///< a token has the same bits whichever tokens come with it; many tokens take longer then
};

namespace detail {

/// `value_size` is that of the attributes.
constexpr array paged(const array& q, const paged_cache& cache, const paged_batch& batch,
                      const paged_attention_options& o, source_line l, std::int64_t value_size = 0) {
  const char* wrong = nullptr;
  if (!(o.logits_soft_cap >= 0)) wrong = "paged_attention: logits_soft_cap";
  if (o.sliding_window < 0) wrong = "paged_attention: sliding_window";
  if (o.key_scales.exists() != o.value_scales.exists()) {
    reject(q, l, "paged_attention: scales", "one of them", "those of keys and values");
    return q;
  }
  if (wrong != nullptr) {
    reject(q, l, wrong, "a negative number", "0 or more");
    return q;
  }
  paged_attention_attributes a{.scale = o.scale, .soft_cap = o.logits_soft_cap, .window = o.sliding_window};
  a.value_size = value_size;
  a.same_bits = o.same_bits;
  if (a.scale == 0 && q.rank() > 0) a.scale = inverse_sqrt(static_cast<double>(q.extent(-1)));
  arrays in{q, cache.keys, cache.values, batch.kv_lens, batch.page_indices, batch.cu_q_lens, batch.num_seqs};
  const dtype sums = is_floating(q.dtype()) ? carrying(q.dtype()) : f32;
  if (o.key_scales.exists()) {
    a.has_scales = true;
    in.push_back(astype(o.key_scales, sums, l));
    in.push_back(astype(o.value_scales, sums, l));
  }
  if (o.sinks.exists()) {
    a.has_sinks = true;
    in.push_back(astype(o.sinks, sums, l));
  }
  return bind_one(described<paged_attention_p>(), in.data(), in.count(), pack(a), l);
}

/// Where the rows of tokens belong in a cache: the number of the row, counted over all pages, or -1 if there is none.
constexpr array paged_slots(std::int64_t tokens, const paged_batch& batch, std::int64_t rows, source_line l) {
  const paged_tokens at(tokens, batch.kv_lens, batch.cu_q_lens, batch.num_seqs);
  const array size = extent_operand(rows, l), columns = extent_operand(batch.page_indices.extent(1), l);
  const array number = quotient(at.position, size, l);
  const array inside = logical_and(at.inside, logical_and(at.position >= 0, number < columns));
  const array flat = reshape(batch.page_indices, {batch.page_indices.size()}, l);
  const array page_of = gather(flat, select(inside, at.sequence * columns + number, 0), l);
  return select(logical_and(inside, page_of >= 0), page_of * size + (at.position - number * size), -1);
}

}  // namespace detail

/// The position of each of T tokens in its sequence: kv_lens[r] - cu_q_lens[r + 1] + t. Those of tokens of no sequence have no
/// meaning.
/// shapes  i32 [T]
constexpr array paged_positions(std::int64_t tokens, const paged_batch& batch) {
  return detail::paged_tokens(tokens, batch.kv_lens, batch.cu_q_lens, batch.num_seqs).position;
}

/// `cache` with the keys and values of new tokens written to their places. A program that was given the cache to keep writes
/// into its memory.
///
///   token t of sequence r has the position p = kv_lens[r] - cu_q_lens[r + 1] + t, and goes to row p % page of the
///   page page_indices[r, p / page]
///
/// shapes  k [T, K, H], v [T, K, h]; tokens of no sequence, and those without a page, are dropped
/// dtypes  rounded to that of the cache; quantised rows come as they are stored
/// errors  those of scatter
/// source  the cache of vLLM (Kwon et al. 2023, arXiv:2309.06180), ragged_paged_attention of tpu-inference
constexpr paged_cache update_paged_cache(paged_cache cache, const array& k, const array& v, const paged_batch& batch,
                                         source_line l = source_line::current()) {
  const array targets = detail::paged_slots(k.extent(0), batch, cache.keys.extent(1), l);
  cache.keys = scatter(cache.keys, targets, astype(k, cache.keys.dtype(), l), {.axes = 2}, l);
  cache.values = scatter(cache.values, targets, astype(v, cache.values.dtype(), l), {.axes = 2}, l);
  return cache;
}

/// Attention of the tokens of several sequences, one after the other, to the cached keys and values of their own sequence up
/// to their own position: prefill, chunks of it, and decoding in one call. The cache holds the keys of these tokens already.
///
///   token t of sequence r has the position p = kv_lens[r] - cu_q_lens[r + 1] + t and sees the keys 0 ... p, or the last
///   `sliding_window` of them; key j is row j % page of the page page_indices[r, j / page]
///
/// Tokens of no sequence, and those that see no key, get 0. Pages outside of the cache are not seen. Rows of the cache that no
/// token sees are not read.
///
/// shapes  q [T, N, H], cache [P, page, K, H] and [P, page, K, h], N a multiple of K -> [T, N, h]
/// dtypes  q any float, which the result has; pages any float, i8 or u8; scores, softmax and sums in f32
/// errors  "paged_attention: q", "pages", "kv_lens", "page_indices", "cu_q_lens", "num_seqs", "scales", "sinks", and the name
///         of an option; lengths that do not fit are no error
/// source  ragged_paged_attention of jax.experimental.pallas and tpu-inference
constexpr array ragged_paged_attention(const array& q, const paged_cache& cache, const paged_batch& batch,
                                       const paged_attention_options& options = {},
                                       source_line l = source_line::current()) {
  return detail::paged(q, cache, batch, options, l);
}

/// The result of ragged_paged_attention with the cache that has the new tokens.
struct paged_result {
  array out;  ///< [T, N, h]
  paged_cache cache;
};

/// The same, after the keys and values of these tokens have been written into the cache: update_paged_cache and
/// ragged_paged_attention.
/// shapes  k [T, K, H], v [T, K, h]
constexpr paged_result ragged_paged_attention(const array& q, const array& k, const array& v, const paged_cache& cache,
                                              const paged_batch& batch, const paged_attention_options& options = {},
                                              source_line l = source_line::current()) {
  paged_result y{.out = q, .cache = update_paged_cache(cache, k, v, batch, l)};
  y.out = detail::paged(q, y.cache, batch, options, l);
  return y;
}

/// Attention of one token of each sequence to all cached keys and values of its sequence, as decoding needs it.
///
/// shapes  q [R, N, H], kv_lens i32 [R], page_indices i32 [R, M] -> [R, N, h]
/// errors  see ragged_paged_attention
/// source  paged_attention of jax.experimental.pallas, which does not scale
constexpr array paged_attention(const array& q, const paged_cache& cache, const array& kv_lens,
                                const array& page_indices, const paged_attention_options& options = {},
                                source_line l = source_line::current()) {
  if (q.rank() != 3) {
    reject(q, l, "paged_attention: q", q.type(), "floats [R,N,H]");
    return q;
  }
  const std::int64_t sequences = q.extent(0);
  const array number = reshape(detail::extent_operand(sequences, l), {1}, l);
  return detail::paged(q, cache, {kv_lens, page_indices, iota(i32, {add_extent(sequences, 1)}, 0, l), number}, options,
                       l);
}

}  // namespace tokamax
