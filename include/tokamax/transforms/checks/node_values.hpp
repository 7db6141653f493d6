// tokamax/transforms/checks/node_values.hpp: the values of all nodes of a graph, and their elements as numbers and text.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/checks/debug_nans.cpp
// umbrella: no (part of tools that run a program node by node)
#pragma once

#include <tokamax/core/graph/inline.hpp>  // live_nodes, execute_graph
#include <tokamax/lax/convert.hpp>        // convert_element_type

#include <string>  // string
#include <vector>  // vector

namespace tokamax::detail {

/// The elements of an array with data.
inline std::vector<double> numbers_of(const array& x) {
  const array wide = convert_element_type(x, f64);
  const auto v = wide.values<double>();
  return {v.begin(), v.end()};
}
/// The index of element i, as text.
inline std::string index_text(std::int64_t i, const shape& s) {
  std::string text = "]";
  for (int k = s.rank() - 1; k >= 0; --k) {
    text = std::to_string(i % s[k]) + text;
    if (k > 0) text = "," + text;
    i /= s[k];
  }
  return "[" + text;
}
inline std::string place_of(location where) {
  return where.line ? std::string(where.file) + ":" + std::to_string(where.line) : std::string();
}

/// The values of the live nodes of a graph for given inputs.
class node_values {
 public:
  node_values(const graph& g, const arrays& inputs) : place_(g.nodes.size(), -1) {
    const vec<char> live = live_nodes(g);
    graph all(g);
    all.outputs.clear();
    for (int i = 0; i < g.count(); ++i)
      if (live[i] && g[i].type.dtype != dtype::none) place_[i] = all.outputs.count(), all.outputs.push_back(i);
    values_ = execute_graph(all, inputs);
  }
  /// Was it computed, and is it an array?
  bool has(int id) const { return place_[id] >= 0; }
  const array& operator[](int id) const { return values_[place_[id]]; }

 private:
  vec<int> place_;
  arrays values_;
};

}  // namespace tokamax::detail
