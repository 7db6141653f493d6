// tokamax/core/arguments.hpp: how functions refuse the arguments that they share: axes, extents and counts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/op.hpp>  // call

namespace tokamax {

/// Rejects the arguments of a function of `x`. The trace of x records the mistake; without a trace it is thrown.
constexpr void reject(const array& x, location where, const message& what, const message& found,
                      const message& expected) {
  reject(x.trace(), where, what, found, expected);
}
/// The same for a function of several arrays.
constexpr void reject(const array* xs, int n, location where, const message& what, const message& found,
                      const message& expected) {
  graph* g = nullptr;
  for (int i = 0; i < n; ++i) g = xs[i].trace() ? xs[i].trace() : g;
  reject(g, where, what, found, expected);
}

/// Are all extents known? Functions that count while they are traced reject others.
/// errors  "dynamic extent: " and the name of the function
constexpr bool is_known(const char* function, const array& x, location where) {
  if (!is_dynamic(x.shape())) return true;
  reject(x, where, message("dynamic extent: ") << function, x.type(), "extents known when it is traced");
  return false;
}

/// `axis` counted from the front. It is an axis of an array with `new_axes` more axes than x.
/// errors  `what` if there is no such axis; while compiling the result is then 0
constexpr int checked_axis(const char* what, std::int64_t axis, const array& x, location where, int new_axes = 0) {
  const int rank = x.rank() + new_axes;
  if (axis >= 0 && axis < rank) return static_cast<int>(axis);
  if (axis < 0 && axis >= -rank) return static_cast<int>(axis) + rank;
  message expected("an axis of ");
  if (new_axes)
    expected << "rank " << rank;
  else
    expected << x.type();
  reject(x, where, what, message() << axis, expected);
  return 0;
}

namespace detail {
/// Rejects a call if one of the operands first, ..., last does not have the extents `s`.
constexpr bool extents_are(const call& c, int first, int last, const shape& s) {
  for (int i = first; i <= last; ++i)
    if (c[i].shape() != s) {
      c.fail(message(c.self->name) << ": operand " << i, c[i].type(), message("extents ") << s);
      return false;
    }
  return true;
}
/// The extents of an array without its last axis.
constexpr shape leading(const array& x) {
  shape s;
  for (int i = 0; i + 1 < x.rank(); ++i) s.push_back(x.extent(i));
  return s;
}
/// The result of a function without array arguments that has made a mistake. While compiling, it carries the mistake to
/// the trace that it meets; at run time the mistake is thrown.
constexpr array impossible(dtype type, message what, message found, message expected, location where) {
  if (!std::is_constant_evaluated()) throw_error(what, found, expected, where);
  const handle owner = make_floating_graph();
  owner->expression->error = {true, what, found, expected, where};
  const array_type scalar{type, false, {}};
  return array(owner->expression, owner->expression->input(scalar), scalar, owner);
}
/// Rejects a call if its result has a type that no array can have.
constexpr void check_result(const call& c, const array_type& t) {
  const bool ranked = t.shape.count <= max_rank, dynamic = ranked && c.trace && c.trace->dynamic;
  if (__builtin_is_constant_evaluated() && ranked && !dynamic) return;  // sizes are checked when memory is planned
  const char* expected = unmet(t);
  for (std::int64_t e : t.shape)  // a difference of two dynamic extents is a large number
    if (dynamic && e >= std::int64_t{1} << 40) expected = "extents below 2^40";
  if (!expected) return;
  if (dynamic)
    c.fail(message("dynamic extent: ") << c.self->name, c.count ? c[0].type() : t, "extents known when it is traced");
  else
    c.fail(message(c.self->name) << ": shape", t, expected);
}
}  // namespace detail

}  // namespace tokamax
