// tokamax/numpy/arange.hpp: numbers in order, and the identity matrix: arange and eye.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/iota.cpp
#pragma once

#include <tokamax/lax/iota.hpp>  // iota

namespace tokamax {

namespace detail {
/// Indices as a table of i32.
constexpr array index_list_of(const vec<std::int64_t>& list) {
  vec<element_bits> bits;
  for (std::int64_t v : list) bits.push_back(element_bits::of(static_cast<std::int32_t>(v)));
  return table_of({i32, false, {static_cast<std::int64_t>(list.size())}}, bits);
}
}  // namespace detail

/// 0, 1, ..., n - 1; none if n is negative. n may be a dynamic extent.
/// errors  "iota: extent" if the dtype cannot count to n; "iota: shape" for what arithmetic made of a dynamic extent
/// source  jax.numpy.arange
constexpr array arange(std::int64_t n, dtype type = i32, source_line l = source_line::current()) {
  return iota(type, {n < 0 && !detail::comes_of_extent(n) ? 0 : n}, 0, l);
}

/// The n x n identity matrix.
constexpr array eye(std::int64_t n, dtype type = f32, source_line l = source_line::current()) {
  return convert_element_type(iota(i32, {n, n}, 0, l) == iota(i32, {n, n}, 1, l), type, false, l);
}

}  // namespace tokamax
