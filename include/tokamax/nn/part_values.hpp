// tokamax/nn/part_values.hpp: the values that enter and leave a part of a program, such as a layer.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (nn/capture.hpp and nn/tabulate.hpp use it)
// tested by tests/nn/capture.cpp
#pragma once

#include <tokamax/core/graph.hpp>            // graph
#include <tokamax/core/op.hpp>               // op
#include <tokamax/core/scope/leaf_path.hpp>  // leaf_path

#include <algorithm>    // find
#include <string>       // string
#include <string_view>  // string_view
#include <vector>       // vector

namespace tokamax {

/// The nodes that a part of a program takes and gives. Leaves of the part itself, and constants, are no inputs.
struct part_values {
  std::vector<int> inputs, outputs;
};

namespace detail {
/// Is `path` that of a part, or of something in it? The empty path is that of all.
constexpr bool is_within(std::string_view path, std::string_view part) {
  return part.empty() || (path.starts_with(part) &&
                          (path.size() == part.size() || path[part.size()] == '.' || path[part.size()] == '['));
}
/// The names of the nodes of a graph from node `first` on, as text.
inline std::vector<std::string> names_of_nodes(const graph& g, int first) {
  std::vector<std::string> names(static_cast<std::size_t>(g.count()));
  for (int i = first; i < g.count(); ++i)
    if (g[i].op) names[static_cast<std::size_t>(i)] = std::string(g.name_of(g[i]).view());
  return names;
}
}  // namespace detail

/// The values of the part `path` among the nodes from `first` on. `names` are those of `names_of_nodes`, and `results` are nodes that are
/// used elsewhere.
inline part_values values_of_part(const graph& g, std::string_view path, int first,
                                  const std::vector<std::string>& names, const std::vector<int>& results) {
  const auto inside = [&](int i) {
    return i >= first && g[i].op && detail::is_within(names[static_cast<std::size_t>(i)], path);
  };
  part_values found;
  const auto note = [](std::vector<int>& list, int id) {
    if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
  };
  for (int i = first; i < g.count(); ++i)
    for (int k = 0; k < g[i].operand_count; ++k) {
      const int from = g.operand(g[i], k);
      const bool here = inside(i), there = inside(from);
      if (there && !here && g[from].operand_count > 0) note(found.outputs, from);
      if (!here || there || (g[from].op && g[from].operand_count == 0)) continue;
      const int leaf = detail::leaf_path(g, from);
      if (!leaf || !detail::is_within(g.names.text(leaf).view(), path)) note(found.inputs, from);
    }
  for (const int id : results)
    if (inside(id)) note(found.outputs, id);
  return found;
}

}  // namespace tokamax
