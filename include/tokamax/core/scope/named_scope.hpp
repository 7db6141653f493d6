// tokamax/core/scope/named_scope.hpp: names for the parts of a program, which its nodes keep.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>  // trace_of

namespace tokamax {

/// Gives a name to the nodes that are traced during its lifetime. Names of nested scopes are joined by dots:
///
///   const named_scope scope("attend", x);                            // x + attend(x), then a part of "attend"
///   const named_scope scope(message("blocks[") << i << "]", x);
///
/// Layers name their nodes themselves (see layer_scope); this is for parts that are no layers. Names are for readers and for
/// rules. Graphs and plans print them, profiles show them, and the nodes of a gradient get the names of the nodes that they
/// belong to. Results do not depend on names, and equal nodes are still made once. A constant expression does not know the
/// current trace, so an array of the trace is an argument. Eager calls ignore names.
/// source  jax.named_scope
class named_scope {
 public:
  template <class... Trees>
  constexpr explicit named_scope(std::string_view name, const Trees&... arrays) : graph_(trace_of(arrays...)) {
    if (graph_ && graph_->floating) graph_ = nullptr;  // constants do not belong to a named part
    if (!graph_) return;
    before_ = graph_->scope.name;
    graph_->scope.name = graph_->names.read(before_, name);
  }
  template <class... Trees>
  constexpr explicit named_scope(const message& name, const Trees&... arrays) : named_scope(name.view(), arrays...) {}
  template <class... Trees>
  constexpr explicit named_scope(const char* name, const Trees&... arrays)
      : named_scope(std::string_view(name), arrays...) {}
  constexpr ~named_scope() {
    if (graph_) graph_->scope.name = before_;
  }
  named_scope(const named_scope&) = delete;

 private:
  graph* graph_;
  int before_ = 0;
};

}  // namespace tokamax
