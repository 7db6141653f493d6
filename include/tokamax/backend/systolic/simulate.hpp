// tokamax/backend/systolic/simulate.hpp: when everything in a program happens on a chip.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/program.hpp>  // program
#include <tokamax/backend/systolic/stalls.hpp>   // stall_cycles

#include <fmt/format.h>  // format

#include <algorithm>  // max
#include <array>      // array
#include <map>        // map
#include <string>     // string
#include <vector>     // vector

namespace tokamax::systolic_backend {

/// When an instruction was issued, when its unit worked, and when its result was there. Of a DMA, the time from `issue` to
/// `begin` is its fixed cost and its place in the queue.
struct span_of {
  double issue = 0, begin = 0, end = 0;
};

/// A run of a program on a chip.
struct timeline {
  chip on;
  std::vector<span_of> spans;             ///< by instruction
  std::vector<stall_cycles> stalls;       ///< by core; each adds up to `cycles`
  std::vector<double> vmem;               ///< bytes reserved, by core
  double cycles = 0;                      ///< until the last instruction has ended
  double useful_macs = 0, hbm_bytes = 0;  ///< of all cores

  double microseconds() const { return on.microseconds(cycles); }
  /// The share of the multiplications that the cores used could have done in this time (bf16).
  double utilisation() const {
    double useful = 0;
    for (const stall_cycles& s : stalls) useful += s[bucket::useful];
    return cycles > 0 ? useful / (cycles * static_cast<double>(stalls.size())) : 0;
  }
};

namespace detail {

/// Rejects a program whose blocks do not fit, with the table of them.
inline std::vector<double> check_vmem(const chip& c, const program& p) {
  std::vector<double> used(static_cast<std::size_t>(p.cores()), 0.0);
  for (const reserved& r : p.reservations()) used[static_cast<std::size_t>(r.core)] += r.total();
  for (std::size_t core = 0; core < used.size(); ++core) {
    if (used[core] <= c.vmem) continue;
    std::string table;
    for (const reserved& r : p.reservations())
      if (static_cast<std::size_t>(r.core) == core)
        table += fmt::format("{}{} {} x {:.0f}", table.empty() ? "" : ", ", r.name, r.buffers, r.bytes);
    throw error(error_kind::resource, "systolic VMEM of core " + std::to_string(core),
                fmt::format("{:.0f} bytes: {}", used[core], table), fmt::format("at most {:.0f}", c.vmem.value),
                std::string(c.name));
  }
  return used;
}

/// The queues of one core: when each unit is free, when the path to each memory is, and when the DMAs in flight end.
struct core_state {
  std::array<double, units> free{};
  double hbm_free = 0, cmem_free = 0, other_free = 0;
  std::vector<double> in_flight;
  std::size_t transfers = 0;
};

constexpr bool uses_hbm(const instruction& i) {
  return i.on == unit::dma && (i.from == memory::hbm || i.to == memory::hbm);
}

inline const transfer_cost& cost_of_transfer(const chip& c, const instruction& i) {
  if (i.from == memory::hbm) return i.to == memory::cmem ? c.hbm_to_cmem : c.hbm_to_vmem;
  if (i.to == memory::hbm) return i.from == memory::cmem ? c.cmem_to_hbm : c.vmem_to_hbm;
  if (i.from == memory::cmem) return c.cmem_to_vmem;
  return i.to == memory::cmem ? c.vmem_to_cmem : c.vmem_to_other_core;
}

/// The machine while it runs. Every time is a maximum of earlier ones plus a cost, and every queue is served in the order of
/// the program: thus nothing ends earlier when something becomes slower.
class machine {
 public:
  machine(const chip& c, const program& p) : chip_(c), program_(p), cores_(static_cast<std::size_t>(p.cores())) {
    for (core_state& s : cores_)
      s.in_flight.assign(static_cast<std::size_t>(std::max(1LL, count_of(c.transfers))), 0.0);
    std::vector<char> reads(cores_.size(), 0);
    for (const instruction& i : p.instructions())
      if (uses_hbm(i)) reads[static_cast<std::size_t>(i.core)] = 1;
    double sharing = 0;
    // Cores of a chip share its memory. A program with more cores runs on several chips.
    for (const char r : reads) sharing += r;
    shared_ = c.shared_per_kib * std::min(sharing, c.cores.value);
    run_.on = c, run_.vmem = check_vmem(c, p);
    run_.spans.reserve(p.instructions().size());
    products_.resize(cores_.size()), edges_.resize(cores_.size());
  }

  timeline run() {
    for (const instruction& i : program_.instructions()) {
      double ready = 0;
      for (const event_id e : program_.waits(i)) ready = std::max(ready, run_.spans[static_cast<std::size_t>(e)].end);
      core_state& core = cores_[static_cast<std::size_t>(i.core)];
      const span_of s = i.on == unit::dma   ? transfer(i, core, ready)
                        : i.on == unit::ici ? send(i, ready)
                                            : compute(i, core, ready);
      run_.spans.push_back(s);
      run_.cycles = std::max(run_.cycles, s.end);
    }
    for (std::size_t c = 0; c < cores_.size(); ++c) run_.stalls.push_back(stalls_of(c));
    return std::move(run_);
  }

 private:
  void note(const instruction& i, activity what, double begin, double end) {
    if (end <= begin) return;
    auto& edges = edges_[static_cast<std::size_t>(i.core)];
    edges.push_back({begin, what, 1}), edges.push_back({end, what, -1});
  }

  span_of transfer(const instruction& i, core_state& core, double ready) {
    double& slot = core.in_flight[core.transfers++ % core.in_flight.size()];
    const transfer_cost& cost = cost_of_transfer(chip_, i);
    const bool hbm = uses_hbm(i);
    double& path = hbm ? core.hbm_free : i.to == memory::other_core ? core.other_free : core.cmem_free;
    span_of s;
    s.issue = std::max(ready, slot);
    s.begin = std::max(s.issue + cost.fixed, path);
    s.end = s.begin + (hbm ? std::max(cost.per_kib.value, shared_) : cost.per_kib.value) * i.amount / 1024;
    slot = path = s.end;
    if (hbm) run_.hbm_bytes += i.amount;
    note(i, i.to == memory::vmem || i.to == memory::cmem ? reads : writes, s.issue, s.end);
    return s;
  }

  /// A message holds all its links until it has crossed the last one.
  span_of send(const instruction& i, double ready) {
    span_of s;
    s.issue = ready;
    const auto links = program_.links(i);
    s.begin = ready + chip_.ici.fixed + chip_.ici_hop * std::max(0.0, static_cast<double>(links.size()) - 1);
    for (const int l : links) s.begin = std::max(s.begin, links_free_[l]);
    s.end = s.begin + chip_.ici.per_kib * i.amount / 1024;
    for (const int l : links) links_free_[l] = s.end;
    note(i, messages, s.issue, s.end);
    return s;
  }

  span_of compute(const instruction& i, core_state& core, double ready) {
    double& free = core.free[static_cast<std::size_t>(i.on)];
    span_of s;
    s.issue = ready;
    s.begin = std::max(ready, free);
    if (i.on == unit::mxu) {
      const product_cycles& p = cost_of_product(i);
      s.end = s.begin + p.total();
      free = s.end - p.drain;
      auto& sum = products_[static_cast<std::size_t>(i.core)];
      sum.useful += p.useful, sum.padding += p.padding, sum.fill += p.fill;
      sum.weights += p.weights, sum.swap += p.swap, sum.accumulate += p.accumulate;
      run_.useful_macs += program_.product(i).macs();
      note(i, arrays, s.begin, s.end);
    } else if (i.on == unit::scalar) {
      s.end = free = s.begin + i.amount + i.steps * chip_.step;
      note(i, scalars, s.begin, s.end);
    } else {
      const vector_cycles v = vector_cost(chip_, *i.function, i.amount);
      free = s.begin + v.busy;
      s.end = s.begin + v.total();
      note(i, vectors, s.begin, s.end);
    }
    return s;
  }

  /// Kernels do the same product over and over.
  const product_cycles& cost_of_product(const instruction& i) {
    if (i.product != last_.product || i.type != last_.type || i.accumulates != last_.accumulates) {
      last_ = i;
      last_cost_ = product_cost(chip_, program_.product(i), i.type, i.accumulates);
    }
    return last_cost_;
  }

  stall_cycles stalls_of(std::size_t core) {
    const auto first = first_activities(edges_[core], run_.cycles);
    stall_cycles s;
    divide_products(s, products_[core], first[arrays]);
    s[bucket::vector] = first[vectors], s[bucket::scalar] = first[scalars], s[bucket::read] = first[reads];
    s[bucket::write] = first[writes], s[bucket::link] = first[messages], s[bucket::idle] = first[activities];
    return s;
  }

  const chip& chip_;
  const program& program_;
  std::vector<core_state> cores_;
  std::map<int, double> links_free_;
  double shared_ = 0;
  timeline run_;
  std::vector<product_cycles> products_;
  std::vector<std::vector<edge>> edges_;
  instruction last_;
  product_cycles last_cost_;
};

}  // namespace detail

/// Runs a program on a chip, without values: times, stalls and memory.
///
/// A DMA ends at max(issue + fixed, the path to its memory is free) + bytes * slope. The path serves one DMA after the other,
/// so those in flight overlap their fixed costs and share the bandwidth. Cores that use HBM together have equal parts of it.
/// At most `chip.transfers` DMAs of a core are in flight. All other units do their instructions in order.
///
/// errors  tokamax::error for blocks that do not fit into VMEM, and for an element type that the chip does not multiply
inline timeline simulate(const chip& c, const program& p) { return detail::machine(c, p).run(); }

}  // namespace tokamax::systolic_backend
