// tokamax/runtime/traced_program.hpp: programs traced at run time, by the passes that the compiler uses too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>     // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/lower.hpp>         // lower
#include <tokamax/compiler/schedule.hpp>      // make_plan
#include <tokamax/core/symbolic.hpp>          // declared_type
#include <tokamax/core/trace.hpp>             // trace_into
#include <tokamax/runtime/program_cache.hpp>  // program_cache, running_hash
#include <tokamax/runtime/runner_pool.hpp>    // runner_pool

#include <memory>  // unique_ptr

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/core/memory/fork_mutexes.hpp>  // fork_mutexes

  #include <mutex>  // lock_guard
#endif

namespace tokamax {

namespace detail {

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
  const auto takes = [&](const op& o) {
    kernel_takes t = table.find(o).takes;
    t.producer = t.producer && table.joins_loops;
    return t;
  };
  p->tables = make_plan(p->lowered, takes, one_of_each_symbol);
  std::vector<loop_function> loops(static_cast<std::size_t>(p->tables.loops.count()), table.interpreted_loop);
  std::vector<kernel_function> kernels;
  for (const op* o : p->tables.ops) {
    kernels.push_back(table.find(*o).run);
    if (!kernels.back())
      throw error("missing kernel", std::string(o->name), "a kernel or compose", std::string(table.device));
  }
  p->code = executable(view(p->tables), std::move(loops), std::move(kernels));
  std::vector<tile_function> tiles;
  for (const instruction& i : p->tables.instructions) {
    const kernel_set found = i.function ? table.find(*i.function) : kernel_set{};
    tiles.push_back(found.tile ? found.tile(i.operand) : nullptr);
  }
  p->code.interpret_with(std::move(tiles));
  return p;
}

TOKAMAX_COMPILED_ONCE graph owned_program::with_captures_as_inputs(const graph& traced, std::vector<handle>& captured) {
  graph g(traced);
  for (int i = 0; i < g.count(); ++i) {
    node& n = g.nodes[i];
    if (n.op != &captured_p) continue;
    captured.push_back(g.captured[g.words_of(n)[0]]);
    n.op = nullptr;
    g.inputs.push_back(i);
  }
  return g;
}
#endif

template <class Given>
inline constexpr bool is_movable =
    !std::is_lvalue_reference_v<Given> && !std::is_const_v<std::remove_reference_t<Given>>;

/// Empties the arguments that were moved in, at the end of a scope.
template <class... Given>
struct given_away {
  std::tuple<Given&&...> arguments;
  ~given_away() {
    auto empty = []<class Tree>(Tree&& tree) {
      if constexpr (is_movable<Tree&&>) for_each_leaf([](auto& a) { array(std::move(static_cast<array&>(a))); }, tree);
    };
    std::apply([&](auto&&... tree) { (empty(std::forward<Given>(tree)), ...); }, arguments);
  }
};

/// The values of dynamic extents, found in the arguments of a call. Symbols that no argument has are 1.
struct found_symbols {
  std::int64_t values[max_symbols] = {-1, -1, -1, -1, -1, -1, -1, -1};

  /// errors  "jit: argument" for an array that is not of the declared type
  template <class Tree>
  void find(const Tree& tree, int position) {
    for_each_leaf([&](const auto& a) { add(declared_type(a), a.type(), position); }, tree);
  }
  void finish() {
    for (std::int64_t& v : values)
      if (v < 0) v = 1;
  }

 private:
  void add(const array_type& declared, const array_type& given, int position) {
    if (&declared != &given && !fits(declared, given, values)) reject(declared, given, position);
  }
  [[noreturn]] static void reject(const array_type& declared, const array_type& given, int position);
};
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void found_symbols::reject(const array_type& declared, const array_type& given, int position) {
  throw error("jit: argument", std::string(message(given).view()), std::string(message(declared).view()),
              "argument " + std::to_string(position));
}
#endif

/// Lists the buffers of an argument, and those that it donates: the buffers of an rvalue that nobody else holds.
template <class Tree>
void take_leaves(program_run& run, device& where, Tree&& tree) {
  constexpr bool movable = is_movable<Tree>;
  for_each_leaf(
      [&](const array& a) {
        if (!a.is_concrete())
          throw error("jit: argument", std::string(message(a.type()).view()) + " without data", "a concrete array");
        run.add_input(a, movable && !a.is_literal(), where);
      },
      tree);
}

/// Makes the buffers of the results. A result takes the buffer of a donated argument if the plan has found that safe.
template <class Result>
Result results_like(const Result& skeleton, program_run& run, const std::int64_t* symbols, device& where) {
  Result result = copy_tree(skeleton);
  for_each_leaf(
      [&](auto& leaf) {
        array& a = static_cast<array&>(leaf);
        array_type type = a.type();
        for (int i = 0; i < type.shape.rank(); ++i) type.shape[i] = resolve(type.shape[i], symbols);
        a = run.make_output(type, where);
      },
      result);
  return result;
}

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
    detail::found_symbols symbols;
    int position = 0;
    (symbols.find(given, position++), ...);
    symbols.finish();
    std::shared_ptr<entry> e = find_or_trace<skeleton_type>(f, given...);
    detail::runner_pool::loan loan = e->runners->take(symbols.values);
    loan.run->start((count_leaves(given) + ... + 0));
    (detail::take_leaves(*loan.run, where, std::forward<Given>(given)), ...);
    e->captured.add_to(*loan.run, e->program->captured, where);
    result_type result =
        detail::results_like(static_cast<skeleton_type*>(e->trees.get())->result, *loan.run, symbols.values, where);
    const detail::given_away<Given...> moved{{std::forward<Given>(given)...}};
    detail::launch(std::move(loan.run), {loan.idle_runs, std::move(e), std::move(loan.home)}, where);
    return result;
  }

  /// Keeps at most so many programs, those that were used last.
  void set_capacity(std::size_t programs) { programs_.set_capacity(programs); }
  /// Forgets all programs, and gives the memory of their intermediate values back to the pool.
  void clear() { programs_.clear(); }
  /// How many programs are kept.
  std::size_t size() const { return programs_.size(); }

 private:
  template <class Skeleton, class... Given>
  auto find_or_trace(const F& f, const Given&... given) {
    detail::running_hash key;
    each_number<Skeleton>([&](std::int64_t n) { key.add(n); }, given...);
    const auto fits = [&](const entry& e) {
      std::size_t at = 0;
      bool same = true;
      each_number<Skeleton>(
          [&](std::int64_t n) {
            same = same && at < e.signature.size() && e.signature[at] == n;
            ++at;
          },
          given...);
      return same && at == e.signature.size() && static_cast<Skeleton*>(e.trees.get())->same_static_as(given...);
    };
    if (auto known = programs_.find(key.value(), fits)) return known;
    auto made = std::make_shared<entry>();
    each_number<Skeleton>([&](std::int64_t n) { made->signature.push_back(n); }, given...);
    auto trees = std::make_shared<Skeleton>();
    trees->arguments = std::tuple<Given...>(copy_tree(given)...);
    const auto each_leaf = [&](const auto& change) {
      std::apply([&](auto&... tree) { (for_each_leaf(change, tree), ...); }, trees->arguments);
    };
    each_leaf([](auto& a) { static_cast<array&>(a) = array(array_type(detail::declared_type(a))); });
    graph g;
    std::apply([&](const auto&... tree) { trace_into(g, f, trees->result, tree...); }, trees->arguments);
    each_leaf([](auto& a) { static_cast<array&>(a) = array(); });
    made->program = detail::owned_program::make(g, kernel_table_of<Device>());
    made->runners = std::make_unique<detail::runner_pool>(made->program->code, g.dynamic);
    made->trees = std::move(trees);
    return programs_.add(key.value(), std::move(made), fits);
  }
  /// The key of a program, as numbers: the types of the trees, then the dtype, weakness and shape of every leaf.
  template <class Skeleton, class Visit, class... Given>
  static void each_number(Visit visit, const Given&... given) {
    visit(reinterpret_cast<std::intptr_t>(&type_mark<Skeleton>));
    [[maybe_unused]] auto leaf = [&](const auto& a) {  // unused without arguments
      const array_type& t = detail::declared_type(a);
      visit(static_cast<std::int64_t>(t.dtype) << 1 | t.weak);
      visit(t.shape.rank());
      for (std::int64_t e : t.shape) visit(e);
    };
    (for_each_leaf(leaf, given), ...);
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
    std::vector<std::int64_t> signature;
    std::shared_ptr<void> trees;
    std::unique_ptr<detail::owned_program> program;  // its code never runs: runners are copies
    std::unique_ptr<detail::runner_pool> runners;
    detail::captured_data captured;
  };
  detail::program_cache<entry> programs_;
};

}  // namespace tokamax
