// tokamax/complex/holomorphic.hpp: complex functions whose derivative is a formula.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/lax/fourier/complex_parts.hpp>     // complex_parts
#include <tokamax/transforms/custom/custom_jvp.hpp>  // custom_jvp

#include <limits>   // infinity
#include <utility>  // pair

namespace tokamax::detail {

/// f(z), of which derivative(z, f(z)) is the complex derivative. The formulas of f choose between cases by magnitudes and
/// signs, which have no derivative where they change; this one is right everywhere. Both functions have no state.
template <class F, class Derivative>
constexpr complex_parts holomorphic(const complex_parts& z, F f, Derivative) {
  return custom_jvp(f, [](const complex_parts& x, const complex_parts& dx) {
    const complex_parts y = F{}(x);
    return std::pair{y, Derivative{}(x, y) * dx};
  })(z);
}

/// -1 for negative numbers, else 1. x times it is |x| with the derivative 1 at 0, where that of abs is 0.
constexpr array sign_of(const array& x) { return select(x < 0.0f, -1.0f, ones_like(x)); }
constexpr array infinite_like(const array& x) { return full_like(x, std::numeric_limits<double>::infinity()); }
constexpr array is_infinite(const array& x) { return abs(x) == infinite_like(x); }
/// a b, but 0 where a is 0, whatever b is.
constexpr array product_or_zero(const array& a, const array& b) {
  const array y = a * b;
  return select(logical_and(a == 0.0f, y != y), zeros_like(y), y);
}

/// What lengths are made of: the larger and the smaller of |re| and |im|, and their ratio.
struct complex_size {
  array large, small, ratio;
  constexpr complex_size(const array& x, const array& y) {
    const array a = x * sign_of(x), b = y * sign_of(y);
    large = maximum(a, b);
    small = minimum(a, b);
    const array usable = logical_and(large != 0.0f, logical_not(is_infinite(large)));
    ratio = select(usable, small / select(usable, large, 1.0f), select(small == large, 1.0f, zeros_like(large)));
    ratio = select(large == 0.0f, zeros_like(large), ratio);
  }
};
/// The logarithm of |x + i y|, without squares that overflow, vanish, or cancel near 1.
constexpr array log_of_length(const array& x, const array& y) {
  const complex_size s(x, y);
  const array near = logical_and(s.large > 0.5f, s.large < 2.0f), large = select(near, s.large, 1.0f),
              small = select(near, s.small, 0.0f);
  const array far = log(select(near, 1.0f, s.large)) + 0.5f * log1p(s.ratio * s.ratio);
  return select(near, 0.5f * log1p((large - 1.0f) * (large + 1.0f) + small * small), far);
}

}  // namespace tokamax::detail
