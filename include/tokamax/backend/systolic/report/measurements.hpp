// tokamax/backend/systolic/report/measurements.hpp: published times of real chips, and what the model says about them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/chips.hpp>   // v4, v5e
#include <tokamax/backend/systolic/matmul.hpp>  // simulate_matmul

#include <fmt/format.h>  // format

#include <algorithm>  // max
#include <array>      // array
#include <cmath>      // abs
#include <map>        // map
#include <span>       // span
#include <string>     // string
#include <vector>     // vector

namespace tokamax::systolic_backend {

/// What was measured. The numbers of a case are `measurement::numbers`.
enum class measured_case {
  matmul,     ///< us of a blocked product with its launch: m, k, n, and those of a block
  transfers,  ///< cycles of DMAs from HBM that are issued together: how many, KiB of each
  product,    ///< cycles of a bf16 product in VMEM, between two readings of the counter: m, k, n
  products,   ///< the same for products of 8 rows with weights that are there: how many
  roots,      ///< the same for EUP instructions, without waiting for their results: how many
  pops,       ///< the same for results of a transpose that are taken out: how many
  transpose,  ///< the same for a transpose with all results: registers
  intensity   ///< operations per byte of HBM at which both limit
};

/// A published number. One that fitted a constant of the model proves nothing about it, and is not judged.
struct measurement {
  std::string_view id, group;
  const chip* on;
  measured_case what;
  std::array<double, 6> numbers;
  double value;
  std::string_view fits = "";  ///< the constant of the chip that this number was used for; "": none
};

/// source  P001 to P006: jax-ml/jax cec06d1, docs/pallas/tpu/matmul (bf16, timed from Python). P043 to P101 and the dots:
///         ayaka14732/pallas-tpu-tutorial, cycle counter of a TPU v4. P170: jax-ml/scaling-book 0819a7d. The
///         intervals of v4's units were read from spans like P081 to P095, which therefore test the form more than the numbers.
inline constexpr measurement measurements[] = {
    {"P001", "v5e matmul", &v5e, measured_case::matmul, {1024, 1024, 1024, 128, 128, 128}, 297.666, "launch_us"},
    {"P003", "v5e matmul", &v5e, measured_case::matmul, {8192, 8192, 8192, 128, 128, 128}, 91835.7707, "step"},
    {"P006", "v5e matmul", &v5e, measured_case::matmul, {8192, 8192, 8192, 512, 1024, 1024}, 6099.4338, "swap_bubble"},
    {"P043 4 KiB", "v4 DMA", &v4, measured_case::transfers, {4, 4}, 470.6 + 4.76 * 4},
    {"P043 32 KiB", "v4 DMA", &v4, measured_case::transfers, {4, 32}, 470.6 + 4.76 * 32},
    {"P043 256 KiB", "v4 DMA", &v4, measured_case::transfers, {4, 256}, 470.6 + 4.76 * 256},
    {"dot 16", "v4 dots", &v4, measured_case::product, {16, 128, 128}, 176, "product_edge"},
    {"dot 128", "v4 dots", &v4, measured_case::product, {128, 128, 128}, 211},
    {"dot 1024", "v4 dots", &v4, measured_case::product, {1024, 128, 128}, 435},
    {"P081", "v4 units", &v4, measured_case::products, {1}, 96},
    {"P082", "v4 units", &v4, measured_case::products, {2}, 104},
    {"P083", "v4 units", &v4, measured_case::products, {4}, 120},
    {"P084", "v4 units", &v4, measured_case::products, {8}, 152},
    {"P085", "v4 units", &v4, measured_case::products, {16}, 254},
    {"P086", "v4 units", &v4, measured_case::roots, {1}, 14},
    {"P087", "v4 units", &v4, measured_case::roots, {2}, 15},
    {"P088", "v4 units", &v4, measured_case::roots, {4}, 19},
    {"P089", "v4 units", &v4, measured_case::roots, {8}, 27},
    {"P090", "v4 units", &v4, measured_case::roots, {16}, 43},
    {"P091", "v4 units", &v4, measured_case::pops, {1}, 14},
    {"P092", "v4 units", &v4, measured_case::pops, {2}, 21},
    {"P093", "v4 units", &v4, measured_case::pops, {4}, 37},
    {"P094", "v4 units", &v4, measured_case::pops, {8}, 69},
    {"P095", "v4 units", &v4, measured_case::pops, {16}, 133},
    {"P099", "v4 transposes", &v4, measured_case::transpose, {16}, 267},
    {"P099 XLA", "v4 transposes", &v4, measured_case::transpose, {16}, 268},
    {"P100 XLA", "v4 transposes", &v4, measured_case::transpose, {32}, 527},
    {"P101", "v4 transposes", &v4, measured_case::transpose, {16}, 288},
    {"P170", "rates", &v5e, measured_case::intensity, {}, 240},
};

/// What the model says about a published number, on `c` in place of the chip of the number.
inline double predicted(const measurement& m, const chip& c) {
  constexpr double counter = 13;  // cycles of two readings of v4's counter
  const auto size = [&](std::size_t i) { return static_cast<long long>(m.numbers[i]); };
  switch (m.what) {
    case measured_case::matmul: {
      const matmul_options o{.block = {size(3), size(4), size(5)}};
      return simulate_matmul(c, {size(0), size(1), size(2)}, o).microseconds() + c.launch_us;
    }
    case measured_case::transfers: {
      program p;
      for (int i = 0; i < m.numbers[0]; ++i) p.transfer(memory::hbm, memory::vmem, m.numbers[1] * 1024);
      return simulate(c, p).cycles;
    }
    case measured_case::product:
      return counter + product_cost(c, {size(0), size(1), size(2)}).total();
    case measured_case::products:
      return counter + c.mxu_near.latency + (m.numbers[0] - 1) * c.mxu_near.interval;
    case measured_case::roots:
      return counter + (m.numbers[0] - 1) * c.eup.interval;
    case measured_case::pops:
      return counter + (m.numbers[0] - 1) * c.transpose.interval;
    case measured_case::transpose:
      return counter + vector_cost(c, vector_function_of("transpose"), m.numbers[0]).total();
      return 8 / c.rows_bf16;
    case measured_case::intensity:
      return c.critical_intensity(element::bf16);
      return 1024 * c.ici_hop / c.ici.per_kib;
  }
  return 0;
}
inline double predicted(const measurement& m) { return predicted(m, *m.on); }

/// How far the model is from the numbers of a group that fitted nothing: the mean and the largest |predicted / value - 1|.
struct model_error {
  int judged = 0, fitted = 0;
  double mean = 0, worst = 0;
};

inline std::map<std::string, model_error> model_errors(std::span<const measurement> all = measurements) {
  std::map<std::string, model_error> groups;
  for (const measurement& m : all) {
    model_error& e = groups[std::string(m.group)];
    if (!m.fits.empty()) {
      ++e.fitted;
      continue;
    }
    const double error = std::abs(predicted(m) / m.value - 1);
    e.mean = (e.mean * e.judged + error) / (e.judged + 1);
    e.worst = std::max(e.worst, error);
    ++e.judged;
  }
  return groups;
}

/// All numbers with the model's, and the errors by group, as text. Numbers that fitted a constant name it.
inline std::string measurement_table(std::span<const measurement> all = measurements) {
  std::string s = fmt::format("{:<14} {:<14} {:>11} {:>11} {:>8}\n", "group", "number", "published", "model", "error");
  for (const measurement& m : all) {
    const double p = predicted(m);
    s += fmt::format("{:<14} {:<14} {:>11.1f} {:>11.1f} {:>+7.1f}%{}\n", m.group, m.id, m.value, p,
                     100 * (p / m.value - 1), m.fits.empty() ? "" : fmt::format("  fits {}", m.fits));
  }
  for (const auto& [group, e] : model_errors(all))
    s += e.judged > 0 ? fmt::format("{:<14} mean {:.1f}%, worst {:.1f}% of {} numbers, {} more fitted constants\n",
                                    group, 100 * e.mean, 100 * e.worst, e.judged, e.fitted)
                      : fmt::format("{:<14} not judged: its {} numbers fitted constants\n", group, e.fitted);
  return s;
}

}  // namespace tokamax::systolic_backend
