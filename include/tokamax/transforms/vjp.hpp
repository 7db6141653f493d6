// tokamax/transforms/vjp.hpp: vjp, grad and value_and_grad of functions on trees.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>           // in_trace
#include <tokamax/transforms/backward.hpp>  // backward

#include <utility>  // pair

namespace tokamax {

namespace detail {
/// New names for the leaves of a tree, so that only their uses inside the function count.
template <class Tree>
constexpr Tree as_variables(const Tree& given) {
  Tree tree = copy_tree(given);
  for_each_leaf(
      [](auto& a) {
        if (is_floating(a.dtype())) static_cast<array&>(a) = bind(variable_p, {a}, words{}, location{});
      },
      tree);
  return tree;
}
/// The cotangents `cts` as the leaves of a tree; one that does not exist is a literal zero.
template <class Tree>
constexpr void set_cotangents(Tree& like, const arrays& cts) {
  int k = 0;
  for_each_leaf(
      [&](auto& a) {
        const array& ct = cts[k++];
        if (ct.exists())
          static_cast<array&>(a) = ct;
        else
          static_cast<array&>(a) = array(0.0, {a.dtype(), false, a.shape()});
      },
      like);
}
template <class T>
struct loss_of {  // a function's result is its loss, or the pair of its loss and what else it computed
  static constexpr const array& get(const T& r) { return r; }
};
template <class L, class Aux>
struct loss_of<std::pair<L, Aux>> {
  static constexpr const array& get(const std::pair<L, Aux>& r) { return r.first; }
};
/// An argument without floats has no gradient. In a record with some, the other leaves get zeros (JAX refuses these too).
template <class Tree>
constexpr void require_floats(graph& g, const Tree& tree, source_line l) {
  const arrays all = leaves(tree);
  for (const array& a : all)
    if (is_floating(a.dtype())) return;
  if (!all.empty()) reject(&g, l, "grad: argument", all[0].type(), "at least one floating leaf");
}
/// The leaves of `given` are to have the types of `wanted`, where those are floats.
constexpr void require_types(graph& g, const char* what, const arrays& given, const arrays& wanted, source_line l) {
  const call c{.trace = &g, .where = l};
  if (given.count() != wanted.count()) c.fail(what, text() << given.count() << " leaves", text() << wanted.count());
  for (int k = 0; k < given.count() && k < wanted.count(); ++k)
    if (is_floating(wanted[k].dtype()) && given[k].type() != wanted[k].type())
      c.fail(what, given[k].type(), text("the type of its leaf, ") << wanted[k].type());
}
constexpr void require_scalar(const graph& g, const array& loss, source_line l) {
  if (loss.rank() == 0 && is_floating(loss.dtype())) return;
  reject(loss, l.line() ? location(l) : g[loss.id()].where, "grad: value of the function", loss.type(),
         "a floating scalar");
}
}  // namespace detail

/// What `value_and_grad(f)` returns; a function of the arguments of f.
template <class F>
struct value_and_grad_function {
  [[no_unique_address]] F f;
  source_line where{};  ///< of the call of value_and_grad
  template <class Tree, class... Rest>
  constexpr auto operator()(const Tree& x, const Rest&... rest) const {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Tree&, const Rest&...>>;
    return in_trace(
        [this](graph& g, const Tree& traced, const Rest&... others) -> std::pair<result_type, Tree> {
          detail::require_floats(g, traced, where);
          const Tree variables = detail::as_variables(traced);
          const result_type result = f(variables, others...);
          const array scalar = lift(g, detail::loss_of<result_type>::get(result), where);
          detail::require_scalar(g, scalar, where);
          Tree grads = copy_tree(traced);
          detail::set_cotangents(grads, backward(g, scalar, array(1.0, scalar.type()), leaves(variables)));
          return {result, std::move(grads)};
        },
        x, rest...);
  }
  template <arithmetic T, class... Rest>
  constexpr auto operator()(const T& x, const Rest&... rest) const {
    return (*this)(array(x), rest...);
  }
};

/// A function that returns f's value and the gradient with respect to f's first argument, a tree like it.
/// If f returns a pair, the first is the loss and the second is passed through.
///
/// shapes  f must give a floating scalar
/// errors  "grad: value of the function", "grad: argument" without floating leaves
/// source  jax.value_and_grad
template <class F>
constexpr value_and_grad_function<F> value_and_grad(F f, source_line l = source_line::current()) {
  return {f, l};
}
template <class F>
inline constexpr bool is_stateless<value_and_grad_function<F>> = is_stateless<F>;

/// What `grad(f)` returns.
template <class F>
struct grad_function {
  [[no_unique_address]] F f;
  source_line where{};  ///< of the call of grad
  template <class Tree, class... Rest>
  constexpr Tree operator()(const Tree& x, const Rest&... rest) const {
    return value_and_grad_function<F>{f, where}(x, rest...).second;
  }
  template <arithmetic T, class... Rest>
  constexpr array operator()(const T& x, const Rest&... rest) const {
    return (*this)(array(x), rest...);
  }
};

/// A function that returns the gradient of f with respect to its first argument.
/// source  jax.grad
template <class F>
constexpr grad_function<F> grad(F f, source_line l = source_line::current()) {
  return {f, l};
}
template <class F>
inline constexpr bool is_stateless<grad_function<F>> = is_stateless<F>;

/// f(x) and the product of the cotangents `ct` (a tree like the value) with f's Jacobian, a tree like x.
/// errors  "vjp: cotangents" if their types are not those of the value
/// source  jax.vjp, applied at once
template <class F, class Tree, class Cotangents>
constexpr auto vjp(F f, const Tree& x, const Cotangents& ct, source_line l = source_line::current()) {
  using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Tree&>>;
  return in_trace(
      [&f, l](graph& g, const Tree& traced, const Cotangents& cts) -> std::pair<result_type, Tree> {
        const Tree variables = detail::as_variables(traced);
        const result_type y = f(variables);
        arrays ys;
        for (const array& a : leaves(y)) ys.push_back(lift(g, a));
        detail::require_types(g, "vjp: cotangents", leaves(cts), ys, l);
        Tree grads = copy_tree(traced);
        detail::set_cotangents(grads, backward(g, ys, leaves(cts), leaves(variables)));
        return {y, std::move(grads)};
      },
      x, ct);
}

}  // namespace tokamax
