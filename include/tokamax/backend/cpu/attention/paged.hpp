// tokamax/backend/cpu/attention/paged.hpp: attention of tokens to keys and values in pages: of few at the speed of memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/paged.cpp
#pragma once

#include <tokamax/backend/cpu/attention/paged_blocks.hpp>  // attend_to_part
#include <tokamax/backend/cpu/attention/paged_groups.hpp>  // paged_group
#include <tokamax/backend/cpu/attention/paged_rows.hpp>    // dots_of_rows, add_rows
#include <tokamax/backend/cpu/attention/softmax.hpp>       // power_of_two
#include <tokamax/backend/cpu/attention/terms.hpp>         // log2_e
#include <tokamax/backend/cpu/vector/threads.hpp>          // parallel_for, scratch

namespace tokamax::cpu_backend {
namespace detail {

struct paged_scratch;

/// A task of few queries: the keys [k0, k1) of a group, for all heads, in the rows of partial_rows. All heads of a key lie side
/// by side in memory, so the task reads the cache from one end to the other.
template <class T>
struct paged_task {
  static constexpr std::int64_t block = 64;  // keys at a time

  const paged_attention_shape& s;
  const paged_group& group;
  std::int64_t queries, rows;      // for a key head; for all of them
  std::int64_t padded, value;      // H and h up to whole vectors
  float *q, *scores, *scale;       // [rows, padded], [rows, block], [block]
  float *highest, *total, *sums;   // the partial result
  T* zeros;                        // a row in place of keys that do not exist
  const T* row[block + 8];         // of a block; some more, to prefetch
  std::int64_t place[block] = {};  // of the rows in the cache; -1: the page is outside of it

  paged_task(const paged_attention_shape& shape, const paged_group& of, const partial_rows& to)
      : s(shape),
        group(of),
        queries(of.tokens * shape.queries()),
        rows(queries * shape.kv_heads),
        padded(up_to(shape.head_size, width)),
        value(up_to(shape.value_size, width)),
        highest(to.highest),
        total(to.total),
        sums(to.sums) {
    const std::int64_t longest = up_to(std::max(padded, value), 16);
    scratch_pieces pieces{scratch<paged_scratch>(rows * (padded + block) + block + longest + 5 * 16)};
    q = pieces.take(rows * padded);
    scores = pieces.take(rows * block);
    scale = pieces.take(block);
    zeros = reinterpret_cast<T*>(pieces.take(longest));
    std::fill_n(reinterpret_cast<float*>(zeros), longest, 0.0f);
    std::fill_n(highest, rows, minus_infinity);
    std::fill_n(total, rows, 0.0f);
    std::fill_n(sums, rows * value, 0.0f);
  }

  /// Copies the scaled queries from [T, N, H].
  void read_queries(const float* from) noexcept {
    const std::int64_t each = s.queries();
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t kv = i / queries, token = i % queries / each, g = i % each;
      const float* const x = from + ((group.token + token) * s.heads + kv * each + g) * s.head_size;
      for (std::int64_t j = 0; j < padded; ++j) q[i * padded + j] = j < s.head_size ? x[j] * s.scale : 0.0f;
    }
  }

  /// Finds the rows of `count` keys from key k on.
  void find(const pages_view& from, std::int64_t k, std::int64_t count) noexcept {
    const std::int32_t* const table = s.page_indices + group.sequence * s.columns;
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t page = table[(k + j) / s.page_size], slot = (k + j) % s.page_size;
      const bool known = page >= 0 && page < s.pages;
      place[j] = known ? page * s.page_size + slot : -1;
      row[j] = known ? static_cast<const T*>(from.data) + page * from.page_stride + slot * from.slot_stride : nullptr;
    }
    for (std::int64_t j = count; j < block + 8; ++j) row[j] = nullptr;
  }
  /// The four rows from j on and the four behind, of a key head; those that do not exist are zeros.
  void rows_of_head(const pages_view& from, std::int64_t j, std::int64_t kv, const T** to) const noexcept {
    for (std::int64_t i = 0; i < 2 * rows_at_once; ++i)
      to[i] = row[j + i] == nullptr ? zeros : row[j + i] + kv * from.head_stride;
  }
  /// The factors of `count` rows for a key head.
  void find_scales(const pages_view& from, std::int64_t kv, std::int64_t count) noexcept {
    for (std::int64_t j = 0; j < block; ++j)
      scale[j] = j < count && place[j] >= 0 ? from.scales[place[j] * s.kv_heads + kv] : 0.0f;
  }

  /// The scores of `count` keys from key k on, to base 2; minus infinity where a token does not see a key.
  void score(const pages_view& keys, std::int64_t k, std::int64_t count) noexcept {
    const T* some[2 * rows_at_once];
    for (std::int64_t j = 0; j < count; j += rows_at_once)
      for (std::int64_t kv = 0; kv < s.kv_heads; ++kv) {
        rows_of_head(keys, j, kv, some);
        dots_of_rows<T>(q + kv * queries * padded, padded, queries, some, s.head_size,
                        scores + kv * queries * block + j, block);
      }
    const f32v cap(s.soft_cap), factor(log2_e), nothing(minus_infinity);
    for (std::int64_t i = 0; i < rows; ++i) {
      if (keys.scales != nullptr && i % queries == 0) find_scales(keys, i / queries, count);
      const std::int64_t token = group.token + i % queries / s.queries();
      const std::int64_t first = std::clamp<std::int64_t>(s.first_key(group.sequence, token) - k, 0, count);
      const std::int64_t end = std::clamp<std::int64_t>(s.key_end(group.sequence, token) - k, first, count);
      float* const to = scores + i * block;
      for (std::int64_t c = 0; c < count; c += width) {
        f32v x = load(to + c);
        if (keys.scales != nullptr) x = x * load(scale + c);
        if (s.soft_cap != 0) x = tanh_rational(x / cap) * cap;
        store(to + c,
              select(first_lanes_until(first, c), nothing, select(first_lanes_until(end, c), x * factor, nothing)));
      }
      for (std::int64_t j = 0; j < count; ++j)
        if (place[j] < 0) to[j] = minus_infinity;
    }
  }
  /// Is a lane of the vector from column c on before this column?
  static mask first_lanes_until(std::int64_t column, std::int64_t c) noexcept {
    return to_mask(iota() < i32v(static_cast<std::int32_t>(column - c)));
  }

  /// Turns the scores of a block into weights, and makes the sums of earlier blocks fit them.
  void weigh(std::int64_t count) noexcept {
    const std::int64_t end = up_to(count, width);
    for (std::int64_t i = 0; i < rows; ++i) {
      float *const p = scores + i * block, *const sum = sums + i * value;
      f32v most(highest[i]);
      for (std::int64_t c = 0; c < end; c += width) most = max(most, load(p + c));
      const float top = reduce_max(most);
      if (top == minus_infinity) {  // nothing is seen yet
        std::fill_n(p, block, 0.0f);
        continue;
      }
      const f32v down(top);
      f32v all(0.0f);
      for (std::int64_t c = 0; c < end; c += width) {
        const f32v e = power_of_two(load(p + c) - down);
        all = all + e;
        store(p + c, e);
      }
      std::fill_n(p + end, block - end, 0.0f);
      const float shrink = reduce_max(power_of_two(f32v(highest[i]) - down));
      total[i] = total[i] * shrink + reduce_add(all);
      if (shrink != 1.0f)
        for (std::int64_t j = 0; j < value; j += width) store(sum + j, load(sum + j) * f32v(shrink));
      highest[i] = top;
    }
  }

  /// Adds the weighted values of `count` keys.
  void add(const pages_view& values, std::int64_t count) noexcept {
    for (std::int64_t i = 0; i < rows && values.scales != nullptr; ++i) {
      if (i % queries == 0) find_scales(values, i / queries, count);
      for (std::int64_t c = 0; c < count; c += width)
        store(scores + i * block + c, load(scores + i * block + c) * load(scale + c));
    }
    const T* some[2 * rows_at_once];
    for (std::int64_t j = 0; j < count; j += rows_at_once)
      for (std::int64_t kv = 0; kv < s.kv_heads; ++kv) {
        rows_of_head(values, j, kv, some);
        add_rows<T>(scores + kv * queries * block + j, block, queries, some, s.value_size, sums + kv * queries * value,
                    value);
      }
  }

  void run(const float* from, const pages_view& keys, const pages_view& values, std::int64_t k0,
           std::int64_t k1) noexcept {
    read_queries(from);
    for (std::int64_t k = k0; k < k1; k += block) {
      const std::int64_t count = std::min(block, k1 - k);
      find(keys, k, count);
      score(keys, k, count);
      weigh(count);
      find(values, k, count);
      add(values, count);
    }
  }
};

/// Adds up the parts of a group, and writes the results of its tokens to out [T, N, h].
inline void merge_parts(const paged_attention_shape& s, const paged_group& g, const float* partial,
                        float* out) noexcept {
  const std::int64_t each = s.queries(), rows = g.tokens * s.heads, value = up_to(s.value_size, width);
  const std::int64_t apart = floats_of_part(s, g.tokens);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t token = i / s.heads, head = i % s.heads;
    const std::int64_t row = (head / each * g.tokens + token) * each + head % each;
    float* const to = out + ((g.token + token) * s.heads + head) * s.value_size;
    std::fill_n(to, s.value_size, 0.0f);
    float top = s.sinks == nullptr ? minus_infinity : s.sinks[head] * log2_e, total = 0;
    for (std::int64_t p = 0; p < g.parts; ++p) top = std::max(top, partial[p * apart + row]);
    const auto share = [&](float of) { return reduce_max(power_of_two(f32v(of) - f32v(top))); };
    for (std::int64_t p = 0; p < g.parts; ++p) {
      const float* const part = partial + p * apart;
      if (part[row] == minus_infinity && part[rows + row] == 0) continue;  // this part has no key of the token
      const float weight = share(part[row]);
      total += part[rows + row] * weight;
      write_row(to, false, s.value_size, part + 2 * rows + row * value, weight, true);
    }
    if (total == 0) continue;
    if (s.sinks != nullptr) total += share(s.sinks[head] * log2_e);
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
