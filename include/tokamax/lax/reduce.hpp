// tokamax/lax/reduce.hpp: reductions over axes: sum, max, min, all, any, argmax and argmin.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/unary.hpp>  // for its users: sqrt
#include <tokamax/lax/iota.hpp>               // iota: argmax's gradient-free compose

namespace tokamax {

/// Means all axes. It is the default of every reduction.
inline constexpr axes every_axis = [] {
  axes a;
  a.count = -1;
  return a;
}();

/// The options of a reduction: `sum(x, {.axis = -1, .keepdims = true})`. Functions that take them take axes in their place,
/// too: `sum(x, 0)`, `sum(x, {0, 1})`. They are templates, so that `{0}` and `{0, 1}` are axes for these others.
struct reduce_options {
  axes axis = every_axis;  ///< negative axes count from the end
  bool keepdims = false;   ///< keep the reduced axes with extent 1
};

namespace detail {
/// Sorted and non-negative.
constexpr axes normalized(const axes& axis, int rank) {
  axes a;
  for (int i = 0; i < rank; ++i)
    if (axis.count < 0 || axis.contains(i) || axis.contains(i - rank)) a.push_back(i);
  return a;
}
constexpr array reduce(const op& o, const array& x, const reduce_options& options, location where) {
  const axes axis = normalized(options.axis, x.rank());
  if (options.axis.count >= 0 && axis.rank() != options.axis.rank())
    reject(x, where, message(o.name) << ": axis", message() << options.axis, message("axes of ") << x.type());
  const array y = bind(o, {x}, reduce_attributes{axis}, where);
  if (!options.keepdims) return y;
  shape kept = x.shape();
  for (std::int64_t a : axis) kept[static_cast<int>(a)] = 1;
  return reshape(y, kept);
}
/// Rejects max and min of no elements, which have no value.
constexpr array extreme(const op& o, const char* what, const array& x, const reduce_options& options, source_line l) {
  const axes axis = normalized(options.axis, x.rank());
  for (std::int64_t a : axis)
    if (x.extent(static_cast<int>(a)) == 0) reject(x, l, what, x.type(), message("elements along axis ") << a);
  return reduce(o, x, options, l);
}
constexpr std::int64_t reduced_count(const array& x, const axes& axis) {
  std::int64_t n = 1;
  for (std::int64_t a : normalized(axis, x.rank())) n = mul_extent(n, x.extent(static_cast<int>(a)));
  return n;
}
/// The gradient of max and min goes to the chosen elements, in equal shares where several tie. Ties are counted in f32 at
/// least; JAX counts them in the dtype of x, which may have no number for them.
constexpr arrays choose_vjp(const call& c) {
  const axes axis = c.attrs<reduce_attributes>().axis;
  const array ct = carried(c.ct());
  const array chosen = astype(c[0] == expand_reduced(c.out(), c[0].shape(), axis), ct.dtype());
  const array share = ct / reduce_sum(chosen, axis);
  return astype(chosen * expand_reduced(share, c[0].shape(), axis), c.ct().dtype());
}
constexpr op reduction(op o) {
  o.stablehlo = "stablehlo.reduce";
  o.attributes = schema<reduce_attributes>;
  if (!o.infer) o.infer = reduce_infer;
  if (!o.batch) o.batch = reduce_batch;
  return o;
}
/// The 32 bits in which narrower numbers are summed; truth values are counted.
constexpr dtype summed_in(dtype t) { return is_floating(t) ? f32 : is_unsigned(t) ? u32 : i32; }
}  // namespace detail

/// The sum of narrow numbers in 32 bits: of floats before it is rounded to their dtype, of integers and truth values
/// without a converted copy of them.
inline constexpr op sum_in_32_bits_p = detail::reduction({
    .name = "sum_in_32_bits",
    .algebra = {.linear = true},
    .reduction = {combiner::add},
    .infer = [](const call& c) -> array_type {
      if (bits_of(c[0].dtype()) > 32) return c.fail("sum_in_32_bits: dtype", c[0].type(), "at most 32 bits");
      array_type t = detail::reduce_infer(c);
      t.dtype = detail::summed_in(t.dtype);
      return t;
    },
    .compose = [](const call& c) -> arrays {
      return reduce_sum(astype(c[0], detail::summed_in(c[0].dtype())), c.attrs<reduce_attributes>().axis);
    },
    .kernels = kernels_of<sum_in_32_bits_p>,
});

inline constexpr op reduce_max_p = detail::reduction({
    .name = "reduce_max",
    .reduction = {combiner::maximum},
    .vjp = detail::choose_vjp,
    .kernels = kernels_of<reduce_max_p>,
});
inline constexpr op reduce_min_p = detail::reduction({
    .name = "reduce_min",
    .reduction = {combiner::minimum},
    .vjp = detail::choose_vjp,
    .kernels = kernels_of<reduce_min_p>,
});
inline constexpr op reduce_and_p = detail::reduction({
    .name = "reduce_and",
    .reduction = {combiner::logical_and},
    .vjp = detail::no_gradient,
    .kernels = kernels_of<reduce_and_p>,
});
inline constexpr op reduce_or_p = detail::reduction({
    .name = "reduce_or",
    .reduction = {combiner::logical_or},
    .vjp = detail::no_gradient,
    .kernels = kernels_of<reduce_or_p>,
});

/// Reductions over some axes (all, if none is given).
///
/// shapes  x [...] -> x without `axis` (extent 1 with .keepdims)
/// dtypes  16-bit floats are summed in f32 and rounded once; sums of bool and narrow integers are i32 or u32; all and any
///         give bool
/// errors  "reduce_sum: axis" (and so on) for an axis that x does not have; "max: extents", "min: extents" of no elements
/// source  jax.numpy
template <class = void>
constexpr array sum(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  if (is_floating(x.dtype()) || bits_of(x.dtype()) >= 32) return detail::reduce(described<reduce_sum_p>(), x, o, l);
  return detail::reduce(described<sum_in_32_bits_p>(), x, o, l);
}
constexpr array sum(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return sum(x, {.axis = axis}, l);
}
template <class = void>
constexpr array max(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return detail::extreme(described<reduce_max_p>(), "max: extents", x, o, l);
}
constexpr array max(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return max(x, {.axis = axis}, l);
}
template <class = void>
constexpr array min(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return detail::extreme(described<reduce_min_p>(), "min: extents", x, o, l);
}
constexpr array min(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return min(x, {.axis = axis}, l);
}
template <class = void>
constexpr array all(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return detail::reduce(described<reduce_and_p>(), convert_element_type(x, bool_), o, l);
}
constexpr array all(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return all(x, {.axis = axis}, l);
}
template <class = void>
constexpr array any(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return detail::reduce(described<reduce_or_p>(), convert_element_type(x, bool_), o, l);
}
constexpr array any(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return any(x, {.axis = axis}, l);
}
/// Attributes of argmax and argmin.
struct arg_attributes {
  axis_number axis = {};
};

namespace detail {
constexpr array_type arg_infer(const call& c) {
  const int axis = c.attrs<arg_attributes>().axis;
  if (axis < 0 || axis >= c[0].rank())
    return c.fail(message(c.self->name) << ": axis", message() << axis, message("an axis of ") << c[0].type());
  const std::int64_t n = c[0].extent(axis);
  if (n == 0 || n > std::int64_t{1} << 31)
    return c.fail(message(c.self->name) << ": extent", c[0].type(), message("1 to 2^31 elements along axis ") << axis);
  array_type t{i32, false, {}};
  for (int i = 0; i < c[0].rank(); ++i)
    if (i != axis) t.shape.push_back(c[0].extent(i));
  return t;
}
constexpr arrays arg_batch(const call& c) {
  return bind(*c.self, {c[0]}, arg_attributes{c.attrs<arg_attributes>().axis + 1}, c.where);
}
/// One for each element but the first of those that are compared.
constexpr op_cost comparisons(const call& c) { return {static_cast<double>(c[0].size() - size(c.type.shape))}; }
constexpr array arg_reduce(const op& o, const char* what, const array& x, int axis, location l) {
  return bind(o, {x}, arg_attributes{checked_axis(what, axis, x, l)}, l);
}
}  // namespace detail

inline constexpr op argmax_p{.name = "argmax",
                             .cost = {.operations = detail::comparisons},
                             .attributes = schema<arg_attributes>,
                             .infer = detail::arg_infer,
                             .vjp = detail::no_gradient,
                             .batch = detail::arg_batch,
                             .kernels = kernels_of<argmax_p>};
inline constexpr op argmin_p{.name = "argmin",
                             .cost = {.operations = detail::comparisons},
                             .attributes = schema<arg_attributes>,
                             .infer = detail::arg_infer,
                             .vjp = detail::no_gradient,
                             .batch = detail::arg_batch,
                             .kernels = kernels_of<argmin_p>};

/// Index of the first largest (smallest) element along one axis; NaN counts as the extreme.
/// dtypes  any -> i32
/// errors  "argmax: axis", "argmax: extent" (and so on) for an axis of no elements, or more than i32 counts
/// source  jax.numpy.argmax, jax.numpy.argmin
constexpr array argmax(const array& x, int axis = -1, source_line l = source_line::current()) {
  return detail::arg_reduce(described<argmax_p>(), "argmax: axis", x, axis, l);
}
constexpr array argmin(const array& x, int axis = -1, source_line l = source_line::current()) {
  return detail::arg_reduce(described<argmin_p>(), "argmin: axis", x, axis, l);
}

}  // namespace tokamax
