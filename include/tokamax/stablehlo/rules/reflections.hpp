// tokamax/stablehlo/rules/reflections.hpp: Householder's reflections of real and complex matrices, one after another, as LAPACK keeps them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/lapack_calls.cpp
#pragma once

#include <tokamax/numpy/matmul.hpp>                       // matmul
#include <tokamax/stablehlo/rules/control_rules.hpp>      // in_this_trace
#include <tokamax/transforms/control_flow/fori_loop.hpp>  // fori_loop

namespace tokamax::stablehlo::detail {

// Values are real or complex: what has no imaginary part is real.
inline complex_parts parts_of(const value& v) { return {v.re, v.is_complex() ? v.im : zeros_like(v.re)}; }
inline value conjugate(const value& v) { return {v.re, v.is_complex() ? -v.im : array()}; }
inline value times(const value& a, const value& b) {
  if (!b.is_complex()) return each_part([&](const array& x) { return x * b.re; }, a);
  return a.is_complex() ? of(parts_of(a) * parts_of(b)) : times(b, a);
}
inline value minus(const value& a, const value& b) {
  if (!a.is_complex() && !b.is_complex()) return {a.re - b.re, {}};
  return of(parts_of(a) - parts_of(b));
}
inline value zero_like(const value& v) {
  return each_part([](const array& x) { return zeros_like(x); }, v);
}
/// a where a condition holds, and b elsewhere; complex if a is.
inline value chosen(const array& which, const value& a, const value& b) {
  return {select(which, a.re, b.re), a.is_complex() ? select(which, a.im, parts_of(b).im) : array()};
}
inline value summed(const value& v, int axis) {
  return each_part([&](const array& x) { return sum(x, axis); }, v);
}
inline value with_axis(const value& v, int axis) {
  return each_part([&](const array& x) { return expand_dims(x, axis); }, v);
}
/// The transpose of matrices, with conjugate numbers.
inline value adjoint(const value& v) {
  return conjugate(each_part([](const array& x) { return swapaxes(x, -1, -2); }, v));
}
inline value product(const value& a, const value& b) {
  if (!a.is_complex() && !b.is_complex()) return {matmul(a.re, b.re), {}};
  const complex_parts x = parts_of(a), y = parts_of(b);
  return {matmul(x.re, y.re) - matmul(x.im, y.im), matmul(x.re, y.im) + matmul(x.im, y.re)};
}
/// |v|^2
inline array squared(const value& v) { return v.is_complex() ? v.re * v.re + v.im * v.im : v.re * v.re; }
/// The number of each element along an axis, which counts from the end if it is negative.
inline array number_along(const array& like, int axis) {
  return iota(i32, like.shape(), axis < 0 ? like.rank() + axis : axis);
}
/// Column i of matrices.
inline value column_of(const value& a, const array& i) {
  return summed(chosen(number_along(a.re, -1) == i, a, zero_like(a)), -1);
}
/// Element i of vectors.
inline value element_of(const value& v, const array& i) {
  return summed(chosen(number_along(v.re, -1) == i, v, zero_like(v)), -1);
}
/// v with x as element i.
inline value with_element(const value& v, const array& i, const value& x) {
  const value all = each_part([&](const array& part) { return broadcast_to(expand_dims(part, -1), v.re.shape()); }, x);
  return chosen(number_along(v.re, -1) == i, v.is_complex() && !x.is_complex() ? of(parts_of(all)) : all, v);
}

/// H = 1 - tau v v^H, whose conjugate transpose makes a vector a multiple of the unit vector of a place.
struct reflection {
  value v, tau;
};
/// The reflection that brings x [..., n] to zero behind place p, and keeps what stands before it. The multiple is real.
inline reflection reflection_of(const value& x, const array& p) {
  const array row = number_along(x.re, -1);
  const value alpha = element_of(x, p), below = chosen(row > p, x, zero_like(x));
  const array rest = sum(squared(below), -1), norm = sqrt(squared(alpha) + rest);
  array none = rest == 0.0;
  if (x.is_complex()) none = logical_and(none, alpha.im == 0.0);
  const array one = ones_like(norm), beta = select(none, one, select(alpha.re >= 0.0, -norm, norm));
  value tau{select(none, zeros_like(beta), (beta - alpha.re) / beta), {}};
  const value scale = chosen(none, each_part([&](const array&) { return one; }, alpha), minus(alpha, {beta, {}}));
  const value scales = with_axis(scale, -1);
  value v{below.re / scales.re, {}};
  if (x.is_complex()) {
    tau.im = select(none, zeros_like(beta), -alpha.im / beta);
    v = of(parts_of(below) / parts_of(scales));
  }
  const value unit{astype(row == p, x.re.dtype()), {}};
  return {chosen(row > p, v, unit), tau};
}
/// The reflection whose vector column i of a keeps below place p.
inline value kept_vector(const value& a, const array& i, const array& p) {
  const value column = column_of(a, i);
  const array row = number_along(column.re, -1);
  return chosen(row > p, column, {astype(row == p, column.re.dtype()), {}});
}
/// (1 - tau v v^H) x, in the columns for which that holds.
inline value reflected(const value& x, const value& v, const value& tau, const array& columns) {
  const value w = summed(times(x, with_axis(conjugate(v), -1)), -2);
  const value scaled = chosen(columns, times(w, with_axis(tau, -1)), zero_like(w));
  return minus(x, times(with_axis(v, -1), with_axis(scaled, -2)));
}
/// x (1 - tau v v^H)
inline value reflected_from_right(const value& x, const value& v, const value& tau) {
  const value w = times(summed(times(x, with_axis(v, -2)), -1), with_axis(tau, -1));
  return minus(x, times(with_axis(w, -1), with_axis(conjugate(v), -2)));
}

/// Runs a loop whose carry is a list of values.
template <class Body>
values loop_of(std::int64_t count, const values& init, const Body& body) {
  const std::vector<char> complex = which_are_complex(init);
  std::vector<array> carry;
  for (const array& a : flat(init)) carry.push_back(in_this_trace(a));
  const auto step = [&](const array& i, const std::vector<array>& now) {
    arrays in;
    for (const array& a : now) in.push_back(a);
    std::vector<array> next;
    for (const array& a : flat(body(i, unflat(in, complex)))) next.push_back(a);
    return next;
  };
  arrays out;
  for (const array& a : fori_loop(0, count, step, carry)) out.push_back(a);
  return unflat(out, complex);
}
/// Matrices [..., n, n] with ones on the diagonal, and zeros of a shape; complex if some value is.
inline value identity_like(const value& x, std::int64_t n) {
  shape s = x.re.shape();
  s[s.rank() - 1] = s[s.rank() - 2] = n;
  const array one = astype(iota(i32, s, s.rank() - 2) == iota(i32, s, s.rank() - 1), x.re.dtype());
  return {one, x.is_complex() ? zeros_like(one) : array()};
}
inline value zeros_of(const value& x, const shape& s) {
  const array z = zeros(s, x.re.dtype());
  return {z, x.is_complex() ? z : array()};
}

/// R, or with `two_sides` a Hessenberg matrix: the vectors of the reflections stand in the zeros below it, and their factors
/// [..., count] behind it. Reflection i clears column i below its place i + `below`.
inline values reflected_columns(const value& a, const shape& factors, int below, bool two_sides) {
  return loop_of(factors[-1], {a, zeros_of(a, factors)}, [&](const array& i, const values& now) -> values {
    const value& x = now[0];
    const array p = i + below, row = number_along(x.re, -2), column = number_along(x.re, -1);
    const reflection h = reflection_of(column_of(x, i), p);
    value next = two_sides ? reflected_from_right(x, h.v, h.tau) : x;
    next = reflected(next, h.v, conjugate(h.tau), iota(i32, {x.re.extent(-1)}, 0) >= i);
    const value vectors =
        each_part([&](const array& v) { return broadcast_to(expand_dims(v, -1), x.re.shape()); }, h.v);
    next = chosen(logical_and(column == i, row > p), vectors, next);
    return {next, with_element(now[1], i, h.tau)};
  });
}
/// The product of reflections as a matrix [..., m, k], from the last one to the first one.
inline value product_of_reflections(const value& a, const value& tau, const shape& s) {
  const std::int64_t count = tau.re.extent(-1);
  const array one = astype(iota(i32, s, s.rank() - 2) == iota(i32, s, s.rank() - 1), a.re.dtype());
  const value start{one, a.is_complex() ? zeros_like(one) : array()};
  const array all(true, {bool_, false, {s[-1]}});
  return loop_of(count, {start}, [&](const array& k, const values& now) -> values {
    const array i = array(static_cast<double>(count - 1), {i32, false, {}}) - k;
    return {reflected(now[0], kept_vector(a, i, i), element_of(tau, i), all)};
  })[0];
}

}  // namespace tokamax::stablehlo::detail
