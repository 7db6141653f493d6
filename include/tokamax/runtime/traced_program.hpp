// tokamax/runtime/traced_program.hpp: programs traced at run time, by the passes that the compiler uses too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>     // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/lower.hpp>         // lower
#include <tokamax/compiler/schedule.hpp>      // make_plan
#include <tokamax/compiler/sums.hpp>          // join_sums
#include <tokamax/core/trace.hpp>             // trace_into
#include <tokamax/runtime/given_tree.hpp>     // given_tree
#include <tokamax/runtime/program_cache.hpp>  // program_cache, running_hash
#include <tokamax/runtime/runner_pool.hpp>    // runner_pool

#include <algorithm>  // fill_n, replace
#include <memory>     // unique_ptr, addressof

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/core/memory/fork_mutexes.hpp>  // fork_mutexes

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

  static std::unique_ptr<owned_program> make(const graph& traced, const kernel_table& kernels);

 private:
  /// Turns captured data into further inputs, so that the passes need not know about it.
  static graph with_captures_as_inputs(const graph& traced, std::vector<handle>& captured);
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE std::unique_ptr<owned_program> owned_program::make(const graph& traced,
                                                                         const kernel_table& table) {
  auto p = std::make_unique<owned_program>();
  const auto has_kernel = [&](const op& o) { return table.find(o).run; };
  if (traced.captured.empty())
    lower(p->lowered, traced, has_kernel);
  else
    lower(p->lowered, with_captures_as_inputs(traced, p->captured), has_kernel);
  if (table.joins_sums) join_sums(p->lowered, taken_by_table{table});
  p->tables =
      make_plan(p->lowered, taken_by_table{table, table.computes_again, table.groups_loops}, one_of_each_symbol);
  std::vector<loop_function> loops(static_cast<std::size_t>(p->tables.loops.count()), table.interpreted_loop);
  std::vector<kernel_function> kernels;
  std::vector<implementation_list> others;
  for (const op* o : p->tables.ops) {
    const kernel_set found = table.find(*o);
    kernels.push_back(found.run);
    others.push_back(found.others);
    if (!kernels.back())
      throw error("missing kernel", std::string(o->name), "a kernel or compose", std::string(table.device));
  }
  p->code = executable(view(p->tables), std::move(loops), std::move(kernels), std::move(others));
  std::vector<tile_function> tiles;
  for (const instruction& i : p->tables.instructions) {
    const kernel_set found = i.function ? table.find(*i.function) : kernel_set{};
    tiles.push_back(found.tile ? found.tile(i.operand) : nullptr);
  }
  p->code.interpret_with(std::move(tiles));
  if (table.make_code) p->code.run_with(table.make_code(view(p->tables)));
  return p;
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
    for (const handle& h : captured) {
      here.push_back(where.allocate(h->bytes));
      where.write(*here.back().get(), bytes_on_host(*h.get()), h->bytes);
    }
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
};

/// The traced programs of one function. They are found by what tells programs apart: the types of the trees, their structure,
/// the dtype, weakness and shape of every leaf, and the static values.
class traced_entries {
 public:
  /// The program for these arguments, or null. `types` is an address that stands for the C++ types of the trees.
  std::shared_ptr<traced_entry> find(const void* types, given_trees given);
  /// Adds a program that was traced for these arguments.
  std::shared_ptr<traced_entry> add(const void* types, given_trees given, std::shared_ptr<traced_entry> made);
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
void each_number(const void* types, given_trees given, Visit visit) {
  visit(reinterpret_cast<std::intptr_t>(types));
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
inline std::uint64_t key_of(const void* types, given_trees given) {
  running_hash key;
  each_number(types, given, [&](std::int64_t n) { key.add(n); });
  return key.value();
}
/// Do the arguments have this signature, and the static values of `known`?
inline bool fit(const traced_entry& known, const void* types, given_trees given) {
  std::size_t at = 0;
  bool same = true;
  each_number(types, given, [&](std::int64_t n) {
    same = same && at < known.signature.size() && known.signature[at] == n;
    ++at;
  });
  if (!same || at != known.signature.size()) return false;
  for (std::size_t k = 0; k < given.size(); ++k) {  // equal structure, so equal numbers of constants
    const auto &mine = given[k].layout->constants, &others = known.arguments[k].layout->constants;
    for (std::size_t i = 0; i < mine.size(); ++i)
      if (!mine[i].equal(mine[i].at.in(given[k].tree), others[i].at.in(known.arguments[k].tree))) return false;
  }
  return true;
}
TOKAMAX_COMPILED_ONCE std::shared_ptr<traced_entry> traced_entries::find(const void* types, given_trees given) {
  return programs.find(key_of(types, given), [&](const traced_entry& e) { return fit(e, types, given); });
}
TOKAMAX_COMPILED_ONCE std::shared_ptr<traced_entry> traced_entries::add(const void* types, given_trees given,
                                                                        std::shared_ptr<traced_entry> made) {
  each_number(types, given, [&](std::int64_t n) { made->signature.push_back(n); });
  const auto fits = [&](const traced_entry& e) { return fit(e, types, given); };
  return programs.add(key_of(types, given), std::move(made), fits);
}

/// The values of dynamic extents, found in the arguments of a call. Symbols that no argument has are 1.
inline void find_symbols(given_trees given, std::int64_t* values) {
  std::fill_n(values, max_symbols, std::int64_t{-1});
  for (std::size_t k = 0; k < given.size(); ++k)
    for (const auto& place : given[k].layout->leaves) {
      if (!place.declared) continue;
      const array_type &found = place.leaf(given[k].tree).type(), &declared = place.declared_type(given[k].tree);
      if (!fits(declared, found, values))
        throw error("jit: argument", std::string(message(found).view()), std::string(message(declared).view()),
                    "argument " + std::to_string(k));
    }
  std::replace(values, values + max_symbols, std::int64_t{-1}, std::int64_t{1});
}
TOKAMAX_COMPILED_ONCE void traced_entries::run(std::shared_ptr<traced_entry> e, given_trees given, const void* result,
                                               const tree_layout& result_layout, device& where) {
  std::int64_t symbols[max_symbols];
  find_symbols(given, symbols);
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

/// The programs of one function, found by the dtypes, shapes and static fields of the arguments for which they were traced.
/// It keeps the `default_capacity` programs that were used last, or as many as `set_capacity` says. An extent that an
/// argument declares to be dynamic is a symbol in the trace, so its value is not part of the program. Several threads may
/// call it at the same time; if they need the same new program, each of them traces it.
template <class Device, class F>
class traced_program {
 public:
  template <class... Given>
  auto run(const F& f, device& where, Given&&... given) {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const std::remove_cvref_t<Given>&...>>;
    using skeleton_type = skeletons<result_type, std::remove_cvref_t<Given>...>;
    std::unique_ptr<tree_layout> rooms[sizeof...(Given) + 1];
    auto* room = rooms;
    const detail::given_tree trees[] = {
        {std::addressof(given), &detail::layout_of(given, *room++), detail::is_movable<Given>}..., {}};
    const detail::given_trees list(trees, sizeof...(Given));
    std::shared_ptr<detail::traced_entry> e = entries_.find(&type_mark<skeleton_type>, list);
    if (!e) e = entries_.add(&type_mark<skeleton_type>, list, trace<skeleton_type>(f, given...));
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
  static std::shared_ptr<detail::traced_entry> trace(const F& f, const Given&... given) {
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
    made->program = detail::owned_program::make(g, kernel_table_of<Device>());
    made->runners = std::make_unique<detail::runner_pool>(made->program->code, g.dynamic);
    made->trees = std::move(trees);
    return made;
  }
  template <class T>
  static constexpr char type_mark = 0;

  detail::traced_entries entries_;
};

}  // namespace tokamax
