// tokamax/transforms/control_flow/fori_loop.hpp: a loop over the integers from one bound to another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/control_flow/scan.hpp>        // scan_function, scan_of
#include <tokamax/transforms/control_flow/while_loop.hpp>  // while_loop

#include <limits>   // numeric_limits
#include <utility>  // pair

namespace tokamax {

namespace detail {
constexpr void check_bound(std::int64_t bound, location where) {
  if (bound < std::numeric_limits<std::int32_t>::min() || bound > std::numeric_limits<std::int32_t>::max())
    reject(nullptr, where, "fori_loop: bound", message() << bound, "an i32");
}
/// From a number and the leaves of a carry to the next ones.
template <class Body, class Carry>
struct counted_function final : scan_function {
  const Body& body;
  const Carry& init;
  constexpr counted_function(const Body& f, const Carry& carry) : body(f), init(carry) {}
  constexpr arrays operator()(const arrays& in) override {
    const Carry carry = with_leaves(copy_tree(init), in, 1);
    arrays out{in[0] + 1};
    const Carry next = body(in[0], carry);
    for (const array& a : leaves(next)) out.push_back(a);
    carries = out.count();
    return out;
  }
};
}  // namespace detail

/// Carries a value through a loop: `carry = body(i, carry)` for i from lower to upper - 1, an i32. If the bounds are
/// numbers, this is a scan, which can be differentiated in reverse mode. If they are arrays, it is a while_loop, which
/// cannot.
///
/// shapes  the bounds are scalars; the carry keeps its types
/// errors  "scan: carry", "while_loop: carry", "fori_loop: bound"
/// source  jax.lax.fori_loop
template <class Body, class Carry>
constexpr Carry fori_loop(std::int64_t lower, std::int64_t upper, const Body& body, const Carry& init,
                          source_line l = source_line::current()) {
  detail::check_bound(lower, l);
  detail::check_bound(upper, l);
  arrays start{array(static_cast<double>(lower), {i32, false, {}})};
  for (const array& a : leaves(init)) start.push_back(a);
  detail::counted_function<Body, Carry> step(body, init);
  const std::int64_t steps = upper > lower ? upper - lower : 0;
  return with_leaves(copy_tree(init), detail::scan_of(step, start, {}, {.length = steps}, l), 1);
}
template <class Body, class Carry>
constexpr Carry fori_loop(const array& lower, const array& upper, const Body& body, const Carry& init,
                          source_line l = source_line::current()) {
  for (const array& bound : {lower, upper})
    if (bound.rank() != 0 || !is_integer(bound.dtype()))
      reject(bound, l, "fori_loop: bound", bound.type(), "an integer scalar");
  using state = std::pair<array, Carry>;
  const array end = convert_element_type(upper, i32);
  return while_loop([&](const state& s) { return s.first < end; },
                    [&](const state& s) { return state{s.first + 1, body(s.first, s.second)}; },
                    state{convert_element_type(lower, i32), init}, l)
      .second;
}

}  // namespace tokamax
