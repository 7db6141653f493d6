// tokamax/transforms/rewrite/rewrite.hpp: a function whose first argument a pass over its program has changed.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (few programs change what they take)
#pragma once

#include <tokamax/core/trace.hpp>                    // in_trace
#include <tokamax/transforms/rewrite/leaf_cut.hpp>   // cut
#include <tokamax/transforms/rewrite/rewritten.hpp>  // rewritten

namespace tokamax {

/// What `rewrite(f, pass)` returns.
template <class F, class Pass>
class rewritten_function {
 public:
  rewritten_function(F f, Pass pass) : f_(std::move(f)), pass_(std::move(pass)) {}

  /// The argument as the changed program takes it. Of the other arguments only the types matter.
  template <class Tree, class... Rest>
  rewritten<Tree> prepare(const Tree& tree, const Rest&... rest) const {
    return in_trace(
        [this](graph& g, const Tree& in, const Rest&... others) {
          const abstract_tree<Tree> like(in);
          graph body;
          const cut_program p = trace(g, body, like, others...).first;
          const arrays made = inline_graph(g, p.prepare, leaves(in).data());
          rewritten<Tree> out{like, {}};
          for (int k = 0; k < made.count(); ++k) out.leaves[p.paths[static_cast<std::size_t>(k)]] = made[k];
          return out;
        },
        tree, rest...);
  }
  /// f on an argument that was prepared.
  /// errors  "rewrite: leaf" if the argument lacks a leaf, as when it was prepared for arguments of other types
  template <class Tree, class... Rest>
  auto operator()(const rewritten<Tree>& tree, const Rest&... rest) const {
    return in_trace(
        [this](graph& g, const rewritten<Tree>& in, const Rest&... others) {
          graph body;
          auto [p, result] = trace(g, body, in.like, others...);
          arrays args;
          for (const std::string& path : p.paths) {
            const auto found = in.leaves.find(path);
            if (found == in.leaves.end()) throw error("rewrite: leaf", "none at " + path, "an argument of `prepare`");
            args.push_back(found->second);
          }
          for (const array& a : leaves(others...)) args.push_back(a);
          for (const int id : body.captures) args.push_back(array(&g, id, g[id].type));
          return with_leaves(std::move(result), inline_graph(g, p.program, args.data()));
        },
        tree, rest...);
  }

 private:
  /// The halves of the program of f, and what its result is like. What f closes over becomes inputs at the end.
  template <class Tree, class... Rest>
  auto trace(graph& g, graph& body, const abstract_tree<Tree>& like, const Rest&... rest) const {
    body.become_body_of(g);
    std::tuple<Tree, Rest...> inside(copy_tree(like.tree), copy_tree(rest)...);
    std::apply([&](auto&... a) { (detail::make_inputs(body, a, true), ...); }, inside);
    auto result = [&] {
      const ambient_trace scope(body);
      return std::apply([&](const auto&... a) { return f_(a...); }, inside);
    }();
    for_each_leaf(
        [&](auto& a) {
          const array out = lift(body, a);
          body.outputs.push_back(out.id());
          static_cast<array&>(a) = array(out.type());
        },
        result);
    order_captures(body);
    detail::close_body(body);
    const int count = static_cast<int>(count_leaves(like.tree));
    return std::pair{cut(pass_(body, count), count), std::move(result)};
  }

  F f_;
  Pass pass_;
};

/// The function f(tree, rest...), changed by a pass that also changes which leaves the tree has. A pass sees the program of f,
/// in which inputs have the paths of the leaves, and returns a program with the same results together with those of its values
/// that become leaves. These may only depend on leaves of the tree, so they are computed once:
///
///   const auto small = rewrite(model_on_x, quant::weight_only{{{.module_path = "blocks[*]"}}});
///   const rewritten<model> packed = small.prepare(m, x);  // kernels have become integers and scales
///   const auto run = jit(small, cpu);
///   run(packed, x);
///
/// One leaf can become several (a matrix: integers and scales) and several one (a matrix and its adapter: their sum). What
/// is computed is what a program on the new leaves computes that is written by hand, bit by bit.
///
/// gradients  of the new leaves, where their uses have derivatives
/// errors  those of f and of the pass
template <class F, class Pass>
rewritten_function<F, Pass> rewrite(F f, Pass pass) {
  return {std::move(f), std::move(pass)};
}

}  // namespace tokamax
