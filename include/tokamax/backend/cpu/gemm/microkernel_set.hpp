// tokamax/backend/cpu/gemm/microkernel_set.hpp: what an instruction set brings to matrix products: register tiles and panels.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/pack/strips.hpp>  // pack_fn<float>
#include <tokamax/backend/cpu/vector/simd.hpp>       // the intrinsics

#include <cstdint>  // int64_t

namespace tokamax::cpu_backend {

/// What a tile does with the old C: nothing, add to it in one rounding, or go on summing where it stopped; a matrix unit
/// goes on in both. `stream` is assign past the caches, where the machine can: rows of C begin on 64 bytes, and a fence
/// must follow.
enum class tile_mode { assign, add, resume, stream };

/// One register tile, summed over k packed steps in order, with one rounding per term (fma where the machine has it):
///
///   c[r * ldc + j] (+)= sum_p a[p * a_step + r * a_row] * b[p * b_step + j],  r < Rows, j < columns
///
/// A packed step is one f32, a pair of bfloat16 or four int8, whose sums are int32 in the memory of c. Where steps come in
/// units, those of a unit lie side by side in a, and a_step is the distance from one unit to the next over its steps.
/// In a panel a_row is a unit, or a_words; where rows lie apart, a_step is 1. Reads b only for j < columns. The bits do not
/// depend on the tile's place or height, and are the same with AVX2 and AVX-512; resuming gives the bits of one longer sum.
struct tile_call {
  std::int64_t k;              ///< packed steps
  const float* a;              ///< rows of A
  std::int64_t a_row, a_step;  ///< from one row, and from one step, to the next
  const float* b;              ///< columns of B, which lie side by side
  std::int64_t b_step;         ///< from one step to the next
  float* c;                    ///< rows of C
  std::int64_t ldc;            ///< from one row to the next
  std::int64_t columns;        ///< that C has
  tile_mode mode;
};
using gemm_tile_fn = void (*)(const tile_call& call) noexcept;

inline constexpr int gemm_max_rows = 32;
inline constexpr int transposed_b_rows = 6, transposed_b_columns = 8;  // at most, and of each

/// What one machine offers: the tiles by height, and how to fill their panels.
struct microkernel_set {
  int terms;                             ///< of k in a packed step of 4 bytes
  int a_words = 1;                       ///< of 4 bytes that a packed step of a panel of A takes
  int b_words = 1;                       ///< and of a panel of B
  bool a_in_place;                       ///< may tiles read rows of A that are not packed?
  bool b_in_place;                       ///< may wide and transposed_b ones read B, f32 or, with two terms, bfloat16?
  int rows;                              ///< height of the packed panels of A
  int columns;                           ///< width of the packed panels of B
  int unit = 1;                          ///< packed steps come in multiples of this; zeros fill up
  int k_block = 512;                     ///< about so many terms are summed before they are added to C
  int max_single_k_block = 0;            ///< but so many, where there are no more
  int pack_rows = 10;                    ///< rows of a tile that cost as much as packing its B
  gemm_tile_fn tile[gemm_max_rows + 1];  ///< by number of rows, [1, rows]; up to `columns` columns
  gemm_tile_fn wide[gemm_max_rows + 1];  ///< the same for few rows and more columns, for an unpacked B
  int wide_columns[gemm_max_rows + 1];   ///< how many
  /// The same for transposed_b_columns columns of an unpacked B that lie b_step elements apart; k counts terms.
  gemm_tile_fn transposed_b[transposed_b_rows + 1] = {};
  gemm_tile_fn two_panel[3] = {};  ///< for one and two rows: up to two packed panels, one behind the other
  pack_fn<float> pack;
  pack_fn<std::uint16_t> pack_bfloat16;              ///< the same from operands in bfloat16
  pack_fn<float> pack_a = nullptr;                   ///< panels of A, where they are laid out otherwise
  pack_fn<std::uint16_t> pack_a_bfloat16 = nullptr;  ///< the same from operands in bfloat16
  pack_fn<std::int8_t> pack_int8 = nullptr;          ///< the same from operands in int8
  pack_fn<std::int8_t> pack_a_int8 = nullptr;        ///< panels of A
  bool integer = false;                              ///< are sums int32?
  int initial_sums = 0;                              ///< steps of a panel of B before its first terms: where sums begin
  void (*fill_initial_sums)(float* panel, std::int64_t columns, std::int64_t packed_steps) noexcept = nullptr;
  void (*begin)(std::int64_t rows) noexcept = nullptr;  ///< before a thread computes tiles of a C of so many rows
  void (*end)() noexcept = nullptr;                     ///< after
};

/// What the tiles of a set multiply: f32, f32 that panels round to bfloat16, pairs of bfloat16, quads of int8, and f32 as
/// sums of two or three bfloat16.
enum class microkernel_numbers { f32, rounded, bfloat16, int8, split_2, split_3 };

namespace detail {
/// The sets of an instruction set, each compiled in one file of the library. Those that it lacks must not be asked for:
/// AVX2 and AVX-512 have f32 to int8, any machine f32, rounded and int8, and AMX those from bfloat16 on.
const microkernel_set& portable_kernels(microkernel_numbers numbers) noexcept;
const microkernel_set& avx2_kernels(microkernel_numbers numbers) noexcept;
const microkernel_set& avx512_kernels(microkernel_numbers numbers) noexcept;
const microkernel_set& amx_kernels(microkernel_numbers numbers) noexcept;

/// Kernels of f32 whose panels are rounded to bfloat16: the products of machines without bfloat16 instructions.
constexpr microkernel_set rounding(microkernel_set k, pack_fn<float> pack) {
  k.a_in_place = k.b_in_place = false;
  k.pack = pack;
  return k;
}
}  // namespace detail

/// While it lives, its thread may compute tiles: of any heights, or of fewer rows in all than one has.
class tile_scope {
 public:
  explicit tile_scope(const microkernel_set& kernels, std::int64_t rows = gemm_max_rows) noexcept : kernels_(kernels) {
    if (kernels_.begin != nullptr) kernels_.begin(rows);
  }
  ~tile_scope() {
    if (kernels_.end != nullptr) kernels_.end();
  }
  tile_scope(const tile_scope&) = delete;

 private:
  const microkernel_set& kernels_;
};

}  // namespace tokamax::cpu_backend
