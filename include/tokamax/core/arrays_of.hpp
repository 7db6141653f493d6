// tokamax/core/arrays_of.hpp: a known number of arrays, which can be taken apart.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/op.cpp
#pragma once

#include <tokamax/core/op.hpp>  // arrays

#include <cstddef>  // size_t
#include <tuple>    // tuple_size, tuple_element
#include <utility>  // move

namespace tokamax {

/// `Count` arrays: `auto [quotient, remainder] = divmod(a, b)`. Everything else is as for `arrays`.
template <std::size_t Count>
struct arrays_of : arrays {
  using arrays::arrays;
  constexpr arrays_of(arrays all) : arrays(std::move(all)) {}  // NOLINT: a list whose length is known
  template <std::size_t K>
  constexpr array& get() & {
    return data()[K];
  }
  template <std::size_t K>
  constexpr const array& get() const& {
    return data()[K];
  }
  template <std::size_t K>
  constexpr array&& get() && {
    return std::move(data()[K]);
  }
};

}  // namespace tokamax

template <std::size_t Count>
struct std::tuple_size<tokamax::arrays_of<Count>> : std::integral_constant<std::size_t, Count> {};
template <std::size_t K, std::size_t Count>
struct std::tuple_element<K, tokamax::arrays_of<Count>> {
  using type = tokamax::array;
};
