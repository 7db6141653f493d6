// tokamax/backend/cpu/attention/few_queries.hpp: dense attention of few queries, at the speed at which keys and values are read.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/attention/few_queries.cpp
#pragma once

#include <tokamax/backend/cpu/attention/forward.hpp>   // dense_results
#include <tokamax/backend/cpu/attention/row_task.hpp>  // row_task
#include <tokamax/base/bfloat16.hpp>                   // bfloat16

namespace tokamax::cpu_backend::detail {

/// How attention of few queries is cut. A task takes some keys of some key heads of an entry of the batch, and all queries.
struct few_query_parts {
  std::int64_t first_key, key_end;  // of all queries
  std::int64_t parts;               // of these keys
  std::int64_t heads, head_parts;   // the key heads of a task
  std::int64_t queries;             // of a key head
  std::int64_t part_floats;         // of the partial_rows of a part, for all heads of an entry

  /// Several heads in one task read memory from one end to the other if their rows lie side by side. A row of scores is the
  /// same in any task, so neither this nor the number of tasks changes a bit.
  few_query_parts(const attention_shape& s, const heads_view<const void>& key) noexcept
      : first_key(s.queries > 0 ? std::min(s.first_key(0), s.keys) : 0),
        key_end(s.queries > 0 ? std::max(first_key, s.key_end(s.queries - 1)) : 0),
        parts(parts_of(key_end - first_key, keys_of_row_task)),
        queries(s.queries * (s.heads / s.kv_heads)),
        part_floats(s.kv_heads * queries * (2 + up_to(s.values(), width))) {
    const bool side_by_side = key.head_stride <= key.time_stride;
    const std::int64_t others = std::max<std::int64_t>(1, s.batch * parts), wanted = parts_of(64, others);
    head_parts = side_by_side ? std::min(s.kv_heads, wanted) : s.kv_heads;
    heads = parts_of(s.kv_heads, head_parts);
    head_parts = parts_of(s.kv_heads, heads);
  }
  std::int64_t tasks(const attention_shape& s) const noexcept { return s.batch * parts * head_parts; }
};

/// Can attention take the queries row by row, and does that round no operand less than the caller asked for?
inline bool takes_rows(const attention_shape& s, const heads_view<const void>& query, const heads_view<const void>& key,
                       const heads_view<const void>& value, gemm_precision precision) noexcept {
  const bool rounded = query.bfloat16 && key.bfloat16 && value.bfloat16;
  const std::int64_t queries = s.queries * (s.heads / s.kv_heads);
  return queries > 0 && queries < block_queries && s.head_size > 0 && s.values() > 0 &&
         (precision == gemm_precision::f32 || rounded);
}

struct few_queries_scratch;

/// The keys [k0, k1) of the key heads [kv0, kv0 + heads), for all queries of entry b.
class few_query_task {
 public:
  few_query_task(const attention_shape& shape, std::int64_t entry, std::int64_t kv, const row_extents& extents,
                 const partial_rows& to)
      : s_(shape),
        b_(entry),
        kv0_(kv),
        extents_(extents),
        pieces_{scratch<few_queries_scratch>(row_task::floats(extents, extents.kv_heads))},
        rows_(extents, to, pieces_),
        seen_(reinterpret_cast<visible*>(pieces_.take(extents.kv_heads))),
        factor_((shape.modified() ? 1.0f : shape.scale) * log2_e) {}

  template <class K, class V>
  void run(const heads_view<const void>& query, const heads_view<const void>& key, const heads_view<const void>& value,
           std::int64_t k0, std::int64_t k1) noexcept {
    read_queries(query);
    for (std::int64_t k = k0; k < k1; k += row_task::block) {
      const std::int64_t count = std::min(row_task::block, k1 - k);
      if (!find_seen(k, count)) continue;
      const auto reads = [this](std::int64_t kv) { return seen_[kv] != visible::none; };
      const auto seen = [this](std::int64_t kv) { return seen_[kv]; };
      find(key, k, count);
      rows_.dots<K>(key.head_stride, count, reads);
      for (std::int64_t i = 0; i < extents_.rows(); ++i) {
        if (!reads(i / extents_.queries)) continue;
        if (s_.modified() || s_.causal) change_scores(i, k, count);
        rows_.weigh(i, count, factor_);
      }
      find(value, k, count);
      rows_.add<V>(value.head_stride, count, seen);
    }
  }

 private:
  std::int64_t head(std::int64_t row) const noexcept {
    const std::int64_t group = s_.heads / s_.kv_heads;
    return (kv0_ + row / extents_.queries) * group + row % group;
  }
  std::int64_t query(std::int64_t row) const noexcept { return row % extents_.queries / (s_.heads / s_.kv_heads); }

  void read_queries(const heads_view<const void>& from) noexcept {
    const std::int64_t h = s_.head_size;
    for (std::int64_t i = 0; i < extents_.rows(); ++i) {
      float* const to = rows_.query(i);
      const float* const row = read_row(from.at(b_, query(i), head(i)), from.bfloat16, h, to);
      if (row != to) std::copy_n(row, h, to);
      std::fill_n(to + h, rows_.padded - h, 0.0f);
    }
  }
  void find(const heads_view<const void>& from, std::int64_t k, std::int64_t count) noexcept {
    for (std::int64_t j = 0; j < row_task::block + 8; ++j)
      rows_.row[j] = j < count ? from.at(b_, k + j, kv0_) : nullptr;
  }
  /// How many of the pairs with `count` keys from key k on do the queries of each key head see? False if it is none at all.
  bool find_seen(std::int64_t k, std::int64_t count) noexcept {
    const std::int64_t group = s_.heads / s_.kv_heads;
    bool any = false;
    for (std::int64_t kv = 0; kv < extents_.kv_heads; ++kv) {
      const auto of_head = [&](std::int64_t n) { return visible_pairs(s_, {b_, n, 0, s_.queries, k, count}); };
      const std::int64_t n = (kv0_ + kv) * group;
      seen_[kv] = s_.modified() || s_.causal ? of_head(n) : visible::all;
      const bool differ = s_.mask.head_stride != 0 || s_.ranges.head_stride != 0;
      for (std::int64_t g = 1; g < group && differ; ++g) seen_[kv] = joined_visible(seen_[kv], of_head(n + g));
      any = any || seen_[kv] != visible::none;
    }
    return any;
  }
  /// Changes the scores of row i and `count` keys from key k on as the shape says; those that are hidden get no weight.
  void change_scores(std::int64_t i, std::int64_t k, std::int64_t count) noexcept {
    const f32v unseen(row_task::unseen(factor_));
    for (std::int64_t j = 0; j < count; j += panel_lanes) {
      const pair_block at{b_, head(i), query(i), 1, k + j, std::min(panel_lanes, count - j)};
      const query_terms terms(s_, at, seen_[i / extents_.queries]);
      float* const scores = rows_.scores_of(i) + j;
      for (std::int64_t c = 0; c < panel_lanes; c += width) {
        f32v slope, x = load(scores + c);
        mask hidden = terms.hides(c);
        if (s_.modified()) {
          x = modified_score(s_, x, load(terms.biases + c), slope);
          hidden = hidden | (x <= f32v(hidden_score));
        }
        store(scores + c, select(hidden, unseen, x));
      }
    }
  }

  const attention_shape& s_;
  std::int64_t b_, kv0_;
  row_extents extents_;
  scratch_pieces pieces_;
  row_task rows_;
  visible* seen_;  // of each key head
  float factor_;   // of scores, to base 2
};

struct few_queries_partial_scratch;
struct few_queries_merge_scratch;

/// Adds up the parts of head n of entry b, and finishes its queries.
inline void merge_few_queries(const few_query_parts& cut, const dense_results& to, std::int64_t b, std::int64_t n,
                              float* partial) {
  const attention_shape& s = to.s;
  const std::int64_t h = s.values(), group = s.heads / s.kv_heads, value = up_to(h, width);
  scratch_pieces pieces{scratch<few_queries_merge_scratch>(s.queries * h + 2 * up_to(h, 16) + 4 * panel_lanes + 64)};
  float *const rows = pieces.take(s.queries * h), *const highest = pieces.take(panel_lanes);
  float *const total = pieces.take(panel_lanes), *const means = pieces.take(2 * up_to(h, 16));
  std::fill_n(highest, panel_lanes, minus_infinity);
  std::fill_n(total, panel_lanes, 0.0f);
  std::fill_n(rows, s.queries * h, 0.0f);
  const partial_rows first(partial + b * cut.parts * cut.part_floats, s.kv_heads * cut.queries);
  for (std::int64_t t = 0; t < s.queries; ++t) {
    const std::int64_t row = n / group * cut.queries + t * group + n % group;
    highest[t] =
        for_parts_of_row(first, cut.part_floats, cut.parts, row, minus_infinity, [&](std::int64_t p, float weight) {
          total[t] += first.total[p * cut.part_floats + row] * weight;
          write_row(rows + t * h, false, h, first.sums + p * cut.part_floats + row * value, weight, true);
        });
  }
  to.finish({b, n, 0, s.queries, rows, highest, total, means});
}

/// Dense attention of few queries: the keys in parts, in parallel, and then their merge.
template <class K, class V>
void attend_few_queries(const attention_shape& s, const heads_view<const void>& query,
                        const heads_view<const void>& key, const heads_view<const void>& value,
                        const heads_view<void>& out, const attention_normalisers& normaliser) {
  const few_query_parts cut(s, key);
  const std::int64_t rows = s.kv_heads * cut.queries, padded = up_to(s.values(), width);
  float* const partial = scratch<few_queries_partial_scratch>(s.batch * cut.parts * cut.part_floats);
  parallel_for(cut.tasks(s), [&](std::int64_t i) {
    const std::int64_t kv = i % cut.head_parts * cut.heads, heads = std::min(cut.heads, s.kv_heads - kv);
    const std::int64_t entry = i / cut.head_parts, b = entry / cut.parts;
    const std::int64_t k0 = cut.first_key + entry % cut.parts * keys_of_row_task;
    const partial_rows to(partial + entry * cut.part_floats, rows);
    few_query_task(s, b, kv, {heads, cut.queries, s.head_size, s.values()}, to.from(kv * cut.queries, padded))
        .run<K, V>(query, key, value, k0, std::min(cut.key_end, k0 + keys_of_row_task));
  });
  const dense_results to{s, value, out, normaliser};
  parallel_for(s.batch * s.heads,
               [&](std::int64_t i) { merge_few_queries(cut, to, i / s.heads, i % s.heads, partial); });
}

/// The same for keys and values of the types that the views name.
inline void few_query_attention(const attention_shape& s, const heads_view<const void>& query,
                                const heads_view<const void>& key, const heads_view<const void>& value,
                                const heads_view<void>& out, const attention_normalisers& normaliser) {
  if (key.bfloat16 && value.bfloat16)
    return attend_few_queries<bfloat16, bfloat16>(s, query, key, value, out, normaliser);
  if (key.bfloat16) return attend_few_queries<bfloat16, float>(s, query, key, value, out, normaliser);
  if (value.bfloat16) return attend_few_queries<float, bfloat16>(s, query, key, value, out, normaliser);
  attend_few_queries<float, float>(s, query, key, value, out, normaliser);
}

}  // namespace tokamax::cpu_backend::detail
