// tokamax/transforms/control_flow/array_function.hpp: what loops see of the functions that they repeat: arrays to arrays.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/control_flow/while_loop.cpp
#pragma once

#include <tokamax/core/trace.hpp>       // with_leaves, leaves, copy_tree
#include <tokamax/transforms/body.hpp>  // body_input

#include <vector>  // vector

namespace tokamax::detail {

/// A function of arrays, whatever its type. What a loop does with it is then compiled once, and not again for each body, so that
/// headers with many loops cost little.
struct array_function {
  constexpr virtual arrays operator()(const arrays& in) = 0;

 protected:
  constexpr ~array_function() = default;
};
/// A function from a tree like `init` to a tree.
template <class F, class Carry>
struct tree_function final : array_function {
  const F& f;
  const Carry& init;
  constexpr tree_function(const F& given, const Carry& like) : f(given), init(like) {}
  constexpr arrays operator()(const arrays& in) override { return leaves(f(with_leaves(copy_tree(init), in))); }
};

/// Traces f inside of `g` into `body`, as trace_body_of does. The inputs of the body are like the arrays `like`.
constexpr void trace_loop(graph& g, graph& body, array_function& f, const arrays& like, location where) {
  body.become_body_of(g);
  const arrays out = [&] {
    const ambient_trace scope(body);
    arrays in;
    for (const array& a : like) in.push_back(body_input(body, a.type()));
    return f(in);
  }();
  for (const array& a : out) body.outputs.push_back(lift(body, a, where).id());
  order_captures(body);
}

/// The same arrays as a tree, which functions in a trace take.
constexpr std::vector<array> as_tree(const arrays& x) {
  std::vector<array> tree;
  for (const array& a : x) tree.push_back(a);
  return tree;
}
constexpr arrays as_arrays(const std::vector<array>& tree) { return arrays(tree.data(), tree.size()); }

}  // namespace tokamax::detail
