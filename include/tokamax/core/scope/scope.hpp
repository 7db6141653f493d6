// tokamax/core/scope/scope.hpp: to which part of a program nodes belong, and what was decided for it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/scope/named_scope.cpp
#pragma once

#include <tokamax/core/scope/name_table.hpp>  // for its users: name_table

namespace tokamax {

/// The part of a program that a node belongs to, and what was decided for the nodes of that part. Gradients, batches and copies
/// of a node have its scope. Equality of nodes ignores it.
struct node_scope {
  int name = 0;       ///< the number of its name in the graph's `names`; 0: none. Of an input: the path of its leaf
  int decisions = 0;  ///< the number of the decisions in the graph's `decided`; 0: none
  constexpr bool operator==(const node_scope&) const = default;
};

/// What was decided for a part of a program, beside its name.
struct decisions {
  /// The implementations of ops: `attention=compose|kernel;dot_general=onednn` (see use_implementation). The first entry
  /// of an op counts, because inner parts come first.
  vec<char> implementations;
};

/// The decisions of a program, numbered from 1.
struct decision_table : vec<decisions> {
  using vec<decisions>::vec;
  constexpr int find_or_add(std::string_view implementations) {
    if (implementations.empty()) return 0;
    for (int k = 1; k <= count(); ++k)
      if (this->implementations(k) == implementations) return k;
    push_back({vec<char>(implementations.data(), implementations.size())});
    return count();
  }
  constexpr std::string_view implementations(int number) const {
    if (number == 0) return {};
    const vec<char>& text = data()[number - 1].implementations;
    return {text.data(), text.size()};
  }
  /// The decisions of an inner part together with those of the part around it, with which they may end already.
  constexpr int join(std::string_view inner, std::string_view outer) {
    if (inner.ends_with(outer)) return find_or_add(inner);
    vec<char> both(inner.data(), inner.size());
    if (!inner.empty() && !outer.empty()) both.push_back(';');
    for (const char c : outer) both.push_back(c);
    return find_or_add({both.data(), both.size()});
  }
};

}  // namespace tokamax
