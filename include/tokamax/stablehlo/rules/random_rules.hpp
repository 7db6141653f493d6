// tokamax/stablehlo/rules/random_rules.hpp: the rule of rng_bit_generator: bits by threefry and Philox, and the state behind them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/lax/elementwise/mulhi.hpp>      // mulhi
#include <tokamax/lax/indexing/slice.hpp>         // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>     // concatenate, stack
#include <tokamax/random/threefry.hpp>            // threefry_rounds
#include <tokamax/stablehlo/rules/evaluator.hpp>  // rule_entry

#include <span>  // span

namespace tokamax::stablehlo::detail {

// Words of 64 bits as two of 32, and back.
inline array low_word(const array& x) { return astype(x, u32); }
inline array high_word(const array& x) { return astype(shift_right_logical(x, array(32, {u64, false, {}})), u32); }
inline array word_pair(const array& low, const array& high) {
  return bitwise_or(astype(low, u64), shift_left(astype(high, u64), array(32, {u64, false, {}})));
}
/// An element of the state, as a scalar.
inline array element_of_state(const array& state, int k) { return reshape(slice_in_dim(state, k, k + 1, 0), {}); }
inline array count_of(std::int64_t n) { return array(static_cast<double>(n), {u64, false, {}}); }

/// The words of the numbers counter, counter + 1, ... under a key.
inline array threefry_bits(const array& key, const array& counter, std::int64_t count, bool wide) {
  const array at = broadcast_to(counter, {count}) + iota(u64, {count}, 0);
  const auto word = [&](const array& w) { return broadcast_to(w, {count}); };
  const auto [a, b] =
      tokamax::detail::threefry_rounds(word(low_word(key)), word(high_word(key)), low_word(at), high_word(at));
  return wide ? word_pair(a, b) : concatenate({a, b}, 0);
}
/// Four words for each of the numbers of 128 bits from (low, high) on.
/// source  Salmon and others, "Parallel random numbers: as easy as 1, 2, 3": Philox4x32-10
inline array philox_bits(const array& key, const array& low, const array& high, std::int64_t count) {
  const auto all = [&](const array& x) { return broadcast_to(x, {count}); };
  const array first = all(low) + iota(u64, {count}, 0), carry = astype(first < all(low), u64),
              second = all(high) + carry;
  array x[4] = {low_word(first), high_word(first), low_word(second), high_word(second)};
  array k0 = low_word(key), k1 = high_word(key);
  const auto word = [](double v) { return array(v, {u32, false, {}}); };
  for (int round = 0; round < 10; ++round) {
    const array a = word(0xD2511F53), b = word(0xCD9E8D57);
    const array high0 = mulhi(x[0], a), low0 = x[0] * a, high1 = mulhi(x[2], b), low1 = x[2] * b;
    x[0] = bitwise_xor(bitwise_xor(high1, x[1]), all(k0));
    x[1] = low1;
    x[2] = bitwise_xor(bitwise_xor(high0, x[3]), all(k1));
    x[3] = low0;
    k0 = k0 + word(0x9E3779B9);
    k1 = k1 + word(0xBB67AE85);
  }
  return reshape(stack({x[0], x[1], x[2], x[3]}, 1), {4 * count});
}

/// The state is a key and a counter of 64 or 128 bits, which goes on by as many blocks as were used.
/// source  XLA's expansion of rng_bit_generator, which takes the key as high word of the counter if there are two words only
inline values random_bits(const rule_call& c) {
  const array& state = c[0];
  const value_type& t = c.result(1);
  if (state.dtype() != u64 || state.rank() != 1 || state.extent(0) < 2)
    refuse(c.op, "another state", "two or three ui64");
  const int bits = bits_of(t.dtype);
  if (bits < 32) refuse(c.op, "bits of " + std::string(name(t.dtype)), "32 or 64 bits");
  const std::int64_t n = size(c.extents(1)), words_needed = bits == 64 ? 2 * n : n;
  const array key = element_of_state(state, 0), one = element_of_state(state, 1);
  array y;
  arrays next{key};
  if (c.text("rng_algorithm", "DEFAULT") == "THREE_FRY") {
    const std::int64_t count = bits == 64 ? n : (n + 1) / 2;
    y = threefry_bits(key, one, count, bits == 64);
    next.push_back(one + count_of(count));
  } else {
    const bool long_state = state.extent(0) >= 3;
    const array high = long_state ? element_of_state(state, 2) : key;
    const std::int64_t count = (words_needed + 3) / 4;
    y = philox_bits(key, one, high, count);
    const array low = one + count_of(count);
    next.push_back(low);
    if (long_state) next.push_back(high + astype(low < one, u64));
    if (bits == 64) {
      const array pairs = reshape(y, {2 * count, 2});
      y = word_pair(reshape(slice_in_dim(pairs, 0, 1, 1), {2 * count}),
                    reshape(slice_in_dim(pairs, 1, 2, 1), {2 * count}));
    }
  }
  y = bitcast_convert_type(slice_in_dim(y, 0, n, 0), t.dtype);
  return {{stack(next, 0), {}}, {reshape(y, c.extents(1)), {}}};
}

inline std::span<const rule_entry> random_rules() {
  static constexpr rule_entry all[] = {{"stablehlo.rng_bit_generator", "threefry and Philox", random_bits}};
  return all;
}

}  // namespace tokamax::stablehlo::detail
