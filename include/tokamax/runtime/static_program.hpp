// tokamax/runtime/static_program.hpp: runs programs that are known while compiling, with code that all of them share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>   // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/freeze.hpp>      // thaw
#include <tokamax/core/trace.hpp>           // ambient_graph, inline_graph
#include <tokamax/runtime/program_run.hpp>  // program_run
#include <tokamax/runtime/tree_layout.hpp>  // tree_layout

#include <algorithm>  // fill_n
#include <memory>     // make_unique
#include <string>     // to_string
#include <vector>     // vector

namespace tokamax {

/// A tree for which a program was compiled: the default value of its type, and the positions of its leaves.
struct known_tree {
  const void* like = nullptr;
  tree_layout (*layout_of)(const void* tree, const char* root) = nullptr;
  tree_layout layout{};
};

/// Checks arguments, finds their buffers, makes the buffers of the result and runs a plan. Trees are addresses here, so that
/// only their layout is compiled for each type.
///
/// Threads and devices may run a program at the same time, because each run has its own state. That state is used again,
/// except after an exception.
class static_program {
 public:
  static_program(executable code, std::vector<known_tree> arguments, known_tree result, const graph& (*traced)());

  /// The result with abstract leaves. Its users copy it from here, where g++ cannot see the value. Otherwise g++ would write
  /// the value into them, as one assignment for every number in it.
  const void* result_like() const { return result_.like; }

  /// Runs the program on the trees at `given`. `result` holds a copy of the abstract result. The buffer of a `movable`
  /// argument is overwritten if nobody else holds it and the plan has found that safe; after the run, `movable` arguments
  /// are empty. If the program is called while another function is traced, it becomes part of that trace.
  ///
  /// errors  tokamax::error with the path of a leaf that differs from what was compiled
  void run(const void* const* given, const bool* movable, void* result, device& where);

 private:
  graph* trace_around(const void* const* given) const;
  void repeat_in(graph& g, const void* const* given, void* result) const;
  void check(int position, const void* given, bool concrete, std::int64_t* symbols) const;
  [[noreturn]] void reject(int position, const void* given, bool concrete, std::int64_t* symbols) const;
  void take_argument(detail::program_run& run, int position, const void* given, bool movable, std::int64_t* symbols,
                     device& where) const;
  void make_results(detail::program_run& run, const std::int64_t* symbols, void* result, device& where) const;
  /// Empties the arguments that were moved in, as soon as the program has begun to write into them.
  struct given_away {
    const static_program& program;
    const void* const* given;
    const bool* movable;
    ~given_away() {
      for (int k = 0; k < program.argument_count(); ++k)
        if (movable[k])
          for (const auto& place : program.argument(k).layout.leaves)
            array(std::move(const_cast<array&>(place.leaf(given[k]))));
    }
  };
  int argument_count() const { return static_cast<int>(arguments_.size()); }
  const known_tree& argument(int k) const { return arguments_[static_cast<std::size_t>(k)]; }

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
}

TOKAMAX_COMPILED_ONCE void static_program::run(const void* const* given, const bool* movable, void* result,
                                               device& where) {
  if (graph* g = trace_around(given)) return repeat_in(*g, given, result);
  std::unique_ptr<detail::program_run> run = idle_runs_.take();
  if (!run) run = std::make_unique<detail::program_run>(code_);
  std::size_t leaves = 0;
  for (const known_tree& t : arguments_) leaves += t.layout.leaves.size();
  run->start(leaves);
  std::int64_t symbols[max_symbols];  // the values of dynamic extents, found in the arguments
  std::fill_n(symbols, max_symbols, std::int64_t{-1});
  for (int k = 0; k < argument_count(); ++k) take_argument(*run, k, given[k], movable[k], symbols, where);
  for (std::int64_t& s : symbols)
    if (s < 0) s = 1;
  run->code.resize(symbols);
  make_results(*run, symbols, result, where);
  const given_away moved{*this, given, movable};
  detail::launch(std::move(run), {&idle_runs_, nullptr, nullptr}, where);
}

TOKAMAX_COMPILED_ONCE graph* static_program::trace_around(const void* const* given) const {
  graph* g = nullptr;
  for (int k = 0; k < argument_count(); ++k)
    for (const auto& place : argument(k).layout.leaves) {
      detail::require_live(place.leaf(given[k]), {});
      graph* t = place.leaf(given[k]).trace();
      if (t && !t->floating && (!g || t->depth > g->depth)) g = t;
    }
  return g ? g : ambient_graph;
}

TOKAMAX_COMPILED_ONCE void static_program::repeat_in(graph& g, const void* const* given, void* result) const {
  arrays in;
  std::int64_t symbols[max_symbols] = {};  // only programs without dynamic extents become part of another
  for (int k = 0; k < argument_count(); ++k) {
    check(k, given[k], false, symbols);
    for (const auto& place : argument(k).layout.leaves) in.push_back(place.leaf(given[k]));
  }
  const arrays out = inline_graph(g, traced_(), in.data());
  int k = 0;
  for (const auto& place : result_.layout.leaves) const_cast<array&>(place.leaf(result)) = out[k++];
}

TOKAMAX_COMPILED_ONCE void static_program::check(int position, const void* given, bool concrete,
                                                 std::int64_t* symbols) const {
  const known_tree& t = argument(position);
  bool fits = true;
  for (const auto& c : t.layout.constants) fits = fits && c.equal(c.at.in(t.like), c.at.in(given));
  for (const auto& place : t.layout.leaves) {
    const array &a = place.leaf(given), &expected = place.leaf(t.like);
    fits = fits && (a.is_concrete() || !concrete) && tokamax::fits(expected.type(), a.type(), symbols);
  }
  if (!fits) reject(position, given, concrete, symbols);
}
/// Throws an error that says why an argument does not fit the program.
TOKAMAX_COMPILED_ONCE void static_program::reject(int position, const void* given, bool concrete,
                                                  std::int64_t* symbols) const {
  const known_tree& t = argument(position);
  const tree_layout named = t.layout_of(t.like, ("argument " + std::to_string(position)).c_str());
  for (const auto& c : named.constants)
    if (!c.equal(c.at.in(t.like), c.at.in(given)))
      throw error("jit: static field", "another value", "the one it was compiled with", c.at.path);
  for (const auto& place : named.leaves) {
    const array &a = place.leaf(given), &expected = place.leaf(t.like);
    const bool lacks_data = concrete && !a.is_concrete();
    if (lacks_data || !tokamax::fits(expected.type(), a.type(), symbols))
      throw error("jit: argument", std::string(message(a.type()).view()) + (lacks_data ? " without data" : ""),
                  std::string(message(expected.type()).view()), place.path);
  }
  throw error("jit: argument", "another structure", "the one it was compiled with", "argument");
}

/// Lists the buffers of an argument, and those that it donates.
TOKAMAX_COMPILED_ONCE void static_program::take_argument(detail::program_run& run, int position, const void* given,
                                                         bool movable, std::int64_t* symbols, device& where) const {
  check(position, given, true, symbols);
  for (const auto& place : argument(position).layout.leaves) {
    const array& a = place.leaf(given);
    run.add_input(a, movable || a.is_literal(), where);
  }
}

TOKAMAX_COMPILED_ONCE void static_program::make_results(detail::program_run& run, const std::int64_t* symbols,
                                                        void* result, device& where) const {
  for (const auto& place : result_.layout.leaves) {
    array& a = const_cast<array&>(place.leaf(result));
    array_type type{a.dtype(), false, a.shape()};
    for (int i = 0; i < type.shape.rank(); ++i) type.shape[i] = resolve(type.shape[i], symbols);
    a = run.make_output(type, where);
  }
}
#endif

}  // namespace tokamax
