// tokamax/transforms/control_flow/scan.hpp: a loop over the leading axis whose body is traced once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>                           // ambient_trace, leaves
#include <tokamax/lax/iota.hpp>                             // zeros
#include <tokamax/transforms/control_flow/scan_rules.hpp>   // scan_p
#include <tokamax/transforms/control_flow/scan_run.hpp>     // how it runs
#include <tokamax/transforms/control_flow/scan_unroll.hpp>  // bind_unrolled

#include <utility>  // pair

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
/// The types of the entries of sequences, as abstract arrays.
template <class Xs>
constexpr Xs entry_of(const Xs& sequence) {
  Xs entry = copy_tree(sequence);
  for_each_leaf([](auto& x) { static_cast<array&>(x) = array(entry_type(x.type())); }, entry);
  return entry;
}
/// Rejects a body that returns another type of carry than it takes.
constexpr void require_carry(graph& g, const graph& body, const arrays& carry, int stacked, source_line l) {
  const int found = body.outputs.count() - stacked;
  if (found != carry.count()) reject(&g, l, "scan: carry", message() << found << " leaves", message() << carry.count());
  for (int k = 0; k < found && k < carry.count(); ++k) {
    const array_type wanted{carry[k].dtype(), false, carry[k].shape()};
    if (const array_type& t = body[body.outputs[k]].type; !(t == wanted)) reject(&g, l, "scan: carry", t, wanted);
  }
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
  using body_result = std::remove_cvref_t<std::invoke_result_t<const F&, const Carry&, const Xs&>>;
  using ys_type = typename body_result::second_type;
  return in_trace(
      [&](graph& g, const Carry& carry, const Xs& sequence) -> std::pair<Carry, ys_type> {
        std::int64_t length = options.length;
        bool known = is_extent(length);
        for (const array& x : leaves(sequence)) {
          if (!known && x.rank() > 0) length = x.extent(0), known = true;
          if (x.rank() == 0 || x.extent(0) != length)
            reject(&g, l, "scan: length", x.type(), message("a leading extent of ") << length);
        }
        if (options.length < -1 || (length < 0 && !is_dyn(length)))
          reject(&g, l, "scan: length", message() << options.length, "0 or more, or something to scan");
        if (options.unroll < 1 || (options.unroll > 1 && is_dyn(length)))
          reject(&g, l, "scan: unroll", message() << options.unroll, "1 or more, of a length that is known");
        vec<graph> bodies(1);
        const body_result out = detail::trace_body_of(g, bodies[0], l, f, carry, detail::entry_of(sequence));
        arrays operands = leaves(carry);
        const int carries = operands.count(), stacked = bodies[0].outputs.count() - leaves(out.first).count();
        detail::require_carry(g, bodies[0], operands, stacked, l);
        for (const array& x : leaves(sequence)) operands.push_back(x);
        const int given = operands.count();
        if (g.error.failed)
          return {carry, with_leaves(out.second, arrays(leaves(out.second).size(), lift(g, array(0.0f))))};
        const words body = detail::add_bodies(g, bodies, operands);
        const scan_attributes w{body[0], carries, given - carries, operands.count() - given,
                                stacked, length,  options.reverse};
        arrays results;
        if (options.unroll == 1)
          results = bind_all(described<scan_p>(), operands.data(), operands.count(), pack(w), l);
        else
          results = detail::bind_unrolled(g, w, operands, options.unroll, l);
        return {with_leaves(carry, results), with_leaves(out.second, results, w.carries)};
      },
      init, xs);
}

}  // namespace tokamax
