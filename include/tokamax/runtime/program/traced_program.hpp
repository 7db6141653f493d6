// tokamax/runtime/program/traced_program.hpp: programs traced at run time, by the passes that the compiler uses too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>             // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/passes/lower.hpp>          // lower
#include <tokamax/compiler/passes/schedule.hpp>       // make_plan
#include <tokamax/compiler/passes/sums.hpp>           // join_sums
#include <tokamax/compiler/verify.hpp>                // verifies_programs
#include <tokamax/core/trace.hpp>                     // trace_into
#include <tokamax/runtime/captured_values.hpp>        // checks_captured_values
#include <tokamax/runtime/program/given_tree.hpp>     // given_tree
#include <tokamax/runtime/program/program_cache.hpp>  // program_cache, running_hash
#include <tokamax/runtime/program/symbol_values.hpp>  // symbol_values
#include <tokamax/runtime/run/runner_pool.hpp>        // runner_pool

#include <memory>  // unique_ptr, addressof

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/core/memory/fork_mutexes.hpp>  // fork_mutexes
  #include <tokamax/profile/session.hpp>           // span

  #include <mutex>  // lock_guard
#endif

namespace tokamax {

namespace detail {

/// What the kernels of a table take, for the planner.
struct taken_by_table {
  const kernel_table& table;
  bool computes_again = false, groups_loops = false;
  kernel_takes operator()(const op& o) const {
    kernel_takes t = table.find(o).takes;
    t.producer = t.producer && table.joins_loops;
    return t;
  }
};

/// A plan that owns its tables, with the kernels of a device.
struct owned_program {
  graph lowered;
  plan tables;
  executable code;
  std::vector<handle> captured;  ///< buffers that the trace closed over; they follow the arguments as inputs

  /// Is told of the graph that a pass has made.
  class pass_viewer {
   public:
    virtual void after(const char* pass, const graph& g) = 0;

   protected:
    ~pass_viewer() = default;
  };
  static std::unique_ptr<owned_program> make(const graph& traced, const kernel_table& kernels,
                                             pass_viewer* viewer = nullptr);

 private:
  /// Turns captured data into further inputs, so that the passes need not know about it.
  static graph with_captures_as_inputs(const graph& traced, std::vector<handle>& captured);
  void verify(const kernel_table& table) const;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE std::unique_ptr<owned_program> owned_program::make(const graph& traced, const kernel_table& table,
                                                                         pass_viewer* viewer) {
  auto p = std::make_unique<owned_program>();
  const auto has_kernel = [&](const op& o) { return table.find(o).run; };
  const bool verifies = verifies_programs();
  if (verifies) verify_graph(traced);
  if (traced.captured.empty())
    lower(p->lowered, traced, has_kernel);
  else
    lower(p->lowered, with_captures_as_inputs(traced, p->captured), has_kernel);
  if (viewer) viewer->after("lower", p->lowered);
  if (table.joins_sums) join_sums(p->lowered, taken_by_table{table});
  if (viewer && table.joins_sums) viewer->after("join_sums", p->lowered);
  p->tables =
      make_plan(p->lowered, taken_by_table{table, table.computes_again, table.groups_loops}, one_of_each_symbol);
  if (verifies) p->verify(table);
  std::vector<loop_function> loops(static_cast<std::size_t>(p->tables.loops.count()), table.interpreted_loop);
  std::vector<kernel_function> kernels;
  std::vector<implementation_list> others;
  for (const op* o : p->tables.ops) {
    const kernel_set found = table.find(*o);
    kernels.push_back(found.run);
    others.push_back(found.others);
    if (!kernels.back())
      throw error(error_kind::device, "missing kernel", std::string(o->name), "a kernel or compose",
                  std::string(table.device));
  }
  p->code = executable(view(p->tables), std::move(loops), std::move(kernels), std::move(others));
  std::vector<const interpreted_op*> ops;
  for (const instruction& i : p->tables.instructions) {
    const kernel_set found = i.function ? table.find(*i.function) : kernel_set{};
    ops.push_back(found.interpreted ? found.interpreted(i.operand) : nullptr);
  }
  p->code.interpret_with(std::move(ops));
  if (table.make_code) p->code.run_with(table.make_code(view(p->tables)));
  return p;
}

TOKAMAX_COMPILED_ONCE void owned_program::verify(const kernel_table& table) const {
  class facts_of_table final : public device_facts {
   public:
    explicit facts_of_table(const kernel_table& t) : table_(t) {}
    bool has_kernel(const op& o) const override { return table_.find(o).run != nullptr; }
    kernel_takes takes(const op& o) const override { return taken_by_table{table_}(o); }

   private:
    const kernel_table& table_;
  };
  const facts_of_table facts(table);
  verify_lowered(lowered, facts);
  std::vector<kernel_takes> takes;
  for (const op* o : tables.ops) takes.push_back(facts.takes(*o));
  verify_plan(view(tables), takes.data(), &lowered);
}
TOKAMAX_COMPILED_ONCE graph owned_program::with_captures_as_inputs(const graph& traced, std::vector<handle>& captured) {
  graph g(traced);
  for (int i = 0; i < g.count(); ++i) {
    node& n = g.nodes[i];
    if (n.op != &captured_p) continue;
    captured.push_back(captured_data_of(g, n));
    n.op = nullptr;
    g.inputs.push_back(i);
  }
  return g;
}
#endif

/// The data that a program closes over, on each device that has run the program.
class captured_data {
 public:
  /// Adds it to the inputs of a run.
  void add_to(program_run& run, const std::vector<handle>& captured, device& where);

 private:
  struct copy {
    device* where;
    std::vector<handle> blocks;
  };
  std::vector<copy> copies_;  // for devices that do not have the original data
};
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void captured_data::add_to(program_run& run, const std::vector<handle>& captured, device& where) {
  device* const space = where.is_host() ? nullptr : &where;
  if (std::ranges::all_of(captured, [&](const handle& h) { return h->where == space; })) {
    for (const handle& h : captured) run.add_captured(h);
    return;
  }
  std::vector<handle> here;
  {
    const std::lock_guard lock(fork_mutexes::of(this));
    for (const copy& known : copies_)
      if (known.where == &where) here = known.blocks;
  }
  if (here.empty()) {
    for (const handle& h : captured) here.push_back(where.put(h, h->bytes));
    const std::lock_guard lock(fork_mutexes::of(this));
    copies_.push_back({&where, here});
  }
  for (const handle& h : here) run.add_captured(h);
}
#endif

/// A program that was traced at run time, with all that another call is compared with.
struct traced_entry {
  std::vector<std::int64_t> signature;  ///< see `each_number`
  std::shared_ptr<void> trees;          ///< the result with abstract leaves, and the arguments without leaves
  std::vector<given_tree> arguments;    ///< these arguments: their static values are part of the program
  std::vector<std::unique_ptr<tree_layout>> own_layouts;  ///< of those arguments whose type does not tell it
  std::unique_ptr<owned_program> program;                 ///< its code never runs: runners are copies
  std::unique_ptr<runner_pool> runners;
  captured_data captured;
  std::unique_ptr<graph> traced;  ///< if captured values are looked at in each call
};

/// What programs of one function differ by, beside their arguments.
struct program_kind {
  const void* types;            ///< an address that stands for the C++ types of the trees
  const kernel_table* kernels;  ///< devices with the same kernels share programs
};

/// The traced programs of one function. They are found by what tells programs apart: their kinds, the structure of the trees,
/// the dtype, weakness and shape of every leaf, and the static values.
class traced_entries {
 public:
  /// The program for these arguments, or null.
  std::shared_ptr<traced_entry> find(program_kind kind, given_trees given);
  /// The same, and if there is none, one that make() traces for these arguments. It is called by one of the threads that need
  /// the program.
  std::shared_ptr<traced_entry> find_or_make(program_kind kind, given_trees given, untyped_cache::maker make);
  /// Runs a program. `result` is a tree with abstract leaves.
  static void run(std::shared_ptr<traced_entry> e, given_trees given, const void* result,
                  const tree_layout& result_layout, device& where);

  program_cache<traced_entry> programs;
};

/// Replaces the leaves by abstract arrays of the types that they declare, or by nothing.
void make_abstract(given_trees trees);
void make_empty(given_trees trees);

#if defined(TOKAMAX_COMPILED_ONCE)
/// Calls `visit` with the key of a program, as numbers.
template <class Visit>
void each_number(program_kind kind, given_trees given, Visit visit) {
  visit(reinterpret_cast<std::intptr_t>(kind.types));
  visit(reinterpret_cast<std::intptr_t>(kind.kernels));
  for (const given_tree& tree : given) {
    for (const std::int64_t n : tree.layout->structure) visit(n);
    for (const auto& place : tree.layout->leaves) {
      const array_type& t = place.declared_type(tree.tree);
      visit(static_cast<std::int64_t>(t.dtype) << 1 | t.weak);
      visit(t.shape.rank());
      for (const std::int64_t e : t.shape) visit(e);
    }
  }
}
inline std::uint64_t key_of(program_kind kind, given_trees given) {
  running_hash key;
  each_number(kind, given, [&](std::int64_t n) { key.add(n); });
  return key.value();
}
/// Have trees of equal structure the same static values?
inline bool same_constants(given_trees given, given_trees others) {
  for (std::size_t k = 0; k < given.size(); ++k) {
    const auto &mine = given[k].layout->constants, &theirs = others[k].layout->constants;
    for (std::size_t i = 0; i < mine.size(); ++i)
      if (!mine[i].equal(mine[i].at.in(given[k].tree), theirs[i].at.in(others[k].tree))) return false;
  }
  return true;
}
/// Do the arguments have this signature, and the static values of `known`?
inline bool fit(const traced_entry& known, program_kind kind, given_trees given) {
  std::size_t at = 0;
  bool same = true;
  each_number(kind, given, [&](std::int64_t n) {
    same = same && at < known.signature.size() && known.signature[at] == n;
    ++at;
  });
  if (!same || at != known.signature.size()) return false;
  return same_constants(given, known.arguments);
}
TOKAMAX_COMPILED_ONCE std::shared_ptr<traced_entry> traced_entries::find(program_kind kind, given_trees given) {
  return programs.find(key_of(kind, given), [&](const traced_entry& e) { return fit(e, kind, given); });
}
TOKAMAX_COMPILED_ONCE std::shared_ptr<traced_entry> traced_entries::find_or_make(program_kind kind, given_trees given,
                                                                                 untyped_cache::maker make) {
  struct request {
    std::vector<std::int64_t> signature;
    given_trees given;
    bool operator()(const traced_entry& e) const {
      return e.signature == signature && same_constants(given, e.arguments);
    }
    bool same(const request& others) const {
      return others.signature == signature && same_constants(given, others.given);
    }
  } asked{{}, given};
  each_number(kind, given, [&](std::int64_t n) { asked.signature.push_back(n); });
  return programs.find_or_make(key_of(kind, given), asked, [&] {
    const profile::span mark("compile", profile::mark_kind::compile);
    auto made = std::static_pointer_cast<traced_entry>(make.make(make.f));
    made->signature = asked.signature;
    return made;
  });
}

/// The values of dynamic extents, found in the arguments of a call.
inline symbol_values symbols_of(given_trees given) {
  symbol_values symbols;
  for (std::size_t k = 0; k < given.size(); ++k)
    for (const auto& place : given[k].layout->leaves) {
      if (!place.declared) continue;
      const array_type &found = place.leaf(given[k].tree).type(), &declared = place.declared_type(given[k].tree);
      if (!symbols.fits(declared, found, k))
        throw error(error_kind::shape, "jit: argument", std::string(message(found).view()), symbols.text(declared),
                    "argument " + std::to_string(k));
    }
  return symbols;
}
TOKAMAX_COMPILED_ONCE void traced_entries::run(std::shared_ptr<traced_entry> e, given_trees given, const void* result,
                                               const tree_layout& result_layout, device& where) {
  symbol_values values = symbols_of(given);
  const std::int64_t* const symbols = values.found();
  runner_pool::loan loan = e->runners->take(symbols);
  take_leaves(*loan.run, given, where);
  e->captured.add_to(*loan.run, e->program->captured, where);
  launch_into(std::move(loan.run), {loan.idle_runs, std::move(e), std::move(loan.home)}, given, result, result_layout,
              symbols, where);
}

TOKAMAX_COMPILED_ONCE void make_abstract(given_trees trees) {
  for (const given_tree& t : trees)
    for (const auto& place : t.layout->leaves)
      const_cast<array&>(place.leaf(t.tree)) = array(array_type(place.declared_type(t.tree)));
}
TOKAMAX_COMPILED_ONCE void make_empty(given_trees trees) {
  for (const given_tree& t : trees)
    for (const auto& place : t.layout->leaves) const_cast<array&>(place.leaf(t.tree)) = array();
}
#endif

}  // namespace detail

/// The programs of one function, found by the kernels of the device for which they were traced, and by the dtypes, shapes and
/// static fields of the arguments.
/// It keeps the `default_capacity` programs that were used last, or as many as `set_capacity` says. An extent that an
/// argument declares to be dynamic is a symbol in the trace, so its value is not part of the program. In recordings a trace and its
/// plan are a mark of the name and kind "compile". Several threads may
/// call it at the same time; if they need the same new program, one of them traces it, and an error of the trace reaches all.
template <class F>
class traced_program {
 public:
  template <class... Given>
  auto run(const F& f, const kernel_table& kernels, device& where, Given&&... given) {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const std::remove_cvref_t<Given>&...>>;
    using skeleton_type = skeletons<result_type, std::remove_cvref_t<Given>...>;
    std::unique_ptr<tree_layout> rooms[sizeof...(Given) + 1];
    auto* room = rooms;
    const detail::given_tree trees[] = {{std::addressof(given), &detail::layout_of(given, *room++),
                                         detail::is_movable<Given>, &tree_layout::of<std::remove_cvref_t<Given>>}...,
                                        {}};
    const detail::given_trees list(trees, sizeof...(Given));
    const detail::program_kind kind{&type_mark<skeleton_type>, &kernels};
    std::shared_ptr<detail::traced_entry> e = entries_.find(kind, list);
    if (!e) {
      auto make = [&] { return trace<skeleton_type>(f, kernels, given...); };
      const auto call = [](void* t) -> std::shared_ptr<void> { return (*static_cast<decltype(make)*>(t))(); };
      e = entries_.find_or_make(kind, list, {call, &make});
    } else if (e->traced && checks_captured_values()) {
      detail::compare_traces(*e->traced, *trace<skeleton_type>(f, kernels, given...)->traced);
    }
    result_type result = copy_tree(static_cast<const skeleton_type*>(e->trees.get())->result);
    entries_.run(std::move(e), list, std::addressof(result), detail::layout_of(result, *room), where);
    return result;
  }

  /// Keeps at most so many programs, those that were used last.
  void set_capacity(std::size_t programs) { entries_.programs.set_capacity(programs); }
  /// Forgets all programs, and gives the memory of their intermediate values back to the pool.
  void clear() { entries_.programs.clear(); }
  /// How many programs are kept.
  std::size_t size() const { return entries_.programs.size(); }

 private:
  template <class Result, class... Args>
  struct skeletons {
    Result result;
    std::tuple<Args...> arguments;
  };
  template <class Skeleton, class... Given>
  static std::shared_ptr<detail::traced_entry> trace(const F& f, const kernel_table& kernels, const Given&... given) {
    auto made = std::make_shared<detail::traced_entry>();
    auto trees = std::make_shared<Skeleton>();
    made->own_layouts.resize(sizeof...(Given));
    trees->arguments = std::tuple<Given...>(copy_tree(given)...);
    graph g;
    std::apply(
        [&](auto&... tree) {
          [[maybe_unused]] auto* room = made->own_layouts.data();
          made->arguments = std::vector<detail::given_tree>{
              detail::given_tree{std::addressof(tree), &detail::layout_of(tree, *room++)}...};
          detail::make_abstract(made->arguments);
          trace_into(g, f, trees->result, std::as_const(tree)...);
          detail::make_empty(made->arguments);
        },
        trees->arguments);
    if (checks_captured_values()) made->traced = std::make_unique<graph>(g);
    made->program = detail::owned_program::make(g, kernels);
    made->runners = std::make_unique<detail::runner_pool>(made->program->code, g.dynamic);
    made->trees = std::move(trees);
    return made;
  }
  template <class T>
  static constexpr char type_mark = 0;

  detail::traced_entries entries_;
};

}  // namespace tokamax
