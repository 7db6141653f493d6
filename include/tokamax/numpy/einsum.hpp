// tokamax/numpy/einsum.hpp: sums of products written as an equation, as transposes, sums and dot_generals.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/dot_general.hpp>  // dot_general
#include <tokamax/lax/iota.hpp>         // iota: diagonals

namespace tokamax {

namespace detail {

/// Axis labels: letters, and numbers above 255 for the axes of an ellipsis, counted from the last.
using axis_labels = vec<std::int64_t>;
struct einsum_term {
  array x;
  axis_labels names;
};
struct einsum_equation {
  vec<axis_labels> operands;
  axis_labels result;
  bool ok = true;
};

constexpr int find_label(const axis_labels& l, std::int64_t name) {
  for (int i = 0; i < l.count(); ++i)
    if (l[i] == name) return i;
  return -1;
}

/// "ab,bc->ac", "ab,bc" (the result has the labels that occur once, in order), "...a,ab->...b"; spaces are skipped.
constexpr einsum_equation parse_einsum(std::string_view s, const arrays& xs) {
  einsum_equation e;
  const std::size_t arrow = s.find("->");
  int ellipsis = 0;  // axes of the longest one
  auto side = [&](std::string_view part, int operand) {
    axis_labels names;
    int letters = 0;
    for (char c : part) letters += c != '.' && c != ' ';
    for (std::size_t i = 0; i < part.size(); ++i) {
      const char c = part[i];
      if (c == ' ') continue;
      if (c == '.') {
        e.ok = e.ok && part.substr(i, 3) == "...";
        i += 2;
        const int n = operand >= 0 && operand < xs.count() ? xs[operand].rank() - letters : ellipsis;
        if (n > ellipsis) ellipsis = n;
        for (int k = n; k > 0; --k) names.push_back(255 + k);
        continue;
      }
      e.ok = e.ok && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && names.count() < max_rank;
      if (e.ok) names.push_back(c);
    }
    return names;
  };
  std::string_view left = s.substr(0, arrow);
  for (bool more = true; more;) {
    const std::size_t comma = left.find(',');
    more = comma != std::string_view::npos;
    const axis_labels names = side(left.substr(0, comma), e.operands.count());
    e.ok = e.ok && e.operands.count() < xs.count() && names.count() == xs[e.operands.count()].rank();
    e.operands.push_back(names);
    if (more) left = left.substr(comma + 1);
  }
  e.ok = e.ok && e.operands.count() == xs.count();
  auto uses = [&](std::int64_t name) {
    int n = 0;
    for (const axis_labels& l : e.operands)
      for (std::int64_t v : l) n += v == name;
    return n;
  };
  if (arrow != std::string_view::npos) {
    e.result = side(s.substr(arrow + 2), -1);
  } else {
    for (int k = ellipsis; k > 0; --k) e.result.push_back(255 + k);
    for (int c = 'A'; c <= 'z'; ++c)
      if (uses(c) == 1) e.result.push_back(c);
  }
  for (std::int64_t name : e.result) e.ok = e.ok && uses(name) > 0;
  return e;
}

/// If an operand has a label twice, are both extents equal?
constexpr bool labels_fit(const einsum_equation& e, const arrays& xs) {
  for (int k = 0; k < xs.count(); ++k)
    for (int i = 0; i < e.operands[k].count(); ++i)
      if (xs[k].extent(i) != xs[k].extent(find_label(e.operands[k], e.operands[k][i]))) return false;
  return true;
}

/// Sums over the axes whose label is not needed any more.
constexpr einsum_term sum_out(const einsum_term& t, const axis_labels& wanted) {
  axes gone;
  axis_labels left;
  for (int i = 0; i < t.names.count(); ++i) {
    if (find_label(wanted, t.names[i]) < 0)
      gone.push_back(i);
    else
      left.push_back(t.names[i]);
  }
  if (gone.rank() == 0) return t;
  return {reduce_sum(t.x, gone), left};
}

/// If a label occurs twice, takes the diagonal of its two axes.
constexpr einsum_term diagonals(einsum_term t) {
  for (int i = 0; i < t.names.count(); ++i)
    for (int j = t.names.count() - 1; j > i; --j) {
      if (t.names[i] != t.names[j]) continue;
      const array on = iota(i32, t.x.shape(), i) == iota(i32, t.x.shape(), j);
      t.x = reduce_sum(select(on, t.x, zeros_like(t.x)), {j});
      axis_labels left;
      for (int k = 0; k < t.names.count(); ++k)
        if (k != j) left.push_back(t.names[k]);
      t.names = left;
    }
  return t;
}

/// Drops the axes of extent 1 that meet a longer one.
constexpr einsum_term without_ones(const einsum_term& t, const einsum_term& other) {
  shape s;
  axis_labels left;
  for (int i = 0; i < t.names.count(); ++i) {
    const int k = find_label(other.names, t.names[i]);
    if (k >= 0 && t.x.extent(i) == 1 && other.x.extent(k) != 1) continue;
    s.push_back(t.x.extent(i));
    left.push_back(t.names[i]);
  }
  return {reshape(t.x, s), left};
}

/// The product of two terms, summed over the labels that both have and that are not needed any more. Its axes are
/// [shared, those of a, those of b].
constexpr einsum_term contract(const einsum_term& a, const einsum_term& b, const axis_labels& wanted, source_line l) {
  dot_dimensions d;
  axis_labels names;
  for (std::int64_t name : wanted) {
    const int i = find_label(a.names, name), j = find_label(b.names, name);
    if (i < 0 || j < 0) continue;
    d.lhs_batch.push_back(i);
    d.rhs_batch.push_back(j);
    names.push_back(name);
  }
  for (int i = 0; i < a.names.count(); ++i) {
    const int j = find_label(b.names, a.names[i]);
    if (j < 0) names.push_back(a.names[i]);
    if (j < 0 || find_label(wanted, a.names[i]) >= 0) continue;
    d.lhs_contracting.push_back(i);
    d.rhs_contracting.push_back(j);
  }
  for (std::int64_t name : b.names)
    if (find_label(a.names, name) < 0) names.push_back(name);
  return {dot_general(a.x, b.x, d, l), names};
}

/// The product of two terms of an equation, of which the rest needs the labels in `later`.
constexpr einsum_term multiply(const einsum_term& t, const einsum_term& u, const axis_labels& later, source_line l) {
  axis_labels for_t = later, for_u = later;
  for (std::int64_t name : u.names) for_t.push_back(name);
  for (std::int64_t name : t.names) for_u.push_back(name);
  const einsum_term a = sum_out(t, for_t), b = sum_out(u, for_u);
  return contract(without_ones(a, b), without_ones(b, a), later, l);
}
/// The term with its axes in the order of the result's labels.
constexpr array in_result_order(const einsum_term& given, const axis_labels& result, source_line l) {
  const einsum_term t = sum_out(given, result);
  axes order;
  for (std::int64_t name : result) order.push_back(find_label(t.names, name));
  return transpose(t.x, order, l);
}

}  // namespace detail

/// The sum of products that `equation` describes. Letters name the axes of each operand, and the product is summed over
/// letters that the result does not have. Operands are multiplied from left to right.
///
/// shapes  by the equation, for example "bthd,bshd->bhts"; `...` stands for any leading axes, which broadcast
/// errors  "einsum: operands" if there are none, "einsum: equation" if it does not fit them, "matmul: inner extents",
///         "dot_general: batch extents"
/// source  jax.numpy.einsum
constexpr array einsum(std::string_view equation, const arrays& xs, source_line l = source_line::current()) {
  if (xs.empty()) return detail::impossible(f32, "einsum: operands", "none", "one or more", l);
  const detail::einsum_equation e = detail::parse_einsum(equation, xs);
  if (!e.ok || !detail::labels_fit(e, xs)) {
    reject(xs.data(), xs.count(), l, "einsum: equation", equation.empty() ? "an empty one" : equation,
           message() << xs.count() << " operands, first " << xs[0].type());
    return xs[0];
  }
  detail::einsum_term t = detail::diagonals({xs[0], e.operands[0]});
  for (int k = 1; k < xs.count(); ++k) {
    detail::einsum_term u = detail::diagonals({xs[k], e.operands[k]});
    detail::axis_labels later = e.result;  // what this product must keep
    auto want = [&](const detail::axis_labels& names) {
      for (std::int64_t name : names)
        if (detail::find_label(later, name) < 0) later.push_back(name);
    };
    for (int j = k + 1; j < xs.count(); ++j) want(e.operands[j]);
    t = detail::multiply(t, u, later, l);
  }
  return detail::in_result_order(t, e.result, l);
}
constexpr array einsum(std::string_view equation, const array& a, source_line l = source_line::current()) {
  return einsum(equation, arrays{a}, l);
}
constexpr array einsum(std::string_view equation, const array& a, const array& b,
                       source_line l = source_line::current()) {
  return einsum(equation, arrays{a, b}, l);
}
constexpr array einsum(std::string_view equation, const array& a, const array& b, const array& c,
                       source_line l = source_line::current()) {
  return einsum(equation, arrays{a, b, c}, l);
}

}  // namespace tokamax
