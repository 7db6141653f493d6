// tokamax/random/randint.hpp: random integers and random orders.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/division.hpp>  // rem
#include <tokamax/lax/sort.hpp>      // sort
#include <tokamax/numpy/arange.hpp>  // arange
#include <tokamax/numpy/take.hpp>    // take
#include <tokamax/random/key.hpp>    // key, split, bits

namespace tokamax::random {

/// Integers in [low, high); low everywhere if the range is empty.
///
/// shapes  low and high broadcast to s
/// dtypes  -> i32
/// errors  "randint: bound" for a literal outside i32
/// source  jax.random.randint
constexpr array randint(const key& k, const shape& s, const array& low, const array& high,
                        source_line l = source_line::current()) {
  for (const array* bound : {&low, &high})
    if (bound->is_literal() && !(bound->literal() >= lowest_of(i32) && bound->literal() <= highest_of(i32))) {
      reject(k, l, "randint: bound", bound == &low ? "low" : "high", "a number that fits i32");
      return k;
    }
  const auto [k1, k2] = split(k, l);
  const array from = convert_element_type(low, i32), to = convert_element_type(high, i32);
  auto word = [](double v) { return array(v, {u32, false, {}}); };
  array span;  // u32
  if (from.is_literal() && to.is_literal()) {
    span = word(to.literal() > from.literal() ? to.literal() - from.literal() : 1);
  } else {
    span = select(to <= from, word(1), convert_element_type(to, u32) - convert_element_type(from, u32), l);
  }
  array m = rem(word(65536), span, l);  // 2^32 mod span, from its root: the high bits count that much
  m = rem(m * m, span, l);
  const array offset = rem(rem(bits(k1, s, l), span, l) * m + rem(bits(k2, s, l), span, l), span, l);
  return from + convert_element_type(offset, i32);
}

namespace detail {
/// x in random order along an axis. Each round sorts by random words, and there are so many rounds that ties hardly matter.
constexpr array shuffled(key k, array x, int axis, std::int64_t n, source_line l) {
  if (is_dyn(n)) reject(x, l, "dynamic extent: permutation", x.type(), "an extent known when it is traced");
  // words^rounds must exceed n^3: ceil(3 ln n / ln(2^32 - 1)), counted in integers
  const int rounds = n <= 1 ? 0 : n <= 1625 ? 1 : n <= 2642245 ? 2 : 3;
  for (int r = 0; r < rounds; ++r) {
    const auto [next, now] = split(k, l);
    k = next;
    x = sort({bits(now, x.shape(), l), x}, axis, false, l)[1];
  }
  return x;
}
}  // namespace detail

/// 0, 1, ..., n - 1 in random order; none if n is negative.
/// source  jax.random.permutation
constexpr array permutation(const key& k, std::int64_t n, source_line l = source_line::current()) {
  return detail::shuffled(k, arange(n, i32, l), 0, n, l);
}

/// `x` with the entries along `axis` in random order. Whole slices move together, unless `independent` gives every line an
/// order of its own.
/// errors  "permutation: axis"
/// source  jax.random.permutation
constexpr array permutation(const key& k, const array& x, int axis = 0, bool independent = false,
                            source_line l = source_line::current()) {
  axis = checked_axis("permutation: axis", axis, x, l);
  if (x.rank() == 0) return x;
  if (independent) return detail::shuffled(k, x, axis, x.size(), l);
  return take(x, permutation(k, x.extent(axis), l), axis, l);
}

}  // namespace tokamax::random
