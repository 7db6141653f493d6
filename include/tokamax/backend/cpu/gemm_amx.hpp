// tokamax/backend/cpu/gemm_amx.hpp: bfloat16 and int8 tiles for the matrix unit of x86-64 (AMX).
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (kernels include it, and are compiled once)
// tested by tests/backend/cpu/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm_microkernel.hpp>  // gemm_kernels
#include <tokamax/backend/cpu/gemm_pairs.hpp>        // pack_pairs
#include <tokamax/backend/cpu/prefetch.hpp>          // prefetch_to_write

#if defined(__x86_64__) && defined(__linux__)
  #include <cpuid.h>        // __get_cpuid_count
  #include <sys/syscall.h>  // SYS_arch_prctl
  #include <unistd.h>       // syscall

  #include <utility>  // index_sequence

namespace tokamax::simd::detail {

/// Has this machine the unit, and lets the system this process use it? Asked once; the answer holds for all threads.
inline bool has_amx() noexcept {
  static const bool found = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned all = 1u << 22 | 1u << 24 | 1u << 25;     // bfloat16, tiles, int8: they come together
    constexpr long request_permission = 0x1023, tile_data = 18;  // Linux: ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & all) == all &&
           syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return found;
}

/// What ldtilecfg reads: all eight tiles have 16 rows of 64 bytes.
struct alignas(64) amx_configuration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
[[gnu::target("amx-tile")]] inline void begin_amx() noexcept {
  static constexpr amx_configuration all_tiles;
  _tile_loadconfig(&all_tiles);
}
[[gnu::target("amx-tile")]] inline void end_amx() noexcept { _tile_release(); }

// Compilers do not see what tile instructions read.
inline void memory_is_written() noexcept { __asm__ volatile("" ::: "memory"); }

// Tile s += tile a times tile b. The numbers of tiles must be digits.
  #define TOKAMAX_MULTIPLY_TILES(s, a, b) \
    if constexpr (Integer)                \
      _tile_dpbssd(s, a, b);              \
    else                                  \
      _tile_dpbf16ps(s, a, b)

/// Sums of bfloat16 products, or of int8 ones in int32, in four accumulators, 32 x 32: rows of A with the 16 steps of a
/// unit side by side, in panels filled with zeros or where they lie, and panels of B with lanes side by side. Each product
/// of two tiles sums 16 steps, so the order is that of k. To add is to begin with what C holds.
template <int Rows, bool Integer>
[[gnu::target("amx-tile,amx-bf16,amx-int8,avx512f")]] void tile_amx(std::int64_t k, const float* a, std::int64_t a_row,
                                                                    std::int64_t a_step, const float* b,
                                                                    std::int64_t b_step, float* c, std::int64_t ldc,
                                                                    std::int64_t columns, tile_mode mode) noexcept {
  constexpr bool low = Rows > 16;
  const bool right = columns > 16, adds = mode == tile_mode::add || mode == tile_mode::resume;
  alignas(64) float part[32 * 32];
  const bool directly = Rows == 32 && columns == 32 && mode != tile_mode::stream;
  float* const sums = directly ? c : part;
  const std::int64_t stride = directly ? ldc : 32;
  const auto kept = [=](int half) { return first_bits<__mmask16>(columns - half); };
  if (mode != tile_mode::stream)
    for (int r = 0; r < Rows; ++r) {
      prefetch_to_write(c + r * ldc);
      prefetch_to_write(c + r * ldc + 16);
    }
  if (adds) {
    for (int r = 0; r < Rows && !directly; ++r)
      for (int half = 0; half < 32; half += 16)
        _mm512_store_ps(part + r * 32 + half, _mm512_maskz_loadu_ps(kept(half), c + r * ldc + half));
    memory_is_written();
    _tile_loadd(0, sums, stride * 4);
    _tile_loadd(1, sums + 16, stride * 4);
    if constexpr (low) {
      _tile_loadd(2, sums + 16 * stride, stride * 4);
      _tile_loadd(3, sums + 16 * stride + 16, stride * 4);
    }
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    memory_is_written();
  }
  // A goes by while the panel of B stays in the first-level cache: the loads of A say that it need not.
  for (std::int64_t p = 0; p < k; p += 16, a += 16 * a_step, b += 16 * b_step) {
    _tile_loadd(6, b, b_step * 4);
    _tile_stream_loadd(4, a, a_row * 4);
    TOKAMAX_MULTIPLY_TILES(0, 4, 6);
    if constexpr (low) {
      _tile_stream_loadd(5, a + 16 * a_row, a_row * 4);
      TOKAMAX_MULTIPLY_TILES(2, 5, 6);
    }
    if (right) {
      _tile_loadd(7, b + 16, b_step * 4);
      TOKAMAX_MULTIPLY_TILES(1, 4, 7);
      if constexpr (low) {
        TOKAMAX_MULTIPLY_TILES(3, 5, 7);
      }
    }
  }
  _tile_stored(0, sums, stride * 4);
  _tile_stored(1, sums + 16, stride * 4);
  if constexpr (low) {
    _tile_stored(2, sums + 16 * stride, stride * 4);
    _tile_stored(3, sums + 16 * stride + 16, stride * 4);
  }
  if (directly) return;
  memory_is_written();
  for (int r = 0; r < Rows; ++r)
    for (int half = 0; half < 32; half += 16) {
      float* const at = c + r * ldc + half;
      const __m512 sum = _mm512_load_ps(part + r * 32 + half);
      if (mode == tile_mode::stream && kept(half) == 0xffff)
        _mm512_stream_ps(at, sum);
      else
        _mm512_mask_storeu_ps(at, kept(half), sum);
    }
}

  #undef TOKAMAX_MULTIPLY_TILES

inline constexpr gemm_kernels gemm_amx_bfloat16 = [] {
  gemm_kernels k{.terms = 2,
                 .a_in_place = true,
                 .b_in_place = false,
                 .rows = 32,
                 .columns = 32,
                 .unit = 16,
                 .block = 768,
                 .whole = 1024,
                 .pack_rows = 200,
                 .tile = {},
                 .wide = {},
                 .wide_columns = {},
                 .pack = pack_pairs<float>,
                 .pack_bfloat16 = pack_pairs<std::uint16_t>,
                 .pack_a = pack_pairs_by_lane<float>,
                 .pack_a_bfloat16 = pack_pairs_by_lane<std::uint16_t>,
                 .begin = begin_amx,
                 .end = end_amx};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((k.tile[I + 1] = tile_amx<static_cast<int>(I) + 1, false>), ...);
  }(std::make_index_sequence<32>());
  return k;
}();

}  // namespace tokamax::simd::detail
#endif
