// tokamax/numpy/indexing/choose.hpp: elements by conditions and numbers: select, choose, piecewise, put_along_axis, delete.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/signal.cpp
#pragma once

#include <tokamax/numpy/arange.hpp>        // index_list_of
#include <tokamax/numpy/floor_divide.hpp>  // remainder
#include <tokamax/numpy/indexing/at.hpp>   // x.at

namespace tokamax {

/// Of several arrays the first one whose condition holds, or `otherwise`.
///
/// errors  "select: choices" if there are not as many as conditions, or none
/// source  jax.numpy.select
constexpr array select(const arrays& conditions, const arrays& choices, const array& otherwise = 0,
                       source_line l = source_line::current()) {
  if (conditions.empty() || conditions.count() != choices.count())
    return detail::impossible(f32, "select: choices", message() << choices.count(),
                              message() << conditions.count() << ", 1 or more", l);
  array y = otherwise;
  for (int k = choices.count() - 1; k >= 0; --k) y = select(astype(conditions[k], bool_), choices[k], y, l);
  return y;
}
/// The values of functions of x, each where its condition holds, of several the last; `otherwise` where none does.
/// source  jax.numpy.piecewise
template <class... Functions>
constexpr array piecewise(const array& x, const arrays& conditions, const array& otherwise, const Functions&... f) {
  array y = broadcast_to(astype(otherwise, x.dtype()), x.shape());
  int k = 0;
  ((y = select(conditions[k], astype(array(f(x)), x.dtype()), y), ++k), ...);
  return y;
}

/// Element i of the result is that of array which[i].
///
/// shapes  all broadcast together
/// errors  "choose: choices" if there are none
/// source  jax.numpy.choose with mode "clip", or "wrap"
constexpr array choose(const array& which, const arrays& choices, bool wrap = false,
                       source_line l = source_line::current()) {
  if (choices.empty()) return detail::impossible(f32, "choose: choices", "none", "one or more", l);
  array number = detail::integers_in_i32(which, l);
  if (wrap && bits_of(which.dtype()) >= 32)
    number = astype(remainder(which, array(choices.count(), {which.dtype(), false, {}})), i32);
  else if (wrap)
    number = remainder(number, array(choices.count(), {i32, false, {}}));
  else
    number = maximum(minimum(number, array(choices.count() - 1, {i32, false, {}})), array(0, {i32, false, {}}));
  array y = choices[0];
  for (int k = 1; k < choices.count(); ++k) y = select(number == array(k, {i32, false, {}}), choices[k], y, l);
  return broadcast_to(y, [&] {
    bool ok = true;
    return broadcast_shapes(y.shape(), which.shape(), ok);
  }());
}

/// x with v at the places that i names along one axis: y[..., i[..., j, ...], ...] = v[..., j, ...].
///
/// errors  "put_along_axis: axis", "index: arrays"
/// source  jax.numpy.put_along_axis
constexpr array put_along_axis(const array& x, const array& i, const array& v, int axis,
                               source_line l = source_line::current()) {
  axis = checked_axis("put_along_axis: axis", axis, x, l);
  index_expression each[8];
  const index_expression* list[8] = {};
  arrays places;
  for (int k = 0; k < x.rank() && k < 8; ++k) {
    if (k == axis)
      places.push_back(i);
    else
      places.push_back(iota(i32, i.shape(), k, l));
  }
  for (int k = 0; k < places.count(); ++k) each[k] = index_expression(places[k], l), list[k] = &each[k];
  return indexed_part(x, list, places.count()).set(v);
}
/// x with v at places in row-major order, which repeats as often as it must.
/// source  jax.numpy.put
constexpr array put(const array& x, const array& i, const array& v, source_line l = source_line::current()) {
  const array places = ravel(i, l), flat = ravel(v, l);
  const array number = remainder(iota(i32, places.shape(), 0), array(flat.extent(0), {i32, false, {}}));
  return reshape(ravel(x, l).at(places).set(take(flat, number)), x.shape());
}

/// x with v, which repeats as often as it must, at the places where a mask of as many elements is true, in row-major order.
///
/// errors  "place: mask" of another number of elements, "place: values" if there are none
/// source  jax.numpy.place
constexpr array place(const array& x, const array& mask, const array& v, source_line l = source_line::current()) {
  if (mask.size() != x.size()) {
    reject(mask, l, "place: mask", mask.type(), message("as many elements as ") << x.type());
    return x;
  }
  if (v.size() == 0) {
    reject(v, l, "place: values", v.type(), "elements");
    return x;
  }
  if (x.size() == 0) return x;
  const array here = astype(ravel(mask, l), bool_), values = astype(ravel(v, l), x.dtype());
  const array number =
      maximum(cumsum(astype(here, i32)) - 1, array(0, {i32, false, {}}));  // of the value for each place
  const array wrapped = remainder(number, array(values.extent(0), {i32, false, {}}));
  return reshape(select(here, take(values, wrapped), ravel(x, l)), x.shape());
}

/// Indices along each axis as one number in row-major order; those outside become the nearest.
/// dtypes  integers -> i32, or i64 for more than 2147483647 elements
/// errors  "ravel_multi_index: indices" if there are not as many as extents
/// source  jax.numpy.ravel_multi_index with mode "clip"
constexpr array ravel_multi_index(const arrays& indices, const shape& s, source_line l = source_line::current()) {
  if (indices.count() != s.rank() || s.rank() == 0)
    return detail::impossible(i32, "ravel_multi_index: indices", message() << indices.count(), message() << s, l);
  const shape strides = row_major(s);
  const dtype type = size(s) > most_indices ? i64 : i32;
  const auto number = [&](std::int64_t v) { return array(v, {type, false, {}}); };
  array y = number(0);
  for (int k = 0; k < s.rank(); ++k) {
    const array i = detail::place_in(type, indices[k], l);
    y = y + maximum(minimum(i, number(s[k] - 1)), number(0)) * number(strides[k]);
  }
  return y;
}
/// The index along each axis of elements by their number in row-major order; negative numbers count from the end, and
/// those outside become the nearest.
/// dtypes  integers -> i32, or i64 for more than 2147483647 elements
/// source  jax.numpy.unravel_index
constexpr arrays unravel_index(const array& number, const shape& s, source_line l = source_line::current()) {
  const std::int64_t n = size(s);
  const dtype type = n > most_indices ? i64 : i32;
  const auto constant_of = [&](std::int64_t v) { return array(v, {type, false, {}}); };
  array i = detail::place_in(type, number, l);
  i = select(i < constant_of(0), i + constant_of(n), i);
  i = maximum(minimum(i, constant_of(n - 1)), constant_of(0));
  const shape strides = row_major(s);
  arrays out;
  for (int k = 0; k < s.rank(); ++k)
    out.push_back(remainder(floor_divide(i, constant_of(strides[k] ? strides[k] : 1)), constant_of(s[k] ? s[k] : 1)));
  return out;
}

/// x without the positions of a range along one axis, and x with `values` put before position `at`, or the nearest that
/// there is.
///
/// errors  "delete_: axis", "insert: axis"
/// source  jax.numpy.delete and insert, of a slice or a number
constexpr array delete_(const array& x, const range& r, int axis, source_line l = source_line::current()) {
  axis = checked_axis("delete_: axis", axis, x, l);
  if (x.rank() == 0 || (is_dyn(x.extent(axis)) && !is_known("delete_", x, l))) return x;
  const detail::axis_index out = detail::range_on(r, x.extent(axis));
  vec<std::int64_t> kept;
  for (std::int64_t i = 0; i < x.extent(axis); ++i) {
    bool removed = false;
    for (std::int64_t k = 0; k < out.count; ++k) removed = removed || out.start + k * out.step == i;
    if (!removed) kept.push_back(i);
  }
  return take(x, detail::index_list_of(kept), axis, l);
}
constexpr array delete_(const array& x, std::int64_t at, int axis, source_line l = source_line::current()) {
  return delete_(x, range{at, at == -1 ? range::end : at + 1}, axis, l);
}
constexpr array insert(const array& x, std::int64_t at, const array& values, int axis,
                       source_line l = source_line::current()) {
  axis = checked_axis("insert: axis", axis, x, l);
  if (x.rank() == 0) return x;
  const std::int64_t n = x.extent(axis), place = detail::bound_on(at, n);
  shape s = x.shape();
  s[axis] = 1;
  array v = astype(values, x.dtype());
  if (v.rank() < x.rank()) v = broadcast_to(v.rank() == 0 ? v : expand_dims(v, axis), s, l);
  return concatenate({slice_in_dim(x, 0, place, axis), v, slice_in_dim(x, place, n, axis)}, axis, l);
}

}  // namespace tokamax
