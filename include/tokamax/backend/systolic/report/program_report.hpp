// tokamax/backend/systolic/report/program_report.hpp: cycles, utilisation and stalls of a whole program, op by op.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/device.cpp
#pragma once

#include <tokamax/backend/systolic/simulate.hpp>  // timeline

#include <fmt/format.h>  // format

#include <algorithm>  // sort
#include <string>     // string
#include <vector>     // vector

namespace tokamax::systolic_backend {

/// Where the cycles of an op come from.
enum class cost_source : unsigned char {
  kernel,      ///< the grid of a kernel, from its traced body
  model,       ///< products, reductions and fused loops, as pipelines of blocks
  descriptor,  ///< no kernel of the chip: the bytes and operations that the op's descriptor tells
  estimate,    ///< the `cost_estimate` of a kernel whose steps depend on numbers that only a run knows
};

/// Ops of a program that are alike, such as the same one of each layer. Amounts are those of all of them.
struct op_line {
  std::string name;
  cost_source source = cost_source::model;
  double times = 0;
  double cycles = 0, useful_macs = 0, hbm_bytes = 0;
  stall_cycles stalls = {};  ///< the mean of the cores; adds up to `cycles`

  /// Adds `count` runs of an op that took the time of t.
  void add(const timeline& t, int cores, double count) {
    times += count, cycles += count * t.cycles, useful_macs += count * t.useful_macs, hbm_bytes += count * t.hbm_bytes;
    for (std::size_t b = 0; b < static_cast<std::size_t>(buckets); ++b)
      for (const stall_cycles& s : t.stalls) stalls.cycles[b] += count * s.cycles[b] / cores;
    // The cores without work have no stalls in the timeline.
    stalls[bucket::idle] += count * t.cycles * (cores - static_cast<int>(t.stalls.size())) / cores;
  }
};

/// What one run of a program costs on a chip.
struct program_report {
  chip on;
  int cores = 1;  ///< that work together
  std::vector<op_line> lines;
  std::vector<std::string> assumptions = {};  ///< what the program does not tell

  /// The ops follow each other, so their cycles add up.
  double cycles() const { return sum(&op_line::cycles); }
  double useful_macs() const { return sum(&op_line::useful_macs); }
  double hbm_bytes() const { return sum(&op_line::hbm_bytes); }
  double microseconds() const { return on.microseconds(cycles()); }
  /// Model FLOP utilisation: the operations of the products over those that the arrays could have done (bf16).
  double mfu() const {
    const double most = cycles() * cores * on.peak_per_cycle(element::bf16);
    return most > 0 ? 2 * useful_macs() / most : 0;
  }
  /// The cycles of all ops in buckets, which add up to cycles().
  stall_cycles stalls() const {
    stall_cycles all;
    for (const op_line& l : lines)
      for (std::size_t b = 0; b < static_cast<std::size_t>(buckets); ++b) all.cycles[b] += l.stalls.cycles[b];
    return all;
  }
  /// The cycles in buckets, the `most` ops that take the longest, and the ops without a kernel of the chip.
  std::string text(std::size_t most = 12) const;

 private:
  double sum(double op_line::* what) const {
    double all = 0;
    for (const op_line& l : lines) all += l.*what;
    return all;
  }
};

inline std::string program_report::text(std::size_t most) const {
  const double all = cycles(), peak = on.peak(element::bf16) * cores / on.cores;
  const auto percent = [&](double c) { return all > 0 ? 100 * c / all : 0; };
  std::string s = fmt::format("{}, {}: {:.0f} cycles = {:.1f} us, MFU {:.2f}% of {} TFLOP/s{}\n", on.name,
                              cores == 1 ? "1 core" : fmt::format("{} cores", cores), all, microseconds(), 100 * mfu(),
                              peak < 10 ? fmt::format("{:.3f}", peak) : fmt::format("{:.0f}", peak),
                              on.timing_is_validated ? "" : "; no time of this chip has been compared with a real one");
  const stall_cycles stalls_of_all = stalls();
  for (int b = 0; b < buckets; ++b)
    s += fmt::format("{}{} {:.1f}%", b ? "  " : "", name_of(static_cast<bucket>(b)),
                     percent(stalls_of_all[static_cast<bucket>(b)]));
  s += "\n";
  std::vector<const op_line*> sorted;
  for (const op_line& l : lines) sorted.push_back(&l);
  std::ranges::sort(sorted, [](const op_line* a, const op_line* b) {
    return a->cycles != b->cycles ? a->cycles > b->cycles : a->name < b->name;
  });
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) {
    const op_line& l = *sorted[i];
    s += fmt::format(
        "{:>5.1f}%  {:>10.0f} cycles  {:>5.0f} x  most is {:<10}  {}\n", percent(l.cycles), l.cycles, l.times,
        name_of(l.stalls[bucket::useful] > l.stalls[l.stalls.worst()] ? bucket::useful : l.stalls.worst()), l.name);
  }
  std::string without;
  double cycles_without = 0;
  for (const op_line* l : sorted) {
    if (l->source != cost_source::descriptor) continue;
    cycles_without += l->cycles;
    const std::string name = l->name.substr(0, l->name.find(' '));
    if ((", " + without + ",").find(", " + name + ",") == std::string::npos)
      without += (without.empty() ? "" : ", ") + name;
  }
  if (!without.empty()) s += fmt::format("by their descriptors, {:.1f}%: {}\n", percent(cycles_without), without);
  for (const std::string& a : assumptions) s += a + "\n";
  return s;
}

}  // namespace tokamax::systolic_backend
