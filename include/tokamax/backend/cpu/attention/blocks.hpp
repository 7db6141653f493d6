// tokamax/backend/cpu/attention/blocks.hpp: the operands of attention, and the panels of its products.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/attention/attention.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/dispatch.hpp>  // microkernel_set
#include <tokamax/backend/cpu/vector/narrow.hpp>  // load_bfloat16, store_bfloat16
#include <tokamax/backend/cpu/vector/rows.hpp>    // for_vectors

#include <algorithm>    // min, max, fill_n
#include <cstddef>      // byte
#include <cstdint>      // int64_t
#include <type_traits>  // conditional_t

namespace tokamax::cpu_backend {

/// Element (b, t, n, h) has the index b * batch_stride + t * time_stride + n * head_stride + h. T is void or const void.
template <class T>
struct heads_view {
  T* data;
  std::int64_t batch_stride, time_stride, head_stride;
  bool bfloat16 = false;  ///< the elements are bfloat16 bit patterns, otherwise float

  operator heads_view<const void>() const noexcept
    requires(!std::is_const_v<T>)
  {
    return {data, batch_stride, time_stride, head_stride, bfloat16};
  }
  T* at(std::int64_t b, std::int64_t t, std::int64_t n) const noexcept {
    using bytes = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return static_cast<bytes*>(data) + (b * batch_stride + t * time_stride + n * head_stride) * (bfloat16 ? 2 : 4);
  }
};

/// A value for each query and key of each head: element (b, n, t, s) has the index b * batch_stride + n * head_stride +
/// t * query_stride + s * key_stride. Strides of 0 repeat it.
template <class T>
struct pairs_view {
  const T* data = nullptr;
  std::int64_t batch_stride = 0, head_stride = 0, query_stride = 0, key_stride = 0;
  const T* at(std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t s) const noexcept {
    return data + b * batch_stride + n * head_stride + t * query_stride + s * key_stride;
  }
};

struct attention_shape {
  std::int64_t batch;      ///< B
  std::int64_t queries;    ///< T
  std::int64_t keys;       ///< S
  std::int64_t heads;      ///< N, of the queries
  std::int64_t kv_heads;   ///< K, divides N; head n reads key head n / (N / K)
  std::int64_t head_size;  ///< H
  float scale;             ///< usually 1 / sqrt(H)
  bool causal;             ///< query i sees the keys j <= i

  std::int64_t left = -1;       ///< query i sees the keys from i - left on; -1: all before it
  std::int64_t right = -1;      ///< query i sees the keys up to i + right; -1: all after it
  float soft_cap = 0;           ///< scores x become c tanh(x / c) for this c; 0: they stay
  pairs_view<float> bias = {};  ///< added to the scaled scores, before the soft cap
  pairs_view<bool> mask = {};   ///< false where a query does not see a key

  std::int64_t range_count = 0;          ///< R: a query sees the keys in R ranges; 0: all
  pairs_view<std::int32_t> ranges = {};  ///< [B, N, T, 2 R] the first key of each range, and one past the last
  pairs_view<std::int32_t> q_segments = {},
                           k_segments = {};  ///< a query sees the keys with its own number, if there are any
  std::int64_t value_size = 0;               ///< h, where it is not H; 0: it is H. The backward pass takes 0 only

  std::int64_t values() const noexcept { return value_size > 0 ? value_size : head_size; }

  /// Does more happen to scores than a causal mask?
  bool modified() const noexcept { return left >= 0 || right >= 0 || soft_cap != 0 || bias.data != nullptr || hides(); }
  /// Are there operands that say what a query sees?
  bool hides() const noexcept { return mask.data != nullptr || range_count > 0 || q_segments.data != nullptr; }
  /// How far after its own position a query sees; all keys if there is no limit.
  std::int64_t ahead() const noexcept { return causal ? 0 : right >= 0 ? std::min(right, keys) : keys; }
  std::int64_t first_key(std::int64_t query) const noexcept {
    return left >= 0 ? std::max<std::int64_t>(0, query - left) : 0;
  }
  /// One past the last key that a query may see.
  std::int64_t key_end(std::int64_t query) const noexcept { return std::min(keys, query + ahead() + 1); }
};

/// Values that the backward pass needs for each query, [B, N, T] dense: the logarithm of the sum of exponentials, and a
/// factor near 1 that corrects its rounding. Both may be null.
struct attention_normalisers {
  float *lse, *correction;
};

/// What else the backward pass reads and writes.
struct attention_more_cotangents {
  const float* dlse = nullptr;  ///< the cotangent of lse, [B, N, T] dense
  float* dbias = nullptr;       ///< the cotangent of the bias, with its strides; the bias is dense if there is one
};

namespace detail {

/// Lanes side by side in a panel of B: at least the columns of any tile.
inline constexpr std::int64_t panel_lanes = 32;

inline constexpr float log2_e = 1.44269504f;

constexpr std::int64_t parts_of(std::int64_t n, std::int64_t part) noexcept { return (n + part - 1) / part; }
constexpr std::int64_t up_to(std::int64_t n, std::int64_t multiple) noexcept {
  return parts_of(n, multiple) * multiple;
}

/// The size of equal parts of n: a multiple of `unit`, and at most `most` unless one unit is larger. It depends on shapes
/// only, because parts determine the order of sums.
constexpr std::int64_t even_part(std::int64_t n, std::int64_t most, std::int64_t unit) noexcept {
  most = std::max(unit, most / unit * unit);
  const std::int64_t parts = std::max<std::int64_t>(1, parts_of(n, most));
  return std::max(unit, up_to(parts_of(n, parts), unit));
}

/// The number of packed steps for k terms.
inline std::int64_t steps_of(const microkernel_set& kernels, std::int64_t k) noexcept {
  return up_to(parts_of(k, kernels.terms), kernels.unit);
}

/// The lanes of a panel of A, chosen so that they divide `rows` evenly and no tile is much lower than others.
inline std::int64_t even_height(const microkernel_set& kernels, std::int64_t rows) noexcept {
  return kernels.unit > 1 ? kernels.rows : parts_of(rows, parts_of(rows, kernels.rows));
}

/// Cuts one scratch allocation into pieces, each of which begins on its own cache line.
struct scratch_pieces {
  float* next;
  float* take(std::int64_t floats) noexcept {
    float* const piece = next;
    next += up_to(floats, 16);
    return piece;
  }
};

enum class operand { a, b };

/// Some lanes of an operand, each with k terms, as panels of `height` lanes.
inline void pack_panels(const microkernel_set& kernels, operand side, float* packed, std::int64_t height,
                        std::int64_t lanes, std::int64_t k, const void* from, bool bfloat16, std::int64_t lane_stride,
                        std::int64_t term_stride) noexcept {
  const std::int64_t steps = steps_of(kernels, k), filled = parts_of(k, kernels.terms);
  const bool by_lane = side == operand::a && kernels.pack_a != nullptr;
  for (std::int64_t l = 0; l < lanes; l += height, packed += height * steps) {
    const std::int64_t some = std::min(height, lanes - l);
    if (bfloat16) {
      const auto* const at = static_cast<const std::uint16_t*>(from) + l * lane_stride;
      (by_lane ? kernels.pack_a_bfloat16
               : kernels.pack_bfloat16)({packed, height, some, k, at, lane_stride, term_stride});
    } else {
      const float* const at = static_cast<const float*>(from) + l * lane_stride;
      (by_lane ? kernels.pack_a : kernels.pack)({packed, height, some, k, at, lane_stride, term_stride});
    }
    if (!by_lane) std::fill_n(packed + filled * height, (steps - filled) * height, 0.0f);
  }
}

/// One operand of a product: panels of `height` lanes that are `stride` floats apart.
struct panels {
  const float* data;
  std::int64_t height, stride;
};

/// c [rows, columns] (+)= a b, summed over some packed steps.
inline void multiply_panels(const microkernel_set& kernels, std::int64_t rows, std::int64_t columns, std::int64_t steps,
                            const panels& a, const panels& b, float* c, std::int64_t ldc, tile_mode mode) noexcept {
  for (std::int64_t j = 0; j < columns; j += kernels.columns) {
    const float* const panel = b.data + j / panel_lanes * b.stride + j % panel_lanes;
    for (std::int64_t i = 0; i < rows; i += a.height) {
      kernels.tile[std::min(a.height, rows - i)]({.k = steps,
                                                  .a = a.data + i / a.height * a.stride,
                                                  .a_row = kernels.unit,
                                                  .a_step = a.height,
                                                  .b = panel,
                                                  .b_step = panel_lanes,
                                                  .c = c + i * ldc + j,
                                                  .ldc = ldc,
                                                  .columns = std::min<std::int64_t>(kernels.columns, columns - j),
                                                  .mode = mode});
    }
  }
}

/// Transposes a panel: to[l * n + i] = from[i * stride + l] for its lanes l.
inline void turn_block(float* to, std::int64_t n, const float* from, std::int64_t stride) noexcept {
  microkernels_for(best_gemm_machine()).pack({to, n, n, panel_lanes, from, stride, 1});
}

/// A row as floats: in place if it is f32, or else a converted copy.
inline const float* read_row(const void* row, bool bfloat16, std::int64_t n, float* copy) noexcept {
  if (!bfloat16) return static_cast<const float*>(row);
  const auto* const from = static_cast<const std::uint16_t*>(row);
  std::int64_t i = 0;
  for (; i + width <= n; i += width) store(copy + i, load_bfloat16(from + i));
  if (i < n) store_partial(copy + i, load_bfloat16_partial(from + i, n - i), n - i);
  return copy;
}

/// row (+)= factor * from. Rows of bfloat16 are assigned and never added to.
inline void write_row(void* row, bool bfloat16, std::int64_t n, const float* from, float factor, bool add) noexcept {
  const f32v factors(factor);
  if (bfloat16) {
    auto* const to = static_cast<std::uint16_t*>(row);
    std::int64_t i = 0;
    for (; i + width <= n; i += width) store_bfloat16(to + i, load(from + i) * factors);
    if (i < n) store_bfloat16_partial(to + i, load_partial(from + i, n - i) * factors, n - i);
    return;
  }
  auto* const to = static_cast<float*>(row);
  for_vectors(n, [=](std::int64_t i, auto lanes) {
    const f32v v = lanes(from + i) * factors;
    lanes.put(to + i, add ? lanes(to + i) + v : v);
  });
}

}  // namespace detail
}  // namespace tokamax::cpu_backend
