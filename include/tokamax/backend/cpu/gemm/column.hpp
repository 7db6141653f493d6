// tokamax/backend/cpu/gemm/column.hpp: products by a vector, which read A once at the speed of memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/column.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/problem.hpp>              // matrix_view, ceil_div
#include <tokamax/backend/cpu/vector/lanes.hpp>              // lanes
#include <tokamax/backend/cpu/vector/threads.hpp>            // parallel_for, scratch
#include <tokamax/backend/cpu/vector/transposed_matrix.hpp>  // transposed_matrix

#include <algorithm>    // min, max
#include <cstdint>      // int64_t, uint32_t
#include <type_traits>  // conditional_t, is_same_v

namespace tokamax::cpu_backend::detail {

/// Products of matrices by vectors: C [batches, m] = A [batches, m, k] B [batches, k], of f32 or of bfloat16. C is dense.
struct column_problem {
  std::int64_t batches, m, k;
  matrix_view a;
  std::int64_t a_batch_stride;
  matrix_view b;  ///< of one column
  std::int64_t b_batch_stride;
  float* c;
};

/// Are the sums long enough for lanes, and of numbers that are multiplied as they are?
inline bool is_column(const column_problem& g) noexcept {
  return g.k >= 32 && g.a.element == g.b.element && g.a.element != gemm_element::int8;
}

/// A sum of products in 32 lanes, on every machine. Term p goes to lane p % 32, and lanes are combined by halves.
struct sum_in_lanes {
  static constexpr std::int64_t all = 32;
  f32v part[all / width];

  sum_in_lanes() noexcept {
    for (f32v& p : part) p = f32v(0.0f);
  }
  /// Adds n products; n is a multiple of 32 unless they are the last.
  template <class T>
  void add(const T* a, const float* x, std::int64_t n) noexcept {
    std::int64_t p = 0;
    for (; p + all <= n; p += all)
      for (std::int64_t i = 0; i < all / width; ++i)
        part[i] = fma(lanes<T>::load(a + p + i * width), load(x + p + i * width), part[i]);
    for (std::int64_t i = 0; p < n; ++i, p += width) {
      const std::int64_t left = std::min(width, n - p);
      part[i] = fma(lanes<T>::load(a + p, left, T(0.0f)), load_partial(x + p, left), part[i]);
    }
  }
  float total() noexcept {
    for (std::int64_t apart = all / width / 2; apart > 0; apart /= 2)
      for (std::int64_t i = 0; i < apart; ++i) part[i] = part[i] + part[i + apart];
    return fold<float, f32v::size>(native(part[0]), [](auto u, auto v) { return u + v; });
  }
};

/// The products of some rows [from, to) of one A, by x. Where rows are not contiguous, parts of a few are
/// copied before, so that the bits are the same.
template <class T>
void multiply_rows(const column_problem& g, const T* a, const float* x, std::int64_t from, std::int64_t to,
                   float* c) noexcept {
  constexpr std::int64_t few = 16, part = 512;
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>;  // elements that are only moved
  alignas(64) bits copy[few * part];
  for (std::int64_t i = from, rows; i < to; i += rows) {
    rows = g.a.column_stride == 1 ? 1 : std::min(few, to - i);
    const T* const first = a + i * g.a.row_stride;
    sum_in_lanes sum[few];
    if (rows == 1 && g.a.column_stride == 1) {
      sum[0].add(first, x, g.k);
    } else {
      for (std::int64_t p = 0; p < g.k; p += part) {
        const std::int64_t n = std::min(part, g.k - p);
        const bits* const begin = reinterpret_cast<const bits*>(first + p * g.a.column_stride);
        if (g.a.row_stride == 1)
          transposed_matrix<bits>{begin, copy, g.a.column_stride, part, rows, n}.copy();
        else
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t q = 0; q < n; ++q) copy[r * part + q] = begin[r * g.a.row_stride + q * g.a.column_stride];
        for (std::int64_t r = 0; r < rows; ++r) sum[r].add(reinterpret_cast<const T*>(copy + r * part), x + p, n);
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) c[i + r] = sum[r].total();
  }
}

struct gemm_vector;

template <class T>
void multiply_column_of(const column_problem& g) {
  const auto at = [](const matrix_view& v, std::int64_t i) { return static_cast<const T*>(v.data) + i; };
  const float* x = nullptr;
  std::int64_t apart = g.b_batch_stride;  // of vectors
  if constexpr (std::is_same_v<T, float>)
    if (g.b.row_stride == 1) x = at(g.b, 0);
  if (x == nullptr) {
    apart = g.k;
    float* const copy = scratch<gemm_vector>(g.batches * g.k);
    for (std::int64_t s = 0; s < g.batches; ++s)
      for (std::int64_t p = 0; p < g.k; ++p)
        copy[s * g.k + p] = static_cast<float>(*at(g.b, s * g.b_batch_stride + p * g.b.row_stride));
    x = copy;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, 65536 / g.k), chunks = ceil_div(g.m, grain);
  parallel_for(g.batches * chunks, [=, &g](std::int64_t t) {
    const std::int64_t s = t / chunks, from = t % chunks * grain;
    multiply_rows(g, at(g.a, s * g.a_batch_stride), x + s * apart, from, std::min(g.m, from + grain), g.c + s * g.m);
  });
}

/// The rows of all batches are shared among the threads. Each element is a sum in lanes, so its bits depend on k only.
inline void multiply_column(const column_problem& g) {
  g.a.element == gemm_element::f32 ? multiply_column_of<float>(g) : multiply_column_of<bfloat16>(g);
}

}  // namespace tokamax::cpu_backend::detail
