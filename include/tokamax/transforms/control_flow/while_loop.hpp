// tokamax/transforms/control_flow/while_loop.hpp: a loop that goes on while a predicate holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/control_flow/while_rules.hpp>  // while_loop_p

namespace tokamax {

/// Carries a value through a loop: `carry = body(carry)` while `predicate(carry)` holds. Both functions are traced once, and
/// the values that they close over are the same in every step. Under vmap the loop goes on until it has ended for each
/// example; the carries of examples that have ended stay as they are. A loop that is known not to be entered is left out.
///
/// shapes  the carry keeps its types; the predicate is a bool scalar
/// errors  "while_loop: carry" if the body changes a type of the carry, "while_loop: predicate", "while_loop: reverse mode"
/// source  jax.lax.while_loop
template <class Predicate, class Body, class Carry>
constexpr Carry while_loop(const Predicate& predicate, const Body& body, const Carry& init,
                           source_line l = source_line::current()) {
  return in_trace(
      [&](graph& g, const Carry& carry) -> Carry {
        vec<graph> bodies(2);
        detail::trace_body_of(g, bodies[0], l, [&](const Carry& c) { return array(predicate(c)); }, carry);
        detail::trace_body_of(g, bodies[1], l, [&](const Carry& c) -> Carry { return body(c); }, carry);
        const array_type verdict = bodies[0][bodies[0].outputs[0]].type;
        if (verdict.dtype != bool_ || verdict.shape.rank() != 0)
          reject(&g, l, "while_loop: predicate", verdict, "a bool scalar");
        arrays operands = leaves(carry);
        const int carries = operands.count();
        if (bodies[1].outputs.count() != carries)
          reject(&g, l, "while_loop: carry", message() << bodies[1].outputs.count() << " leaves", message() << carries);
        for (int k = 0; k < carries && k < bodies[1].outputs.count(); ++k)
          if (const array_type& t = bodies[1][bodies[1].outputs[k]].type; !(t == operands[k].type()))
            reject(&g, l, "while_loop: carry", t, operands[k].type());
        if (g.error.failed) return carry;
        words w = detail::add_bodies(g, bodies, operands);
        w.push_back(carries);
        return with_leaves(carry, bind_all(described<while_loop_p>(), operands.data(), operands.count(), w, l));
      },
      init);
}
/// The same for a number.
template <class Predicate, class Body, arithmetic T>
constexpr array while_loop(const Predicate& predicate, const Body& body, const T& init,
                           source_line l = source_line::current()) {
  return while_loop(predicate, body, array(init), l);
}

}  // namespace tokamax
