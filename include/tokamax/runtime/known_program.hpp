// tokamax/runtime/known_program.hpp: what a program known while compiling does at run time, the same for all of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>       // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/freeze.hpp>          // thaw
#include <tokamax/core/trace.hpp>               // ambient_graph, inline_graph
#include <tokamax/runtime/executable.hpp>       // executable
#include <tokamax/runtime/filled_literals.hpp>  // filled_literals
#include <tokamax/runtime/idle_list.hpp>        // idle_list
#include <tokamax/runtime/tree_layout.hpp>      // tree_layout

#include <algorithm>  // fill_n
#include <memory>     // make_unique
#include <string>     // to_string
#include <vector>     // vector

namespace tokamax {

/// A tree as the program was compiled for it: the default value of its type, and where its leaves lie.
struct known_tree {
  const void* like = nullptr;
  tree_layout (*layout_of)(const void* tree, const char* root) = nullptr;
  tree_layout layout{};
};

/// Checks arguments, finds their buffers, makes the buffers of the result and runs a plan. Trees are addresses here: what
/// is compiled for each program and type is their layout alone.
///
/// Threads may run a program at the same time: each run has a frame of its own, and frames are used again. One that an
/// exception leaves behind is not.
class known_program {
 public:
  known_program(executable code, std::vector<known_tree> arguments, known_tree result, const graph& (*traced)());

  /// The result with abstract leaves. Its users copy it from here, where g++ does not see the value: it would write that
  /// into them as one assignment for every number in it.
  const void* result_like() const { return result_.like; }

  /// Runs the program on the trees at `given`. `result` holds a copy of the abstract result; an argument that is
  /// `movable` and whose buffer nobody else holds is written over where the plan has found that safe; when the program has
  /// run, what is `movable` is empty. Called while another function is traced, the program becomes a part of that.
  ///
  /// errors  tokamax::error with the path of a leaf that differs from what was compiled
  void run(const void* const* given, const bool* movable, void* result);

 private:
  graph* trace_around(const void* const* given) const;
  void repeat_in(graph& g, const void* const* given, void* result) const;
  void check(int position, const void* given, bool concrete, std::int64_t* symbols) const;
  [[noreturn]] void reject(int position, const void* given, bool concrete, std::int64_t* symbols) const;
  struct frame;
  void take_argument(frame& f, int position, const void* given, bool movable) const;
  void make_results(frame& f, void* result) const;
  /// Leaves the arguments that were moved in without their arrays once the program has begun to write into them.
  struct given_away {
    const known_program& program;
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

  struct frame : detail::idle {
    explicit frame(const executable& like) : code(like) {}
    executable code;
    handle arena;
    std::int64_t symbols[max_symbols] = {};  // values of dynamic extents, found in the arguments
    detail::filled_literals literals;
    std::vector<std::byte*> inputs, outputs;
    std::vector<const array*> donors;  // one an input, null if it stays the caller's
  };

  executable code_;  // what frames are copies of: it never runs
  std::vector<known_tree> arguments_;
  known_tree result_;
  const graph& (*traced_)();
  detail::idle_list<frame> frames_;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE known_program::known_program(executable code, std::vector<known_tree> arguments,
                                                   known_tree result, const graph& (*traced)())
    : code_(std::move(code)), arguments_(std::move(arguments)), result_(std::move(result)), traced_(traced) {
  for (known_tree& t : arguments_) t.layout = t.layout_of(t.like, nullptr);
  result_.layout = result_.layout_of(result_.like, nullptr);
}

TOKAMAX_COMPILED_ONCE void known_program::run(const void* const* given, const bool* movable, void* result) {
  if (graph* g = trace_around(given)) return repeat_in(*g, given, result);
  std::unique_ptr<frame> f = frames_.take();
  if (!f) f = std::make_unique<frame>(code_);
  std::size_t leaves = 0;
  for (const known_tree& t : arguments_) leaves += t.layout.leaves.size();
  f->literals.start(leaves);
  f->inputs.clear();
  f->donors.clear();
  f->outputs.clear();
  std::fill_n(f->symbols, max_symbols, std::int64_t{-1});
  for (int k = 0; k < argument_count(); ++k) take_argument(*f, k, given[k], movable[k]);
  for (std::int64_t& s : f->symbols)
    if (s < 0) s = 1;
  f->code.resize(f->symbols);
  make_results(*f, result);
  const given_away moved{*this, given, movable};
  f->code.run(f->inputs.data(), f->outputs.data(), f->arena);
  f->literals.clear();
  frames_.give(std::move(f));
}

TOKAMAX_COMPILED_ONCE graph* known_program::trace_around(const void* const* given) const {
  graph* g = nullptr;
  for (int k = 0; k < argument_count(); ++k)
    for (const auto& place : argument(k).layout.leaves) {
      detail::require_live(place.leaf(given[k]), {});
      graph* t = place.leaf(given[k]).trace();
      if (t && !t->floating && (!g || t->depth > g->depth)) g = t;
    }
  return g ? g : ambient_graph;
}

TOKAMAX_COMPILED_ONCE void known_program::repeat_in(graph& g, const void* const* given, void* result) const {
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

TOKAMAX_COMPILED_ONCE void known_program::check(int position, const void* given, bool concrete,
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
/// Says what is wrong with an argument that does not fit the program.
TOKAMAX_COMPILED_ONCE void known_program::reject(int position, const void* given, bool concrete,
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
      throw error("jit: argument", std::string(text(a.type()).view()) + (lacks_data ? " without data" : ""),
                  std::string(text(expected.type()).view()), place.path);
  }
  throw error("jit: argument", "another structure", "the one it was compiled with", "argument");
}

/// Lists the buffers of an argument, and those that it gives away.
TOKAMAX_COMPILED_ONCE void known_program::take_argument(frame& f, int position, const void* given, bool movable) const {
  check(position, given, true, f.symbols);
  for (const auto& place : argument(position).layout.leaves) {
    const array& a = place.leaf(given);
    const array& own = f.literals.with_data(a);
    f.inputs.push_back(own.storage()->data);
    f.donors.push_back(movable || a.is_literal() ? &own : nullptr);
  }
}

TOKAMAX_COMPILED_ONCE void known_program::make_results(frame& f, void* result) const {
  const plan_view& p = f.code.plan();
  int k = p.regions[0].outputs;
  for (const auto& place : result_.layout.leaves) {
    array& a = const_cast<array&>(place.leaf(result));
    const plan_buffer& b = p.buffers[p.numbers[k++]];
    array_type type{a.dtype(), false, a.shape()};
    for (int i = 0; i < type.extents.rank(); ++i) type.extents[i] = resolve(type.extents[i], f.symbols);
    const array* const donor = b.donor >= 0 ? f.donors[static_cast<std::size_t>(b.donor)] : nullptr;
    if (donor && donor->storage().unique())
      a = array(donor->storage(), type);
    else
      a = array::uninitialized(type);
    f.outputs.push_back(a.storage()->data);
  }
}
#endif

}  // namespace tokamax
