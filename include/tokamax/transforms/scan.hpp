// tokamax/transforms/scan.hpp: a loop over the leading axis whose body is traced once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>             // ambient_trace, leaves
#include <tokamax/lax/iota.hpp>               // zeros
#include <tokamax/transforms/scan_rules.hpp>  // scan_p
#include <tokamax/transforms/scan_run.hpp>    // how it runs

#include <utility>  // pair

namespace tokamax {

/// The options of scan.
struct scan_options {
  std::int64_t length = -1;  ///< number of steps; needed only if there are no xs
  bool reverse = false;      ///< from the last entry to the first
};

/// An empty tree: nothing to scan over, or no result of a step.
struct nothing {};

/// Carries a value through a loop: `f(carry, x) -> pair{carry, y}` for x = xs[0], xs[1] and so on. xs is a tree whose leaves
/// share their leading extent. Returns the last carry and the stacked ys. The body is traced once, whatever the length, so
/// deep stacks of equal layers should use it. Values that f closes over are the same in every step.
///
/// shapes  leaves of xs [length, ...]; leaves of ys [length, ...]; the carry keeps its types
/// errors  "scan: carry" if the body changes a type of the carry, "scan: length" if leading extents differ, or there is none
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
            reject(&g, l, "scan: length", x.type(), text("a leading extent of ") << length);
        }
        if (options.length < -1 || (length < 0 && !is_dyn(length)))
          reject(&g, l, "scan: length", text() << options.length, "0 or more, or something to scan");
        graph body;
        body.become_body_of(g);
        auto as_inputs = [&](auto tree, bool slices) {
          for_each_leaf(
              [&](auto& a) {
                array_type t{a.dtype(), false, a.shape()};
                if (slices) {
                  t.extents = {};
                  for (int i = 1; i < a.rank(); ++i) t.extents.push_back(a.extent(i));
                }
                static_cast<array&>(a) = array(&body, body.input(t), t);
              },
              tree);
          return tree;
        };
        arrays before;
        const body_result out = [&] {
          const ambient_trace scope(body);
          const Carry carry_in = as_inputs(carry, false);
          const Xs x_in = as_inputs(sequence, true);
          before = leaves(carry_in);
          return f(carry_in, x_in);
        }();
        int k = 0;
        for (const array& a : leaves(out.first)) {
          const array c = lift(body, a, l);
          if (!(c.type() == before[k].type())) reject(&g, l, "scan: carry", c.type(), before[k].type());
          body.outputs.push_back(c.id());
          ++k;
        }
        const arrays ys = leaves(out.second);
        for (const array& a : ys) body.outputs.push_back(lift(body, a, l).id());
        order_captures(body);
        scan_attributes w{-1,         before.count(), leaves(sequence).count(), body.captures.count(),
                          ys.count(), length,         options.reverse};
        arrays operands = leaves(carry);
        for (const array& x : leaves(sequence)) operands.push_back(x);
        for (int id : body.captures) operands.push_back(array(&g, id, g[id].type));
        detail::close_body(body);
        g.bodies.push_back(std::move(body));
        w.body = g.bodies.count() - 1;
        const arrays results = bind_all(scan_p, operands.data(), operands.count(), pack(w), l);
        return {with_leaves(carry, results), with_leaves(out.second, results, w.carries)};
      },
      init, xs);
}

}  // namespace tokamax
