// tokamax/transforms/control_flow/while_loop.hpp: a loop that goes on while a predicate holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/control_flow/array_function.hpp>  // array_function, tree_function
#include <tokamax/transforms/control_flow/while_rules.hpp>     // while_loop_p

namespace tokamax {

namespace detail {
constexpr arrays while_loop_of(array_function& predicate, array_function& body, const arrays& init, location l) {
  return as_arrays(in_trace(
      [&](graph& g, const std::vector<array>& carry) -> std::vector<array> {
        vec<graph> bodies(2);
        arrays operands = as_arrays(carry);
        trace_loop(g, bodies[0], predicate, operands, l);
        trace_loop(g, bodies[1], body, operands, l);
        const array_type verdict = bodies[0][bodies[0].outputs[0]].type;
        if (verdict.dtype != bool_ || verdict.shape.rank() != 0)
          reject(&g, l, "while_loop: predicate", verdict, "a bool scalar");
        const int carries = operands.count();
        if (bodies[1].outputs.count() != carries)
          reject(&g, l, "while_loop: carry", message() << bodies[1].outputs.count() << " leaves", message() << carries);
        for (int k = 0; k < carries && k < bodies[1].outputs.count(); ++k)
          if (const array_type& t = bodies[1][bodies[1].outputs[k]].type; !(t == operands[k].type()))
            reject(&g, l, "while_loop: carry", t, operands[k].type());
        if (g.error.failed) return carry;
        const vec<body_index> both = add_bodies(g, bodies, operands);
        const words w = pack(while_attributes{both[0], both[1], carries});
        return as_tree(bind_all(described<while_loop_p>(), operands.data(), operands.count(), w, l));
      },
      as_tree(init)));
}
template <class Predicate, class Body, class Carry>
constexpr Carry while_loop_trees(const Predicate& predicate, const Body& body, const Carry& init, source_line l) {
  const auto goes_on = [&](const Carry& c) { return array(predicate(c)); };
  const auto next = [&](const Carry& c) -> Carry { return body(c); };
  detail::tree_function<decltype(goes_on), Carry> asked(goes_on, init);
  detail::tree_function<decltype(next), Carry> repeated(next, init);
  return with_leaves(copy_tree(init), detail::while_loop_of(asked, repeated, leaves(init), l));
}
}  // namespace detail

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
  static_assert(std::is_invocable_r_v<array, const Predicate&, const Carry&>,
                "tokamax: while_loop: the predicate is to be f(carry) -> a bool scalar");
  static_assert(std::is_invocable_r_v<Carry, const Body&, const Carry&>,
                "tokamax: while_loop: the body is to be f(carry) -> carry");
  if constexpr (std::is_invocable_r_v<array, const Predicate&, const Carry&> &&
                std::is_invocable_r_v<Carry, const Body&, const Carry&>) {
    return detail::while_loop_trees(predicate, body, init, l);
  } else {
    return init;
  }
}
/// The same for a number.
template <class Predicate, class Body, arithmetic T>
constexpr array while_loop(const Predicate& predicate, const Body& body, const T& init,
                           source_line l = source_line::current()) {
  return while_loop(predicate, body, array(init), l);
}

}  // namespace tokamax
