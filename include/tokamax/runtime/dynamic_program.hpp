// tokamax/runtime/dynamic_program.hpp: programs traced at run time, by the passes that the compiler uses too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>       // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/lower.hpp>           // lower
#include <tokamax/compiler/schedule.hpp>        // make_plan
#include <tokamax/core/trace.hpp>               // trace_into
#include <tokamax/runtime/executable.hpp>       // executable
#include <tokamax/runtime/filled_literals.hpp>  // filled_literals

#include <memory>  // unique_ptr
#include <mutex>   // mutex

namespace tokamax {

namespace detail {

/// A plan that owns its tables, bound to the kernels that the descriptors name.
struct owned_program {
  graph lowered;
  plan tables;
  executable code;
  std::vector<handle> captured;  ///< buffers that the trace closed over; they follow the arguments as inputs

  static std::unique_ptr<owned_program> make(const graph& traced, loop_function interpreter, std::string_view device);

 private:
  /// Captured data becomes further inputs, so that nothing after the trace knows of it.
  static graph with_captures_as_inputs(const graph& traced, std::vector<handle>& captured);
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE std::unique_ptr<owned_program> owned_program::make(const graph& traced, loop_function interpreter,
                                                                         std::string_view device) {
  auto p = std::make_unique<owned_program>();
  lower(p->lowered, with_captures_as_inputs(traced, p->captured),
        [](const op& o) { return o.kernels && o.kernels().run; });
  p->tables = make_plan(p->lowered, [](const op& o) { return o.kernels && o.kernels().strided; }, one_of_each_symbol);
  std::vector<loop_function> loops(static_cast<std::size_t>(p->tables.loops.count()), interpreter);
  std::vector<kernel_function> kernels;
  for (const op* o : p->tables.ops) {
    if (!o->kernels || !o->kernels().run)
      throw error("missing kernel", std::string(o->name), "a kernel or compose", std::string(device));
    kernels.push_back(o->kernels().run);
  }
  p->code = executable(view(p->tables), std::move(loops), std::move(kernels), one_of_each_symbol);
  std::vector<tile_function> tiles;
  for (const instruction& i : p->tables.instructions)
    tiles.push_back(i.function && i.function->kernels ? i.function->kernels().tile(i.operand) : nullptr);
  p->code.interpret_with(std::move(tiles));
  return p;
}

TOKAMAX_COMPILED_ONCE graph owned_program::with_captures_as_inputs(const graph& traced, std::vector<handle>& captured) {
  graph g(traced);
  for (int i = 0; i < g.count(); ++i) {
    node& n = g.nodes[i];
    if (n.kind != &captured_p) continue;
    captured.push_back(g.captured[g.words_of(n)[0]]);
    n.kind = nullptr;
    g.inputs.push_back(i);
  }
  return g;
}
#endif

/// The leaves of the arguments that may be written over; null in the place of the others.
template <class... Given>
std::vector<const array*> movable_leaves(Given&&... given) {
  std::vector<const array*> list;
  auto look = [&](auto&& tree) {
    constexpr bool movable =
        !std::is_lvalue_reference_v<decltype(tree)> && !std::is_const_v<std::remove_reference_t<decltype(tree)>>;
    for_each_leaf([&](const array& a) { list.push_back(movable ? &a : nullptr); }, tree);
  };
  (look(std::forward<Given>(given)), ...);
  return list;
}

/// Runs bound code and makes the tree of its results. An argument given as an rvalue whose buffer nobody else holds is
/// written over where the plan has found that safe.
template <class Result, class... Given>
Result run_executable(executable& code, const Result& skeleton, std::vector<std::byte*>& inputs,
                      std::vector<std::byte*>& outputs, Given&&... given) {
  const plan_view& p = code.plan();
  const plan_region& main = p.regions[0];
  Result result = skeleton;
  std::vector<const array*> donors;  // listed where one is asked for
  int k = 0;
  for_each_leaf(
      [&](auto& leaf) {
        array& a = static_cast<array&>(leaf);
        const plan_buffer& b = p.buffers[p.numbers[main.outputs + k]];
        ++k;
        const array_type type{a.dtype(), false, a.shape()};
        const auto d = static_cast<std::size_t>(b.donor);
        if (b.donor >= 0 && donors.empty()) donors = movable_leaves(std::forward<Given>(given)...);
        const array* const donor = b.donor >= 0 && d < donors.size() ? donors[d] : nullptr;
        if (donor && donor->storage().unique())
          a = array(donor->storage(), type);
        else
          a = array::uninitialized(type);
        outputs.push_back(a.storage()->data);
      },
      result);
  code.run(inputs.data(), outputs.data());
  return result;
}

}  // namespace detail

/// Programs of one function, kept by the dtypes and shapes (and static fields) of the arguments they were traced for.
template <class Device, class F>
class dynamic_program {
 public:
  template <class... Given>
  auto run(const F& f, Given&&... given) {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const std::remove_cvref_t<Given>&...>>;
    using skeleton_type = skeletons<result_type, std::remove_cvref_t<Given>...>;
    const std::lock_guard lock(busy_);
    signature_.assign(1, reinterpret_cast<std::intptr_t>(&type_mark<skeleton_type>));
    (append_signature(given), ...);
    entry* e = nullptr;
    for (auto& known : entries_)
      if (known->signature == signature_ && static_cast<skeleton_type*>(known->trees.get())->same_static_as(given...))
        e = known.get();
    if (!e) {
      graph g;
      auto trees = std::make_shared<skeleton_type>();
      trace_into(g, f, trees->result, given...);
      trees->arguments = {given...};
      std::apply([](auto&... tree) { (for_each_leaf([](auto& a) { static_cast<array&>(a) = array(); }, tree), ...); },
                 trees->arguments);
      entries_.push_back(std::make_unique<entry>(entry{
          signature_, detail::owned_program::make(g, Device::interpreted_loop(), Device::name), std::move(trees)}));
      e = entries_.back().get();
    }
    detail::filled_literals literals;
    inputs_.clear();
    outputs_.clear();
    auto collect = [&](const array& a) {
      if (!a.is_concrete())
        throw error("jit: argument", std::string(text(a.type()).view()) + " without data", "a concrete array");
      inputs_.push_back(literals.data_of(a));
    };
    (for_each_leaf(collect, given), ...);
    for (const handle& h : e->program->captured) inputs_.push_back(h->data);
    return detail::run_executable(e->program->code, static_cast<skeleton_type*>(e->trees.get())->result, inputs_,
                                  outputs_, std::forward<Given>(given)...);
  }

 private:
  template <class T>
  void append_signature(const T& tree) {
    for_each_leaf(
        [&](const array& a) {
          signature_.push_back(static_cast<std::int64_t>(a.dtype()));
          signature_.push_back(a.rank());
          for (std::int64_t e : a.shape()) signature_.push_back(e);
        },
        tree);
  }
  /// The result with abstract leaves, and the arguments without leaves: their static fields are part of the program.
  template <class Result, class... Args>
  struct skeletons {
    Result result;
    std::tuple<Args...> arguments;
    bool same_static_as(const Args&... args) const {
      return std::apply([&](const Args&... known) { return (same_static(known, args) && ...); }, arguments);
    }
  };
  template <class T>
  static constexpr char type_mark = 0;
  struct entry {
    std::vector<std::int64_t> signature;  ///< type mark, then dtype and shape of every leaf
    std::unique_ptr<detail::owned_program> program;
    std::shared_ptr<void> trees;
  };
  std::mutex busy_;
  std::vector<std::unique_ptr<entry>> entries_;
  std::vector<std::int64_t> signature_;
  std::vector<std::byte*> inputs_, outputs_;
};

}  // namespace tokamax
