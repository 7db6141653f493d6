// tokamax/compiler/passes/split.hpp: the order of a fused group that is too large for one loop, so that it can be cut.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/passes/split.cpp
#pragma once

#include <tokamax/base/vec.hpp>  // vec

#include <utility>  // swap

namespace tokamax::detail {

/// The members of a group in depth-first order, beginning with those that no other member reads. So a chain stays in one
/// piece, and few values are live between any two neighbours. Among the operands of a member, the one that needs most
/// registers comes first, as in the method of Sethi and Ullman. The order does not depend on other nodes of the program.
class split_order {
 public:
  vec<int> order;
  vec<int> uses;  ///< for each node, how often members have it as an operand

  /// `each_operand(m, f)` calls f(operand, is_member) for the operands of member m in memory or in the group.
  constexpr split_order(int nodes, const vec<int>& members, const auto& each_operand)
      : uses(static_cast<std::size_t>(nodes), 0), registers_(uses), seen_(uses) {
    for (int m : members) count(m, each_operand);
    order.reserve(members.size());
    for (int m : members)
      if (uses[m] == 0) visit(m, each_operand);
  }

 private:
  enum { unseen, open, done };
  vec<int> registers_;  // for each member, how many registers computing its value needs
  vec<int> seen_;

  constexpr void count(int m, const auto& each_operand) {
    int most[3] = {};  // the registers that the operands need, in decreasing order
    each_operand(m, [&](int o, bool member) {
      int asks = 1;
      if (member) ++uses[o], asks = registers_[o];
      for (int& place : most)
        if (asks > place) std::swap(asks, place);
    });
    registers_[m] = 1;
    for (int k = 0; k < 3; ++k)
      if (most[k] && most[k] + k > registers_[m]) registers_[m] = most[k] + k;
  }
  constexpr void visit(int sink, const auto& each_operand) {
    vec<int> stack;
    stack.push_back(sink);
    while (!stack.empty()) {
      const int m = stack.back();
      if (seen_[m] != unseen) {
        stack.pop_back();
        if (seen_[m] == open) order.push_back(m);
        seen_[m] = done;
        continue;
      }
      seen_[m] = open;
      const int first = stack.count();
      each_operand(m, [&](int o, bool member) {
        if (!member || seen_[o] != unseen) return;
        stack.push_back(o);  // the operand that needs most registers is on top, so it is visited first
        for (int k = stack.count() - 1; k > first && registers_[stack[k - 1]] > registers_[stack[k]]; --k)
          std::swap(stack[k - 1], stack[k]);
      });
    }
  }
};

}  // namespace tokamax::detail
