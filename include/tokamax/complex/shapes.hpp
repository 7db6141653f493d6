// tokamax/complex/shapes.hpp: functions that move complex numbers without computing: both parts in the same way.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/lax/fourier/complex_parts.hpp>  // complex_parts
#include <tokamax/lax/indexing/slice.hpp>         // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>     // concatenate, stack
#include <tokamax/numpy/manipulation/axes.hpp>    // moveaxis, ravel
#include <tokamax/numpy/manipulation/flip.hpp>    // flip, roll
#include <tokamax/numpy/take.hpp>                 // take
#include <tokamax/numpy/where.hpp>                // where

namespace tokamax {

/// f(re) and f(im): what a function that moves elements, or that is linear with real coefficients, is for complex numbers.
///
///   map_parts([](const array& x) { return pad(x, {{0, 1}}); }, z)
template <class F, class... Rest>
constexpr complex_parts map_parts(const F& f, const complex_parts& z, const Rest&... rest) {
  return {f(z.re, rest.re...), f(z.im, rest.im...)};
}

// The functions of the same names in jax.numpy, for complex numbers.
constexpr complex_parts reshape(const complex_parts& z, const shape& s, source_line l = source_line::current()) {
  return {reshape(z.re, s, l), reshape(z.im, s, l)};
}
constexpr complex_parts ravel(const complex_parts& z, source_line l = source_line::current()) {
  return reshape(z, {-1}, l);
}
constexpr complex_parts transpose(const complex_parts& z, source_line l = source_line::current()) {
  return {transpose(z.re, l), transpose(z.im, l)};
}
constexpr complex_parts transpose(const complex_parts& z, const axes& permutation,
                                  source_line l = source_line::current()) {
  return {transpose(z.re, permutation, l), transpose(z.im, permutation, l)};
}
constexpr complex_parts swapaxes(const complex_parts& z, int a, int b, source_line l = source_line::current()) {
  return {swapaxes(z.re, a, b, l), swapaxes(z.im, a, b, l)};
}
constexpr complex_parts moveaxis(const complex_parts& z, int from, int to, source_line l = source_line::current()) {
  return {moveaxis(z.re, from, to, l), moveaxis(z.im, from, to, l)};
}
constexpr complex_parts broadcast_to(const complex_parts& z, const shape& s, source_line l = source_line::current()) {
  return {broadcast_to(z.re, s, l), broadcast_to(z.im, s, l)};
}
constexpr complex_parts expand_dims(const complex_parts& z, int axis, source_line l = source_line::current()) {
  return {expand_dims(z.re, axis, l), expand_dims(z.im, axis, l)};
}
constexpr complex_parts squeeze(const complex_parts& z, int axis, source_line l = source_line::current()) {
  return {squeeze(z.re, axis, l), squeeze(z.im, axis, l)};
}
constexpr complex_parts flip(const complex_parts& z, const axes& axis, source_line l = source_line::current()) {
  return {flip(z.re, axis, l), flip(z.im, axis, l)};
}
constexpr complex_parts roll(const complex_parts& z, const shape& shift, const axes& axis,
                             source_line l = source_line::current()) {
  return {roll(z.re, shift, axis, l), roll(z.im, shift, axis, l)};
}
constexpr complex_parts take(const complex_parts& z, const array& indices, int axis = 0,
                             source_line l = source_line::current()) {
  return {take(z.re, indices, axis, l), take(z.im, indices, axis, l)};
}
constexpr complex_parts slice_in_dim(const complex_parts& z, std::int64_t start, std::int64_t limit, int axis,
                                     source_line l = source_line::current()) {
  return {slice_in_dim(z.re, start, limit, axis, l), slice_in_dim(z.im, start, limit, axis, l)};
}
constexpr complex_parts where(const array& condition, const complex_parts& on_true, const complex_parts& on_false,
                              source_line l = source_line::current()) {
  return {select(condition, on_true.re, on_false.re, l), select(condition, on_true.im, on_false.im, l)};
}

namespace detail {
constexpr complex_parts of_lists(const vec<complex_parts>& zs, const auto& f) {
  arrays re, im;
  for (const complex_parts& z : zs) re.push_back(z.re), im.push_back(z.im);
  return {f(re), f(im)};
}
}  // namespace detail
constexpr complex_parts concatenate(const vec<complex_parts>& zs, int axis = 0,
                                    source_line l = source_line::current()) {
  return detail::of_lists(zs, [&](const arrays& parts) { return concatenate(parts, axis, l); });
}
constexpr complex_parts stack(const vec<complex_parts>& zs, int axis = 0, source_line l = source_line::current()) {
  return detail::of_lists(zs, [&](const arrays& parts) { return stack(parts, axis, l); });
}

}  // namespace tokamax
