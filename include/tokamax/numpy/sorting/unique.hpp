// tokamax/numpy/sorting/unique.hpp: sets of numbers: unique, isin, union1d, intersect1d, setdiff1d, setxor1d.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs have results of unknown sizes)
// tested by tests/numpy/sorting.cpp
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>        // concatenate
#include <tokamax/numpy/elementwise/predicates.hpp>  // isnan
#include <tokamax/numpy/sorting/nonzero.hpp>         // size_or_count
#include <tokamax/numpy/sorting/order.hpp>           // sort, searchsorted

namespace tokamax {

/// The different elements in order, where each first occurs, which of them each element of x is, and how often each
/// occurs. NaN equals NaN.
struct unique_result {
  array values, indices, inverse, counts;
};
/// The options of unique and the functions of sets.
struct unique_options {
  std::int64_t size = sized::counted;  ///< as in `sized`; results that are too long are cut off
  array fill_value = {};  ///< of missing values; by default the smallest of unique, union1d and intersect1d, and 0
  bool equal_nan = true;  ///< does NaN equal NaN? JAX says so in unique, and not in unique_all
};

namespace detail {
/// Of sorted elements, which ones differ from the one before?
constexpr array starts_of_runs(const array& sorted, bool equal_nan = true) {
  const std::int64_t n = sorted.extent(0);
  if (n == 0) return zeros({0}, bool_);
  const array a = slice_in_dim(sorted, 0, n - 1, 0), b = slice_in_dim(sorted, 1, n, 0);
  array differ = a != b;
  if (equal_nan && is_floating(sorted.dtype()))
    differ = logical_and(differ, logical_not(logical_and(isnan(a), isnan(b))));
  return concatenate({array(true, {bool_, false, {1}}), differ}, 0);
}
/// The elements of `sorted` at which `mask` holds, `size` of them.
constexpr array picked(const array& sorted, const array& mask, std::int64_t size, const array& fill) {
  if (sorted.extent(0) == 0) return broadcast_to(astype(fill, sorted.dtype()), {size});
  const array place = true_positions(mask, size), missing = place >= array(sorted.extent(0), {i32, false, {}});
  return select(missing, astype(fill, sorted.dtype()), take(sorted, select(missing, zeros_like(place), place)));
}
/// Rejects a size for which an empty set has no value.
constexpr void refuse_filling(const array& x, std::int64_t size, const unique_options& o, source_line l) {
  if (x.size() == 0 && size > 0 && !o.fill_value.exists())
    reject(x, l, "unique: size", message() << size, "0, or a fill_value for an empty set");
}
constexpr array fill_of_set(const array& sorted, const array& fill) {
  if (fill.exists()) return astype(fill, sorted.dtype());
  if (sorted.extent(0) == 0) return array(0, {sorted.dtype(), false, {}});
  return reshape(slice_in_dim(sorted, 0, 1, 0), {});
}
}  // namespace detail

/// The different elements of x, with all that is known of them.
///
/// shapes  x [...] -> values, indices, counts [size]; inverse like x
/// dtypes  the numbers of elements are i32
/// errors  "unique: size" if a trace does not know it
/// source  jax.numpy.unique with all of its results; unique_all, unique_counts, unique_inverse, unique_values
constexpr unique_result unique_all(const array& x, const unique_options& o = {},
                                   source_line l = source_line::current()) {
  const array flat = ravel(x, l);
  const std::int64_t n = flat.extent(0);
  const arrays sorted = sort(arrays{flat, iota(i32, {n}, 0)}, 0);
  const array starts = detail::starts_of_runs(sorted[0], o.equal_nan);
  const std::int64_t size = detail::size_or_count("unique: size", starts, o.size, l);
  detail::refuse_filling(flat, size, o, l);
  const array fill = detail::fill_of_set(sorted[0], o.fill_value);
  if (n == 0) {
    const array none = zeros({size}, i32);
    return {broadcast_to(fill, {size}), none, zeros(x.shape(), i32), none};
  }
  const array place = true_positions(starts, size), missing = place >= array(n, {i32, false, {}});
  const array inside = select(missing, zeros_like(place), place);
  const array run = cumsum(astype(starts, i32)) - 1;  // the number of the run of each sorted element
  const array inverse = scatter(zeros({n}, i32), sorted[1], run);
  return {select(missing, fill, take(sorted[0], inside)), take(sorted[1], inside), reshape(inverse, x.shape()),
          scatter_add(run, ones({n}, i32), size)};
}
/// The different elements of x, in order.
/// source  jax.numpy.unique
constexpr array unique(const array& x, const unique_options& o = {}, source_line l = source_line::current()) {
  const array sorted = sort(ravel(x, l), 0), starts = detail::starts_of_runs(sorted, o.equal_nan);
  const std::int64_t size = detail::size_or_count("unique: size", starts, o.size, l);
  detail::refuse_filling(sorted, size, o, l);
  return detail::picked(sorted, starts, size, detail::fill_of_set(sorted, o.fill_value));
}

/// Is each element of x among those of `set`? NaN never is.
///
/// shapes  x [...] -> the same
/// dtypes  -> bool
/// source  jax.numpy.isin
constexpr array isin(const array& x, const array& set, bool invert = false, source_line l = source_line::current()) {
  if (set.size() == 0) return array(invert, {bool_, false, x.shape()});
  const promoted p = promote({x.dtype(), x.type().weak}, {set.dtype(), set.type().weak});
  const array sorted = sort(ravel(astype(set, p.type, l)), 0), element = astype(x, p.type, l);
  const array last(sorted.extent(0) - 1, {i32, false, {}});
  const array found = take(sorted, minimum(searchsorted(sorted, element, search_side::left, l), last)) == element;
  if (invert) return logical_not(found);
  return found;
}

namespace detail {
/// The elements of x that are in a set or not, each once.
constexpr array subset(const char* what, const array& x, const array& chosen_by, const unique_options& o, bool inside,
                       source_line l) {
  const array sorted = sort(ravel(x, l), 0),
              mask = logical_and(starts_of_runs(sorted), isin(sorted, chosen_by, !inside));
  const std::int64_t size = size_or_count(what, mask, o.size, l);
  array fill = o.fill_value;
  if (!fill.exists()) fill = array(0, {sorted.dtype(), false, {}});
  if (inside && !o.fill_value.exists() && sorted.extent(0) > 0) {  // the smallest of the result, if it has one
    const array first = minimum(true_positions(mask, 1), array(sorted.extent(0) - 1, {i32, false, {}}));
    fill = select(any(mask), reshape(take(sorted, first), {}), fill);
  }
  return picked(sorted, mask, size, fill);
}
}  // namespace detail

/// The different elements of both; those in both; those of a that are not in b; and those in exactly one.
///
/// shapes  a, b [...] -> [size]
/// dtypes  promoted to one
/// errors  "union1d: size" (and so on) if a trace does not know it
/// source  jax.numpy.union1d, intersect1d, setdiff1d, setxor1d, in which NaN of one set is not that of the other
constexpr array union1d(const array& a, const array& b, const unique_options& o = {},
                        source_line l = source_line::current()) {
  return unique(concatenate({ravel(a, l), ravel(b, l)}, 0, l), o, l);
}
constexpr array setdiff1d(const array& a, const array& b, const unique_options& o = {},
                          source_line l = source_line::current()) {
  const promoted p = promote({a.dtype(), a.type().weak}, {b.dtype(), b.type().weak});
  return detail::subset("setdiff1d: size", astype(a, p.type), b, o, false, l);
}
constexpr array intersect1d(const array& a, const array& b, const unique_options& o = {},
                            source_line l = source_line::current()) {
  const promoted p = promote({a.dtype(), a.type().weak}, {b.dtype(), b.type().weak});
  return detail::subset("intersect1d: size", astype(a, p.type), b, o, true, l);
}
constexpr array setxor1d(const array& a, const array& b, const unique_options& o = {},
                         source_line l = source_line::current()) {
  const array sorted = sort(concatenate({ravel(a, l), ravel(b, l)}, 0, l), 0);
  array mask = logical_and(detail::starts_of_runs(sorted), isin(sorted, a) != isin(sorted, b));  // false for NaN
  if (is_floating(sorted.dtype())) {  // NaN is in neither set: one of each that has some is kept, of those at the end
    const array kept = astype(any(isnan(a)), i32) + astype(any(isnan(b)), i32);
    const array from_end = detail::extent_operand(sorted.extent(0), l) - iota(i32, sorted.shape(), 0);  // n, ..., 1
    mask = logical_or(mask, logical_and(isnan(sorted), from_end <= kept));
  }
  const std::int64_t size = detail::size_or_count("setxor1d: size", mask, o.size, l);
  array fill = o.fill_value;
  if (!fill.exists()) fill = array(0, {sorted.dtype(), false, {}});
  return detail::picked(sorted, mask, size, fill);
}

}  // namespace tokamax
