// tokamax/benchmarking/random_initialize.hpp: gives data to abstract arrays, the same for the same seed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree/copy_tree.hpp>  // copy_tree
#include <tokamax/random/key.hpp>           // key, split
#include <tokamax/random/randint.hpp>       // randint
#include <tokamax/random/samplers.hpp>      // normal, bernoulli

#include <algorithm>  // min, max

namespace tokamax {

namespace detail {
inline array random_of_type(const random::key& key, const array_type& type) {
  if (type.dtype == dtype::none || is_dynamic(type.shape))
    throw error(error_kind::shape, "random_initialize: array", std::string(message{type}.view()),
                "a dtype and known extents");
  if (type.dtype == bool_) return random::bernoulli(key, 0.5, type.shape);
  if (is_floating(type.dtype)) {
    const dtype drawn = bits_of(type.dtype) < 16 ? f32 : type.dtype;
    return convert_element_type(random::normal(key, type.shape, drawn), type.dtype);
  }
  const double end = std::min(highest_of(type.dtype) + 1, 128.0), begin = std::max(lowest_of(type.dtype), -end);
  const dtype drawn = is_packed(type.dtype) ? i8 : type.dtype;
  const array low = static_cast<std::int32_t>(begin), high = static_cast<std::int32_t>(end);
  return convert_element_type(random::randint(key, type.shape, low, high, drawn), type.dtype);
}
}  // namespace detail

/// A copy of `tree` in which every abstract array has got data. Arrays that have data keep it. Leaf after leaf takes
/// `auto [now, next] = split(key)`, from the key of the seed on.
///
/// dtypes  floats are standard normal; integers are uniform in [-128, 128) or what of it the dtype can hold, and bool is true
///         with probability 1/2
/// errors  "random_initialize: array" for an array without dtype, or with extents that are not known
/// source  tokamax's random_initialize, with its values (floats to 3 units in the last place)
template <class Tree>
Tree random_initialize(const Tree& tree, std::uint32_t seed = 0) {
  Tree result = copy_tree(tree);
  random::key key(seed);
  for_each_leaf(
      [&](auto& leaf) {
        array& a = static_cast<array&>(leaf);
        if (!a.is_abstract()) return;
        const auto [now, next] = random::split(key);
        a = detail::random_of_type(now, a.type());
        key = next;
      },
      result);
  return result;
}

}  // namespace tokamax
