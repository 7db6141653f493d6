// tokamax/transforms/custom_rules.hpp: what functions with derivatives of the user's own share.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/custom_vjp.cpp
#pragma once

#include <tokamax/base/linked.hpp>           // linked
#include <tokamax/transforms/arguments.hpp>  // require_types
#include <tokamax/transforms/backward.hpp>   // backward
#include <tokamax/transforms/batch.hpp>      // batch

namespace tokamax {

namespace detail {

/// One body of a call with rules: a function and what it closes over.
struct rule_body {
  graph body;
  arrays captured;  // in the graph of the call
};
/// Traces f on arguments like the trees `args`. Its result, a tree of nodes of the body, tells their types.
template <class F, class... Args>
constexpr auto trace_rule(graph& g, rule_body& rule, const F& f, const Args&... args) {
  arrays operands;
  const auto result = trace_body(g, rule.body, operands, f, args...);
  int given = 0;
  (for_each_leaf([&](const array&) { ++given; }, args), ...);
  for (int k = given; k < operands.count(); ++k) rule.captured.push_back(operands[k]);
  return result;
}

/// Rejects a rule whose result has other leaves than the function's.
constexpr void require_like(graph& g, const char* what, const arrays& found, const arrays& wanted, source_line l) {
  if (found.count() != wanted.count()) {
    reject(&g, l, what, text() << found.count() << " leaves", text() << wanted.count());
    return;
  }
  for (int k = 0; k < found.count(); ++k)
    if (found[k].type() != wanted[k].type()) reject(&g, l, what, found[k].type(), wanted[k].type());
}

constexpr types result_types(const graph& body) {
  types t;
  for (const int o : body.outputs) t.push_back({body[o].type.type, false, body[o].type.extents});
  return t;
}

/// `count` operands of a call from the one with number `first` on.
constexpr void append(arrays& to, const call& c, int first, int count) {
  for (int k = first; k < first + count; ++k) to.push_back(c[k]);
}
constexpr array zero_like(const array& x) { return array(0.0, {x.dtype(), false, x.shape()}); }

/// A body on inputs with a leading batch axis where `flags` says so; its results all have one.
constexpr graph batched_body_here(const graph& body, const vec<char>& flags, std::int64_t n) {
  graph b;
  arrays args, placeholders, batches;
  for (int k = 0; k < body.inputs.count(); ++k) {
    const array_type one{body[body.inputs[k]].type.type, false, body[body.inputs[k]].type.extents};
    array_type whole{one.type, false, {n}};
    for (const std::int64_t e : one.extents) whole.extents.push_back(e);
    const array_type& t = *(flags[k] ? &whole : &one);
    const array input(&b, b.input(t), t);
    args.push_back(input);
    if (!flags[k]) continue;
    args.back() = placeholder(b, one);
    placeholders.push_back(args.back());
    batches.push_back(input);
  }
  arrays ys = inline_graph(b, body, args.data());
  for (array& y : ys) y = lift(b, y);
  const arrays mapped = batch(b, n, placeholders, batches, ys);
  for (int k = 0; k < ys.count(); ++k) {
    array y = mapped[k];
    if (!y.exists()) y = with_leading_axis(ys[k], n);
    b.outputs.push_back(lift(b, y).id());
  }
  return b;
}
constexpr graph batched_body(const graph& body, const vec<char>& flags, std::int64_t n) {
  return linked<detail::batched_body_here>(body, flags, n);
}

/// Flags of the operands `first`, ..., as those of a body's inputs.
constexpr void append_flags(vec<char>& to, const call& c, int first, int count) {
  for (int k = first; k < first + count; ++k) to.push_back(c.batched(k));
}

constexpr void refuse_closed_over(const call& c) {
  c.fail(text(c.self->name) << ": derivative", "with respect to a value that the function closes over",
         "one with respect to arguments");
}

}  // namespace detail

}  // namespace tokamax
