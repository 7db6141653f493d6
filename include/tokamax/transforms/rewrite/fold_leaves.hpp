// tokamax/transforms/rewrite/fold_leaves.hpp: merges leaves that a program only uses together: a matrix and its adapter.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (few programs change what they take)
// tested by tests/transforms/rewrite/rewrite.cpp
#pragma once

#include <tokamax/base/tree/tree_path.hpp>          // path_matches
#include <tokamax/transforms/rewrite/leaf_cut.hpp>  // rewritten_graph

namespace tokamax {

/// A pass for `rewrite`: what a program computes from leaves alone becomes one leaf, if it has the type of one of them and
/// stands in its place, as in `w + s * matmul(a, b)`. The new leaf gets the path of that leaf, so a model into which
/// adapters were merged has the paths of the model.
class fold_leaves {
 public:
  /// `pattern` selects leaves by their paths, as `matching` does.
  explicit fold_leaves(std::string pattern = "*") : pattern_(std::move(pattern)) {}
  rewritten_graph operator()(const graph& g, int leaves) const;

 private:
  std::string pattern_;
};

inline rewritten_graph fold_leaves::operator()(const graph& g, int leaves) const {
  const std::vector<char> own = nodes_of_leaves(g, leaves);
  std::vector<int> leaf_of(own.size(), -1);      // the leaf whose place a node takes
  std::vector<char> leaves_here(own.size(), 0);  // is it used by something that depends on more?
  const vec<char> live = live_nodes(g);
  for (int i = 0; i < g.count(); ++i) {
    const node& n = g[i];
    const auto at = static_cast<std::size_t>(i);
    if (!n.op) {
      leaf_of[at] = n.first_word < leaves ? i : -1;
      continue;
    }
    for (int k = 0; k < n.operand_count && own[at] && n.op->memory.kind == op_kind::elementwise; ++k)
      if (const int leaf = leaf_of[static_cast<std::size_t>(g.operand(n, k))]; leaf >= 0 && g[leaf].type == n.type) {
        leaf_of[at] = leaf;
        break;
      }
    for (int k = 0; live[i] && !own[at] && k < n.operand_count; ++k)
      leaves_here[static_cast<std::size_t>(g.operand(n, k))] = 1;
    // A value that is used otherwise by something that depends on leaves alone stays a part of that.
    for (int k = 0; live[i] && own[at] && leaf_of[at] < 0 && k < n.operand_count; ++k)
      leaves_here[static_cast<std::size_t>(g.operand(n, k))] = 1;
  }
  for (const int o : g.outputs) leaves_here[static_cast<std::size_t>(o)] = 1;
  rewritten_graph r{g, {}};
  for (int i = 0; i < g.count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!g[i].op || !leaves_here[at] || leaf_of[at] < 0) continue;
    std::string path(g.name_of(g[leaf_of[at]]).view());
    if (path_matches(path, pattern_)) r.cuts.push_back({i, std::move(path)});
  }
  return r;
}

}  // namespace tokamax
