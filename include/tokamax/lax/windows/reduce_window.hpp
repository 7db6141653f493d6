// tokamax/lax/windows/reduce_window.hpp: reductions by any associative function, of whole axes and of windows: reduce, reduce_xor, reduce_window.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (sums and extremes have ops of their own: who combines otherwise includes it)
#pragma once

#include <tokamax/core/trace.hpp>               // trace_into
#include <tokamax/lax/elementwise/bitwise.hpp>  // bitwise_xor
#include <tokamax/lax/indexing/slice.hpp>       // slice, pad
#include <tokamax/lax/reduce.hpp>               // reduce_max_p, reduce_min_p, reduce_and_p
#include <tokamax/lax/shapes/concatenate.hpp>   // concatenate

namespace tokamax {

namespace detail {
/// The op that f applies to its two operands, if it does nothing else and holds no values; null otherwise.
template <class F>
constexpr const op* op_of_pair([[maybe_unused]] const F& f, [[maybe_unused]] dtype type) {
  if constexpr (is_stateless<F>) {
    graph g;
    array result;
    const array some(array_type{type, false, {}});
    trace_into(g, f, result, some, some);
    if (g.error.failed || g.outputs.count() != 1) return nullptr;
    const node& n = g[g.outputs[0]];
    if (n.operand_count != 2 || n.type.dtype != type) return nullptr;
    const int a = g.operand(n, 0), b = g.operand(n, 1);
    return a != b && g.inputs[0] + g.inputs[1] == a + b && (a == g.inputs[0] || b == g.inputs[0]) ? n.op : nullptr;
  }
  return nullptr;
}
/// The reduction whose op is the function of a pair, which has kernels; an array that does not exist for other functions.
constexpr array reduce_by_op(const op* o, const array& x, const axes& dimensions, source_line l) {
  if (o == &add_p) return reduce(described<reduce_sum_p>(), x, {.axis = dimensions}, l);
  if (o == &logical_and_p) return reduce(described<reduce_and_p>(), x, {.axis = dimensions}, l);
  if (o == &logical_or_p) return reduce(described<reduce_or_p>(), x, {.axis = dimensions}, l);
  if (x.size() == 0) return {};
  if (o == &max_p) return reduce(described<reduce_max_p>(), x, {.axis = dimensions}, l);
  if (o == &min_p) return reduce(described<reduce_min_p>(), x, {.axis = dimensions}, l);
  return {};
}
}  // namespace detail

/// Combines all elements along some axes, in a tree whose shape the extents alone fix. A function that is one op, such as
/// a + b, maximum(a, b) or logical_or(a, b), becomes the reduction by that op.
///
///   reduce(x, 1.0f, [](const array& a, const array& b) { return a * b; }, {0})
///
/// shapes  x [...] -> x without the axes; init is a scalar, which `f` must not change: of no elements it is the result
/// dtypes  any that f keeps
/// errors  "reduce: axis", "reduce: type" if f changes the type of its operands
/// source  jax.lax.reduce for one operand. The derivative is that of f
template <class F>
constexpr array reduce(const array& x, const array& init, const F& f, const axes& dimensions,
                       source_line l = source_line::current()) {
  array y = x;
  for (std::int64_t given : dimensions) checked_axis("reduce: axis", given, x, l);
  if (x.rank() == 0) return x;
  if (const array known = detail::reduce_by_op(detail::op_of_pair(f, x.dtype()), x, dimensions, l); known.exists())
    return f(known, broadcast_to(astype(init, x.dtype()), known.shape(), l));
  for (std::int64_t given : dimensions) {
    const int axis = checked_axis("reduce: axis", given, x, l);
    if (is_dyn(y.extent(axis)) && !is_known("reduce", y, l)) return x;
    while (y.extent(axis) > 1) {
      const std::int64_t n = y.extent(axis), half = n / 2;
      array pairs = f(slice_in_dim(y, 0, half, axis, l), slice_in_dim(y, half, 2 * half, axis, l));
      if (pairs.dtype() != x.dtype() || pairs.rank() != x.rank()) {
        reject(x, l, "reduce: type", pairs.type(), x.type());
        return x;
      }
      if (n % 2) pairs = concatenate({pairs, slice_in_dim(y, n - 1, n, axis, l)}, axis, l);
      y = pairs;
    }
    if (y.extent(axis) == 0) {
      shape s = y.shape();
      s[axis] = 1;
      y = broadcast_to(astype(init, x.dtype()), s, l);
    }
  }
  shape rest;
  const axes kept = other_axes(x.rank(), [&] {
    axes a;
    for (std::int64_t given : dimensions) a.push_back(given < 0 ? given + x.rank() : given);
    return a;
  }());
  for (std::int64_t a : kept) rest.push_back(x.extent(static_cast<int>(a)));
  return f(reshape(y, rest, l), broadcast_to(astype(init, x.dtype()), rest, l));
}

/// Which bits are set in an odd number of the elements along some axes; of truth values, whether an odd number is true.
///
/// shapes  x [...] -> x without the axes
/// dtypes  integers, bool
/// errors  "reduce: axis", "bitwise_xor: dtype"
/// source  jax.lax.reduce_xor
constexpr array reduce_xor(const array& x, const axes& dimensions, source_line l = source_line::current()) {
  const array none(0, {x.dtype(), false, {}});
  return reduce(x, none, [](const array& a, const array& b) { return bitwise_xor(a, b); }, dimensions, l);
}

/// Which windows reduce_window has. Empty lists are ones, and zeros for the padding.
struct window_options {
  shape strides{}, low{}, high{};            ///< steps of the window; elements `init` added before and after
  shape base_dilation{}, window_dilation{};  ///< 1 + the number of elements between those of x, and of the window
};

/// Combines the elements of each place of a window.
///
/// Each element of the window is a strided slice of the padded operand, so it is for windows of few elements.
///
/// shapes  x, window of one extent an axis -> (low + dilated x + high - dilated window) / strides + 1 along each
/// dtypes  any that f keeps
/// errors  "reduce_window: window", also beyond 16384 elements
/// source  jax.lax.reduce_window. The derivative is that of f, so that of a maximum is shared where elements are equal
template <class F>
constexpr array reduce_window(const array& x, const array& init, const F& f, const shape& window,
                              const window_options& o = {}, source_line l = source_line::current()) {
  const int rank = x.rank();
  bool ok = window.rank() == rank;
  for (const shape* s : {&o.strides, &o.low, &o.high, &o.base_dilation, &o.window_dilation})
    ok = ok && (s->rank() == 0 || s->rank() == rank);
  shape low, high, between, stride, span;
  std::int64_t elements = 1;
  for (int i = 0; ok && i < rank; ++i) {
    const std::int64_t dilation = o.window_dilation.rank() ? o.window_dilation[i] : 1;
    low.push_back(o.low.rank() ? o.low[i] : 0);
    high.push_back(o.high.rank() ? o.high[i] : 0);
    between.push_back(o.base_dilation.rank() ? o.base_dilation[i] - 1 : 0);
    stride.push_back(o.strides.rank() ? o.strides[i] : 1);
    ok = window[i] > 0 && dilation > 0 && between[i] >= 0 && stride[i] > 0;
    span.push_back(ok ? (window[i] - 1) * dilation + 1 : 1);
    elements = ok && elements <= 16384 / window[i] ? elements * window[i] : 0;
    ok = ok && elements > 0;
  }
  if (!ok) {
    reject(x, l, "reduce_window: window", message() << window,
           message("positive extents for each axis of ") << x.type());
    return x;
  }
  const array wide = pad(x, init, low, high, between, l);
  shape places;
  for (int i = 0; i < rank; ++i)
    places.push_back(wide.extent(i) < span[i] ? 0 : (wide.extent(i) - span[i]) / stride[i] + 1);
  array result = broadcast_to(astype(init, x.dtype()), places, l);
  if (size(places) == 0) return result;
  for (std::int64_t k = 0; k < elements; ++k) {
    shape from, to;
    std::int64_t rest = k, inner = elements;
    for (int i = 0; i < rank; ++i) {
      inner /= window[i];
      from.push_back(rest / inner * (o.window_dilation.rank() ? o.window_dilation[i] : 1));
      rest %= inner;
      to.push_back(from[i] + (places[i] - 1) * stride[i] + 1);
    }
    result = f(result, slice(wide, from, to, stride, l));
  }
  return result;
}

}  // namespace tokamax
