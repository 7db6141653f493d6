// tokamax/random/randint.hpp: random integers and random orders.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/division.hpp>  // rem
#include <tokamax/lax/indexing/slice.hpp>        // slice_in_dim
#include <tokamax/lax/sort.hpp>                  // sort
#include <tokamax/numpy/arange.hpp>              // arange
#include <tokamax/numpy/take.hpp>                // take
#include <tokamax/random/key.hpp>                // key, split, bits
#include <tokamax/random/sample_shape.hpp>       // check_bounds

namespace tokamax::random {

namespace detail {
/// Random bits of u32, a word of a hash, or of u64, both of its words.
constexpr array bits_as(const key& k, const shape& s, dtype type, source_line l) {
  if (type == u32) return bits(k, s, l);
  const array both = split(k, s, l);
  const auto word = [&](int i) {
    return convert_element_type(reshape(slice_in_dim(both, i, i + 1, s.rank(), l), s, l), u64);
  };
  return word(0) * array(4294967296.0, {u64, false, {}}) + word(1);
}
}  // namespace detail

/// Integers in [low, high); low everywhere if the range is empty.
///
/// shapes  low and high broadcast to s
/// dtypes  -> `type`, any integer dtype of 8 bits or more
/// errors  "randint: dtype", "randint: bound" for a literal outside of it, "randint: bounds" that do not broadcast to s
/// source  jax.random.randint
constexpr array randint(const key& k, const shape& s, const array& low, const array& high, dtype type = i32,
                        source_line l = source_line::current()) {
  if (!is_integer(type) || is_packed(type)) {
    reject(k, l, "randint: dtype", name(type), "integers of 8 bits or more");
    return k;
  }
  if (!detail::check_bounds("randint: bounds", s, low, high, l)) return zeros(s, type);
  const bool narrow = bits_of(type) < 32;  // drawn in i32, where the end of a range may be one more than its dtype has
  for (const array* bound : {&low, &high}) {
    const double end = highest_of(type) + (narrow && bound == &high);
    if (bound->is_literal() && !(bound->literal() >= lowest_of(type) && bound->literal() <= end)) {
      reject(k, l, "randint: bound", bound == &low ? "low" : "high", message("a number that fits ") << name(type));
      return k;
    }
  }
  if (narrow) return convert_element_type(randint(k, s, low, high, i32, l), type);
  const auto [k1, k2] = split(k, l);
  const dtype word_type = narrowest(dtype_kind::unsigned_integer, bits_of(type));
  const array from = convert_element_type(low, type), to = convert_element_type(high, type);
  auto word = [&](double v) { return array(v, {word_type, false, {}}); };
  array span;  // unsigned, and 1 for an empty range
  if (from.is_literal() && to.is_literal() && bits_of(type) < 64) {
    span = word(to.literal() > from.literal() ? to.literal() - from.literal() : 1);
  } else {
    span = select(to <= from, word(1), convert_element_type(to, word_type) - convert_element_type(from, word_type), l);
  }
  // 2^bits mod span, from its root: the high bits count that much.
  array m = rem(word(static_cast<double>(std::uint64_t{1} << bits_of(type) / 2)), span, l);
  m = rem(m * m, span, l);
  const array high_bits = rem(detail::bits_as(k1, s, word_type, l), span, l),
              low_bits = rem(detail::bits_as(k2, s, word_type, l), span, l);
  return from + convert_element_type(rem(high_bits * m + low_bits, span, l), type);
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
