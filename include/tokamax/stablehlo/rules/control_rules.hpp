// tokamax/stablehlo/rules/control_rules.hpp: rules of calls, loops, branches, tuples and custom calls.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/stablehlo/rules/evaluator.hpp>           // rule_entry
#include <tokamax/transforms/control_flow/cond.hpp>        // cond_p, integers_in_i32
#include <tokamax/transforms/control_flow/while_loop.hpp>  // while_loop_of

#include <span>  // span

namespace tokamax::stablehlo::detail {

/// The function of the module that an attribute names.
inline values called(const rule_call& c, std::string_view which) {
  const attribute* const a = c.find(which);
  if (!a) c.wrong(which, "the name of a function");
  const function* const f = c.run.of_module().find(a->text);
  if (!f) refuse(c.op, "@" + a->text, "a function of the module");
  return c.run.call(*f, c.in, c.lanes);
}

/// A region of a loop as a function of arrays: the first one asks, the second one goes on.
struct region_function final : tokamax::detail::array_function {
  const rule_call& c;
  int number;
  std::vector<char> complex;
  region_function(const rule_call& call, int k) : c(call), number(k), complex(which_are_complex(call.in)) {}
  arrays operator()(const arrays& in) override {
    const values out = run_body(c, number, unflat(in, complex));
    const std::size_t expected = number == 0 ? 1 : c.in.size();
    if (out.size() != expected)
      refuse(c.op, "a body of " + std::to_string(out.size()) + " results", std::to_string(expected));
    return flat(out);
  }
};
/// Constants as values of the trace that surrounds the call, so that a loop or branch joins it.
inline array in_this_trace(const array& a) {
  graph* const g = current_context.trace;
  return g ? lift(*g, a) : a;
}
/// The first region says whether the loop goes on, the second one gives the next values.
inline values while_value(const rule_call& c) {
  region_function predicate(c, 0), body(c, 1);
  arrays init = flat(c.in);
  for (array& a : init) a = in_this_trace(a);
  return unflat(tokamax::detail::while_loop_of(predicate, body, init, {}), predicate.complex);
}

/// One of the regions, chosen by the first operand. They take no arguments, but use values around them.
inline values branch_value(const rule_call& c) {
  const int count = static_cast<int>(c.op.regions.size());
  if (count == 0) refuse(c.op, "no regions", "at least one");
  if (c[0].rank() != 0) refuse(c.op, "an operand of rank " + std::to_string(c[0].rank()), "a scalar");
  std::vector<char> complex;
  for (const value_type& t : c.op.types) complex.push_back(t.complex);
  const array number =
      c[0].dtype() == bool_ ? convert_element_type(logical_not(c[0]), i32) : tokamax::detail::integers_in_i32(c[0], {});
  const auto branch = [&](int b) {
    values out = run_body(c, b, {});
    if (out.size() != c.op.types.size())
      refuse(c.op, std::to_string(out.size()) + " results of branch " + std::to_string(b),
             std::to_string(c.op.types.size()));
    for (std::size_t k = 0; k < out.size(); ++k) evaluator::settle(c.op, c.op.types[k], out[k], false);
    return out;
  };
  // An index outside means the last branch.
  const array inside = logical_and(number >= array(0), number < array(count));
  const array chosen = select(inside, number, array(count - 1, {i32, false, {}}));
  const std::vector<array> out = in_trace(
      [&](graph& g, const array& index) -> std::vector<array> {
        vec<graph> bodies(static_cast<std::size_t>(count));
        arrays operands{index};
        for (int b = 0; b < count; ++b)
          tokamax::detail::trace_body_of(g, bodies[b], location{},
                                         [&] { return tokamax::detail::as_tree(flat(branch(b))); });
        const words w = pack(cond_attributes{tokamax::detail::add_bodies(g, bodies, operands)});
        return tokamax::detail::as_tree(bind_all(described<cond_p>(), operands.data(), operands.count(), w, {}));
      },
      in_this_trace(chosen));
  return unflat(tokamax::detail::as_arrays(out), complex);
}

inline std::span<const rule_entry> control_rules() {
  static constexpr rule_entry all[] = {
      {"stablehlo.case", "switch_", branch_value},
      {"stablehlo.if", "cond", branch_value},
      {"stablehlo.while", "while_loop", while_value},
      {"stablehlo.map", "its body on all elements",
       [](const rule_call& c) -> values { return run_on_elements(c, 0, c.in, c.op.types.size()); }},
  };
  return all;
}
inline std::span<const rule_entry> call_rules() {
  static constexpr rule_entry all[] = {
      {"func.call", "the function in its place", [](const rule_call& c) { return called(c, "callee"); }},
      {"stablehlo.composite", "its decomposition", [](const rule_call& c) { return called(c, "decomposition"); }},
  };
  return all;
}

}  // namespace tokamax::stablehlo::detail
