// tokamax/runtime/program/static_program.hpp: runs programs that are known while compiling, with code that all of them share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>             // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/freeze.hpp>                // view
#include <tokamax/compiler/verify.hpp>                // verifies_programs
#include <tokamax/core/trace.hpp>                     // current_context.trace, inline_graph
#include <tokamax/runtime/program/given_tree.hpp>     // given_tree
#include <tokamax/runtime/program/symbol_values.hpp>  // symbol_values

#include <memory>  // make_unique
#include <string>  // to_string
#include <vector>  // vector

namespace tokamax {

/// A tree for which a program was compiled: the default value of its type, and the positions of its leaves.
struct known_tree {
  const void* like = nullptr;
  tree_layout (*layout_of)(const void* tree, const char* root) = nullptr;
  tree_layout layout{};
};

/// Checks arguments, finds their buffers, makes the buffers of the result and runs a plan.
///
/// Threads and devices may run a program at the same time, because each run has its own state. That state is used again,
/// except after an exception.
class static_program {
 public:
  static_program(executable code, std::vector<known_tree> arguments, known_tree result, const graph& (*traced)());

  /// The result with abstract leaves. Its users copy it from here, where g++ cannot see the value. Otherwise g++ would write
  /// the value into them, as one assignment for every number in it.
  const void* result_like() const { return result_.like; }

  /// Runs the program on `given`, one tree for each argument, whose layouts it fills in. `result` holds a copy of the abstract
  /// result. If the program is called while another function is traced, it becomes part of that trace.
  ///
  /// errors  tokamax::error with the path of a leaf that differs from what was compiled
  void run(detail::given_tree* given, void* result, device& where);

 private:
  static graph* trace_around(detail::given_trees given);
  void repeat_in(graph& g, detail::given_trees given, void* result) const;
  void check(detail::given_trees given, bool concrete, detail::symbol_values& symbols) const;
  [[noreturn]] void reject(std::size_t position, const void* given, bool concrete,
                           detail::symbol_values& symbols) const;

  executable code_;  // never runs itself; each run has a copy
  std::vector<known_tree> arguments_;
  known_tree result_;
  const graph& (*traced_)();
  detail::idle_list<detail::program_run> idle_runs_;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE static_program::static_program(executable code, std::vector<known_tree> arguments,
                                                     known_tree result, const graph& (*traced)())
    : code_(std::move(code)), arguments_(std::move(arguments)), result_(std::move(result)), traced_(traced) {
  for (known_tree& t : arguments_) t.layout = t.layout_of(t.like, nullptr);
  result_.layout = result_.layout_of(result_.like, nullptr);
  if (!verifies_programs()) return;
  verify_graph(traced_());
  verify_plan(code_.plan());
}

TOKAMAX_COMPILED_ONCE void static_program::run(detail::given_tree* trees, void* result, device& where) {
  for (std::size_t k = 0; k < arguments_.size(); ++k) trees[k].layout = &arguments_[k].layout;
  const detail::given_trees given(trees, arguments_.size());
  if (graph* g = trace_around(given)) return repeat_in(*g, given, result);
  detail::symbol_values values;  // of dynamic extents, found in the arguments
  check(given, true, values);
  const std::int64_t* const symbols = values.found();
  std::unique_ptr<detail::program_run> run = idle_runs_.take();
  if (!run) run = std::make_unique<detail::program_run>(code_);
  detail::take_leaves(*run, given, where);
  run->resize(symbols);
  for (const auto& place : result_.layout.leaves)  // the arguments were not weak, so the results are not
    if (array& a = const_cast<array&>(place.leaf(result)); a.type().weak) a = array({a.dtype(), false, a.shape()});
  detail::launch_into(std::move(run), {&idle_runs_, nullptr, nullptr}, given, result, result_.layout, symbols, where);
}

TOKAMAX_COMPILED_ONCE graph* static_program::trace_around(detail::given_trees given) {
  graph* g = nullptr;
  for (const detail::given_tree& tree : given)
    for (const auto& place : tree.layout->leaves) {
      detail::require_live(place.leaf(tree.tree), {});
      graph* t = place.leaf(tree.tree).trace();
      if (t && !t->floating && (!g || t->depth > g->depth)) g = t;
    }
  return g ? g : current_context.trace;
}

TOKAMAX_COMPILED_ONCE void static_program::repeat_in(graph& g, detail::given_trees given, void* result) const {
  arrays in;
  detail::symbol_values symbols(0);  // only programs without dynamic extents become part of another
  check(given, false, symbols);
  for (const detail::given_tree& t : given)
    for (const auto& place : t.layout->leaves) in.push_back(place.leaf(t.tree));
  const arrays out = inline_graph(g, traced_(), in.data());
  int k = 0;
  for (const auto& place : result_.layout.leaves) const_cast<array&>(place.leaf(result)) = out[k++];
}

TOKAMAX_COMPILED_ONCE void static_program::check(detail::given_trees given, bool concrete,
                                                 detail::symbol_values& symbols) const {
  for (std::size_t k = 0; k < given.size(); ++k) {
    const known_tree& t = arguments_[k];
    bool fits = true;
    for (const auto& c : t.layout.constants) fits = fits && c.equal(c.at.in(t.like), c.at.in(given[k].tree));
    for (const auto& place : t.layout.leaves) {
      const array &a = place.leaf(given[k].tree), &expected = place.leaf(t.like);
      fits = fits && (a.is_concrete() || !concrete) && symbols.fits(expected.type(), a.type(), k);
    }
    if (!fits) reject(k, given[k].tree, concrete, symbols);
  }
}
/// Throws an error that says why an argument does not fit the program.
TOKAMAX_COMPILED_ONCE void static_program::reject(std::size_t position, const void* given, bool concrete,
                                                  detail::symbol_values& symbols) const {
  const known_tree& t = arguments_[position];
  const tree_layout named = t.layout_of(t.like, ("argument " + std::to_string(position)).c_str());
  const std::string* path = named.paths.data();
  for (std::size_t k = 0; k < named.constants.size(); ++k)
    if (const auto& c = named.constants[k]; !c.equal(c.at.in(t.like), c.at.in(given)))
      throw error("jit: static field", "another value", "the one it was compiled with", path[named.leaves.size() + k]);
  for (std::size_t k = 0; k < named.leaves.size(); ++k) {
    const array &a = named.leaves[k].leaf(given), &expected = named.leaves[k].leaf(t.like);
    const bool lacks_data = concrete && !a.is_concrete();
    if (lacks_data || !symbols.fits(expected.type(), a.type(), position))
      throw error(
          lacks_data ? error_kind::argument : error_kind::shape, "jit: argument",
          std::string(message(a.type()).view()) + (lacks_data ? " without data" : ""),
          symbols.text(expected.type()) + (lacks_data ? " with data; init or restore gives them to a model" : ""),
          path[k]);
  }
  throw error("jit: argument", "another structure", "the one it was compiled with", "argument");
}
#endif

}  // namespace tokamax
