// tokamax/backend/systolic/report/compare.hpp: one kernel on all chips, as a table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/chips.hpp>            // tpus
#include <tokamax/backend/systolic/report/roofline.hpp>  // roofline

#include <fmt/format.h>  // format

#include <algorithm>  // max
#include <string>     // string

namespace tokamax::systolic_backend {

/// A line per chip: time, use of the arrays, VMEM of a core, what limits (the lowest roof, and the largest loss), and whether
/// times of the chip were compared with real ones. `make(chip)` gives the program, which may depend on the chip. A program
/// that a chip cannot run says why.
template <class Make>
std::string compare_chips(Make make) {
  std::string s = fmt::format("{:<6} {:>10} {:>7} {:>8} {:>5} {:>11}  {}\n", "chip", "us", "arrays", "VMEM", "roof",
                              "loss", "times");
  for (const chip& c : tpus) {
    try {
      const timeline t = simulate(c, make(c));
      const roofline_point r = roofline(t);
      double vmem = 0;
      for (const double v : t.vmem) vmem = std::max(vmem, v);
      s += fmt::format("{:<6} {:>10.1f} {:>6.1f}% {:>7.1f}% {:>5} {:>11}  {}\n", c.name, t.microseconds(),
                       100 * t.utilisation(), 100 * vmem / c.vmem,
                       r.roof() == r.mxu_roof   ? "MXU"
                       : r.roof() == r.hbm_roof ? "HBM"
                                                : "VMEM",
                       name_of(t.stalls[0].worst()), c.timing_is_validated ? "compared" : "not validated");
    } catch (const error& e) {
      s += fmt::format("{:<6} {}: {}\n", c.name, e.subject, e.found);
    }
  }
  return s;
}

}  // namespace tokamax::systolic_backend
