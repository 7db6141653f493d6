// tokamax/complex/products.hpp: products of complex vectors and matrices, as four real ones: matmul, einsum, dot, convolve.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/complex/shapes.hpp>             // ravel
#include <tokamax/numpy/einsum.hpp>               // einsum
#include <tokamax/numpy/matmul.hpp>               // matmul
#include <tokamax/numpy/signal/calculus.hpp>      // convolve
#include <tokamax/numpy/signal/contractions.hpp>  // dot, tensordot

namespace tokamax {

/// f(a, b) for a function that is linear in both: the sums of f of the parts.
template <class F>
constexpr complex_parts bilinear(const F& f, const complex_parts& a, const complex_parts& b) {
  return {f(a.re, b.re) - f(a.im, b.im), f(a.re, b.im) + f(a.im, b.re)};
}
template <class F>
constexpr complex_parts bilinear(const F& f, const complex_parts& a, const array& b) {
  return {f(a.re, b), f(a.im, b)};
}
template <class F>
constexpr complex_parts bilinear(const F& f, const array& a, const complex_parts& b) {
  return {f(a, b.re), f(a, b.im)};
}
/// At least one of two operands is complex.
template <class A, class B>
concept complex_operands =
    (std::is_same_v<A, complex_parts> && (std::is_same_v<B, complex_parts> || std::is_same_v<B, array>)) ||
    (std::is_same_v<A, array> && std::is_same_v<B, complex_parts>);

// The functions of the same names in jax.numpy, where one of the operands may be real.
template <class A, class B>
  requires complex_operands<A, B>
constexpr complex_parts matmul(const A& a, const B& b, source_line l = source_line::current()) {
  return bilinear([&](const array& x, const array& y) { return matmul(x, y, {}, l); }, a, b);
}
template <class A, class B>
  requires complex_operands<A, B>
constexpr complex_parts dot(const A& a, const B& b, source_line l = source_line::current()) {
  return bilinear([&](const array& x, const array& y) { return dot(x, y, l); }, a, b);
}
template <class A, class B>
  requires complex_operands<A, B>
constexpr complex_parts inner(const A& a, const B& b, source_line l = source_line::current()) {
  return bilinear([&](const array& x, const array& y) { return inner(x, y, l); }, a, b);
}
template <class A, class B>
  requires complex_operands<A, B>
constexpr complex_parts outer(const A& a, const B& b, source_line l = source_line::current()) {
  return bilinear([&](const array& x, const array& y) { return outer(x, y, l); }, a, b);
}
template <class A, class B>
  requires complex_operands<A, B>
constexpr complex_parts kron(const A& a, const B& b, source_line l = source_line::current()) {
  return bilinear([&](const array& x, const array& y) { return kron(x, y, l); }, a, b);
}
template <class A, class B>
  requires complex_operands<A, B>
constexpr complex_parts tensordot(const A& a, const B& b, int n = 2, source_line l = source_line::current()) {
  return bilinear([&](const array& x, const array& y) { return tensordot(x, y, n, l); }, a, b);
}
template <class A, class B>
  requires complex_operands<A, B>
constexpr complex_parts einsum(std::string_view equation, const A& a, const B& b,
                               source_line l = source_line::current()) {
  return bilinear([&](const array& x, const array& y) { return einsum(equation, x, y, l); }, a, b);
}
constexpr complex_parts einsum(std::string_view equation, const complex_parts& a,
                               source_line l = source_line::current()) {
  return {einsum(equation, a.re, l), einsum(equation, a.im, l)};
}
template <class A, class B>
  requires complex_operands<A, B>
constexpr complex_parts convolve(const A& a, const B& b, convolve_mode mode = convolve_mode::full,
                                 source_line l = source_line::current()) {
  return bilinear([&](const array& x, const array& y) { return convolve(x, y, mode, l); }, a, b);
}
/// The product of all elements with the conjugates of those of the first operand.
/// source  jax.numpy.vdot
constexpr complex_parts vdot(const complex_parts& a, const complex_parts& b, source_line l = source_line::current()) {
  return dot(ravel(conj(a), l), ravel(b, l), l);
}
/// The product with the conjugates of the second operand in the given order.
/// source  jax.numpy.correlate
constexpr complex_parts correlate(const complex_parts& a, const complex_parts& b,
                                  convolve_mode mode = convolve_mode::valid, source_line l = source_line::current()) {
  return bilinear([&](const array& x, const array& y) { return correlate(x, y, mode, l); }, a, conj(b));
}

}  // namespace tokamax
