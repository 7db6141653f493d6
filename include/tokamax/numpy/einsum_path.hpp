// tokamax/numpy/einsum_path.hpp: the order of products that makes an einsum of many operands cheapest.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (an order matters from three operands on)
// tested by tests/numpy/einsum.cpp
#pragma once

#include <tokamax/numpy/einsum.hpp>  // parse_einsum, multiply

namespace tokamax {

/// An order of products. Each step takes the operands at these positions out of the list and puts their product at its end.
struct einsum_plan {
  vec<axes> path;
  double flops = 0;        ///< multiplications and additions of all steps
  double naive_flops = 0;  ///< those of all products of all operands at once
};

namespace detail {
/// The search for the cheapest order, as opt_einsum's "optimal" does it: of equal ones the first is taken.
struct einsum_search {
  vec<std::int64_t> names, extents;
  axis_labels result;
  einsum_plan best;
  bool found = false;

  constexpr double size_of_labels(const axis_labels& l) const {
    double n = 1;
    for (std::int64_t name : l)
      for (int k = 0; k < names.count(); ++k)
        if (names[k] == name) n *= static_cast<double>(extents[k]);
    return n;
  }
  struct step {
    axis_labels product;
    double flops;
  };
  /// The labels of the product of terms i and j, and its cost.
  constexpr step product_of(const vec<axis_labels>& terms, int i, int j) const {
    axis_labels either = terms[i];
    for (std::int64_t name : terms[j])
      if (find_label(either, name) < 0) either.push_back(name);
    step s{{}, 0};
    bool sums = false;
    for (std::int64_t name : either) {
      bool kept = find_label(result, name) >= 0;
      for (int k = 0; k < terms.count(); ++k) kept = kept || (k != i && k != j && find_label(terms[k], name) >= 0);
      if (kept) s.product.push_back(name);
      sums = sums || (!kept && find_label(terms[i], name) >= 0 && find_label(terms[j], name) >= 0);
    }
    s.flops = size_of_labels(either) * (sums ? 2 : 1);
    return s;
  }
  static constexpr vec<axis_labels> after(const vec<axis_labels>& terms, int i, int j, const axis_labels& product) {
    vec<axis_labels> rest;
    for (int k = 0; k < terms.count(); ++k)
      if (k != i && k != j) rest.push_back(terms[k]);
    rest.push_back(product);
    return rest;
  }
  constexpr void all_orders(const vec<axis_labels>& terms, const einsum_plan& so_far) {
    if (terms.count() == 1) {
      if (!found || so_far.flops < best.flops) best = so_far;
      found = true;
      return;
    }
    for (int i = 0; i < terms.count(); ++i)
      for (int j = i + 1; j < terms.count(); ++j) {
        const step s = product_of(terms, i, j);
        einsum_plan next = so_far;
        next.flops += s.flops;
        if (found && next.flops >= best.flops) continue;
        next.path.push_back(axes{i, j});
        all_orders(after(terms, i, j, s.product), next);
      }
  }
  /// The cheapest product each time.
  constexpr void greedy_order(vec<axis_labels> terms) {
    while (terms.count() > 1) {
      int first = 0, second = 1;
      step cheapest = product_of(terms, 0, 1);
      for (int i = 0; i < terms.count(); ++i)
        for (int j = i + 1; j < terms.count(); ++j)
          if (const step s = product_of(terms, i, j); s.flops < cheapest.flops) cheapest = s, first = i, second = j;
      best.path.push_back(axes{first, second});
      best.flops += cheapest.flops;
      terms = after(terms, first, second, cheapest.product);
    }
  }
};
}  // namespace detail

/// The order of products of two operands that needs the fewest operations: the best of all for up to six operands, beyond
/// the cheapest product each time.
///
/// errors  "einsum: operands" if there are none, "einsum: equation" if it does not fit them
/// source  jax.numpy.einsum_path; opt_einsum
constexpr einsum_plan einsum_path(std::string_view equation, const arrays& xs, source_line l = source_line::current()) {
  einsum_plan none;
  if (xs.empty()) {
    reject(nullptr, l, "einsum: operands", "none", "one or more");
    return none;
  }
  const detail::einsum_equation e = detail::parse_einsum(equation, xs);
  if (!e.ok || !detail::labels_fit(e, xs)) {
    reject(xs.data(), xs.count(), l, "einsum: equation", equation.empty() ? "an empty one" : equation,
           message() << xs.count() << " operands, first " << xs[0].type());
    return none;
  }
  detail::einsum_search s;
  s.result = e.result;
  vec<detail::axis_labels> terms;
  bool sums = false;
  for (int k = 0; k < xs.count(); ++k) {
    detail::axis_labels once;
    for (int i = 0; i < e.operands[k].count(); ++i) {
      const std::int64_t name = e.operands[k][i], n = xs[k].extent(i);
      if (detail::find_label(once, name) < 0) once.push_back(name);
      int at = -1;
      for (int m = 0; m < s.names.count(); ++m)
        if (s.names[m] == name) at = m;
      if (at < 0)
        s.names.push_back(name), s.extents.push_back(n);
      else if (s.extents[at] == 1)
        s.extents[at] = n;
      sums = sums || detail::find_label(e.result, name) < 0;
    }
    terms.push_back(once);
  }
  double all = 1;
  for (std::int64_t n : s.extents) all *= static_cast<double>(n);
  const double naive = all * (static_cast<double>(xs.count() > 2 ? xs.count() - 1 : 1) + (sums ? 1 : 0));
  if (xs.count() == 1) {
    s.best.path.push_back(axes{0});
    s.best.flops = naive;
  } else if (xs.count() <= 6) {
    s.all_orders(terms, {});
  } else {
    s.greedy_order(terms);
  }
  s.best.naive_flops = naive;
  return s.best;
}

/// The sum of products in a given order, such as that of einsum_path.
///
/// errors  "einsum: path" unless each step names operands that are left, and one is left at the end; those of einsum
/// source  jax.numpy.einsum with a path
constexpr array einsum(std::string_view equation, const arrays& xs, const vec<axes>& path,
                       source_line l = source_line::current()) {
  if (xs.empty()) return detail::impossible(f32, "einsum: operands", "none", "one or more", l);
  const detail::einsum_equation e = detail::parse_einsum(equation, xs);
  if (!e.ok || !detail::labels_fit(e, xs)) return einsum(equation, xs, l);  // which says what is wrong
  vec<detail::einsum_term> terms;
  for (int k = 0; k < xs.count(); ++k) terms.push_back(detail::diagonals({xs[k], e.operands[k]}));
  bool ok = true;
  for (const axes& step : path) {
    vec<detail::einsum_term> chosen, rest;
    for (std::int64_t at : step) {
      ok = ok && at >= 0 && at < terms.count();
      if (ok) chosen.push_back(terms[static_cast<int>(at)]);
    }
    for (int k = 0; k < terms.count(); ++k)
      if (!step.contains(k)) rest.push_back(terms[k]);
    if (!ok || chosen.empty() || rest.count() + chosen.count() != terms.count()) {
      ok = false;
      break;
    }
    detail::einsum_term t = chosen[0];
    for (int k = 1; k < chosen.count(); ++k) {
      detail::axis_labels later = e.result;
      for (int j = k + 1; j < chosen.count(); ++j)
        for (std::int64_t name : chosen[j].names) later.push_back(name);
      for (const detail::einsum_term& other : rest)
        for (std::int64_t name : other.names) later.push_back(name);
      detail::axis_labels once;
      for (std::int64_t name : later)
        if (detail::find_label(once, name) < 0) once.push_back(name);
      t = detail::multiply(t, chosen[k], once, l);
    }
    rest.push_back(t);
    terms = rest;
  }
  if (!ok || terms.count() != 1) {
    reject(xs.data(), xs.count(), l, "einsum: path", message() << path.count() << " steps",
           message("positions that leave one of ") << xs.count() << " operands");
    return xs[0];
  }
  return detail::in_result_order(terms[0], e.result, l);
}

}  // namespace tokamax
