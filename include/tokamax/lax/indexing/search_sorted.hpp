// tokamax/lax/indexing/search_sorted.hpp: the places of numbers in a sorted line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/indexing/gather.hpp>  // gather
#include <tokamax/lax/reduce.hpp>           // sum

namespace tokamax {

/// Attributes of search_sorted: does a number stand behind those that are equal to it?
struct search_sorted_options {
  bool right = false;
};

namespace detail {
/// A power of two that is at most n, the first step of a search.
constexpr std::int64_t first_search_step(std::int64_t n) {
  std::int64_t step = 1;
  while (step <= n / 2) step *= 2;
  return step;
}
/// `low` elements are known to come before x. Each step asks for as many more, half as many as the step before. The last element
/// stands for those behind it: if it comes before x, all do. Comparisons with NaN are false, so NaN comes before nothing.
constexpr array search_sorted_meaning(const array& sorted, const array& x, bool right) {
  const std::int64_t n = sorted.extent(0);
  if (n == 0) return zeros(x.shape(), i32);
  const auto number = [](std::int64_t count) { return array(count, {i32, false, {}}); };
  array low = zeros(x.shape(), i32);
  for (std::int64_t step = first_search_step(n); step > 0; step /= 2) {
    const array at = gather(sorted, minimum(low + number(step - 1), number(n - 1)));
    low = select(right ? at <= x : at < x, low + number(step), low);
  }
  low = minimum(low, number(n));
  if (!is_floating(x.dtype())) return low;
  // all numbers come before NaN, and the right side of it is the end
  return select(x == x, low, right ? number(n) : sum(astype(sorted == sorted, i32)));
}
}  // namespace detail

inline constexpr op search_sorted_p{
    .name = "search_sorted",
    .cost = {.operations = [](const call& c) -> op_cost { return {static_cast<double>(c[1].size())}; }},
    .attributes = schema<search_sorted_options>,
    .infer = [](const call& c) -> array_type {
      const array_type &sorted = c[0].type(), &x = c[1].type();
      if (sorted.shape.rank() != 1 || is_dyn(sorted.shape[0]) || sorted.shape[0] > (1 << 30))
        return c.fail("search_sorted: sorted", sorted, "one axis of at most 2^30 elements");
      if (sorted.dtype != x.dtype) return c.fail("search_sorted: operand", x, message("numbers like ") << sorted);
      return {i32, false, x.shape};
    },
    .compose = [](const call& c) -> arrays {
      return {detail::search_sorted_meaning(c[0], c[1], c.attrs<search_sorted_options>().right)};
    },
    .kernels = kernels_of<search_sorted_p>,
};

/// The place in the line `sorted` at which each number would be put to keep it sorted, before or behind equal elements; NaN
/// counts as the largest. Each number is compared with log2(n) elements.
///
/// shapes  sorted [n], x [...] -> [...]
/// dtypes  both are the same -> i32
/// errors  "search_sorted: sorted", "search_sorted: operand"
/// source  jax.numpy.searchsorted
constexpr array search_sorted(const array& sorted, const array& x, search_sorted_options o = {},
                              source_line l = source_line::current()) {
  return bind(described<search_sorted_p>(), {sorted, x}, o, l);
}

}  // namespace tokamax
