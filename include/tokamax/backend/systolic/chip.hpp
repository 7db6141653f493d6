// tokamax/backend/systolic/chip.hpp: what a simulated TPU is made of, as numbers that name their sources.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/fact.hpp>  // fact

#include <string_view>  // string_view

namespace tokamax::systolic_backend {

/// The cost of a transfer: cycles = fixed + per_kib * KiB, from its issue until a wait for it returns.
struct transfer_cost {
  fact fixed, per_kib;

  constexpr double cycles(double bytes) const { return fixed + per_kib * bytes / 1024; }
};

/// The cost of an instruction: cycles until its result can be used, and cycles until its unit takes the next one.
struct unit_cost {
  fact latency, interval;
};

/// Element types by what they cost: bytes in memory, rows per cycle in the array.
enum class element : unsigned char { f32, bf16, int8, fp8 };
constexpr int bytes_of(element e) { return e == element::f32 ? 4 : e == element::bf16 ? 2 : 1; }
/// Rows of 8x128 words that one vector register holds: narrow elements are packed.
constexpr int packed_rows(element e) { return 32 / bytes_of(e); }

/// A chip. All times are cycles of its clock, all sizes bytes, all rates of one core unless the comment says "chip".
/// The units have v4's cycles where nothing is known: no other chip has public counters.
struct chip {
  std::string_view name;

  // the arrays
  fact cores;                           // TensorCores of a chip
  fact mxus;                            // arrays of a core
  fact dim;                             // rows, and columns, of an array
  fact clock_ghz;                       // cycles per nanosecond
  fact rows_bf16, rows_int8, rows_fp8;  // rows that an array takes per cycle; 0: this type is not multiplied
  fact peak_bf16, peak_int8, peak_fp8;  // chip, 1e12 operations per second, as published; 0: not published
  fact weight_push;                     // loads a tile of weights into the shadow registers of an array
  fact swap_bubble;                     // lost at each change of weights in compiled code
  fact product_edge;                    // loads before the first row and stores after the last one
  fact row_group;                       // rows that enter an array with one instruction; 1: any number of rows
  unit_cost mxu_near, mxu_far;          // one row group in, its results out: the first two arrays, and the others
  fact accumulators;                    // of (8, dim) f32 in each array; 0: sums over K are vector adds

  // the vector units
  fact sublanes, lanes;                   // of a vector register
  fact vector_slots;                      // vector instructions that start in a cycle
  unit_cost vector_int, vector_f32, eup;  // integers and compares; f32 arithmetic; powers, logarithms, roots, tanh
  unit_cost transpose, lane_reduce, lane_permute;  // the cross-lane unit (XLU)
  unit_cost to_scalar;                             // a lane to the scalar core

  // memories
  fact vmem, smem;     // of a core
  fact cmem, hbm;      // chip
  fact hbm_gbps;       // chip, 1e9 bytes per second, as published
  fact vmem_over_hbm;  // bandwidth of VMEM, in bandwidths of HBM
  transfer_cost hbm_to_vmem, vmem_to_hbm, hbm_to_cmem, cmem_to_hbm, cmem_to_vmem, vmem_to_cmem, vmem_to_other_core;
  fact shared_per_kib;  // chip, cycles per KiB of HBM when all its cores transfer at once
  fact transfers;       // that a core can have in flight
  fact step;            // scalar work of a grid step before its first instruction
  fact launch_us;       // host, from a call to the first cycle, and back

  // links to other chips
  fact ici_links;       // chip
  fact ici_dimensions;  // of the torus
  transfer_cost ici;    // VMEM to the VMEM of a neighbour
  fact ici_hop;         // added by each further hop
  fact ici_barrier;     // of four chips

  // layout
  fact tile_f32, tile_bf16, tile_int8;  // rows of a tile in memory
  fact megacore;                        // 1: the cores of a chip are one device
  bool timing_is_validated = false;     // were times of this chip compared with published ones?

  /// Rows that an array takes per cycle, and 0 for a type that it does not multiply. f32 operands become bf16 on the way.
  constexpr double rows_per_cycle(element e) const {
    return e == element::int8 ? rows_int8 : e == element::fp8 ? rows_fp8 : rows_bf16;
  }
  /// 1e12 operations per second of the whole chip, from its parts: 2 cores mxus dim^2 rows clock.
  constexpr double peak(element e) const { return 2 * cores * mxus * dim * dim * rows_per_cycle(e) * clock_ghz * 1e-3; }
  /// Operations that a core can do in a cycle, from the same.
  constexpr double peak_per_cycle(element e) const { return 2 * mxus * dim * dim * rows_per_cycle(e); }
  constexpr double microseconds(double cycles) const { return cycles / (clock_ghz * 1e3); }
  constexpr double cycles_of(double us) const { return us * clock_ghz * 1e3; }
  /// Operations per byte of HBM at which a product is limited by both the array and the memory.
  constexpr double critical_intensity(element e) const { return peak(e) * 1e3 / hbm_gbps; }
  /// Rows that enter an array together: a packed register of the type.
  constexpr long long row_granule(element e) const { return row_group == 1 ? 1 : packed_rows(e); }
  constexpr long long tile_rows(element e) const {
    return count_of(e == element::f32 ? tile_f32 : e == element::bf16 ? tile_bf16 : tile_int8);
  }
};

}  // namespace tokamax::systolic_backend
