// tokamax/transforms/apply_along_axis.hpp: functions of parts of an array: apply_along_axis, apply_over_axes, fromfunction.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (vmap is what they are made of)
// tested by tests/transforms/map.cpp
#pragma once

#include <tokamax/lax/iota.hpp>                 // iota
#include <tokamax/numpy/manipulation/axes.hpp>  // moveaxis, expand_dims
#include <tokamax/transforms/vmap.hpp>          // vmap

#include <cstddef>  // size_t
#include <utility>  // index_sequence

namespace tokamax {

/// f of all lines along one axis, whose results take the place of the lines.
///
///   apply_along_axis([](const array& line) { return cumsum(line); }, 0, x)
///
/// shapes  x [a..., n, b...], f of [n] gives [r...] -> [a..., r..., b...]
/// errors  "apply_along_axis: axis"
/// source  jax.numpy.apply_along_axis
template <class F>
constexpr array apply_along_axis(const F& f, int axis, const array& x, source_line l = source_line::current()) {
  axis = checked_axis("apply_along_axis: axis", axis, x, l);
  if (x.rank() == 0) return x;
  const array last = moveaxis(x, axis, x.rank() - 1, l);
  shape others;
  std::int64_t lines = 1;
  for (int k = 0; k + 1 < x.rank(); ++k) others.push_back(last.extent(k)), lines = mul_extent(lines, last.extent(k));
  const auto of_line = [&](const array& line) -> array { return f(line); };
  const array y = vmap(of_line, {}, l)(reshape(last, {lines, x.extent(axis)}, l));  // [lines, r...]
  shape apart = others;
  for (int k = 1; k < y.rank(); ++k) apart.push_back(y.extent(k));
  axes order;
  for (int k = 0; k < axis; ++k) order.push_back(k);
  for (int k = others.rank(); k < apart.rank(); ++k) order.push_back(k);
  for (int k = axis; k < others.rank(); ++k) order.push_back(k);
  return transpose(reshape(y, apart, l), order, l);
}

/// f(x, axis) for one axis after the other. A result without the axis gets it back with extent 1.
///
/// errors  "apply_over_axes: axis"; "apply_over_axes: rank" if f changes it by more than the axis
/// source  jax.numpy.apply_over_axes
template <class F>
constexpr array apply_over_axes(const F& f, const array& x, const axes& over, source_line l = source_line::current()) {
  array y = x;
  for (std::int64_t given : over) {
    const int axis = checked_axis("apply_over_axes: axis", static_cast<int>(given), x, l);
    const array next = f(y, axis);
    if (next.rank() != y.rank() && next.rank() + 1 != y.rank()) {
      reject(x, l, "apply_over_axes: rank", next.type(), message("that of ") << y.type() << ", or one less");
      return x;
    }
    y = next.rank() == y.rank() ? next : expand_dims(next, axis, l);
  }
  return y;
}

/// f(i, j, ...) of arrays that hold the indices of each element along each axis.
///
///   fromfunction([](const array& i, const array& j) { return i + 10 * j; }, {2, 3})
///
/// shapes  as many arguments as extents, each with these extents
/// source  jax.numpy.fromfunction
template <class F, std::size_t Rank>
constexpr array fromfunction(const F& f, const std::int64_t (&extents)[Rank], dtype type = f32,
                             source_line l = source_line::current()) {
  shape s;
  for (std::int64_t n : extents) s.push_back(n);
  return [&]<std::size_t... K>(std::index_sequence<K...>) -> array {
    return f(iota(type, s, static_cast<int>(K), l)...);
  }(std::make_index_sequence<Rank>{});
}

}  // namespace tokamax
