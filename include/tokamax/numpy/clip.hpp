// tokamax/numpy/clip.hpp: numbers held between two bounds.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/elementwise/division.cpp
#pragma once

#include <tokamax/lax/elementwise/arithmetic.hpp>  // maximum, minimum

namespace tokamax {

/// min(max(x, low), high).
/// source  jax.numpy.clip
constexpr array clip(const array& x, const array& low, const array& high, source_line l = source_line::current()) {
  return minimum(maximum(x, low, l), high, l);
}

}  // namespace tokamax
