// tokamax/compiler/lower.hpp: rewrite a traced program into ops that the backend has kernels for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>         // inline_graph, ambient_trace
#include <tokamax/lax/stop_gradient.hpp>  // variable, barrier

namespace tokamax {

/// Repeats the live nodes of `from` as inputs and nodes of `to`: markers vanish, ops without a kernel are replaced by
/// their `compose`, and simplification and sharing happen once more over the whole program.
/// `has_kernel(op)` says whether the backend runs an op; elementwise ops, views and constants need none.
template <class HasKernel>
constexpr void lower(graph& to, const graph& from, const HasKernel& has_kernel);

namespace detail {

template <class HasKernel>
struct lowering {
  graph& to;
  const HasKernel& has_kernel;

  constexpr bool handles(const op& o) const {
    return &o == &variable_p || &o == &stop_gradient_p || (o.has_body && !o.compose) || (o.compose && !has_kernel(o));
  }
  constexpr arrays operator()(const call& c) const {
    const op& o = *c.self;
    if (&o == &variable_p || &o == &stop_gradient_p) return c[0];
    if (o.has_body && !o.compose) return with_lowered_body(c);  // a loop
    graph inner;
    arrays in;
    for (int k = 0; k < c.count; ++k) in.push_back(array(&inner, inner.input(c[k].type()), c[k].type()));
    call asked = c;
    asked.inputs = in.data();
    asked.trace = &inner;
    if (o.has_body) inner.bodies.push_back(graph(to.bodies[c.attributes[0]]));
    words w;
    for (int k = 0; k < c.attribute_count; ++k) w.push_back(c.attributes[k]);
    if (o.has_body) w[0] = 0;
    asked.attributes = w.data();
    const ambient_trace scope(inner);
    for (const array& y : o.compose(asked)) inner.outputs.push_back(lift(inner, y).id());
    return inline_graph(to, inner, c.inputs, *this);
  }

 private:
  constexpr arrays with_lowered_body(const call& c) const {
    graph body;
    lower(body, to.bodies[c.attributes[0]], has_kernel);
    to.bodies[c.attributes[0]] = std::move(body);
    return arrays();
  }
};

}  // namespace detail

template <class HasKernel>
constexpr void lower(graph& to, const graph& from, const HasKernel& has_kernel) {
  arrays in;
  for (int id : from.inputs) in.push_back(array(&to, to.input(from[id].type), from[id].type));
  const detail::lowering<HasKernel> rule{to, has_kernel};
  for (const array& y : inline_graph(to, from, in.data(), rule)) to.outputs.push_back(lift(to, y).id());
}

}  // namespace tokamax
