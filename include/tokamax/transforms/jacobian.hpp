// tokamax/transforms/jacobian.hpp: whole Jacobians and Hessians: jacfwd, jacrev, hessian.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree/tree_like.hpp>        // tree_map to other leaves
#include <tokamax/lax/shapes/transpose.hpp>       // transpose
#include <tokamax/numpy/arange.hpp>               // eye
#include <tokamax/transforms/arguments.hpp>       // has_aux
#include <tokamax/transforms/passes/batch.hpp>    // batch
#include <tokamax/transforms/passes/forward.hpp>  // forward, backward

#include <type_traits>  // is_same_v

namespace tokamax {

namespace detail {

/// Has a tree no leaves but of type array, which have room for arrays of any shape?
template <class Tree>
consteval bool has_free_leaves() {
  if constexpr (kind_of<Tree> == tree_kind::record)
    return []<class... Field>(std::type_identity<std::tuple<Field...>>) {
      return (has_free_leaves<std::remove_cvref_t<Field>>() && ...);
    }(std::type_identity<decltype(fields(std::declval<Tree&>()))>{});
  else if constexpr (kind_of<Tree> == tree_kind::sequence)
    return has_free_leaves<std::remove_cvref_t<decltype(std::declval<Tree&>()[0])>>();
  else
    return std::is_same_v<Tree, array> || kind_of<Tree> == tree_kind::constant;
}
/// A tree with the structure of `tree` for arrays of any shape.
template <class Tree>
constexpr auto with_free_leaves(const Tree& tree) {
  if constexpr (has_free_leaves<Tree>())
    return copy_tree(tree);
  else
    return tree_map<array>([](const array&) { return array(); }, tree);
}
/// `tree` with leaf() in the place of each leaf.
template <class Tree, class F>
constexpr auto with_inner_trees(const Tree& tree, const F& leaf) {
  using inner = decltype(leaf());
  if constexpr (std::is_same_v<inner, array> && has_free_leaves<Tree>())
    return tree_map([&](const array&) { return leaf(); }, tree);
  else
    return tree_map<inner>([&](const array&) { return leaf(); }, tree);
}

/// The n unit vectors of arrays like x, of n elements: [n, ...].
constexpr array basis_like(graph& g, const array& x) {
  shape s{x.size()};
  for (const std::int64_t e : x.shape()) s.push_back(e);
  return lift(g, reshape(eye(x.size(), x.dtype()), s));
}
constexpr shape joined(const array& y, const array& x) {
  shape s = y.shape();
  for (const std::int64_t e : x.shape()) s.push_back(e);
  return s;
}
/// What `results`, functions of `direction`, are along all unit vectors: [n, ...] each.
constexpr arrays along_basis(graph& g, const array& direction, const arrays& results) {
  arrays existing;
  for (const array& r : results)
    if (r.exists()) existing.push_back(lift(g, r));
  const arrays mapped = batch(g, direction.size(), direction, basis_like(g, direction), existing);
  arrays out(results.size());
  for (int k = 0, i = 0; k < results.count(); ++k) {
    if (!results[k].exists()) continue;
    out[k] = mapped[i];
    if (!out[k].exists()) out[k] = with_leading_axis(existing[i], direction.size());
    ++i;
  }
  return out;
}
/// dy/dx for all ys and xs: [y0/x0, y0/x1, ..., y1/x0, ...], each [...y, ...x].
constexpr arrays jacobians(graph& g, bool forward_mode, const arrays& ys, const arrays& xs) {
  const int m = ys.count(), n = xs.count();
  arrays out(static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
  for (int i = 0; i < n && forward_mode; ++i) {
    if (!is_floating(xs[i].dtype())) continue;
    const array dx = placeholder(g, xs[i].type());
    const arrays columns = along_basis(g, dx, forward(g, xs[i], dx, ys));  // [x, ...y]
    for (int j = 0; j < m; ++j) {
      if (!columns[j].exists()) continue;
      axes last;
      for (int k = 1; k <= ys[j].rank(); ++k) last.push_back(k);
      last.push_back(0);
      out[j * n + i] = reshape(transpose(columns[j], last), joined(ys[j], xs[i]));
    }
  }
  for (int j = 0; j < m && !forward_mode; ++j) {
    const array ct = placeholder(g, ys[j].type());
    const arrays rows = along_basis(g, ct, backward(g, ys[j], ct, xs));  // [y, ...x]
    for (int i = 0; i < n; ++i)
      if (rows[i].exists()) out[j * n + i] = reshape(rows[i], joined(ys[j], xs[i]));
  }
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < n; ++i)
      if (array& a = out[j * n + i]; !a.exists()) a = array(0.0, {xs[i].dtype(), false, joined(ys[j], xs[i])});
  return out;
}

}  // namespace detail

/// What `jacfwd(f)` and `jacrev(f)` return.
template <class F, bool Forward, bool Aux, int... Arguments>
struct jacobian_function {
  [[no_unique_address]] F f;
  source_line where{};  ///< the line of the call of jacfwd or jacrev

  template <class... Args>
  constexpr auto operator()(const Args&... args) const {
    return start<detail::argument_numbers<static_cast<int>(sizeof...(Args)), Arguments...>>(
        std::index_sequence_for<Args...>{}, args...);
  }

 private:
  template <class Numbers, std::size_t... Index, class... Args>
  constexpr auto start(std::index_sequence<Index...>, const Args&... args) const {
    return run<Numbers>(detail::as_argument<Numbers::has(Index)>(args)...);
  }
  template <class Numbers, class... Args>
  constexpr auto run(const Args&... args) const {
    return in_trace(
        [this](graph& g, const Args&... traced) {
          return trace<Numbers>(g, std::index_sequence_for<Args...>{}, std::make_index_sequence<Numbers::count>{},
                                traced...);
        },
        args...);
  }
  template <class Numbers, std::size_t... Index, std::size_t... K, class... Args>
  constexpr auto trace(graph& g, std::index_sequence<Index...>, std::index_sequence<K...>, const Args&... args) const {
    const std::tuple<Args...> variables{variables_of<Numbers::has(Index)>(g, args)...};  // braces: from left to right
    const auto result = std::apply(f, variables);
    const auto& value = detail::differentiated<Aux>(result);
    arrays ys;
    for (const array& y : leaves(value)) ys.push_back(lift(g, y, where));
    if constexpr (!Forward)
      for (const array& y : ys)
        if (!is_floating(y.dtype())) reject(&g, where, "jacrev: value of the function", y.type(), "floats");
    const arrays xs = leaves(std::get<Numbers::template at<K>()>(variables)...);
    const arrays all = detail::jacobians(g, Forward, ys, xs);
    int next = 0;
    auto tree = detail::with_inner_trees(value, [&] {
      auto inner = detail::one_or_tuple(
          std::make_tuple(detail::with_free_leaves(std::get<Numbers::template at<K>()>(variables))...));
      inner = with_leaves(inner, all, next);
      next += xs.count();
      return inner;
    });
    if constexpr (Aux)
      return std::pair{std::move(tree), result.second};
    else
      return tree;
  }
  template <bool Differentiated, class Tree>
  constexpr Tree variables_of(graph& g, const Tree& tree) const {
    if constexpr (Differentiated) {
      detail::require_floats(g, Forward ? "jacfwd: argument" : "jacrev: argument", tree, where);
      return detail::as_variables(tree);
    } else {
      return copy_tree(tree);
    }
  }
};

/// The Jacobian of f, column by column in forward mode, which suits functions of few numbers. It is a tree like the value
/// in which each leaf is replaced by a tree like f's first argument. `jacfwd<0, 2>(f)` takes argument numbers, and has
/// tuples there. A struct that cannot hold the new leaves becomes a `record_like` itself: `jacobian.get<"weight">()`.
///
///   J[i..., k...] = d f(x)[i...] / d x[k...]
///
/// shapes  f [...] -> [m...]: [m..., ...]
/// errors  "jacfwd: argument" without floating leaves
/// source  jax.jacfwd; with `has_aux` f returns a pair, of which the second part is passed on
template <int... Arguments, class F>
constexpr jacobian_function<F, true, false, Arguments...> jacfwd(F f, source_line l = source_line::current()) {
  return {f, l};
}
template <int... Arguments, class F>
constexpr jacobian_function<F, true, true, Arguments...> jacfwd(F f, has_aux_tag,
                                                                source_line l = source_line::current()) {
  return {f, l};
}

/// The same, row by row in reverse mode, which suits functions with few results.
/// errors  "jacrev: argument" without floating leaves, "jacrev: value of the function" for integers
/// source  jax.jacrev
template <int... Arguments, class F>
constexpr jacobian_function<F, false, false, Arguments...> jacrev(F f, source_line l = source_line::current()) {
  return {f, l};
}
template <int... Arguments, class F>
constexpr jacobian_function<F, false, true, Arguments...> jacrev(F f, has_aux_tag,
                                                                 source_line l = source_line::current()) {
  return {f, l};
}
template <class F, bool Forward, bool Aux, int... Arguments>
inline constexpr bool is_stateless<jacobian_function<F, Forward, Aux, Arguments...>> = is_stateless<F>;

/// The second derivatives of f, by forward mode over reverse mode. For a struct it is a tree of trees,
/// `h.get<"weight">().bias`, and with argument numbers a tuple of tuples.
///
///   H[i..., j...] = d^2 f(x) / d x[i...] d x[j...]
///
/// source  jax.hessian
template <int... Arguments, class F>
constexpr auto hessian(F f, source_line l = source_line::current()) {
  return jacfwd<Arguments...>(jacrev<Arguments...>(f, l), l);
}
template <int... Arguments, class F>
constexpr auto hessian(F f, has_aux_tag, source_line l = source_line::current()) {
  return jacfwd<Arguments...>(jacrev<Arguments...>(f, has_aux, l), has_aux, l);
}

}  // namespace tokamax
