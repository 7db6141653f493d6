// tokamax/transforms/checks/debug_nans.hpp: names the op that makes the first NaN.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (a tool to look for mistakes)
#pragma once

#include <tokamax/transforms/checks/node_values.hpp>  // node_values
#include <tokamax/transforms/eval_shape.hpp>          // make_graph

#include <cmath>  // isnan

namespace tokamax {

/// The options of debug_nans.
struct debug_nans_options {
  bool nans = true;         ///< look for NaN
  bool infinities = false;  ///< look for infinities
};

namespace detail {

/// Looks for the op that makes the first bad number.
class nan_search {
 public:
  explicit nan_search(const debug_nans_options& o) : options_(o) {}

  /// The place of a bad number; -1 if there is none.
  std::int64_t bad(const array& x) const {
    if (!is_floating(x.dtype())) return -1;
    const std::vector<double> numbers = numbers_of(x);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if ((options_.nans && std::isnan(numbers[i])) || (options_.infinities && std::isinf(numbers[i])))
        return static_cast<std::int64_t>(i);
    return -1;
  }
  /// Throws if a node of g has a bad number that none of its operands has. `around` names the calls that g is in.
  void run(const graph& g, const arrays& inputs, const std::string& around) const {
    const node_values values(g, inputs);
    for (int i = 0; i < g.count(); ++i) {
      if (!g[i].op || !values.has(i)) continue;
      const int id = g[i].op == &get_p ? g.operand(g[i], 0) : i;  // a call with several results
      const std::int64_t at = bad(values[i]);
      if (at < 0 || any_bad(g, id, values)) continue;
      const std::string name = std::string(g[id].op->name) + around;
      look_inside(g, id, values, " in " + name);
      throw error("debug_nans: " + name, number(values[i], at) + " at " + index_text(at, values[i].shape()),
                  "finite numbers, as its operands have", place_of(g[id].where));
    }
  }
  static std::string number(const array& x, std::int64_t at) {
    const double v = numbers_of(x)[static_cast<std::size_t>(at)];
    return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
  }

 private:
  bool any_bad(const graph& g, int id, const node_values& values) const {
    for (int k = 0; k < g[id].operand_count; ++k)
      if (bad(values[g.operand(g[id], k)]) >= 0) return true;
    return false;
  }
  /// Goes on in the body of a call: of a function, of the branch that was taken, or in the step of a loop that makes the
  /// first one. A scan counts as one op.
  void look_inside(const graph& g, int id, const node_values& values, const std::string& around) const {
    const node n = g[id];
    const body_facts& facts = n.op->bodies;
    const int bodies = body_count(g, n);
    if (bodies == 0 || (facts.carries && facts.repeats)) return;
    arrays in;
    for (int k = facts.branches ? 1 : 0; k < n.operand_count; ++k) in.push_back(values[g.operand(n, k)]);
    const auto body = [&](int b) -> const graph& { return body_of(g, n, b); };
    if (facts.branches) {
      run(body(values[g.operand(n, 0)].item<std::int32_t>()), in, around);
    } else if (facts.carries) {
      for (bool found = false; !found;) {
        const arrays next = execute_graph(body(bodies - 1), in);
        for (const array& a : next) found = found || bad(a) >= 0;
        if (found) run(body(bodies - 1), in, around);
        for (int k = 0; k < next.count(); ++k) in[k] = next[k];
      }
    } else if (n.op->compose && body(0).inputs.count() <= in.count()) {
      in.resize(body(0).inputs.size());
      run(body(0), in, around);
    }
  }

  debug_nans_options options_;
};

}  // namespace detail

/// What `debug_nans(f)` returns.
template <class F>
struct debug_nans_function {
  F f;
  debug_nans_options options;

  template <class... Args>
  auto operator()(const Args&... args) const {
    auto result = f(args...);
    const detail::nan_search search(options);
    bool found = false;
    for (const array& a : leaves(result)) found = found || (a.is_concrete() && search.bad(a) >= 0);
    if (!found) return result;
    const arrays given = leaves(args...);
    for (int k = 0; k < given.count(); ++k)
      if (const std::int64_t at = search.bad(given[k]); at >= 0)
        throw error("debug_nans: argument",
                    detail::nan_search::number(given[k], at) + " in leaf " + std::to_string(k) + " at " +
                        detail::index_text(at, given[k].shape()),
                    "finite numbers");
    search.run(make_graph(f, args...), given, "");
    return result;
  }
};

/// The function f, which throws if a result has a NaN (or an infinity, if the options say so). It runs f as it is, compiled
/// if f is a jit function. Only if there is one, it runs f again node by node. The error names the first op with a NaN that
/// its operands do not have, with the calls, branches and loops that it is in, its element, and the line of your code. In a
/// trace, where no value is known, it is f.
///
///   const auto step = debug_nans(jit(train_step, cpu));
///
/// errors  tokamax::error "debug_nans: log in while_loop", or "debug_nans: argument"
/// source  jax.debug_nans and jax.debug_infs, which are flags of the whole program
template <class F>
debug_nans_function<F> debug_nans(F f, debug_nans_options options = {}) {
  return {f, options};
}

}  // namespace tokamax
