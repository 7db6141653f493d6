// tokamax/backend/systolic/report/why.hpp: why a run is not faster, and what would change it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/report/sweep.hpp>  // sweep_blocks

#include <fmt/format.h>  // format

#include <string>  // string
#include <vector>  // vector

namespace tokamax::systolic_backend {

/// A change, and the cycles with it.
struct what_if {
  std::string_view change;
  double cycles = 0;
};

/// The same program on chips that lack one cost: no change of a kernel can gain more by avoiding that cost alone.
inline std::vector<what_if> what_ifs(const chip& c, const program& p) {
  std::vector<what_if> all;
  const auto without = [&](std::string_view change, auto edit) {
    chip other = c;
    edit(other);
    all.push_back({change, simulate(other, p).cycles});
  };
  without("copies take no time", [](chip& x) {
    x.hbm_to_vmem = x.vmem_to_hbm = x.hbm_to_cmem = x.cmem_to_hbm = x.cmem_to_vmem = x.vmem_to_cmem = {};
    x.shared_per_kib.value = 0;
  });
  without("copies start at once", [](chip& x) { x.hbm_to_vmem.fixed.value = x.vmem_to_hbm.fixed.value = 0; });
  without("HBM twice as fast", [](chip& x) {
    x.hbm_to_vmem.per_kib.value /= 2, x.vmem_to_hbm.per_kib.value /= 2, x.shared_per_kib.value /= 2;
  });
  without("grid steps cost nothing", [](chip& x) { x.step.value = 0; });
  without("weights change at once", [](chip& x) { x.swap_bubble.value = x.weight_push.value = 0; });
  without("vector units take no time", [](chip& x) {
    for (unit_cost* u : {&x.vector_f32, &x.eup, &x.transpose, &x.lane_reduce, &x.lane_permute})
      u->latency.value = u->interval.value = 0;
  });
  without("links take no time", [](chip& x) { x.ici = {}, x.ici_hop.value = 0; });
  return all;
}

/// Where the cycles of a run went, the largest loss first, and what each single change would gain at most.
inline std::string why(const chip& c, const program& p) {
  const timeline t = simulate(c, p);
  std::string s =
      fmt::format("{}: {:.0f} cycles, {:.1f} us, {:.1f}% of the arrays{}\n", c.name, t.cycles, t.microseconds(),
                  100 * t.utilisation(), c.timing_is_validated ? "" : " (times of this chip are not validated)");
  for (std::size_t core = 0; core < t.stalls.size(); ++core) {
    s += fmt::format("core {}:", core);
    std::vector<int> order(buckets);
    for (int b = 0; b < buckets; ++b) order[static_cast<std::size_t>(b)] = b;
    const auto cycles = [&](int b) { return t.stalls[core].cycles[static_cast<std::size_t>(b)]; };
    std::ranges::sort(order, [&](int a, int b) { return cycles(a) != cycles(b) ? cycles(a) > cycles(b) : a < b; });
    for (const int b : order)
      if (cycles(b) > 0.0005 * t.cycles)
        s += fmt::format(" {} {:.1f}%", name_of(static_cast<bucket>(b)), 100 * cycles(b) / t.cycles);
    s += '\n';
  }
  for (const what_if& w : what_ifs(c, p))
    if (w.cycles < 0.995 * t.cycles) s += fmt::format("if {}: {:.2f} times as fast\n", w.change, t.cycles / w.cycles);
  return s;
}

/// The same for a matrix product, and the blocks that would be faster: the best change of one side, and the best of all.
inline std::string why_matmul(const chip& c, const product_shape& p, const matmul_options& o) {
  std::string s = why(c, matmul_program(c, p, o));
  const std::vector<swept> all = sweep_blocks(c, p, o);
  const double now = simulate_matmul(c, p, o).utilisation();
  const swept* one = nullptr;
  for (const swept& x : all) {
    const int changed = (x.block.m != o.block.m) + (x.block.k != o.block.k) + (x.block.n != o.block.n);
    if (changed == 1 && (one == nullptr || x.cycles < one->cycles)) one = &x;
  }
  const auto line = [&](std::string_view what, const swept& x) {
    if (x.utilisation > now * 1.005)
      s += fmt::format("{}: block {} {} {} -> {} {} {}: {:.1f}% -> {:.1f}% of the arrays\n", what, o.block.m, o.block.k,
                       o.block.n, x.block.m, x.block.k, x.block.n, 100 * now, 100 * x.utilisation);
  };
  if (one != nullptr) line("one side", *one);
  if (!all.empty()) line("best", fastest(all));
  return s;
}

}  // namespace tokamax::systolic_backend
