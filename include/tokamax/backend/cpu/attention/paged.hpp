// tokamax/backend/cpu/attention/paged.hpp: attention of tokens to keys and values in pages: of few at the speed of memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/paged.cpp
#pragma once

#include <tokamax/backend/cpu/attention/paged_blocks.hpp>  // attend_to_part
#include <tokamax/backend/cpu/attention/paged_groups.hpp>  // paged_group
#include <tokamax/backend/cpu/attention/row_task.hpp>      // row_task
#include <tokamax/backend/cpu/vector/threads.hpp>          // parallel_for, scratch

namespace tokamax::cpu_backend {
namespace detail {

struct paged_scratch;

/// A task of few queries: the keys [k0, k1) of a group, for all heads, in the rows of partial_rows. All heads of a key lie side
/// by side in memory, so the task reads the cache from one end to the other.
template <class T>
class paged_task {
 public:
  paged_task(const paged_attention_shape& shape, const paged_group& of, const partial_rows& to)
      : s_(shape),
        group_(of),
        extents_{shape.kv_heads, of.tokens * shape.queries(), shape.head_size, shape.value_size},
        pieces_{scratch<paged_scratch>(row_task::floats(extents_, 2 * row_task::block))},
        rows_(extents_, to, pieces_),
        scale_(pieces_.take(row_task::block)),
        factor_((s_.soft_cap != 0 ? 1.0f : s_.scale) * log2_e) {}

  void run(const float* from, const pages_view& keys, const pages_view& values, std::int64_t k0,
           std::int64_t k1) noexcept {
    read_queries(from);
    for (std::int64_t k = k0; k < k1; k += row_task::block) {
      const std::int64_t count = std::min(row_task::block, k1 - k);
      find(keys, k, count);
      rows_.template dots<T>(keys.head_stride, count, [](std::int64_t) { return true; });
      const visible pairs = change_scores(keys, k, count);
      for (std::int64_t i = 0; i < extents_.rows(); ++i) rows_.weigh(i, count, factor_);
      find(values, k, count);
      scale_weights(values, count);
      rows_.template add<T>(values.head_stride, count, [pairs](std::int64_t) { return pairs; });
    }
  }

 private:
  /// Copies the queries from [T, N, H].
  void read_queries(const float* from) noexcept {
    const std::int64_t each = s_.queries(), queries = extents_.queries, h = s_.head_size;
    for (std::int64_t i = 0; i < extents_.rows(); ++i) {
      const std::int64_t kv = i / queries, token = i % queries / each, g = i % each;
      float* const to = rows_.query(i);
      std::copy_n(from + ((group_.token + token) * s_.heads + kv * each + g) * h, h, to);
      std::fill_n(to + h, rows_.padded - h, 0.0f);
    }
  }

  /// Finds the rows of `count` keys from key k on.
  void find(const pages_view& from, std::int64_t k, std::int64_t count) noexcept {
    const std::int32_t* const table = s_.page_indices + group_.sequence * s_.columns;
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t page = table[(k + j) / s_.page_size], slot = (k + j) % s_.page_size;
      const bool known = page >= 0 && page < s_.pages;
      place_[j] = known ? page * s_.page_size + slot : -1;
      rows_.row[j] =
          known ? static_cast<const T*>(from.data) + page * from.page_stride + slot * from.slot_stride : nullptr;
    }
    std::fill(rows_.row + count, rows_.row + row_task::block + 8, nullptr);
  }
  /// The factors of `count` rows for a key head.
  void find_scales(const pages_view& from, std::int64_t kv, std::int64_t count) noexcept {
    for (std::int64_t j = 0; j < row_task::block; ++j)
      scale_[j] = j < count && place_[j] >= 0 ? from.scales[place_[j] * s_.kv_heads + kv] : 0.0f;
  }

  /// Scales and caps the products with `count` keys from key k on, and hides keys. Says how many of the pairs are seen.
  visible change_scores(const pages_view& keys, std::int64_t k, std::int64_t count) noexcept {
    const f32v cap(s_.soft_cap), scale(s_.scale);
    const float unseen = row_task::unseen(factor_);
    visible pairs = visible::all;
    for (std::int64_t i = 0; i < extents_.rows(); ++i) {
      if (keys.scales != nullptr && i % extents_.queries == 0) find_scales(keys, i / extents_.queries, count);
      const std::int64_t token = group_.token + i % extents_.queries / s_.queries();
      const std::int64_t first = std::clamp<std::int64_t>(s_.first_key(group_.sequence, token) - k, 0, count);
      const std::int64_t end = std::clamp<std::int64_t>(s_.key_end(group_.sequence, token) - k, first, count);
      float* const to = rows_.scores_of(i);
      for (std::int64_t c = 0; c < count && keys.scales != nullptr; c += width)
        store(to + c, load(to + c) * load(scale_ + c));
      for (std::int64_t c = 0; c < count && s_.soft_cap != 0; c += width)
        store(to + c, tanh_rational(load(to + c) * scale / cap) * cap);
      std::fill_n(to, first, unseen);
      std::fill_n(to + end, count - end, unseen);
      if (end - first < count) pairs = visible::some;
      for (std::int64_t j = 0; j < count; ++j)
        if (place_[j] < 0) to[j] = unseen;
    }
    return pairs;
  }
  /// Multiplies the weights of `count` keys by the scales of the values.
  void scale_weights(const pages_view& values, std::int64_t count) noexcept {
    for (std::int64_t i = 0; i < extents_.rows() && values.scales != nullptr; ++i) {
      if (i % extents_.queries == 0) find_scales(values, i / extents_.queries, count);
      float* const to = rows_.scores_of(i);
      for (std::int64_t c = 0; c < count; c += width) store(to + c, load(to + c) * load(scale_ + c));
    }
  }

  const paged_attention_shape& s_;
  const paged_group& group_;
  row_extents extents_;
  scratch_pieces pieces_;
  row_task rows_;
  float* scale_;                              // [block]
  float factor_;                              // of scores, to base 2
  std::int64_t place_[row_task::block] = {};  // of the rows in the cache; -1: the page is outside of it
};

/// Adds up the parts of a group, and writes the results of its tokens to out [T, N, h].
inline void merge_parts(const paged_attention_shape& s, const paged_group& g, float* partial, float* out) noexcept {
  const std::int64_t each = s.queries(), rows = g.tokens * s.heads, value = up_to(s.value_size, width);
  const std::int64_t apart = floats_of_part(s, g.tokens);
  const partial_rows first(partial, rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t token = i / s.heads, head = i % s.heads;
    const std::int64_t row = (head / each * g.tokens + token) * each + head % each;
    float* const to = out + ((g.token + token) * s.heads + head) * s.value_size;
    std::fill_n(to, s.value_size, 0.0f);
    float total = 0;
    const float sink = s.sinks == nullptr ? minus_infinity : s.sinks[head] * log2_e;
    const float top = for_parts_of_row(first, apart, g.parts, row, sink, [&](std::int64_t p, float weight) {
      total += first.total[p * apart + row] * weight;
      write_row(to, false, s.value_size, first.sums + p * apart + row * value, weight, true);
    });
    if (total == 0) continue;
    if (s.sinks != nullptr) total += reduce_max(power_of_two(f32v(sink) - f32v(top)));
    for_vectors(s.value_size, [=](std::int64_t j, auto lanes) { lanes.put(to + j, lanes(to + j) / f32v(total)); });
  }
}

struct paged_groups_scratch;
struct paged_ends_scratch;
struct paged_partial_scratch;

}  // namespace detail

/// Attention of tokens q [T, N, H] to the pages of their sequences, into out [T, N, h], both dense. Few queries of a key head
/// read each row for itself, and many use blocked products.
///
/// dtypes  T is the C++ type of both caches; scores, weights and sums are f32. With the `precision` bfloat16, the operands of
///         blocked products are rounded to bfloat16
/// memory  the partial results: those of 256 keys of a token, or of more if there are many tokens
/// source  Dao et al. 2023, "Flash-Decoding": parts of the keys in parallel, then their merge
template <class T>
void paged_attention(const paged_attention_shape& s, const float* q, const pages_view& keys, const pages_view& values,
                     float* out, gemm_precision precision = gemm_precision::f32) {
  using namespace detail;
  auto* const groups = scratch<paged_groups_scratch, paged_group>(s.tokens);
  const std::int64_t count = find_groups(s, scratch<paged_ends_scratch, std::int64_t>(s.tokens + 1), groups);
  if (count == 0) return;
  const paged_group& last = groups[count - 1];
  const std::int64_t tasks = last.first_task + last.tasks(), value = up_to(s.value_size, width);
  auto* const partial = scratch<paged_partial_scratch>(last.partial + last.parts * floats_of_part(s, last.tokens) + 1);
  parallel_for(tasks, [&](std::int64_t i) {
    const paged_group& g =
        *(std::upper_bound(groups, groups + count, i,
                           [](std::int64_t task, const paged_group& x) { return task < x.first_task; }) -
          1);
    const std::int64_t task = i - g.first_task, part = task / g.tasks_of_part, kv = task % g.tasks_of_part;
    const std::int64_t k0 = g.first_key + part * g.part, k1 = std::min(g.key_end, k0 + g.part);
    const partial_rows to(partial + g.partial + part * floats_of_part(s, g.tokens), g.tokens * s.heads);
    if (g.blocked)
      attend_to_part<T>(s, g, kv, q, keys, values, k0, k1, to.from(kv * g.tokens * s.queries(), value), precision);
    else
      paged_task<T>(s, g, to).run(q, keys, values, k0, k1);
  });
  parallel_for(count, [&](std::int64_t i) { merge_parts(s, groups[i], partial + groups[i].partial, out); });
}

}  // namespace tokamax::cpu_backend
