// tokamax/transforms/control_flow/scan.hpp: a loop over the leading axis whose body is traced once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/control_flow/array_function.hpp>  // array_function
#include <tokamax/transforms/control_flow/scan_rules.hpp>      // scan_p
#include <tokamax/transforms/control_flow/scan_run.hpp>        // how it runs
#include <tokamax/transforms/control_flow/scan_unroll.hpp>     // bind_unrolled

#include <optional>  // optional
#include <utility>   // pair

namespace tokamax {

/// The options of scan.
struct scan_options {
  std::int64_t length = -1;  ///< number of steps; needed only if there are no xs
  bool reverse = false;      ///< from the last entry to the first
  std::int64_t unroll = 1;   ///< steps that are written out one after the other in a step of the loop
};

/// An empty tree: nothing to scan over, or no result of a step.
struct nothing {};

namespace detail {
/// Rejects a body that returns another type of carry than it takes.
constexpr void require_carry(graph& g, const graph& body, const arrays& carry, int stacked, location l) {
  const int found = body.outputs.count() - stacked;
  if (found != carry.count()) reject(&g, l, "scan: carry", message() << found << " leaves", message() << carry.count());
  for (int k = 0; k < found && k < carry.count(); ++k) {
    const array_type wanted{carry[k].dtype(), false, carry[k].shape()};
    if (const array_type& t = body[body.outputs[k]].type; !(t == wanted)) reject(&g, l, "scan: carry", t, wanted);
  }
}
/// The body of a scan, which also says how many of its results are a carry.
struct scan_function : array_function {
  int carries = 0;
};
/// From the leaves of a carry and of an entry of xs to those of the next carry and of ys, whose tree it keeps.
template <class F, class Carry, class Xs, class Ys>
struct tree_scan_function final : scan_function {
  const F& f;
  const Carry& init;
  const Xs& xs;
  std::optional<Ys> ys;
  constexpr tree_scan_function(const F& given, const Carry& carry, const Xs& sequence)
      : f(given), init(carry), xs(sequence) {}
  constexpr arrays operator()(const arrays& in) override {
    const Carry carry = with_leaves(copy_tree(init), in);
    auto out = f(carry, with_leaves(copy_tree(xs), in, leaves(init).count()));
    const arrays next = leaves(out.first), all = leaves(out);
    carries = next.count();
    ys.emplace(std::move(out.second));
    return all;
  }
};
/// The last carry, followed by the stacked ys.
constexpr arrays scan_of(scan_function& f, const arrays& init, const arrays& xs, scan_options options, location l) {
  const auto traced = [&](graph& g, const std::vector<array>& carry,
                          const std::vector<array>& sequence) -> std::vector<array> {
    std::int64_t length = options.length;
    bool known = is_extent(length);
    for (const array& x : sequence) {
      if (!known && x.rank() > 0) length = x.extent(0), known = true;
      if (x.rank() == 0 || x.extent(0) != length)
        reject(&g, l, "scan: length", x.type(), message("a leading extent of ") << length);
    }
    if (options.length < -1 || (length < 0 && !is_dyn(length)))
      reject(&g, l, "scan: length", message() << options.length, "0 or more, or something to scan");
    if (options.unroll < 1 || (options.unroll > 1 && is_dyn(length)))
      reject(&g, l, "scan: unroll", message() << options.unroll, "1 or more, of a length that is known");
    vec<graph> bodies(1);
    arrays operands = as_arrays(carry), entries = operands;
    for (const array& x : sequence) entries.push_back(array(entry_type(x.type())));
    trace_loop(g, bodies[0], f, entries, l);
    const int carries = operands.count(), stacked = bodies[0].outputs.count() - f.carries;
    require_carry(g, bodies[0], operands, stacked, l);
    for (const array& x : sequence) operands.push_back(x);
    const int given = operands.count();
    if (g.error.failed) {
      std::vector<array> none = carry;
      for (int k = 0; k < stacked; ++k) none.push_back(lift(g, array(0.0f)));
      return none;
    }
    const vec<body_index> body = add_bodies(g, bodies, operands);
    const scan_attributes w{body[0], carries, given - carries, operands.count() - given,
                            stacked, length,  options.reverse};
    if (options.unroll > 1) return as_tree(bind_unrolled(g, w, operands, options.unroll, l));
    return as_tree(bind_all(described<scan_p>(), operands.data(), operands.count(), pack(w), l));
  };
  return as_arrays(in_trace(traced, as_tree(init), as_tree(xs)));
}
template <class F, class Carry, class Xs>
concept scan_body = requires(const F& f, const Carry& carry, const Xs& x) {
  f(carry, x).first;
  f(carry, x).second;
};
template <class F, class Carry, class Xs>
constexpr auto scan_trees(const F& f, const Carry& init, const Xs& xs, scan_options options, source_line l) {
  using body_result = std::remove_cvref_t<std::invoke_result_t<const F&, const Carry&, const Xs&>>;
  using ys_type = typename body_result::second_type;
  detail::tree_scan_function<F, Carry, Xs, ys_type> body(f, init, xs);
  const arrays start = leaves(init), results = detail::scan_of(body, start, leaves(xs), options, l);
  return std::pair<Carry, ys_type>{with_leaves(copy_tree(init), results),
                                   with_leaves(std::move(*body.ys), results, start.count())};
}
}  // namespace detail

/// Carries a value through a loop: `f(carry, x) -> pair{carry, y}` for x = xs[0], xs[1] and so on. xs is a tree whose leaves
/// share their leading extent. Returns the last carry and the stacked ys. The body is traced once, whatever the length, so
/// deep stacks of equal layers should use it. Values that f closes over are the same in every step.
///
/// shapes  leaves of xs [length, ...]; leaves of ys [length, ...]; the carry keeps its types
/// errors  "scan: carry" if the body changes a type of the carry, "scan: length" if leading extents differ, or there is none,
///         "scan: unroll" below 1
/// source  jax.lax.scan; the backward loop recomputes the body from the saved carries
template <class F, class Carry, class Xs>
constexpr auto scan(const F& f, const Carry& init, const Xs& xs, scan_options options = {},
                    source_line l = source_line::current()) {
  static_assert(detail::scan_body<F, Carry, Xs>, "tokamax: scan: the body is to be f(carry, x) -> pair{carry, y}");
  if constexpr (detail::scan_body<F, Carry, Xs>) return detail::scan_trees(f, init, xs, options, l);
}

}  // namespace tokamax
