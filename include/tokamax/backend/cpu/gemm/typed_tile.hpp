// tokamax/backend/cpu/gemm/typed_tile.hpp: register tiles of products of f64 and of integers, and their packed operands.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/typed.cpp
#pragma once

#include <tokamax/backend/cpu/vector/doubles.hpp>  // fused
#include <tokamax/backend/cpu/vector/simd.hpp>     // native, vector_t

#include <algorithm>    // fill_n
#include <cstdint>      // int64_t
#include <cstring>      // memcpy
#include <type_traits>  // is_same_v

namespace tokamax::cpu_backend {

/// Matrices of numbers of type T: element (i, j) of matrix s is data[s * batch_stride + i * row_stride + j * column_stride].
template <class T>
struct typed_matrices {
  const T* data;
  std::int64_t batch_stride, row_stride, column_stride;

  const T* at(std::int64_t s, std::int64_t i, std::int64_t j) const noexcept {
    return data + s * batch_stride + i * row_stride + j * column_stride;
  }
};

namespace detail {

/// The sizes of tiles and blocks of a type. Products of 64-bit integers need registers for the halves of their operands.
template <class T>
struct typed_tile {
  static constexpr std::int64_t lanes = static_cast<std::int64_t>(sizeof(typename f32v::register_type) / sizeof(T));
  static constexpr std::int64_t rows = std::is_same_v<T, std::uint64_t> ? 4 : 6, columns = 2 * lanes;
  static constexpr std::int64_t k_block = 2048 / sizeof(T);       ///< terms that are summed before they are added to C
  static constexpr std::int64_t most_columns = 1024 / sizeof(T);  ///< of B in a task, packed for one block of terms
  using vector = vector_t<T, static_cast<std::size_t>(lanes)>;

  static vector load(const T* p) noexcept {
    vector v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(T* p, vector v) noexcept { std::memcpy(p, &v, sizeof v); }
  /// The first n < lanes lanes; the others are 0.
  static vector load(const T* p, std::int64_t n) noexcept {
    vector v{};
    std::memcpy(&v, p, static_cast<std::size_t>(n) * sizeof(T));
    return v;
  }
  static void store(T* p, vector v, std::int64_t n) noexcept {
    std::memcpy(p, &v, static_cast<std::size_t>(n) * sizeof(T));
  }
  /// sum + a b, for doubles with one rounding.
  static vector add(vector sum, vector a, vector b) noexcept {
    if constexpr (std::is_same_v<T, double>)
      return fused(a, b, sum);
    else
      return static_cast<vector>(sum + a * b);
  }
  static vector all(T v) noexcept { return native(xsimd::batch<T>(v)); }
};

/// c[r][j] = the sum over p of a[p][r] b[p][j] in the order of p, for packed a [k, rows] and b [k, columns]; `accumulate`
/// adds it to the old c.
template <class T>
void typed_sums(const T* a, const T* b, std::int64_t k, T* c, std::int64_t ldc, bool accumulate) noexcept {
  using tile = typed_tile<T>;
  typename tile::vector sum[tile::rows][2] = {};
  for (std::int64_t p = 0; p < k; ++p, a += tile::rows, b += tile::columns) {
    const auto low = tile::load(b), high = tile::load(b + tile::lanes);
#pragma GCC unroll 8
    for (std::int64_t r = 0; r < tile::rows; ++r) {
      const auto row = tile::all(a[r]);
      sum[r][0] = tile::add(sum[r][0], row, low);
      sum[r][1] = tile::add(sum[r][1], row, high);
    }
  }
#pragma GCC unroll 8
  for (std::int64_t r = 0; r < tile::rows; ++r, c += ldc) {
    if (accumulate) {
      sum[r][0] += tile::load(c);
      sum[r][1] += tile::load(c + tile::lanes);
    }
    tile::store(c, sum[r][0]);
    tile::store(c + tile::lanes, sum[r][1]);
  }
}

/// The tile at an edge of C, which has fewer rows or columns.
template <class T>
void typed_sums_at_edge(const T* a, const T* b, std::int64_t k, T* c, std::int64_t ldc, bool accumulate,
                        std::int64_t rows, std::int64_t columns) noexcept {
  using tile = typed_tile<T>;
  T whole[tile::rows * tile::columns];
  typed_sums(a, b, k, whole, tile::columns, false);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < columns; ++j) {
      T& to = c[r * ldc + j];
      const T sum = whole[r * tile::columns + j];
      to = accumulate ? static_cast<T>(to + sum) : sum;
    }
}

/// Copies `lanes` rows of A, or columns of B, to packed [steps, Width]; lanes that are missing become 0. Numbers are read in
/// the order in which they lie.
template <std::int64_t Width, class T>
void typed_pack(T* packed, const T* from, std::int64_t lanes, std::int64_t lane_stride, std::int64_t steps,
                std::int64_t step_stride) noexcept {
  if (lanes < Width) std::fill_n(packed, steps * Width, T{});
  if (lane_stride == 1 && lanes == Width) {
    for (std::int64_t p = 0; p < steps; ++p) std::memcpy(packed + p * Width, from + p * step_stride, Width * sizeof(T));
  } else if (lane_stride == 1) {
    for (std::int64_t p = 0; p < steps; ++p)
      for (std::int64_t i = 0; i < lanes; ++i) packed[p * Width + i] = from[p * step_stride + i];
  } else {
    for (std::int64_t i = 0; i < lanes; ++i)
      for (std::int64_t p = 0; p < steps; ++p) packed[p * Width + i] = from[i * lane_stride + p * step_stride];
  }
}

}  // namespace detail
}  // namespace tokamax::cpu_backend
