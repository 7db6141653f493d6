// tokamax/stablehlo/rules/control_rules.hpp: rules of calls, loops, branches, tuples and custom calls.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/stablehlo/rules/evaluator.hpp>           // rule_entry
#include <tokamax/transforms/control_flow/cond.hpp>        // cond_p, integers_in_i32
#include <tokamax/transforms/control_flow/fori_loop.hpp>   // fori_loop
#include <tokamax/transforms/control_flow/while_loop.hpp>  // while_loop_of

#include <algorithm>  // find, max
#include <span>       // span

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
/// A loop that counts one of its values up by 1, from a known number to another one.
struct counted_loop {
  int counter = -1;  ///< which of the values; -1: the loop is another one
  std::int64_t from = 0, to = 0;
};
/// The operation of a region that makes a value; null if it comes from elsewhere.
inline const operation* maker_in(const region& r, int id) {
  for (const operation& o : r.operations)
    if (o.results.size() == 1 && o.results[0] == id) return &o;
  return nullptr;
}
inline int argument_of(const region& r, int id) {
  const auto found = std::find(r.arguments.begin(), r.arguments.end(), id);
  return found == r.arguments.end() ? -1 : static_cast<int>(found - r.arguments.begin());
}
/// Is this a known integer? Then it is `number`.
inline bool is_known(const value& v, std::int64_t& number) {
  if (!v.re.exists() || v.is_complex() || !v.re.is_concrete() || v.re.size() != 1 || !is_integer(v.re.dtype()))
    return false;
  number = numbers_of(v.re)[0];
  return number > -(std::int64_t{1} << 30) && number < std::int64_t{1} << 30;
}
/// The same of a value in a region: a constant, or what stands around the region.
inline bool is_known_in(const rule_call& c, const region& r, int id, std::int64_t& number) {
  if (const operation* const o = maker_in(r, id)) {
    const attribute* const a = o->name == "stablehlo.constant" ? o->attributes.find("value") : nullptr;
    return a && is_known(a->elements, number);
  }
  return argument_of(r, id) < 0 && is_known(c.around[static_cast<std::size_t>(id)], number);
}
/// Reads `while (i < n) { ...; i = i + 1 }`, where n may be a value that the loop passes on.
inline counted_loop counted(const rule_call& c) {
  const region &asks = c.body(0), &goes_on = c.body(1);
  if (asks.operations.empty() || goes_on.operations.empty()) return {};
  const operation &verdict = asks.operations.back(), &next = goes_on.operations.back();
  const operation* const o = verdict.operands.size() == 1 ? maker_in(asks, verdict.operands[0]) : nullptr;
  if (!o || o->name != "stablehlo.compare" || o->operands.size() != 2 || next.operands.size() != c.in.size()) return {};
  const attribute* const how = o->attributes.find("comparison_direction");
  counted_loop loop{argument_of(asks, o->operands[0])};
  if (!how || how->text != "LT" || loop.counter < 0 || goes_on.arguments.size() != c.in.size()) return {};
  const auto at = static_cast<std::size_t>(loop.counter);
  if (const int k = argument_of(asks, o->operands[1]); k >= 0) {
    const auto of_end = static_cast<std::size_t>(k);
    if (next.operands[of_end] != goes_on.arguments[of_end] || !is_known(c.in[of_end], loop.to)) return {};
  } else if (!is_known_in(c, asks, o->operands[1], loop.to)) {
    return {};
  }
  const operation* const step = maker_in(goes_on, next.operands[at]);
  std::int64_t by = 0;
  if (!step || step->name != "stablehlo.add" || step->operands.size() != 2 || !is_known(c.in[at], loop.from)) return {};
  const bool in_order = step->operands[0] == goes_on.arguments[at];
  if (!in_order && step->operands[1] != goes_on.arguments[at]) return {};
  return is_known_in(c, goes_on, step->operands[in_order ? 1 : 0], by) && by == 1 ? loop : counted_loop{};
}
/// A loop that counts, which has a derivative.
inline values counted_value(const rule_call& c, const counted_loop& loop) {
  const auto at = loop.counter;
  const array_type type = c.in[static_cast<std::size_t>(at)].re.type();
  values rest = c.in;
  rest.erase(rest.begin() + at);
  if (!rest.empty() && loop.from < loop.to) {
    const std::vector<char> complex = which_are_complex(rest);
    std::vector<array> carry;
    for (const array& a : flat(rest)) carry.push_back(in_this_trace(a));
    const auto step = [&](const array& i, const std::vector<array>& now) {
      arrays in;
      for (const array& a : now) in.push_back(a);
      values all = unflat(in, complex);
      all.insert(all.begin() + at, {reshape(convert_element_type(i, type.dtype), type.shape), {}});
      values next = run_body(c, 1, all);
      next.erase(next.begin() + at);
      std::vector<array> out;
      for (const array& a : flat(next)) out.push_back(a);
      return out;
    };
    arrays last;
    for (const array& a : fori_loop(loop.from, loop.to, step, carry)) last.push_back(a);
    rest = unflat(last, complex);
  }
  const std::int64_t end = std::max(loop.from, loop.to);
  rest.insert(rest.begin() + at, {array(static_cast<double>(end), type), {}});
  return rest;
}
/// The first region says whether the loop goes on, the second one gives the next values.
inline values while_value(const rule_call& c) {
  if (const counted_loop loop = counted(c); loop.counter >= 0) return counted_value(c, loop);
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
      {"stablehlo.while", "scan where it counts, else while_loop", while_value},
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
