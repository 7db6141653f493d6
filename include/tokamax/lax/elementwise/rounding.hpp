// tokamax/lax/elementwise/rounding.hpp: round with a choice of what halves become.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (round to even is in unary.hpp)
// tested by tests/lax/windows/patches.cpp
#pragma once

#include <tokamax/lax/elementwise/unary.hpp>  // round, floor, sign

namespace tokamax {

/// What becomes of numbers halfway between two integers.
enum class rounding_method : std::uint8_t { away_from_zero, to_nearest_even };

/// The nearest integer.
///
/// dtypes  any float; integers become f32
/// source  jax.lax.round and RoundingMethod
constexpr array round(const array& given, rounding_method method, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  if (method == rounding_method::to_nearest_even) return round(x, l);
  const array size = abs(x), below = floor(size, l);
  const array up = size - below >= 0.5;  // the difference has no error, but size + 0.5 might be rounded
  return sign(x) * select(up, below + 1.0, below);
}

}  // namespace tokamax
