// tokamax/random/sample_shape.hpp: the shape of samples whose parameters are arrays.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/random/gamma.cpp
#pragma once

#include <tokamax/lax/elementwise/elementwise.hpp>  // broadcast_shapes

namespace tokamax::random::detail {

/// The shape `asked` for, or that of the parameters together if it is {}.
/// errors  `what` if the parameters do not broadcast to it
constexpr shape sample_shape(const char* what, const shape& asked, const array& a, const array& b, source_line l) {
  bool fits = true;
  const shape both = broadcast_shapes(a.shape(), b.shape(), fits);
  const array operands[] = {a, b};
  if (!fits) {
    reject(operands, 2, l, what, b.type(), message("extents of 1 or those of ") << a.type());
    return a.shape();
  }
  if (asked.rank() == 0) return both;
  fits = are_extents(asked) && both.rank() <= asked.rank() && broadcast_shapes(both, asked, fits) == asked && fits;
  if (!fits) reject(operands, 2, l, what, message() << asked, message("a shape that takes parameters ") << both);
  return asked;
}
constexpr shape sample_shape(const char* what, const shape& asked, const array& a, source_line l) {
  return sample_shape(what, asked, a, array(0.0), l);
}

/// Do the bounds of samples broadcast to their shape s? If not, they are rejected: one draw would serve several elements.
constexpr bool check_bounds(const char* what, const shape& s, const array& low, const array& high, source_line l) {
  bool fits = true;
  const shape both = broadcast_shapes(low.shape(), high.shape(), fits);
  fits = fits && both.rank() <= s.rank() && broadcast_shapes(both, s, fits) == s && fits;
  const array bounds[] = {low, high};
  if (!fits)
    reject(bounds, 2, l, what, message(low.type()) << ", " << high.type(), message("bounds that broadcast to ") << s);
  return fits;
}

}  // namespace tokamax::random::detail
