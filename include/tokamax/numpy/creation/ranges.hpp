// tokamax/numpy/creation/ranges.hpp: numbers in order: arange with a step, linspace, logspace, geomspace, meshgrid.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/creation.cpp
#pragma once

#include <tokamax/core/arrays_of.hpp>                 // arrays_of
#include <tokamax/lax/shapes/concatenate.hpp>         // concatenate
#include <tokamax/numpy/arange.hpp>                   // arange
#include <tokamax/numpy/elementwise/exponential.hpp>  // log10
#include <tokamax/numpy/elementwise/predicates.hpp>   // operand_pair
#include <tokamax/numpy/manipulation/axes.hpp>        // moveaxis

#include <utility>  // cmp_less

namespace tokamax {

namespace detail {
/// How many of start, start + step and so on lie before stop.
template <class Start, class Stop, class Step>
constexpr std::int64_t steps_between(Start start, Stop stop, Step step) {
  if constexpr (std::is_integral_v<Start> && std::is_integral_v<Stop> && std::is_integral_v<Step>) {
    const auto word = [](auto v) { return static_cast<std::uint64_t>(v); };  // differences are right modulo 2^64
    const bool up = std::cmp_greater(step, 0);
    if (up ? !std::cmp_less(start, stop) : !std::cmp_greater(start, stop)) return 0;
    const std::uint64_t distance = up ? word(stop) - word(start) : word(start) - word(stop);
    return static_cast<std::int64_t>((distance - 1) / (up ? word(step) : 0 - word(step)) + 1);
  } else {
    const double steps = (static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step);
    const std::int64_t n = steps > 0 ? static_cast<std::int64_t>(steps) : 0;
    return steps > static_cast<double>(n) ? n + 1 : n;
  }
}
/// May a bound be a dynamic extent, or computed from one? A call outside of traces has none of these.
template <arithmetic T>
constexpr bool may_be_dynamic(T v) {
  if (!std::is_constant_evaluated() && !(current_context.trace && current_context.trace->dynamic)) return false;
  return v < T{} && static_cast<double>(v) < -0x1p48 && static_cast<double>(v) >= -0x1p63;
}
}  // namespace detail

/// start, start + step and so on before stop: integers for integer arguments, f32 otherwise. Integers may be dynamic
/// extents: `arange(past, add_extent(past, t))`.
///
/// errors  "arange: step" of 0; "dynamic extent: arange" if the number of elements cannot be encoded
/// source  jax.numpy.arange
template <arithmetic Start, arithmetic Stop, arithmetic Step = int>
  requires(!std::is_same_v<Stop, dtype>)
constexpr array arange(Start start, Stop stop, Step step = 1, dtype type = dtype::none,
                       source_line l = source_line::current()) {
  constexpr bool counts = std::is_integral_v<Start> && std::is_integral_v<Stop> && std::is_integral_v<Step>;
  if (step == 0) return detail::impossible(f32, "arange: step", "0", "another number", l);
  if (detail::may_be_dynamic(start) || detail::may_be_dynamic(stop) || detail::may_be_dynamic(step)) {
    if constexpr (counts)
      if (const std::int64_t n = ceil_extent(sub_extent(stop, start), step); is_extent(n) && is_extent(start)) {
        const array count = iota(type == dtype::none ? i32 : type, {n}, 0, l);
        return detail::extent_operand(start, l) + count * array(step, {count.dtype(), false, {}});
      }
    return detail::impossible(f32, "dynamic extent: arange", "bounds that are computed",
                              "extents and a step of 1 or more", l);
  }
  const std::int64_t n = detail::steps_between(start, stop, step);
  const dtype counted = counts ? i32 : f32, wanted = type == dtype::none ? counted : type;
  const array count = iota(is_integer(wanted) && !counts ? f32 : wanted, {n}, 0, l);
  const array y = array(start, {count.dtype(), false, {}}) + count * array(step, {count.dtype(), false, {}});
  return astype(y, wanted);
}

/// How linspace, logspace and geomspace count.
struct linspace_options {
  bool endpoint = true;      ///< is `stop` the last number?
  dtype type = dtype::none;  ///< of the result; none: the promotion of the operands, floating
  int axis = 0;              ///< the new axis of the result
};

/// `count` numbers at equal distances from start to stop.
///
///   y[i] = start (1 - i / d) + stop i / d,   d = count - 1, or count without the endpoint
///
/// shapes  start, stop broadcast together -> a new axis
/// dtypes  floats, or f32; an integer type takes the floor
/// errors  "linspace: count" if negative, "moveaxis: axis"
/// source  jax.numpy.linspace
constexpr array linspace(const array& start, const array& stop, std::int64_t count = 50, linspace_options o = {},
                         source_line l = source_line::current()) {
  auto [a, b] = detail::operand_pair(described<add_p>(), start, stop, l);
  if (count < 0) {
    reject(a, l, "linspace: count", message() << count, "0 or more");
    return a;
  }
  const dtype computed = o.type != dtype::none && is_floating(o.type) ? o.type : a.dtype();
  a = expand_dims(astype(a, computed), 0), b = expand_dims(astype(b, computed), 0);
  const std::int64_t d = o.endpoint ? count - 1 : count;
  shape s = a.shape(), ones = s;
  s[0] = o.endpoint && count > 1 ? d : count;
  for (int i = 0; i < ones.rank(); ++i) ones[i] = i ? 1 : s[0];
  array y = broadcast_to(a, s, l);
  if (count > 1) {
    const array t = iota(computed, ones, 0) / array(static_cast<double>(d), {computed, false, {}});
    y = a * (1.0 - t) + b * t;
    if (o.endpoint) y = concatenate({y, b}, 0, l);  // exactly stop
  }
  if (o.type != dtype::none && is_integer(o.type)) y = floor(y);
  return moveaxis(astype(y, o.type == dtype::none ? computed : o.type), 0, o.axis, l);
}
/// base^start to base^stop, with equal ratios.
/// source  jax.numpy.logspace
constexpr array logspace(const array& start, const array& stop, std::int64_t count = 50, const array& base = 10.0,
                         linspace_options o = {}, source_line l = source_line::current()) {
  const dtype type = o.type;
  if (type != dtype::none && is_integer(type)) o.type = dtype::none;
  const array exponents = linspace(start, stop, count, o, l), y = power(astype(base, exponents.dtype()), exponents);
  return astype(y, type == dtype::none ? exponents.dtype() : type);
}
/// start to stop with equal ratios; both have the same sign.
/// source  jax.numpy.geomspace
constexpr array geomspace(const array& start, const array& stop, std::int64_t count = 50, linspace_options o = {},
                          source_line l = source_line::current()) {
  auto [a, b] = detail::operand_pair(described<add_p>(), start, stop, l);
  const dtype type = o.type;
  if (type != dtype::none && is_floating(type)) a = astype(a, type), b = astype(b, type);
  o.type = dtype::none;
  array signs = sign(a);
  const array y = logspace(log10(a / signs), log10(b / signs), count, 10.0, o, l);
  const array signed_y = y * expand_dims(signs, o.axis < 0 ? o.axis + y.rank() : o.axis);
  return astype(signed_y, type == dtype::none ? y.dtype() : type);
}

/// How meshgrid lays out its arrays.
struct meshgrid_options {
  bool xy = true;       ///< the first array runs along the second axis (indexing "xy"), or along the first ("ij")
  bool sparse = false;  ///< leave the other extents at 1
};
/// One array for each list of coordinates, which has the coordinate of each point of their grid.
///
/// shapes  [n0], [n1], ... -> [n1, n0, ...] each (xy), or [n0, n1, ...] (ij)
/// errors  "meshgrid: operand" of more than one axis
/// source  jax.numpy.meshgrid
constexpr arrays meshgrid(const arrays& xs, meshgrid_options o = {}, source_line l = source_line::current()) {
  shape s;
  for (const array& x : xs) {
    if (x.rank() > 1) reject(x, l, "meshgrid: operand", x.type(), "one axis");
    s.push_back(x.size());
  }
  const auto place = [&](int k) { return o.xy && xs.count() > 1 && k < 2 ? 1 - k : k; };
  shape full = s;
  for (int k = 0; k < s.rank(); ++k) full[place(k)] = s[k];
  arrays out;
  for (int k = 0; k < xs.count(); ++k) {
    shape thin;
    for (int i = 0; i < s.rank(); ++i) thin.push_back(i == place(k) ? s[k] : 1);
    const array y = reshape(xs[k], thin, l);
    if (o.sparse)
      out.push_back(y);
    else
      out.push_back(broadcast_to(y, full, l));
  }
  return out;
}
/// The same for a list in braces: `auto [x, y] = meshgrid({arange(3), arange(4)})`.
template <std::size_t Count>
constexpr arrays_of<Count> meshgrid(const array (&xs)[Count], meshgrid_options o = {},
                                    source_line l = source_line::current()) {
  return meshgrid(arrays(xs, Count), o, l);
}
/// The index of each element along each axis of an array of shape s: one array for each axis, in place of the new first axis
/// of NumPy. Sparse ones have extents of 1 along the other axes.
/// source  jax.numpy.indices, mgrid and ogrid of ranges from 0
constexpr arrays indices(const shape& s, dtype type = i32, bool sparse = false,
                         source_line l = source_line::current()) {
  arrays out;
  for (int k = 0; k < s.rank(); ++k) {
    shape thin;
    for (int i = 0; i < s.rank(); ++i) thin.push_back(!sparse || i == k ? s[i] : 1);
    out.push_back(iota(type, thin, k, l));
  }
  return out;
}
/// Index arrays that pick the elements at all combinations of some positions along each axis: x(ix_[0], ix_[1]).
/// source  jax.numpy.ix_
constexpr arrays ix_(const arrays& xs, source_line l = source_line::current()) {
  return meshgrid(xs, {.xy = false, .sparse = true}, l);
}
template <std::size_t Count>
constexpr arrays_of<Count> ix_(const array (&xs)[Count], source_line l = source_line::current()) {
  return ix_(arrays(xs, Count), l);
}

}  // namespace tokamax
