// tokamax/runtime/program/given_tree.hpp: the arguments and the result of one call of a program, as trees of any types.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/program/traced_program.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>           // TOKAMAX_COMPILED_ONCE
#include <tokamax/runtime/program/tree_layout.hpp>  // tree_layout
#include <tokamax/runtime/run/program_run.hpp>      // program_run

#include <memory>  // unique_ptr
#include <span>    // span
#include <string>  // to_string

namespace tokamax::detail {

/// An argument. Trees are addresses here, so that only their layout is compiled for each type.
struct given_tree {
  const void* tree = nullptr;
  const tree_layout* layout = nullptr;
  bool movable = false;  ///< moved in: results may take its buffers, and it is empty after the call
  tree_layout (*named)(const void* tree, const char* root) = nullptr;  ///< its layout with paths, for messages
  const array& leaf(std::size_t k) const { return layout->leaves[k].leaf(tree); }
};
using given_trees = std::span<const given_tree>;

/// Is the argument of this type moved in?
template <class Given>
inline constexpr bool is_movable =
    !std::is_lvalue_reference_v<Given> && !std::is_const_v<std::remove_reference_t<Given>>;

/// Begins a run: lists the buffers of all leaves, and those that are donated.
/// errors  "jit: argument" for an array without data
void take_leaves(program_run& run, given_trees given, device& where);

/// Makes the arrays of the result and launches the run. `result` is a tree with abstract leaves, which become arrays with data;
/// its dynamic extents have the values of `symbols`. A result takes the buffer of a donated argument if the plan has found
/// that safe. Movable arguments are emptied as soon as the program has begun to write into them.
void launch_into(std::unique_ptr<program_run> run, run_home home, given_trees given, const void* result,
                 const tree_layout& result_layout, const std::int64_t* symbols, device& where);

#if defined(TOKAMAX_COMPILED_ONCE)
[[noreturn]] inline void reject_without_data(given_trees given, const given_tree& t, std::size_t leaf) {
  std::string path = "argument " + std::to_string(&t - given.data());
  if (t.named) path = t.named(t.tree, path.c_str()).paths[leaf];
  throw error("jit: argument", std::string(message(t.leaf(leaf).type()).view()) + " without data",
              "data; init or restore gives them to a model", std::move(path));
}
TOKAMAX_COMPILED_ONCE void take_leaves(program_run& run, given_trees given, device& where) {
  std::size_t count = 0;
  for (const given_tree& t : given) count += t.layout->leaves.size();
  run.start(count);
  for (const given_tree& t : given)
    for (const auto& place : t.layout->leaves) {
      const array& a = place.leaf(t.tree);
      if (!a.is_concrete()) reject_without_data(given, t, static_cast<std::size_t>(&place - t.layout->leaves.data()));
      run.add_input(a, t.movable || a.is_literal(), where);
    }
}

TOKAMAX_COMPILED_ONCE void launch_into(std::unique_ptr<program_run> run, run_home home, given_trees given,
                                       const void* result, const tree_layout& result_layout,
                                       const std::int64_t* symbols, device& where) {
  for (const auto& place : result_layout.leaves) {
    array& a = const_cast<array&>(place.leaf(result));
    array_type type = a.type();
    for (int i = 0; i < type.shape.rank(); ++i) type.shape[i] = resolve(type.shape[i], symbols);
    a = run->make_output(type, where);
  }
  struct empties {
    given_trees given;
    ~empties() {
      for (const given_tree& t : given)
        if (t.movable)
          for (const auto& place : t.layout->leaves) array(std::move(const_cast<array&>(place.leaf(t.tree))));
    }
  } const at_end{given};
  launch(std::move(run), std::move(home), where);
}
#endif

}  // namespace tokamax::detail
