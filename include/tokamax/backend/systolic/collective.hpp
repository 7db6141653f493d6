// tokamax/backend/systolic/collective.hpp: sums and copies among the chips of a ring, as programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/program.hpp>  // program

#include <array>   // array
#include <string>  // to_string
#include <vector>  // vector

namespace tokamax::systolic_backend {

/// What all chips have at the end: the sums, or a part of the sums each, or the parts of all.
enum class collective { all_reduce, reduce_scatter, all_gather };

/// A ring of chips, of which each is one core of the program.
struct ring_options {
  int chips = 4;
  bool both_directions = false;  ///< half of the data goes each way round
  bool barrier = true;           ///< all chips are known to be there before the first message
};

/// `bytes` of f32 on each chip, in VMEM, cut into one part per chip. A part goes round the ring: in chips - 1 messages each
/// chip adds its own values (reduce_scatter), and in chips - 1 more it passes on the sums (all_gather).
///
/// errors  tokamax::error for fewer than 2 chips
/// source  Patarasuk and Yuan 2009, Bandwidth optimal all-reduce algorithms
inline program collective_program(const chip& c, collective what, double bytes, const ring_options& o = {}) {
  if (o.chips < 2) throw error("systolic collective: chips", std::to_string(o.chips), "at least 2");
  program p;
  const int ways = o.both_directions ? 2 : 1;
  const double part = bytes / o.chips / ways;
  const double registers = part / 4 / (c.sublanes * c.lanes);
  const auto n = static_cast<std::size_t>(o.chips);
  for (int way = 0; way < ways; ++way) {
    std::vector<event_id> have(n, -1);  // by chip: when the part that it sends next is complete
    for (int chip_of = 0; chip_of < o.chips && o.barrier; ++chip_of) {
      p.at({chip_of, "barrier"});
      have[static_cast<std::size_t>(chip_of)] = p.scalar(way == 0 ? c.ici_barrier.value : 0);
    }
    const auto round = [&](bool adds, int step) {
      std::vector<event_id> next(n);
      for (int from = 0; from < o.chips; ++from) {
        const int to = (from + (way == 0 ? 1 : o.chips - 1)) % o.chips;
        p.at({from, adds ? "reduce" : "gather", step});
        const std::array link{from * 2 + way};
        const std::array after{have[static_cast<std::size_t>(from)]};
        event_id there = p.send(link, part, after);
        if (adds) {
          p.at({to, "add", step});
          there = p.vector("add", registers, {there});
        }
        next[static_cast<std::size_t>(to)] = there;
      }
      have = next;
    };
    for (int s = 0; s + 1 < o.chips && what != collective::all_gather; ++s) round(true, s);
    for (int s = 0; s + 1 < o.chips && what != collective::reduce_scatter; ++s) round(false, o.chips - 1 + s);
  }
  return p;
}

}  // namespace tokamax::systolic_backend
