// tokamax/backend/cpu/gemm/isa/amx.hpp: bfloat16 and int8 tiles for the matrix unit of x86-64 (AMX).
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/microkernel_set.hpp>  // tile_mode
#include <tokamax/backend/cpu/gemm/pack/pairs.hpp>       // first_bits
#include <tokamax/backend/cpu/vector/prefetch.hpp>       // prefetch_to_write

#if defined(__x86_64__) && defined(__linux__)
  #include <algorithm>  // clamp
  #include <array>      // array
  #include <utility>    // index_sequence

namespace tokamax::cpu_backend::detail {

/// The configuration that ldtilecfg reads. Tiles have 16 rows of 64 bytes. If C has fewer rows, the tiles of sums and of A
/// have as many.
struct alignas(64) amx_configuration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};

  constexpr explicit amx_configuration(std::size_t height) noexcept {
    for (const int tile : {0, 1, 4}) rows[tile] = static_cast<std::uint8_t>(height);
  }
};
[[gnu::target("amx-tile")]] inline void begin_amx(std::int64_t rows) noexcept {
  static constexpr auto of_height = []<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::array{amx_configuration(Index + 1)...};
  }(std::make_index_sequence<16>());
  _tile_loadconfig(&of_height[static_cast<std::size_t>(std::clamp<std::int64_t>(rows, 1, 16) - 1)]);
}
[[gnu::target("amx-tile")]] inline void end_amx() noexcept { _tile_release(); }

// Compilers do not know which memory tile instructions read, so these statements tell them.
inline void memory_is_written() noexcept { __asm__ volatile("" ::: "memory"); }

// The sums are up to four tiles, 0 to 3, in two rows of two. `Lower` means that there is a second row, and `right` a second
// column. Tiles 4 and 5 hold A, and tiles 6 and 7 hold B. The numbers of tiles must be literal digits.
[[gnu::target("amx-tile"), gnu::always_inline]] inline void zero_sums() noexcept {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  memory_is_written();
}
template <bool Lower>
[[gnu::target("amx-tile"), gnu::always_inline]] inline void load_sums(const float* from, std::int64_t stride) noexcept {
  memory_is_written();
  _tile_loadd(0, from, stride * 4);
  _tile_loadd(1, from + 16, stride * 4);
  if constexpr (Lower) {
    _tile_loadd(2, from + 16 * stride, stride * 4);
    _tile_loadd(3, from + 16 * stride + 16, stride * 4);
  }
}
template <bool Lower>
[[gnu::target("amx-tile"), gnu::always_inline]] inline void store_sums(float* to, std::int64_t stride) noexcept {
  _tile_stored(0, to, stride * 4);
  _tile_stored(1, to + 16, stride * 4);
  if constexpr (Lower) {
    _tile_stored(2, to + 16 * stride, stride * 4);
    _tile_stored(3, to + 16 * stride + 16, stride * 4);
  }
  memory_is_written();
}

// Tile s += tile a times tile b.
  #define TOKAMAX_MULTIPLY_TILES(s, a, b) \
    if constexpr (Integer)                \
      _tile_dpbssd(s, a, b);              \
    else                                  \
      _tile_dpbf16ps(s, a, b)

enum class amx_load { a, b, both };  ///< the operands that are loaded; the other one is still in its tiles

/// Adds 16 steps to the sums. Each tile is loaded just before its first product. Panels of B may stay in the first-level
/// cache while A streams by, so A is loaded with a hint that it need not stay.
template <bool Lower, amx_load Load, bool Integer = false>
[[gnu::target("amx-tile,amx-bf16,amx-int8"), gnu::always_inline]] inline void multiply_unit(
    const float* a, std::int64_t a_row, const float* b, std::int64_t b_row, bool right) noexcept {
  if constexpr (Load != amx_load::a) _tile_loadd(6, b, b_row * 4);
  if constexpr (Load != amx_load::b) _tile_stream_loadd(4, a, a_row * 4);
  TOKAMAX_MULTIPLY_TILES(0, 4, 6);
  if constexpr (Lower) {
    if constexpr (Load != amx_load::b) _tile_stream_loadd(5, a + 16 * a_row, a_row * 4);
    TOKAMAX_MULTIPLY_TILES(2, 5, 6);
  }
  if (right) {
    if constexpr (Load != amx_load::a) _tile_loadd(7, b + 16, b_row * 4);
    TOKAMAX_MULTIPLY_TILES(1, 4, 7);
    if constexpr (Lower) {
      TOKAMAX_MULTIPLY_TILES(3, 5, 7);
    }
  }
}

  #undef TOKAMAX_MULTIPLY_TILES

/// 32 x 32 sums in memory of their own, for tiles that are larger than the rest of C.
struct alignas(64) amx_sums {
  float at[32 * 32];
};
inline __mmask16 kept_columns(std::int64_t columns, int half) noexcept { return first_bits<__mmask16>(columns - half); }
/// Copies sums from C, with zeros for columns that C does not have, and back to C.
template <int Rows>
[[gnu::target("avx512f")]] inline void load_part(amx_sums& sums, const float* c, std::int64_t ldc,
                                                 std::int64_t columns) noexcept {
  for (int r = 0; r < Rows; ++r)
    for (int half = 0; half < 32; half += 16)
      _mm512_store_ps(sums.at + r * 32 + half, _mm512_maskz_loadu_ps(kept_columns(columns, half), c + r * ldc + half));
}
template <int Rows>
[[gnu::target("avx512f")]] inline void store_part(const amx_sums& sums, float* c, std::int64_t ldc,
                                                  std::int64_t columns, tile_mode mode) noexcept {
  for (int r = 0; r < Rows; ++r)
    for (int half = 0; half < 32; half += 16) {
      float* const at = c + r * ldc + half;
      const __mmask16 kept = kept_columns(columns, half);
      const __m512 sum = _mm512_load_ps(sums.at + r * 32 + half);
      if (mode == tile_mode::stream && kept == 0xffff)
        _mm512_stream_ps(at, sum);
      else
        _mm512_mask_storeu_ps(at, kept, sum);
    }
}

/// Prefetches the rows of C that a tile will write. Rows that are streamed are not read, so they are left out.
template <int Rows>
inline void prefetch_sums(float* c, std::int64_t ldc, tile_mode mode) noexcept {
  if (mode == tile_mode::stream) return;
  for (int r = 0; r < Rows; ++r) {
    prefetch_to_write(c + r * ldc);
    prefetch_to_write(c + r * ldc + 16);
  }
}

/// May tiles of sums be stored to C itself?
template <int Rows>
bool fills_tiles(std::int64_t columns, tile_mode mode) noexcept {
  return Rows % 16 == 0 && columns == 32 && mode != tile_mode::stream;
}

/// Prefetches the 16 steps of B behind those at b. The products of few rows are so short that the hardware would fetch
/// these steps too late.
inline void prefetch_next_unit(const float* b, std::int64_t b_step) noexcept {
  for (std::int64_t i = 16; i < 32; ++i) {
    __builtin_prefetch(address_behind(b, i * b_step * 4));
    __builtin_prefetch(address_behind(b, i * b_step * 4 + 64));
  }
}

/// Sums of products of bfloat16, or of int8 in int32, in four tiles of 16 x 16. Rows of A have the 16 steps of a unit side by
/// side; they are in panels that are filled up with zeros, or not packed. Panels of B have lanes side by side. A product of
/// two tiles sums 16 steps, so terms are summed in the order of k. To add to C, the sums begin with the values of C.
template <int Rows, bool Integer>
[[gnu::target("amx-tile,amx-bf16,amx-int8,avx512f")]] void tile_amx(const tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  constexpr bool lower = Rows > 16;
  const bool right = columns > 16, adds = mode == tile_mode::add || mode == tile_mode::resume;
  const bool directly = fills_tiles<Rows>(columns, mode);
  amx_sums part;
  float* const sums = directly ? c : part.at;
  const std::int64_t stride = directly ? ldc : 32;
  prefetch_sums<Rows>(c, ldc, mode);
  if (adds) {
    if (!directly) load_part<Rows>(part, c, ldc, columns);
    load_sums<lower>(sums, stride);
  } else {
    zero_sums();
  }
  for (std::int64_t p = 0; p < k; p += 16, a += 16 * a_step, b += 16 * b_step) {
    if constexpr (!lower) prefetch_next_unit(b, b_step);
    multiply_unit<lower, amx_load::both, Integer>(a, a_row, b, b_step, right);
  }
  store_sums<lower>(sums, stride);
  if (!directly) store_part<Rows>(part, c, ldc, columns, mode);
}

}  // namespace tokamax::cpu_backend::detail
#endif
