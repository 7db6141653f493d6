// tokamax/numpy/sorting/nonzero.hpp: where the elements that are not zero are: nonzero, argwhere, compress, extract.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs have results of unknown sizes)
// tested by tests/numpy/sorting.cpp
#pragma once

#include <tokamax/lax/elementwise/division.hpp>     // quotient, rem
#include <tokamax/lax/indexing/true_positions.hpp>  // true_positions
#include <tokamax/lax/reduce.hpp>                   // sum
#include <tokamax/lax/shapes/concatenate.hpp>       // stack
#include <tokamax/numpy/manipulation/axes.hpp>      // ravel
#include <tokamax/numpy/take.hpp>                   // take

namespace tokamax {

/// How many entries a result has whose number depends on data, and what fills those that are missing.
struct sized {
  static constexpr std::int64_t counted = -1;
  std::int64_t size = counted;  ///< by default as many as there are, which needs data and so no trace
  double fill_value = 0;
};

namespace detail {
/// The number of entries: given, or counted in data.
/// errors  `what` in a trace, where it must be given
constexpr std::int64_t size_or_count(const char* what, const array& mask, std::int64_t size, location l) {
  if (size >= 0) return size;
  if (size != sized::counted) reject(mask, l, what, message() << size, "0 or more");
  if (!std::is_constant_evaluated() && mask.is_concrete() && !mask.trace())
    return static_cast<std::int64_t>(sum(astype(mask, bool_)).template item<std::int32_t>());
  reject(mask, l, what, "unknown in a trace", "a size");
  return 0;
}
}  // namespace detail

/// The indices along each axis of the elements that are not zero, in row-major order: one array an axis.
///
/// shapes  x [e, ...] -> [size] for each axis
/// dtypes  any -> i32
/// errors  "nonzero: size" if a trace does not know it, "nonzero: operand" of a scalar
/// source  jax.numpy.nonzero
constexpr arrays nonzero(const array& x, sized o = {}, source_line l = source_line::current()) {
  if (x.rank() == 0) {
    reject(x, l, "nonzero: operand", x.type(), "an axis");
    return x;
  }
  const array mask = astype(ravel(x, l), bool_);
  if (x.size() == 0 && o.size > 0) o.fill_value = 0;  // as in JAX
  const std::int64_t size = detail::size_or_count("nonzero: size", mask, o.size, l);
  const array number = true_positions(mask, size), missing = number >= array(mask.extent(0), {i32, false, {}});
  const shape strides = row_major(x.shape());
  arrays out;
  for (int i = 0; i < x.rank(); ++i) {
    array index = number;  // never negative, so the first axis needs no remainder, and the last one no quotient
    if (strides[i] > 1) index = quotient(index, array(strides[i], {i32, false, {}}), l);
    if (i > 0) index = rem(index, array(x.extent(i) ? x.extent(i) : 1, {i32, false, {}}), l);
    out.push_back(select(missing, array(static_cast<std::int64_t>(o.fill_value), {i32, false, {}}), index));
  }
  return out;
}
/// The same as one row for each element, [size, axes]; and the numbers of the elements in row-major order.
/// source  jax.numpy.argwhere, flatnonzero
constexpr array argwhere(const array& x, sized o = {}, source_line l = source_line::current()) {
  if (x.rank() == 0) {
    const std::int64_t size = detail::size_or_count("nonzero: size", x, o.size, l);
    return zeros({size, 0}, i32);
  }
  return stack(nonzero(x, o, l), 1, l);
}
constexpr array flatnonzero(const array& x, sized o = {}, source_line l = source_line::current()) {
  return nonzero(ravel(x, l), o, l)[0];
}
/// where(condition) is nonzero(condition).
/// source  jax.numpy.where with one argument
constexpr arrays where(const array& condition, sized o = {}, source_line l = source_line::current()) {
  return nonzero(condition, o, l);
}

/// The entries of x along `axis` where the condition holds; missing ones are fill_value.
///
/// shapes  condition [n], no longer than the axis -> extent size
/// errors  "compress: condition", "compress: size", "compress: axis"
/// source  jax.numpy.compress
constexpr array compress(const array& condition, const array& x, int axis, sized o = {},
                         source_line l = source_line::current()) {
  axis = checked_axis("compress: axis", axis, x, l);
  if (condition.rank() != 1 || x.rank() == 0 || condition.extent(0) > x.extent(axis)) {
    reject(condition, l, "compress: condition", condition.type(),
           message("at most axis ") << axis << " of " << x.type());
    return x;
  }
  const array mask = astype(condition, bool_);
  const std::int64_t size = detail::size_or_count("compress: size", mask, o.size, l);
  const array number = true_positions(mask, size), missing = number >= array(mask.extent(0), {i32, false, {}});
  const array inside = select(missing, zeros_like(number), number);
  const array picked = take(x, inside, axis, l);
  const array filler(o.fill_value, {x.dtype(), false, {}});
  return select(broadcast_in_dim(missing, picked.shape(), {axis}), filler, picked);
}
/// The same of all elements in row-major order.
/// source  jax.numpy.compress without an axis, jax.numpy.extract
constexpr array compress(const array& condition, const array& x, sized o = {}, source_line l = source_line::current()) {
  return compress(condition, ravel(x, l), 0, o, l);
}
constexpr array extract(const array& condition, const array& x, sized o = {}, source_line l = source_line::current()) {
  return compress(ravel(condition, l), ravel(x, l), 0, o, l);
}

}  // namespace tokamax
