// tokamax/core/scope/copied_scopes.hpp: the scopes of nodes that are copied from one graph into another.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/scope/named_scope.cpp
#pragma once

#include <tokamax/core/graph.hpp>  // graph

namespace tokamax {

/// Gives the nodes that are made in `to` during its lifetime the scopes of nodes of `from`, within the scope of `to` where it
/// began.
class copied_scopes {
 public:
  constexpr copied_scopes(graph& to, const graph& from)
      : to_(to), from_(from), around_(to.scope), any_(!from.names.empty() || !from.decided.empty()) {}
  constexpr ~copied_scopes() { to_.scope = around_; }
  copied_scopes(const copied_scopes&) = delete;

  /// The next nodes are made for `n`.
  constexpr void enter(const node& n) {
    if (!any_) return;
    to_.scope = around_;
    for (int k = known_.count() - 1; k >= 0; --k)  // neighbours often have the same one
      if (known_[k].from == n.scope) {
        to_.scope = known_[k].to;
        return;
      }
    to_.scope = to_.imported(from_, n.scope);
    known_.push_back({n.scope, to_.scope});
  }

 private:
  struct same_scope {
    node_scope from, to;
  };
  graph& to_;
  const graph& from_;
  node_scope around_;
  bool any_;
  vec<same_scope> known_;
};

}  // namespace tokamax
