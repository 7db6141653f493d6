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
  // By direction and chip: when the part that it sends next is complete.
  std::array<std::vector<event_id>, 2> have{std::vector<event_id>(n, -1), std::vector<event_id>(n, -1)};
  for (int from = 0; from < o.chips && o.barrier; ++from) {
    p.at({from, "barrier"});
    have[0][static_cast<std::size_t>(from)] = have[1][static_cast<std::size_t>(from)] = p.scalar(c.ici_barrier);
  }
  const auto round = [&](bool adds, int step, int way) {
    std::vector<event_id>& complete = have[static_cast<std::size_t>(way)];
    std::vector<event_id> next(n);
    for (int from = 0; from < o.chips; ++from) {
      const int to = (from + (way == 0 ? 1 : o.chips - 1)) % o.chips;
      p.at({from, adds ? "reduce" : "gather", step});
      const std::array link{from * 2 + way};
      const std::array after{complete[static_cast<std::size_t>(from)]};
      event_id there = p.send(link, part, after);
      if (adds) {
        p.at({to, "add", step});
        there = p.vector("add", registers, {there});
      }
      next[static_cast<std::size_t>(to)] = there;
    }
    complete = next;
  };
  // Units work in the order of the program, so the directions take turns.
  const int rounds = what == collective::all_reduce ? 2 * (o.chips - 1) : o.chips - 1;
  for (int step = 0; step < rounds; ++step) {
    for (int from = 0; from < o.chips;
         ++from) {  // a round is a step of a loop, which begins when its first part is there
      event_id& complete = have[0][static_cast<std::size_t>(from)];
      p.at({from, "step", step});
      complete = p.scalar(0, 1, {complete});
    }
    for (int way = 0; way < ways; ++way) round(what != collective::all_gather && step < o.chips - 1, step, way);
  }
  return p;
}

}  // namespace tokamax::systolic_backend
