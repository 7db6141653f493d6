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
      : to_(to), from_(from), around_(to.scope), known_(static_cast<std::size_t>(from.scope_count())) {}
  constexpr ~copied_scopes() { to_.scope = around_; }
  copied_scopes(const copied_scopes&) = delete;

  /// The next nodes are made for `n`.
  constexpr void enter(const node& n) {
    if (n.scope.name == last_.name && n.scope.decisions == last_.decisions) return;
    last_ = n.scope;
    known_scope& known = known_[from_.number_of(n.scope)];
    if (!known.found) {
      to_.scope = around_;
      known = {true, to_.imported(from_, n.scope)};
    }
    to_.scope = known.scope;
  }

 private:
  struct known_scope {
    bool found = false;
    node_scope scope;
  };
  graph& to_;
  const graph& from_;
  node_scope around_;
  node_scope last_;         // that of the node before, as neighbours often have the same one
  vec<known_scope> known_;  // by the number of a scope in `from`
};

}  // namespace tokamax
