// tokamax/numpy/indexing/at.hpp: parts of arrays by any indices, x(...), and arrays with parts changed, x.at(...).set(y).
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/indexing.cpp
#pragma once

#include <tokamax/lax/indexing/scatter.hpp>          // scatter
#include <tokamax/lax/sort.hpp>                      // sort
#include <tokamax/lax/stop_gradient.hpp>             // stop_gradient
#include <tokamax/numpy/elementwise/predicates.hpp>  // not_a_number
#include <tokamax/numpy/indexing/plan.hpp>           // index_plan

namespace tokamax {

namespace detail {
/// A part without arrays of indices: slices, in reverse order where steps are negative.
constexpr array static_part(const index_plan& p, const array& x) {
  using kind = index_expression::kind;
  shape start, limit, stride, s;
  axes backward;
  for (int i = 0; i < x.rank(); ++i) start.push_back(0), limit.push_back(x.extent(i)), stride.push_back(1);
  for (const axis_index& a : p.list) {
    if (a.what == kind::new_axis) {
      s.push_back(1);
      continue;
    }
    const std::int64_t n = x.extent(a.axis), step = a.step < 0 ? -a.step : a.step;
    std::int64_t from = a.start, count = a.count;
    if (a.what == kind::number) {
      if (!is_dyn(n) && !is_dyn(from)) {  // others are inside
        from = from < 0 ? from + n : from;
        from = from < 0 ? 0 : from >= n ? n - 1 : from;
      }
      count = 1;
    } else {
      s.push_back(count);
      if (a.step < 0 && count > 0) from += (count - 1) * a.step, backward.push_back(a.axis);
      if (count == 0) from = 0;
    }
    start[a.axis] = from;
    limit[a.axis] = is_dyn(count) ? a.limit : count == 0 ? from : add_extent(from, (count - 1) * step + 1);
    stride[a.axis] = step;
  }
  for (int i = p.leading; i < x.rank(); ++i) {
    bool named = false;
    for (const axis_index& a : p.list) named = named || a.axis == i;
    if (!named) s.push_back(x.extent(i));
  }
  array y = slice(x, start, limit, stride, p.where);
  if (backward.rank()) y = reverse(y, backward, p.where);
  return reshape(y, s, p.where);
}
/// Does an index of one number name an axis without elements?
constexpr bool names_nothing(const index_plan& p, const array& x) {
  for (const axis_index& a : p.list)
    if (a.axis >= 0 && x.extent(a.axis) == 0 && a.what != index_expression::kind::range &&
        (a.what == index_expression::kind::number || a.indices.size() > 0)) {
      reject(x, p.where, "index: extent", x.type(), message("elements along axis ") << a.axis);
      return true;
    }
  return false;
}
/// Is one of the numbers outside of its axis?
constexpr bool number_outside(const index_plan& p, const array& x) {
  for (const axis_index& a : p.list)
    if (a.what == index_expression::kind::number && !is_dyn(a.start) && !is_dyn(x.extent(a.axis)) &&
        (a.start < -x.extent(a.axis) || a.start >= x.extent(a.axis)))
      return true;
  return false;
}
/// What an element outside reads as: the given value, or for NaN that of gather, which integers have too.
constexpr array outside_value(const array& x, double fill) {
  if (fill == fill || is_floating(x.dtype())) return number_like(x, fill);
  return dispatch(x.dtype(), [&]<dtype T>() {
    using limits = std::numeric_limits<element_t<T>>;
    return array(element_bits::of(is_signed(T) ? limits::lowest() : limits::max()), {T, false, {}});
  });
}
constexpr array part_of(const index_plan& p, const array& x, index_mode mode, double fill) {
  if (!p.ok || names_nothing(p, x)) return x;
  const bool by_default = mode == index_mode::by_default, clips = by_default || mode == index_mode::clip;
  if (!p.arrays) {
    const array y = static_part(p, x);
    if (clips || mode == index_mode::promise_in_bounds || !number_outside(p, x)) return y;
    return broadcast_to(outside_value(x, fill), y.shape());
  }
  const array table = rows_of(x, p.leading);
  if (!clips) {
    const index_places at = places_of_plan(p, x, mode);
    const array y = gather(table, at.rows, p.where);
    if (!at.inside.exists() || fill != fill) return y;
    return select(over_rows(at.inside, y), y, number_like(y, fill));
  }
  const array y = gather(table, places_of_plan(p, x, index_mode::clip).rows, p.where);
  if (!by_default || !is_floating(x.dtype())) return y;
  // by default an element outside is the nearest one, which gets no gradient from it
  const index_places at = places_of_plan(p, x, index_mode::drop);
  return select(over_rows(at.inside, y), y, stop_gradient(y));
}
}  // namespace detail

/// How `x.at(...)` treats indices outside.
struct at_options {
  index_mode mode = index_mode::by_default;  ///< get clips, all others drop
  double fill_value = detail::not_a_number;  ///< of get with mode fill; NaN: NaN, or the lowest or highest integer
};

/// The part of an array that indices name, and arrays in which it is changed. The array itself stays as it is; a program
/// that no longer needs it writes over it.
///
///   x.at(i).get(), .set(y), .add(y), .subtract(y), .multiply(y), .divide(y), .min(y), .max(y), .power(y), .apply(f)
///
/// shapes  y broadcasts to the part
/// dtypes  y is converted to the dtype of x
/// errors  those of the indices; "broadcast_to: shape" for y
/// source  jax.numpy.ndarray.at; an element that is named several times gets all updates of add, multiply, divide, min, max
///         and power, the last one of set, where JAX leaves the order open, and f once, which JAX applies each time
class indexed_part {
 public:
  constexpr indexed_part(const array& x, const index_expression* const* list, int n)
      : x_(x), plan_(detail::plan_of(x, list, n)) {}

  constexpr array get(at_options o = {}) const { return detail::part_of(plan_, x_, o.mode, o.fill_value); }
  constexpr array set(const array& y, at_options o = {}) const {
    if (changes_nothing(y, o)) return x_;
    const target t(*this, y, o);
    return back(scatter(t.table, t.rows, t.updates, {}, plan_.where));
  }
  constexpr array add(const array& y, at_options o = {}) const {
    if (changes_nothing(y, o)) return x_;
    const target t(*this, y, o);
    return back(scatter_add(t.table, t.rows, t.updates, plan_.where));
  }
  constexpr array subtract(const array& y, at_options o = {}) const { return add(-y, o); }
  constexpr array multiply(const array& y, at_options o = {}) const {
    return combine(y, o, [](const array& a, const array& b) { return a * b; });
  }
  constexpr array mul(const array& y, at_options o = {}) const { return multiply(y, o); }
  constexpr array min(const array& y, at_options o = {}) const {
    return combine(y, o, [](const array& a, const array& b) { return minimum(a, b); });
  }
  constexpr array max(const array& y, at_options o = {}) const {
    return combine(y, o, [](const array& a, const array& b) { return maximum(a, b); });
  }
  /// x / y there: one division by the product of all divisors of an element. Integers become floats first.
  constexpr array divide(const array& y, at_options o = {}) const {
    const indexed_part floats(detail::in_floats(x_), plan_);
    const auto product = [](const array& a, const array& b) { return a * b; };
    return floats.combine(y, o, product, [](const array& a, const array& b) { return a / b; });
  }
  /// x^y there, with the product of all exponents of an element.
  constexpr array power(const array& y, at_options o = {}) const {
    const auto product = [](const array& a, const array& b) { return a * b; };
    return combine(y, o, product,
                   [](const array& a, const array& b) { return astype(tokamax::power(a, b), a.dtype()); });
  }
  /// f(part) there, once for each element, however often it is named.
  template <class F>
  constexpr array apply(const F& f, at_options o = {}) const {
    return set(f(get()), o);
  }

 private:
  constexpr indexed_part(const array& x, const detail::index_plan& plan) : x_(x), plan_(plan) {}

  /// The table of rows, the places of the updates in it, and the updates as rows.
  struct target {
    array table, rows, updates;
    constexpr target(const indexed_part& part, const array& y, const at_options& o) {
      const array& x = part.x_;
      const index_mode mode =
          o.mode == index_mode::by_default || o.mode == index_mode::fill ? index_mode::drop : o.mode;
      const detail::index_places at = detail::places_of_plan(part.plan_, x, mode);
      table = detail::rows_of(x, part.plan_.leading);
      rows = at.rows;
      updates = broadcast_to(convert_element_type(y, x.dtype()), at.kept, part.plan_.where);
    }
  };
  /// Is the part outside of the array, or wrong?
  constexpr bool changes_nothing(const array& y, const at_options& o) const {
    if (!plan_.ok) return true;
    if (o.mode == index_mode::clip || o.mode == index_mode::promise_in_bounds) return false;
    if (!detail::number_outside(plan_, x_)) return false;
    if (!plan_.arrays) broadcast_to(y, detail::static_part(plan_, x_).shape(), plan_.where);  // checks the shape
    return true;
  }
  constexpr array back(const array& table) const { return reshape(table, x_.shape()); }

  /// Updates of one row are combined in log2(n) steps after sorting them by row, and each row is then written once more
  /// than it need be, with the complete combination last.
  template <class F>
  constexpr array combine(const array& y, const at_options& o, const F& f) const {
    return combine(y, o, f, f);
  }
  /// The same with `join` for the updates of one row and `change` for the row and their combination.
  template <class Join, class Change>
  constexpr array combine(const array& y, const at_options& o, const Join& join, const Change& change) const {
    if (changes_nothing(y, o)) return x_;
    const target t(*this, y, o);
    const std::int64_t n = t.rows.size();
    if (n == 0) return x_;
    const array flat = reshape(t.rows, {n});
    const arrays order = sort(arrays{flat, iota(i32, {n}, 0)}, 0);
    array total = gather(detail::rows_of(t.updates, t.rows.rank()), order[1]);
    for (std::int64_t d = 1; d < n; d *= 2) {
      const array before = slice_in_dim(total, 0, n - d, 0), here = slice_in_dim(total, d, n, 0);
      const array same = slice_in_dim(order[0], 0, n - d, 0) == slice_in_dim(order[0], d, n, 0);
      const array joined = select(detail::over_rows(same, here), join(before, here), here);
      total = concatenate({slice_in_dim(total, 0, d, 0), joined}, 0);
    }
    const array inside = maximum(order[0], zeros_like(order[0]));
    return back(scatter(t.table, order[0], change(gather(t.table, inside), total), {}, plan_.where));
  }

  array x_;
  detail::index_plan plan_;
};

constexpr array array::operator()(const index_expression& a, const index_expression& b, const index_expression& c,
                                  const index_expression& d, const index_expression& e, const index_expression& f,
                                  const index_expression& g, const index_expression& h) const {
  const index_expression* const list[] = {&a, &b, &c, &d, &e, &f, &g, &h};
  return indexed_part(*this, list, 8).get();
}
constexpr array array::operator[](const array_index& i) const { return (*this)(index_expression(i.indices, i.where)); }
constexpr indexed_part array::at(const index_expression& a, const index_expression& b, const index_expression& c,
                                 const index_expression& d, const index_expression& e, const index_expression& f,
                                 const index_expression& g, const index_expression& h) const {
  const index_expression* const list[] = {&a, &b, &c, &d, &e, &f, &g, &h};
  return indexed_part(*this, list, 8);
}

}  // namespace tokamax
