// tokamax/backend/systolic/chips.hpp: the chips that can be simulated: toy8x8, v4, v5e, v5p, v6e and tpu7x.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/chip.cpp
#pragma once

#include <tokamax/backend/systolic/chip.hpp>  // chip
#include <tokamax/base/error.hpp>             // error

#include <array>        // array
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::systolic_backend {

namespace detail {

constexpr double kib = 1024, mib = 1024 * 1024;
constexpr std::string_view info = "jax/_src/tpu_info.py, jax cec06d1";
constexpr std::string_view cloud = "Cloud TPU documentation, system architecture";
constexpr std::string_view book = "jax-ml/scaling-book 0819a7d";
constexpr std::string_view counter = "ayaka14732/pallas-tpu-tutorial, cycle counter of a TPU v4";

constexpr fact measured(double v) { return {v, provenance::measured, counter}; }
constexpr fact published(double v, std::string_view s = cloud) { return {v, provenance::published, s}; }
constexpr fact derived(double v, std::string_view s) { return {v, provenance::derived, s}; }
constexpr fact fitted(double v, std::string_view s) { return {v, provenance::fitted, s}; }
constexpr fact of_v4(double v) { return {v, provenance::guessed, "the cycles of a TPU v4"}; }
constexpr fact guessed(double v, std::string_view s) { return {v, provenance::guessed, s}; }
constexpr fact chosen(double v) { return {v, provenance::chosen, "a machine to learn with"}; }
constexpr fact none{0, provenance::published, "the chip has none, or no number is published"};

constexpr chip make_v4() {
  chip c;
  c.name = "v4";
  c.cores = published(2), c.mxus = published(4), c.dim = published(128), c.clock_ghz = measured(1.05);
  c.rows_bf16 = measured(1), c.rows_int8 = derived(1, "int8 has the peak of bf16"), c.rows_fp8 = none;
  c.peak_bf16 = published(275), c.peak_int8 = published(275), c.peak_fp8 = none;
  c.weight_push = derived(64, "128 rows of bf16 are 8 packed registers, one every 8 cycles");
  c.swap_bubble =
      guessed(19, "the bubble of a TPU v5e, which P006 fitted; compiled products of a TPU v4 lose 18 to 54");
  c.product_edge = fitted(8, "the product bf16[16,128] x [128,128] of the cycle counter: 176 cycles");
  c.row_group = measured(8);
  c.mxu_near = {measured(83), measured(8)}, c.mxu_far = {measured(101), measured(8)};
  c.accumulators = published(0, info);
  c.sublanes = published(8), c.lanes = published(128), c.vector_slots = published(2, counter);
  c.vector_int = {measured(1), measured(1)}, c.vector_f32 = {measured(2), measured(1)};
  c.eup = {measured(7), measured(2)};
  c.transpose = {measured(6), measured(8)}, c.lane_reduce = {measured(79), measured(8)};
  c.lane_permute = {measured(69), measured(8)};
  c.to_scalar = {measured(43), guessed(1, "not measured")};
  c.vmem = published(16 * mib, info), c.smem = published(mib, info), c.cmem = published(128 * mib, info);
  c.hbm = published(34.4e9, info), c.hbm_gbps = published(1200);
  c.vmem_over_hbm = guessed(22, "the ratio of a TPU v5e");
  c.hbm_to_vmem = {measured(483.6), measured(1.105)}, c.vmem_to_hbm = {measured(417.5), measured(1.051)};
  c.hbm_to_cmem = {measured(438.0), measured(1.110)}, c.cmem_to_hbm = {measured(378.3), measured(1.001)};
  c.cmem_to_vmem = {measured(311), measured(0.5)}, c.vmem_to_cmem = {measured(309), measured(1.0)};
  c.vmem_to_other_core = {measured(414.8), measured(1.014)};
  c.shared_per_kib = derived(1.078, "two cores that read at once take 2.156 cycles per KiB each");
  c.transfers = guessed(16, "more than any kernel measured had in flight");
  c.step = guessed(42, "the step of a TPU v5e");
  c.launch_us = guessed(117, "the launch of a TPU v5e");
  c.ici_links = published(6), c.ici_dimensions = published(3);
  c.ici = {measured(1941.1), measured(24.77)}, c.ici_hop = derived(967.5, "two hops have a fixed cost of 2908.6");
  c.ici_barrier = measured(1299);
  c.tile_f32 = published(8, info), c.tile_bf16 = published(8, info), c.tile_int8 = published(32, info);
  c.megacore = published(1, info), c.timing_is_validated = true;
  return c;
}

/// A chip of which only sizes and rates are published: units and fixed costs are those of v4, in cycles.
constexpr chip like_v4(std::string_view name, double cores, double mxus, double dim, fact clock, double rows,
                       std::string_view rows_source) {
  chip c = make_v4();
  c.name = name;
  c.cores = published(cores), c.mxus = published(mxus), c.dim = published(dim), c.clock_ghz = clock;
  c.rows_bf16 = derived(rows, rows_source);
  c.weight_push = of_v4(dim / 2);
  for (fact* f : {&c.product_edge, &c.ici_barrier, &c.ici.fixed, &c.ici_hop}) *f = of_v4(*f);
  for (unit_cost* u : {&c.mxu_near, &c.mxu_far, &c.vector_int, &c.vector_f32, &c.eup, &c.transpose, &c.lane_reduce,
                       &c.lane_permute, &c.to_scalar})
    *u = {of_v4(u->latency), of_v4(u->interval)};
  c.cmem = none, c.megacore = none, c.timing_is_validated = false;
  return c;
}

/// Transfers at the published bandwidth of HBM, with fixed costs of `in` and `out` cycles. `hbms`: memories that cores share
/// no bandwidth with.
constexpr void set_memory(chip& c, double gigabytes, fact gbps, fact in, fact out, double hbms = 1) {
  c.hbm = published(gigabytes * 1e9, info), c.hbm_gbps = gbps;
  const double per_kib = 1024 * c.clock_ghz / (gbps / hbms);
  const fact slope = derived(per_kib, "1 KiB at the published bandwidth");
  c.hbm_to_vmem = {in, slope}, c.vmem_to_hbm = {out, slope};
  c.hbm_to_cmem = c.cmem_to_hbm = c.cmem_to_vmem = c.vmem_to_cmem = {none, none};
  c.vmem_to_other_core = {of_v4(414.8), of_v4(1.014)};
  c.shared_per_kib = derived(per_kib / hbms, "1 KiB at the published bandwidth");
}

/// Links of `gbps` in each direction. A hop is 1 microsecond where the chip was not measured.
constexpr void set_links(chip& c, double links, double dimensions, fact gbps) {
  c.ici_links = published(links), c.ici_dimensions = published(dimensions);
  c.ici.per_kib = derived(1024 * c.clock_ghz / gbps, "1 KiB at the published bandwidth of a link");
  c.ici_hop = derived(c.cycles_of(1), "1 us per hop, scaling-book 0819a7d");
  c.ici.fixed = derived(2 * c.cycles_of(1), "as on v4, where the first hop costs two");
}

constexpr chip make_v5e() {
  constexpr std::string_view fixed = "the nanoseconds of a TPU v4: 483.6 and 417.5 cycles at 1.05 GHz";
  chip c = like_v4("v5e", 1, 4, 128, published(1.5, book), 1, "the published peak, by the clock");
  c.rows_int8 = derived(2, "the published peak of int8 is twice that of bf16");
  c.peak_bf16 = published(197), c.peak_int8 = published(394), c.peak_fp8 = none;
  c.vmem = published(128 * mib, info), c.vmem_over_hbm = published(22, book);
  set_memory(c, 17.2, published(820, info), derived(483.6 / 1.05 * 1.5, fixed), derived(417.5 / 1.05 * 1.5, fixed));
  c.step = fitted(42, "P003: the 8192 matmul with blocks of 128");
  c.swap_bubble = fitted(19, "P006: the 8192 matmul with blocks of 512, 1024, 1024");
  c.launch_us = fitted(117, "P001: the 1024 matmul with blocks of 128, timed from Python");
  set_links(c, 4, 2, published(45, book));
  c.timing_is_validated = true;
  return c;
}

constexpr chip make_v5p() {
  chip c = like_v4("v5p", 2, 4, 128, derived(1.75, "459e12 / (2 * 8 * 128^2) = 1.751"), 1,
                   "the published peak, by the clock");
  c.rows_int8 = derived(2, "the published peak"), c.rows_fp8 = derived(1, "the published peak");
  c.peak_bf16 = published(459), c.peak_int8 = published(918), c.peak_fp8 = published(459);
  c.vmem = published(64 * mib, info);
  set_memory(c, 103, published(2460, "tpu_info.py of jax cec06d1; Cloud TPU documentation says 2765"), of_v4(483.6),
             of_v4(417.5));
  set_links(c, 6, 3, published(90));
  c.megacore = published(1, info);
  return c;
}

constexpr chip make_v6e() {
  constexpr std::string_view rows = "918e12 / (2 * 2 * 256^2) = 3.50 GHz, hence two rows per cycle at half of it";
  chip c = like_v4("v6e", 1, 2, 256, guessed(1.75, "no clock is published"), 2, rows);
  c.rows_int8 = derived(4, "the published peak"), c.rows_fp8 = derived(2, "the published peak");
  c.peak_bf16 = published(918), c.peak_int8 = published(1836), c.peak_fp8 = published(918);
  c.vmem = published(128 * mib, info);
  set_memory(c, 34.4, published(1638), of_v4(483.6), of_v4(417.5));
  set_links(c, 4, 2, published(90));
  return c;
}

constexpr chip make_tpu7x() {
  constexpr std::string_view rows = "2307e12 / (2 * 4 * 256^2) = 4.40 GHz, hence two rows per cycle at half of it";
  chip c = like_v4("tpu7x", 2, 2, 256, guessed(2.2, "no clock is published"), 2, rows);
  c.rows_int8 = none, c.rows_fp8 = derived(4, "the published peak");
  c.peak_bf16 = published(2307), c.peak_int8 = none, c.peak_fp8 = published(4614);
  c.vmem = published(64 * mib, info), c.accumulators = published(128, info);
  set_memory(c, 206, published(7380), of_v4(483.6), of_v4(417.5), 2);
  set_links(c, 6, 3, derived(100, "1200 GB/s of the chip, by 6 links and 2 directions"));
  c.tile_bf16 = published(16, info);
  return c;
}

/// One array of 8 x 8, one row per cycle and no cost but those of the array: its cycles can be counted on paper.
constexpr chip make_toy() {
  chip c = make_v4();
  c.name = "toy8x8";
  c.cores = c.mxus = c.clock_ghz = c.rows_bf16 = c.rows_int8 = c.rows_fp8 = chosen(1), c.dim = chosen(8);
  c.peak_bf16 = c.peak_int8 = c.peak_fp8 = chosen(0.128);
  c.weight_push = chosen(8), c.swap_bubble = c.product_edge = c.step = c.launch_us = c.accumulators = chosen(0);
  c.row_group = chosen(1);
  c.mxu_near = c.mxu_far = {chosen(15), chosen(1)};  // a row leaves 8 + 8 - 1 cycles after it has entered
  for (unit_cost* u :
       {&c.vector_int, &c.vector_f32, &c.eup, &c.transpose, &c.lane_reduce, &c.lane_permute, &c.to_scalar})
    *u = {chosen(1), chosen(1)};
  c.sublanes = c.lanes = chosen(8), c.vector_slots = chosen(1);
  c.vmem = chosen(4 * kib), c.smem = chosen(kib), c.cmem = chosen(0), c.hbm = chosen(mib), c.hbm_gbps = chosen(16);
  c.vmem_over_hbm = chosen(8);
  for (transfer_cost* t : {&c.hbm_to_vmem, &c.vmem_to_hbm, &c.ici}) *t = {chosen(10), chosen(64)};
  c.hbm_to_cmem = c.cmem_to_hbm = c.cmem_to_vmem = c.vmem_to_cmem = c.vmem_to_other_core = {chosen(0), chosen(0)};
  c.shared_per_kib = chosen(64), c.transfers = chosen(4);
  c.ici_links = chosen(2), c.ici_dimensions = chosen(1), c.ici_hop = chosen(10), c.ici_barrier = chosen(20);
  c.tile_f32 = c.tile_bf16 = c.tile_int8 = chosen(8), c.megacore = chosen(0), c.timing_is_validated = false;
  return c;
}

}  // namespace detail

inline constexpr chip toy8x8 = detail::make_toy();
inline constexpr chip v4 = detail::make_v4();
inline constexpr chip v5e = detail::make_v5e();
inline constexpr chip v5p = detail::make_v5p();
inline constexpr chip v6e = detail::make_v6e();
inline constexpr chip tpu7x = detail::make_tpu7x();

/// The chips that exist.
inline constexpr std::array tpus = {v4, v5e, v5p, v6e, tpu7x};

/// The chip of this name: toy8x8, v4, v5e, v5p, v6e or tpu7x.
///
/// errors  tokamax::error for another name
constexpr const chip& chip_named(std::string_view name) {
  if (name == toy8x8.name) return toy8x8;
  for (const chip& c : tpus)
    if (c.name == name) return c;
  throw error("systolic: chip", std::string(name), "toy8x8, v4, v5e, v5p, v6e or tpu7x");
}

}  // namespace tokamax::systolic_backend
