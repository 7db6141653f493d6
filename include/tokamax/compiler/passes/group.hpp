// tokamax/compiler/passes/group.hpp: small loops of one kernel that wait for nothing in between run at the same time.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/passes/group.cpp
#pragma once

#include <tokamax/compiler/passes/donate.hpp>  // donations
#include <tokamax/compiler/plan.hpp>           // plan

namespace tokamax::detail {

/// Moves small loops of one kernel next to each other, for devices that start several loops at once: an optimiser has a loop
/// for each of its parameters, and most of them are so small that starting them takes longer than running them.
///
/// A loop may move to a later place if no step before that touches its results or writes its operands. The loops of a group
/// stand where the last of them stood. None of them may be written over an operand that another one reads.
class loop_groups {
 public:
  /// Groups the steps of a plan from `first` on, which are a region with the buffers from `first_buffer` on.
  constexpr loop_groups(plan& p, const donations& d, int first, int first_buffer)
      : p_(p),
        donations_(d),
        first_(first),
        first_buffer_(first_buffer),
        count_(p.steps.count() - first),
        limits_(static_cast<std::size_t>(count_), -1),
        group_of_(static_cast<std::size_t>(count_), -1) {
    find_limits();
    find_groups();
    reorder();
  }

 private:
  static constexpr std::int64_t most_elements = std::int64_t{1} << 20;
  static constexpr int most_members = 128;
  struct group {
    int function, rank, limit, last, members;
  };

  constexpr plan_step& step(int s) const { return p_.steps[first_ + s]; }
  /// Calls f(buffer, is_result) for the operands and results of a step that lie in memory.
  constexpr void each_buffer(int s, auto&& f) const {
    const plan_step& st = step(s);
    for (int k = 0; k < st.in_count + st.out_count; ++k)
      if (const int b = p_.operands[st.operands + k].buffer; b >= first_buffer_) f(b - first_buffer_, k >= st.in_count);
  }
  constexpr bool is_small(const plan_step& st) const {
    if (st.kind != step_kind::loop || st.produces || st.copies) return false;
    std::int64_t elements = 1;
    for (int a = 0; a < st.rank; ++a) {
      const std::int64_t n = p_.numbers[st.numbers + a];
      if (is_dyn(n) || n > most_elements) return false;
      elements *= n;
      if (elements > most_elements) return false;
    }
    return true;
  }
  /// Finds for each small loop the first step before which it must run.
  constexpr void find_limits() {
    const auto buffers = static_cast<std::size_t>(p_.buffers.count() - first_buffer_);
    vec<int> touched(buffers, count_), written(buffers, count_);
    for (int s = count_ - 1; s >= 0; --s) {
      if (is_small(step(s))) {
        int limit = count_;
        each_buffer(s, [&](int b, bool is_result) {
          const int next = is_result ? touched[b] : written[b];
          if (next < limit) limit = next;
        });
        limits_[s] = limit;
      }
      each_buffer(s, [&](int b, bool is_result) {
        touched[b] = s;
        if (is_result) written[b] = s;
      });
    }
  }
  /// Gives each small loop to the group of its kernel that is open, or opens one.
  constexpr void find_groups() {
    const auto buffers = static_cast<std::size_t>(p_.buffers.count() - first_buffer_);
    vec<int> reader(buffers, -1), taker(buffers, -1);  // the last group that reads a buffer, or is written over it
    vec<int> open(p_.loops.size(), -1);                // of each kernel
    for (int s = 0; s < count_; ++s) {
      if (limits_[s] < 0) continue;
      const plan_step& st = step(s);
      int& at = open[st.function];
      bool joins =
          at >= 0 && groups_[at].limit > s && groups_[at].rank == st.rank && groups_[at].members < most_members;
      each_buffer(s, [&](int b, bool is_result) {
        const int from = is_result ? donations_.source_of(b) : -1;
        if (joins && ((!is_result && taker[b] == at) || (from >= 0 && reader[from] == at))) joins = false;
      });
      if (!joins) {
        at = groups_.count();
        groups_.push_back({st.function, st.rank, count_, -1, 0});
      }
      group& g = groups_[at];
      if (limits_[s] < g.limit) g.limit = limits_[s];
      g.last = s;
      ++g.members;
      group_of_[s] = at;
      each_buffer(s, [&](int b, bool is_result) {
        if (!is_result) reader[b] = at;
        if (const int from = is_result ? donations_.source_of(b) : -1; from >= 0) taker[from] = at;
      });
    }
  }
  /// Moves the members of each group to the place of the last one.
  constexpr void reorder() {
    vec<int> next(static_cast<std::size_t>(count_), -1), head(groups_.size(), -1);  // lists of members, in order
    for (int s = count_ - 1; s >= 0; --s) {
      if (group_of_[s] < 0) continue;
      next[s] = head[group_of_[s]];
      head[group_of_[s]] = s;
    }
    vec<plan_step> steps;
    for (int s = 0; s < count_; ++s) {
      const int g = group_of_[s];
      if (g >= 0 && groups_[g].last != s) continue;
      const int begin = steps.count();
      for (int m = g >= 0 ? head[g] : s; m >= 0; m = g >= 0 ? next[m] : -1) steps.push_back(step(m));
      steps[begin].together = steps.count() - begin - 1;
    }
    for (int s = 0; s < count_; ++s) step(s) = steps[s];
  }

  plan& p_;
  const donations& donations_;
  int first_, first_buffer_, count_;
  vec<int> limits_, group_of_;
  vec<group> groups_;
};

}  // namespace tokamax::detail
