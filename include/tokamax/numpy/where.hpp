// tokamax/numpy/where.hpp: one of two values by a condition.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/elementwise/compare.cpp
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>  // select

namespace tokamax {

/// condition ? on_true : on_false, element by element, with broadcasting and promotion.
/// source  jax.numpy.where
constexpr array where(const array& condition, const array& on_true, const array& on_false,
                      source_line l = source_line::current()) {
  return select(condition, on_true, on_false, l);
}

}  // namespace tokamax
