// tokamax/benchmarking/elements_as_doubles.hpp: the elements of an array of any dtype as doubles.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/benchmarking/numeric_summary.cpp
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <vector>  // vector

namespace tokamax {

/// The elements in row-major order. Only integers beyond 2^53 are rounded.
/// errors  tokamax::error for an array without data
inline std::vector<double> elements_as_doubles(const array& x) {
  std::vector<double> values(static_cast<std::size_t>(x.size()));
  dispatch(x.dtype(), [&]<dtype E>() {
    const auto* const from = x.data<element_t<E>>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = as_double(element_bits::of(from[i]), E);
  });
  return values;
}

}  // namespace tokamax
