// tokamax/lax/pack_int4.hpp: integers of 4 bits as bytes that hold two each, and back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/bitwise.hpp>  // shift_left, bitwise_or
#include <tokamax/lax/indexing/slice.hpp>       // slice
#include <tokamax/lax/shapes/concatenate.hpp>   // concatenate

namespace tokamax {

namespace detail {
/// `t` with its last extent times `by` over `over`.
constexpr array_type with_last(const array_type& t, dtype type, std::int64_t by, std::int64_t over) {
  array_type result{type, false, t.shape};
  std::int64_t& last = result.shape[t.shape.rank() - 1];
  last = mul_extent(last, by) / over;
  return result;
}
}  // namespace detail

inline constexpr op pack_int4_p{
    .name = "pack_int4",
    .infer = [](const call& c) -> array_type {
      if (!is_packed(c[0].dtype())) return c.fail("pack_int4: dtype", c[0].type(), "i4 or u4");
      if (c[0].rank() == 0 || is_dyn(c[0].extent(c[0].rank() - 1)) || c[0].extent(c[0].rank() - 1) % 2 != 0)
        return c.fail("pack_int4: last extent", c[0].type(), "an even number");
      return detail::with_last(c[0].type(), u8, 1, 2);
    },
    .compose = [](const call& c) -> arrays {
      const array& x = c[0];
      shape start = x.shape(), step = x.shape();
      for (int i = 0; i < x.rank(); ++i) start[i] = 0, step[i] = 1;
      step[x.rank() - 1] = 2;
      const array low = slice(x, start, x.shape(), step);
      start[x.rank() - 1] = x.extent(x.rank() - 1) ? 1 : 0;
      const array high = slice(x, start, x.shape(), step);
      return bitwise_or(bitwise_and(astype(low, u8), array(15, {u8, false, {}})),
                        shift_left(astype(high, u8), array(4, {u8, false, {}})));
    },
    .vjp = detail::no_gradient,
    .batch = [](const call& c) -> arrays { return bind(*c.self, {c[0]}, words{}, c.where); },
    .kernels = kernels_of<pack_int4_p>,
};

/// Attributes of unpack_int4.
struct unpack_int4_options {
  dtype type = i4;  ///< i4 or u4
};

inline constexpr op unpack_int4_p{
    .name = "unpack_int4",
    .attributes = schema<unpack_int4_options>,
    .infer = [](const call& c) -> array_type {
      const dtype type = c.attrs<unpack_int4_options>().type;
      if (!is_packed(type)) return c.fail("unpack_int4: result", name(type), "i4 or u4");
      if (c[0].dtype() != u8 || c[0].rank() == 0 || c[0].rank() == max_rank)
        return c.fail("unpack_int4: bytes", c[0].type(), message("u8 with 1 to ") << max_rank - 1 << " axes");
      return detail::with_last(c[0].type(), type, 2, 1);
    },
    .compose = [](const call& c) -> arrays {
      const dtype type = c.attrs<unpack_int4_options>().type;
      const array& x = c[0];
      const array high = shift_right_logical(x, array(4, {u8, false, {}}));
      const array pairs =
          concatenate({expand_dims(astype(x, type), x.rank()), expand_dims(astype(high, type), x.rank())}, x.rank());
      return reshape(pairs, detail::with_last(x.type(), type, 2, 1).shape);
    },
    .vjp = detail::no_gradient,
    .batch = [](const call& c) -> arrays { return bind(*c.self, {c[0]}, c.attrs<unpack_int4_options>(), c.where); },
    .kernels = kernels_of<unpack_int4_p>,
};

/// Integers of 4 bits two to a byte, for weights that lie in memory: x[..., 2 i] is the low half of byte i.
///
/// shapes  x [..., 2 n] -> [..., n]
/// dtypes  i4, u4 -> u8
/// errors  "pack_int4: dtype", "pack_int4: last extent" if it is odd
/// source  jax.lax.bitcast_convert_type of [..., n, 2] to uint8
constexpr array pack_int4(const array& x, source_line l = source_line::current()) {
  return bind(described<pack_int4_p>(), {x}, words{}, l);
}

/// The integers that pack_int4 has packed: `dot_general` takes them, and `astype` makes them any other dtype.
///
/// shapes  bytes [..., n] -> [..., 2 n]
/// dtypes  u8 -> `type`, i4 or u4
/// errors  "unpack_int4: bytes", "unpack_int4: result"
/// source  jax.lax.bitcast_convert_type of uint8 to int4 [..., n, 2]
constexpr array unpack_int4(const array& bytes, dtype type = i4, source_line l = source_line::current()) {
  return bind(described<unpack_int4_p>(), {bytes}, unpack_int4_options{type}, l);
}

}  // namespace tokamax
