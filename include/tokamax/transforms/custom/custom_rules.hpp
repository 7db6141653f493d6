// tokamax/transforms/custom/custom_rules.hpp: the parts that custom_jvp and custom_vjp share.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/custom/custom_vjp.cpp
#pragma once

#include <tokamax/transforms/arguments.hpp>  // with_cotangents
#include <tokamax/transforms/body.hpp>       // add_body

namespace tokamax {

namespace detail {

/// One body of a call with rules: a function, and the values that it closes over.
struct rule_body {
  graph body;
  arrays captured;  // in the graph of the call
};
/// Traces f on arguments like the trees `args`. The result is a tree of nodes of the body, which tells the types.
template <class F, class... Args>
constexpr auto trace_rule(graph& g, rule_body& rule, const F& f, const Args&... args) {
  arrays operands;
  const auto result = trace_body(g, rule.body, operands, f, args...);
  int given = 0;
  (for_each_leaf([&](const array&) { ++given; }, args), ...);
  for (int k = given; k < operands.count(); ++k) rule.captured.push_back(operands[k]);
  return result;
}

/// Rejects a rule if the leaves of its result are not those of the function's result.
constexpr void require_like(graph& g, const char* what, const arrays& found, const arrays& wanted, source_line l) {
  if (found.count() != wanted.count()) {
    reject(&g, l, what, message() << found.count() << " leaves", message() << wanted.count());
    return;
  }
  for (int k = 0; k < found.count(); ++k)
    if (found[k].type() != wanted[k].type()) reject(&g, l, what, found[k].type(), wanted[k].type());
}

/// Binds a function with rules, traced as `bodies`, on the leaves of its arguments and on what the bodies close over.
template <class Attributes, class Result, std::size_t Count, class... Args>
constexpr Result bind_rules(graph& g, const op& o, rule_body (&bodies)[Count], const Result& y, location where,
                            const Args&... args) {
  arrays operands = leaves(args...);
  body_index indices[Count];
  int counts[Count] = {operands.count()};  // of operands; those of the last body are the rest
  for (std::size_t b = 0; b < Count; ++b) {
    if (b > 0) counts[b] = bodies[b - 1].captured.count();
    for (const array& a : bodies[b].captured) operands.push_back(a);
    indices[b] = add_body(g, std::move(bodies[b].body));
  }
  const Attributes w = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return Attributes{indices[Index]..., counts[Index]...};
  }(std::make_index_sequence<Count>{});
  if (g.error.failed) return with_cotangents(y, arrays(leaves(y).size()));
  return with_leaves(y, bind_all(o, operands.data(), operands.count(), pack(w), where));
}

/// The operands of a call with the numbers `first` to `first + count - 1`.
constexpr void append(arrays& to, const call& c, int first, int count) {
  for (int k = first; k < first + count; ++k) to.push_back(c[k]);
}
/// Flags of the operands `first`, ..., as those of a body's inputs.
constexpr void append_flags(vec<char>& to, const call& c, int first, int count) {
  for (int k = first; k < first + count; ++k) to.push_back(c.batched(k));
}

constexpr void refuse_closed_over(const call& c) {
  c.fail(message(c.self->name) << ": derivative", "with respect to a value that the function closes over",
         "one with respect to arguments");
}

}  // namespace detail

}  // namespace tokamax
