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
  constexpr scope_numbers(const graph& g, scope_list& list) : g_(g), list_(list) {}
  constexpr int operator()(node_scope s) {
    if (s == node_scope{}) return 0;
    for (int k = known_.count() - 1; k >= 0; --k)  // neighbours often have the same one
      if (known_[k].scope == s) return known_[k].number;
    const name_text name = g_.names.text(s.name);
    known_.push_back({s, list_.find_or_add({name, g_.decided.implementations(s.decisions)})});
    return known_.back().number;
  }

 private:
  struct known_scope {
    node_scope scope;
    int number = 0;
  };
  const graph& g_;
  scope_list& list_;
  vec<known_scope> known_;
};

}  // namespace tokamax
