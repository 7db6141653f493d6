// tokamax/backend/cpu/attention/row_products.hpp: products of few queries with four rows of keys or values at a time.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/paged.cpp
#pragma once

#include <tokamax/backend/cpu/vector/lanes.hpp>  // lanes

#include <cstdint>      // int64_t
#include <type_traits>  // is_same_v

namespace tokamax::cpu_backend::detail {

/// Whole vectors of a row, or the first n lanes with zeros behind them, as floats.
template <class T>
f32v widened(const T* p) noexcept {
  if constexpr (std::is_same_v<typename lanes<T>::scalar, float>)
    return lanes<T>::load(p);
  else
    return xsimd::to_float(lanes<T>::load(p));
}
template <class T>
f32v widened(const T* p, std::int64_t n) noexcept {
  if constexpr (std::is_same_v<typename lanes<T>::scalar, float>)
    return lanes<T>::load(p, n, 0.0f);
  else
    return xsimd::to_float(lanes<T>::load(p, n, 0));
}

/// Rows that are read together: enough to use each loaded query several times, and few enough for the registers.
inline constexpr std::int64_t rows_at_once = 4;

/// out[i * stride + r] = the product of query i and row r, for i < Queries and four rows of n features. A query has zeros up to
/// a whole vector. `Fetch` prefetches the four rows behind.
template <class T, int Queries, bool Fetch>
[[gnu::always_inline]] inline void dots_of_some(const float* q, std::int64_t query_stride, const T* const* rows,
                                                std::int64_t n, float* out, std::int64_t stride) noexcept {
  constexpr int four = rows_at_once;
  f32v sum[Queries][four];
#pragma GCC unroll 2
  for (int i = 0; i < Queries; ++i)
#pragma GCC unroll 4
    for (int r = 0; r < four; ++r) sum[i][r] = f32v(0.0f);
  const auto add = [&](std::int64_t j, auto load_row) __attribute__((always_inline)) {
    f32v row[four];
#pragma GCC unroll 4
    for (int r = 0; r < four; ++r) {
      if constexpr (Fetch) __builtin_prefetch(rows[four + r] + j);
      row[r] = load_row(rows[r] + j);
    }
#pragma GCC unroll 2
    for (int i = 0; i < Queries; ++i) {
      const f32v x = load(q + i * query_stride + j);
#pragma GCC unroll 4
      for (int r = 0; r < four; ++r) sum[i][r] = fma(x, row[r], sum[i][r]);
    }
  };
  std::int64_t j = 0;
  for (; j + width <= n; j += width) add(j, [](const T* p) { return widened(p); });
  if (j < n) add(j, [&](const T* p) { return widened(p, n - j); });
#pragma GCC unroll 2
  for (int i = 0; i < Queries; ++i)
#pragma GCC unroll 4
    for (int r = 0; r < four; ++r) out[i * stride + r] = reduce_add(sum[i][r]);
}

/// The same for any number of queries.
template <class T>
void dots_of_rows(const float* q, std::int64_t query_stride, std::int64_t queries, const T* const* rows, std::int64_t n,
                  float* out, std::int64_t stride) noexcept {
  if (queries == 1) return dots_of_some<T, 1, true>(q, query_stride, rows, n, out, stride);
  dots_of_some<T, 2, true>(q, query_stride, rows, n, out, stride);
  std::int64_t i = 2;
  for (; i + 2 <= queries; i += 2)
    dots_of_some<T, 2, false>(q + i * query_stride, query_stride, rows, n, out + i * stride, stride);
  if (i < queries) dots_of_some<T, 1, false>(q + i * query_stride, query_stride, rows, n, out + i * stride, stride);
}

/// sums[i * sum_stride + j] += the four rows, each times the weight of query i for it, for i < Queries. Sums have whole
/// vectors. With `Selects`, a row whose weight is 0 adds nothing, whatever it holds.
template <class T, int Queries, bool Fetch, bool Selects>
[[gnu::always_inline]] inline void add_some_rows(const float* weights, std::int64_t stride, const T* const* rows,
                                                 std::int64_t n, float* sums, std::int64_t sum_stride) noexcept {
  constexpr int four = rows_at_once;
  f32v weight[Queries][four];
#pragma GCC unroll 2
  for (int i = 0; i < Queries; ++i)
#pragma GCC unroll 4
    for (int r = 0; r < four; ++r) weight[i][r] = f32v(weights[i * stride + r]);
  const auto add = [&](std::int64_t j, auto load_row) __attribute__((always_inline)) {
    f32v row[four];
#pragma GCC unroll 4
    for (int r = 0; r < four; ++r) {
      if constexpr (Fetch) __builtin_prefetch(rows[four + r] + j);
      row[r] = load_row(rows[r] + j);
    }
#pragma GCC unroll 2
    for (int i = 0; i < Queries; ++i) {
      float* const to = sums + i * sum_stride + j;
      f32v sum = load(to);
#pragma GCC unroll 4
      for (int r = 0; r < four; ++r) {
        const f32v x = Selects ? select(weight[i][r] == f32v(0.0f), f32v(0.0f), row[r]) : row[r];
        sum = fma(weight[i][r], x, sum);
      }
      store(to, sum);
    }
  };
  std::int64_t j = 0;
  for (; j + width <= n; j += width) add(j, [](const T* p) { return widened(p); });
  if (j < n) add(j, [&](const T* p) { return widened(p, n - j); });
}

/// The same for any number of queries.
template <class T, bool Selects>
void add_rows(const float* weights, std::int64_t stride, std::int64_t queries, const T* const* rows, std::int64_t n,
              float* sums, std::int64_t sum_stride) noexcept {
  if (queries == 1) return add_some_rows<T, 1, true, Selects>(weights, stride, rows, n, sums, sum_stride);
  add_some_rows<T, 2, true, Selects>(weights, stride, rows, n, sums, sum_stride);
  std::int64_t i = 2;
  for (; i + 2 <= queries; i += 2)
    add_some_rows<T, 2, false, Selects>(weights + i * stride, stride, rows, n, sums + i * sum_stride, sum_stride);
  if (i < queries)
    add_some_rows<T, 1, false, Selects>(weights + i * stride, stride, rows, n, sums + i * sum_stride, sum_stride);
}

}  // namespace tokamax::cpu_backend::detail
