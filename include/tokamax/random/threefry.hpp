// tokamax/random/threefry.hpp: threefry2x32, the counter-based generator behind all random numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/bitwise.hpp>  // xor: the meaning in smaller ops
#include <tokamax/lax/indexing/slice.hpp>       // slice: the words of a key
#include <tokamax/lax/iota.hpp>                 // iota: the counters

namespace tokamax {

/// Attributes of threefry2x32: the words that each key makes.
struct threefry_options {
  shape extents;       ///< counters first, first + 1, ... in this shape
  bool pairs = false;  ///< keep both words of a hash as a last axis of 2; otherwise their exclusive or
};

constexpr array threefry2x32(const array& keys, const array& first, const shape& extents, bool pairs,
                             source_line l = source_line::current());

namespace detail {
struct two_words {
  array high, low;
};
/// The 20 rounds of threefry2x32 on arrays of one shape.
constexpr two_words threefry_rounds(array k0, array k1, array x0, array x1) {
  constexpr int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const array k[3] = {k0, k1, bitwise_xor(bitwise_xor(k0, k1), array(double(0x1BD11BDA), {u32, false, {}}))};
  x0 = x0 + k[0];
  x1 = x1 + k[1];
  for (int i = 0; i < 5; ++i) {
    for (int r : turns[i % 2]) {
      x0 = x0 + x1;
      x1 = bitwise_xor(bitwise_or(shift_left(x1, r), shift_right_logical(x1, 32 - r)), x0);
    }
    x0 = x0 + k[(i + 1) % 3];
    x1 = x1 + k[(i + 2) % 3] + array(i + 1.0, {u32, false, {}});
  }
  return {x0, x1};
}
}  // namespace detail

inline constexpr op threefry2x32_p{
    .name = "threefry2x32",
    .attributes = schema<threefry_options>,
    .infer = [](const call& c) -> array_type {
      const auto [extents, pairs] = c.attrs<threefry_options>();
      const array &keys = c[0], &first = c[1];
      bool ok = keys.dtype() == u32 && keys.rank() > 0 && keys.extent(-1) == 2;
      if (!ok) return c.fail("random: key", keys.type(), "u32[2]");
      if (!are_extents(extents)) return c.fail("random: shape", message() << extents, "extents from 0 on");
      ok = first.dtype() == u32 && first.rank() == keys.rank() - 1;
      for (int i = 0; ok && i < first.rank(); ++i) ok = first.extent(i) == keys.extent(i);
      if (!ok)
        return c.fail("threefry2x32: first counter", first.type(), message("u32, one per key of ") << keys.type());
      array_type t = first.type();
      t.weak = false;
      for (std::int64_t e : extents) t.shape.push_back(e);
      if (pairs) t.shape.push_back(2);
      return t;
    },
    .compose = [](const call& c) -> arrays {
      const auto [extents, pairs] = c.attrs<threefry_options>();
      shape s = c[1].shape();
      for (std::int64_t e : extents) s.push_back(e);
      const axes lead = iota_axes(c[1].rank());
      auto word = [&](int w) {
        shape from, to = c[0].shape();
        for (int i = 0; i < c[0].rank(); ++i) from.push_back(0);
        from[-1] = w;
        to[-1] = w + 1;
        return broadcast_in_dim(reshape(slice(c[0], from, to), c[1].shape()), s, lead);
      };
      array index = zeros(s, u32);
      double stride = 1;
      for (int i = extents.rank() - 1; i >= 0; --i) {
        index = index + iota(u32, s, c[1].rank() + i) * array(stride, {u32, false, {}});
        stride *= static_cast<double>(extents[i]);
      }
      const array start = broadcast_in_dim(c[1], s, lead), low = index + start;
      const array carry = convert_element_type(low < start, u32);
      const auto [a, b] = detail::threefry_rounds(word(0), word(1), carry, low);
      if (!pairs) return bitwise_xor(a, b);
      shape wide = s;
      wide.push_back(2);
      const axes front = iota_axes(s.rank());
      return select(iota(i32, wide, s.rank()) == 0, broadcast_in_dim(a, wide, front), broadcast_in_dim(b, wide, front));
    },
    .vjp = detail::no_gradient,
    .batch = [](const call& c) -> arrays {
      const auto [extents, pairs] = c.attrs<threefry_options>();
      return threefry2x32(with_batch_axis(c, 0), with_batch_axis(c, 1), extents, pairs);
    },
    .kernels = kernels_of<threefry2x32_p>,
};

/// Hashes of the 64-bit counters first, first + 1, ... under each key.
///
/// shapes  keys [..., 2], first [...] -> [..., extents] of u32, with .pairs [..., extents, 2]
/// errors  "random: key", "random: shape" for negative extents, "threefry2x32: first counter"
/// source  Salmon and others, "Parallel random numbers: as easy as 1, 2, 3"; jax.random, partitionable threefry
constexpr array threefry2x32(const array& keys, const array& first, const shape& extents, bool pairs, source_line l) {
  shape lead;
  for (int i = 0; i + 1 < keys.rank(); ++i) lead.push_back(keys.extent(i));
  return bind(described<threefry2x32_p>(), {keys, broadcast_to(convert_element_type(first, u32), lead, l)},
              threefry_options{extents, pairs}, l);
}

}  // namespace tokamax
