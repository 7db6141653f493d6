// tokamax/backend/cpu/gemm/isa/amx_split_bf16.hpp: products of f32 as sums of bfloat16 products, by the matrix unit of x86-64 (AMX).
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/pack/split_bf16.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/amx.hpp>          // multiply_unit
#include <tokamax/backend/cpu/gemm/pack/split_bf16.hpp>  // pack_split_bf16

#if defined(__x86_64__) && defined(__linux__)
namespace tokamax::cpu_backend::detail {

  #define TOKAMAX_AMX_PARTS_TARGET gnu::target("amx-tile,amx-bf16,amx-int8,avx512f,avx512dq")

/// Adds 16 steps: the products of parts i and j of A and B with i + j < Parts. The product of the first parts is left out
/// unless `All`. The order is chosen so that few tiles are loaded.
template <bool Lower, int Parts, bool All>
[[TOKAMAX_AMX_PARTS_TARGET, gnu::always_inline]] inline void multiply_parts(const float* a, std::int64_t a_row,
                                                                            const float* b, std::int64_t b_step,
                                                                            bool right) noexcept {
  const std::int64_t b_row = Parts * b_step;
  const auto a_part = [a](int i) { return a + i * 16; };
  const auto b_part = [b, b_step](int i) { return b + i * b_step; };
  if constexpr (Parts == 3) {
    multiply_unit<Lower, amx_load::both>(a_part(2), a_row, b_part(0), b_row, right);
    multiply_unit<Lower, amx_load::a>(a_part(1), a_row, b_part(0), b_row, right);
    multiply_unit<Lower, amx_load::b>(a_part(1), a_row, b_part(1), b_row, right);
    multiply_unit<Lower, amx_load::a>(a_part(0), a_row, b_part(1), b_row, right);
    multiply_unit<Lower, amx_load::b>(a_part(0), a_row, b_part(2), b_row, right);
    if constexpr (All) multiply_unit<Lower, amx_load::b>(a_part(0), a_row, b_part(0), b_row, right);
  } else {
    multiply_unit<Lower, amx_load::both>(a_part(1), a_row, b_part(0), b_row, right);
    if constexpr (All) multiply_unit<Lower, amx_load::a>(a_part(0), a_row, b_part(0), b_row, right);
    multiply_unit<Lower, All ? amx_load::b : amx_load::both>(a_part(0), a_row, b_part(1), b_row, right);
  }
}

/// The mask of those among 16 sums that are infinite or NaN.
[[gnu::target("avx512f,avx512dq"), gnu::always_inline]] inline __mmask16 not_finite(__m512 sums) noexcept {
  return _mm512_fpclass_ps_mask(sums, 0x99);
}

/// The sums of a tile whose operands are infinite, NaN or huge. The first part of such an operand is the operand itself, and
/// the other parts have no meaning. So the products of first parts are summed alone, and other products are added only where
/// they are finite.
template <int Rows, int Parts>
[[TOKAMAX_AMX_PARTS_TARGET, gnu::noinline]] void sum_first_parts(std::int64_t k, const float* a, std::int64_t a_row,
                                                                 std::int64_t a_step, const float* b,
                                                                 std::int64_t b_step, const amx_sums& start,
                                                                 std::int64_t columns, amx_sums& sums) noexcept {
  constexpr bool lower = Rows > 16;
  const bool right = columns > 16;
  zero_sums();
  for (std::int64_t p = 0; p < k; p += 16)
    multiply_parts<lower, Parts, false>(a + p * a_step, a_row, b + p * Parts * b_step, b_step, right);
  store_sums<lower>(sums.at, 32);
  for (int i = 0; i < Rows * 32; i += 16) {
    const __m512 others = _mm512_load_ps(sums.at + i), from = _mm512_load_ps(start.at + i);
    _mm512_store_ps(sums.at + i, _mm512_mask_add_ps(from, _knot_mask16(not_finite(others)), from, others));
  }
  load_sums<lower>(sums.at, 32);
  for (std::int64_t p = 0; p < k; p += 16)
    multiply_unit<lower, amx_load::both>(a + p * a_step, a_row, b + p * Parts * b_step, Parts * b_step, right);
  store_sums<lower>(sums.at, 32);
}

/// Like tile_amx, on panels whose numbers are split into `Parts` bfloat16 numbers. The largest products of parts are summed:
/// six products for three parts, and three for two parts.
template <int Rows, int Parts>
[[TOKAMAX_AMX_PARTS_TARGET]] void tile_amx_split_bf16(const tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  constexpr bool lower = Rows > 16;
  const bool right = columns > 16, adds = mode == tile_mode::add || mode == tile_mode::resume;
  const bool full = fills_tiles<Rows>(columns, mode), directly = full && !adds;
  amx_sums start, part;
  float* const sums = directly ? c : part.at;
  const std::int64_t stride = directly ? ldc : 32;
  prefetch_sums<Rows>(c, ldc, mode);
  if (!adds) {
    zero_sums();
  } else if (full) {
    load_sums<lower>(c, ldc);
  } else {
    load_part<Rows>(start, c, ldc, columns);
    load_sums<lower>(start.at, 32);
  }
  for (std::int64_t p = 0; p < k; p += 16)
    multiply_parts<lower, Parts, true>(a + p * a_step, a_row, b + p * Parts * b_step, b_step, right);
  store_sums<lower>(sums, stride);
  __mmask16 found = 0;
  for (int r = 0; r < Rows; ++r)
    for (int half = 0; half < 32; half += 16)
      found = _kor_mask16(found, not_finite(_mm512_loadu_ps(sums + r * stride + half)));
  if (found != 0) {
    start = {};
    if (adds) load_part<Rows>(start, c, ldc, columns);
    amx_sums first;
    sum_first_parts<Rows, Parts>(k, a, a_row, a_step, b, b_step, start, columns, first);
    for (int r = 0; r < Rows; ++r)
      for (int half = 0; half < 32; half += 16) {
        float* const at = sums + r * stride + half;
        _mm512_mask_storeu_ps(at, not_finite(_mm512_loadu_ps(at)), _mm512_load_ps(first.at + r * 32 + half));
      }
  }
  if (!directly) store_part<Rows>(part, c, ldc, columns, mode);
}

  #undef TOKAMAX_AMX_PARTS_TARGET

template <int Parts>
inline constexpr microkernel_set gemm_amx_split_bf16 = [] {
  microkernel_set k{.terms = 2,
                    .a_words = Parts,
                    .b_words = Parts,
                    .a_in_place = false,
                    .b_in_place = false,
                    .rows = 32,
                    .columns = 32,
                    .unit = 16,
                    .k_block = 512,
                    .pack_rows = 100,
                    .tile = {},
                    .wide = {},
                    .wide_columns = {},
                    .pack = pack_split_bf16<Parts, float>,
                    .pack_bfloat16 = pack_split_bf16<Parts, std::uint16_t>,
                    .pack_a = pack_split_bf16_by_lane<Parts, float>,
                    .pack_a_bfloat16 = pack_split_bf16_by_lane<Parts, std::uint16_t>,
                    .begin = begin_amx,
                    .end = end_amx};
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    ((k.tile[Index + 1] = tile_amx_split_bf16<static_cast<int>(Index) + 1, Parts>), ...);
  }(std::make_index_sequence<32>());
  return k;
}();

}  // namespace tokamax::cpu_backend::detail
#endif
