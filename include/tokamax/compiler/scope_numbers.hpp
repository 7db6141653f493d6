// tokamax/compiler/scope_numbers.hpp: the scopes of a graph's nodes as numbers of a list of texts.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/scope/named_scope.cpp
#pragma once

#include <tokamax/core/graph.hpp>             // graph
#include <tokamax/core/scope/scope_list.hpp>  // scope_list

namespace tokamax {

/// Adds scopes of a graph to a list, which several graphs may share, and gives the number of each there.
class scope_numbers {
 public:
  constexpr scope_numbers(const graph& g, scope_list& list)
      : g_(g), list_(list), others_(list.ranges.count()), known_(static_cast<std::size_t>(g.scope_count()), -1) {}
  constexpr int operator()(node_scope s) {
    if (s.name == last_.name && s.decisions == last_.decisions) return last_number_;
    last_ = s;
    int& number = known_[g_.number_of(s)];
    if (number < 0)
      number = list_.find_or_add({g_.names.text(s.name), g_.decided.implementations(s.decisions)}, others_);
    return last_number_ = number;
  }

 private:
  const graph& g_;
  scope_list& list_;
  int others_;         // the scopes of other graphs, among which there may be equal ones
  node_scope last_{};  // that of the call before, as neighbours often have the same one
  int last_number_ = 0;
  vec<int> known_;  // by the number of a scope in the graph
};

}  // namespace tokamax
