// tokamax/backend/cpu/attention/row_task.hpp: attention of few queries to keys and values that are read where they lie.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/attention/few_queries.cpp
#pragma once

#include <tokamax/backend/cpu/attention/blocks.hpp>        // up_to, scratch_pieces
#include <tokamax/backend/cpu/attention/row_products.hpp>  // dots_of_rows, add_rows
#include <tokamax/backend/cpu/attention/softmax.hpp>       // power_of_two
#include <tokamax/backend/cpu/attention/visible.hpp>       // visible

#include <algorithm>  // none_of, fill_n
#include <limits>     // infinity

namespace tokamax::cpu_backend::detail {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// The keys of one task. They are the same for any number of threads, because they decide the order of sums.
inline constexpr std::int64_t keys_of_row_task = 256;

/// From so many queries of a key head on, blocked products are faster than reading each row for itself, although they must make
/// panels of all keys first.
inline constexpr std::int64_t block_queries = 24;

/// An unfinished result of some rows: of each the highest score to base 2, the sum of weights, and the weighted values, padded
/// to whole vectors. A row is a query of a head.
struct partial_rows {
  float *highest, *total, *sums;

  partial_rows(float* data, std::int64_t rows) noexcept : highest(data), total(data + rows), sums(data + 2 * rows) {}
  partial_rows from(std::int64_t row, std::int64_t value) const noexcept {
    partial_rows y = *this;
    y.highest += row, y.total += row, y.sums += row * value;
    return y;
  }
};

/// The extents of a task: `queries` for each of some key heads.
struct row_extents {
  std::int64_t kv_heads, queries, head_size, value_size;
  std::int64_t rows() const noexcept { return kv_heads * queries; }
};

/// A block of keys against the rows of a task. Row kv * queries + i is query i of key head kv. All heads of a key are read one
/// after the other, because they lie side by side in most caches. Whoever uses it finds the rows of keys and of values, and
/// changes the scores between `dots` and `weigh`.
struct row_task {
  static constexpr std::int64_t block = 64;  // keys at a time

  row_extents at;
  std::int64_t padded, value;  // H and h up to whole vectors
  float *q, *scores;           // [rows, padded], [rows, block]
  partial_rows to;
  float* zeros;                // a row in place of keys that do not exist
  const void* row[block + 8];  // of a block, of the first head; some more, to prefetch

  /// The scratch memory that a task takes, and `more` floats of its user.
  static std::int64_t floats(const row_extents& e, std::int64_t more) noexcept {
    return e.rows() * (up_to(e.head_size, width) + block) + up_to(std::max(e.head_size, e.value_size), 16) + more + 64;
  }

  row_task(const row_extents& e, const partial_rows& result, scratch_pieces& pieces) noexcept
      : at(e), padded(up_to(e.head_size, width)), value(up_to(e.value_size, width)), to(result) {
    const std::int64_t rows = e.rows(), longest = up_to(std::max(e.head_size, e.value_size), 16);
    q = pieces.take(rows * padded);
    scores = pieces.take(rows * block);
    zeros = pieces.take(longest);
    std::fill_n(zeros, longest, 0.0f);
    std::fill_n(to.highest, rows, minus_infinity);
    std::fill_n(to.total, rows, 0.0f);
    std::fill_n(to.sums, rows * value, 0.0f);
  }

  float* query(std::int64_t i) const noexcept { return q + i * padded; }
  float* scores_of(std::int64_t i) const noexcept { return scores + i * block; }

  /// The four rows from j on and the four behind, of a key head; those that do not exist are zeros.
  template <class T>
  void rows_of_head(std::int64_t j, std::int64_t kv, std::int64_t head_stride, const T** some) const noexcept {
    for (std::int64_t i = 0; i < 2 * rows_at_once; ++i)
      some[i] = row[j + i] == nullptr ? reinterpret_cast<const T*>(zeros)
                                      : static_cast<const T*>(row[j + i]) + kv * head_stride;
  }

  /// The products of queries and `count` keys, for the key heads with reads(kv).
  template <class T, class Reads>
  void dots(std::int64_t head_stride, std::int64_t count, Reads reads) noexcept {
    const T* some[2 * rows_at_once];
    for (std::int64_t j = 0; j < count; j += rows_at_once)
      for (std::int64_t kv = 0; kv < at.kv_heads; ++kv) {
        if (!reads(kv)) continue;
        rows_of_head(j, kv, head_stride, some);
        dots_of_rows<T>(query(kv * at.queries), padded, at.queries, some, at.head_size, scores_of(kv * at.queries) + j,
                        block);
      }
  }

  /// The score that becomes minus infinity when it is multiplied by `factor`, and so a weight of 0.
  static float unseen(float factor) noexcept { return factor < 0 ? -minus_infinity : minus_infinity; }

  /// Turns scores of a row into weights 2^(factor * score - highest), and makes the sum of earlier blocks fit them. The product
  /// is rounded after the highest one is subtracted, so that high scores keep the digits in which they differ.
  void weigh(std::int64_t i, std::int64_t count, float factor) noexcept {
    const std::int64_t end = up_to(count, width);
    float *const p = scores_of(i), *const sum = to.sums + i * value;
    std::fill_n(p + count, end - count, unseen(factor));
    const f32v factors(factor);
    f32v most(to.highest[i]);
    for (std::int64_t c = 0; c < end; c += width) most = max_or_second(load(p + c) * factors, most);
    const float top = reduce_max(most);
    if (top == minus_infinity && std::none_of(p, p + count, [](float x) { return x != x; }))  // nothing is seen yet
      return void(std::fill_n(p, block, 0.0f));
    const f32v down(-top);
    f32v all(0.0f);
    for (std::int64_t c = 0; c < end; c += width) {
      const f32v e = power_of_two(fma(load(p + c), factors, down));
      all = all + e;
      store(p + c, e);
    }
    std::fill_n(p + end, block - end, 0.0f);
    const float shrink = reduce_max(power_of_two(f32v(to.highest[i]) + down));
    to.total[i] = to.total[i] * shrink + reduce_add(all);
    if (shrink != 1.0f)
      for (std::int64_t j = 0; j < value; j += width) store(sum + j, load(sum + j) * f32v(shrink));
    to.highest[i] = top;
  }

  /// Adds the weighted values of `count` keys, for the key heads that see some or all of them.
  template <class T, class Seen>
  void add(std::int64_t head_stride, std::int64_t count, Seen seen) noexcept {
    const T* some[2 * rows_at_once];
    for (std::int64_t j = 0; j < count; j += rows_at_once)
      for (std::int64_t kv = 0; kv < at.kv_heads; ++kv) {
        const visible pairs = seen(kv);
        if (pairs == visible::none) continue;
        rows_of_head(j, kv, head_stride, some);
        const auto sum = pairs == visible::all ? add_rows<T, false> : add_rows<T, true>;
        sum(scores_of(kv * at.queries) + j, block, at.queries, some, at.value_size, to.sums + kv * at.queries * value,
            value);
      }
  }
};

/// Calls f(part, weight) for the parts of a row that have seen a key, where the weights are those of `sums`. `at_least` is a
/// score to base 2 that takes part in the highest one, which is returned.
template <class F>
float for_parts_of_row(const partial_rows& first, std::int64_t apart, std::int64_t parts, std::int64_t row,
                       float at_least, F f) noexcept {
  float top = at_least;
  for (std::int64_t p = 0; p < parts; ++p) top = std::max(top, first.highest[p * apart + row]);
  for (std::int64_t p = 0; p < parts; ++p) {
    const float highest = first.highest[p * apart + row];
    if (highest == minus_infinity && first.total[p * apart + row] == 0) continue;
    f(p, reduce_max(power_of_two(f32v(highest) - f32v(top))));
  }
  return top;
}

}  // namespace tokamax::cpu_backend::detail
