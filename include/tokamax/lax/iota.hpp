// tokamax/lax/iota.hpp: arrays without operands: iota, full, zeros, ones, and one_hot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/arithmetic.hpp>  // for its users: comparison and convert

namespace tokamax {

/// Attributes of iota: the whole result type, since there is no operand.
struct iota_attributes {
  dtype type = i32;
  shape extents;
  int dimension = 0;       ///< -1: of a scalar
  std::int64_t start = 0;  ///< may be a dynamic extent
};

/// Counts along one axis, from `start` on. Fused loops compute the numbers from the position and load nothing.
inline constexpr op iota_p{
    .name = "iota",
    .stablehlo = "stablehlo.iota",
    .memory = {.kind = op_kind::counting,
               .strides =
                   [](const array_type&, const array_type&, const std::int64_t* w, std::int64_t& offset,
                      shape& strides) {
                     const auto [type, extents, dimension, start] = unpack<iota_attributes>(w);
                     offset = start;
                     strides = extents;
                     for (int i = 0; i < strides.rank(); ++i) strides[i] = i == dimension;
                     return true;
                   }},
    .attributes = schema<iota_attributes>,
    .infer = [](const call& c) -> array_type {
      const auto [type, extents, dimension, start] = c.attrs<iota_attributes>();
      if (dimension < (extents.rank() == 0 ? -1 : 0) || dimension >= extents.rank())
        return c.fail("iota: dimension", message() << dimension, message("an axis of ") << extents);
      if (type == dtype::none || type == bool_) return c.fail("iota: dtype", name(type), "numbers");
      if (!are_extents(extents)) return c.fail("iota: shape", message() << extents, "extents from 0 on");
      const bool wraps = is_integer(type) && bits_of(type) < 32, counts = bits_of(type) == 64;
      if (!wraps && !counts && dimension >= 0 && extents[dimension] > (type == u32 ? 2 : 1) * (most_indices + 1))
        return c.fail("iota: extent", message() << extents[dimension], message("numbers of ") << name(type));
      return {type, false, extents};
    },
    .batch = [](const call& c) -> arrays {
      return with_leading_axis(bind(*c.self, {}, c.attrs<iota_attributes>(), c.where), c.batch_size);
    },
};

/// An array of shape `s` whose elements are their own index along axis `dimension`.
/// source  jax.lax.broadcasted_iota
constexpr array iota(dtype type, const shape& s, int dimension, source_line l = source_line::current()) {
  return bind(described<iota_p>(), {}, iota_attributes{type, s, dimension}, l);
}

/// An extent as a scalar array: `extent_as_array(x.extent(0))`. If the extent is dynamic, its value is known when the
/// program runs.
/// source  stablehlo.get_dimension_size
constexpr array extent_as_array(std::int64_t n, source_line l = source_line::current()) {
  return bind(described<iota_p>(), {}, iota_attributes{i32, {}, -1, n}, l);
}

namespace detail {
/// An extent as an i32 operand: a literal, unless it is dynamic.
constexpr array extent_operand(std::int64_t n, source_line l) {
  if (is_dyn(n)) return extent_as_array(n, l);
  return array(static_cast<double>(n), {i32, false, {}});
}
}  // namespace detail

/// An array with one value in every element, converted to `type` as data is. It takes no memory until its data is read.
///
/// errors  "full: shape" for negative extents, more than 16 axes or 2^63 - 1 bytes; "full: dtype"
template <arithmetic T>
constexpr array full(const shape& s, T value, dtype type = f32, source_line l = source_line::current()) {
  const array_type t{type, false, s};
  if (const char* const expected = unmet(t)) return detail::impossible(type, "full: shape", t, expected, l);
  if (type == dtype::none) return detail::impossible(f32, "full: dtype", name(type), "that of an array", l);
  if constexpr (std::is_floating_point_v<T>)
    return array(detail::converted_to(type, static_cast<double>(value)), t);
  else
    return array(value, t);
}
constexpr array zeros(const shape& s, dtype type = f32, source_line l = source_line::current()) {
  return full(s, 0, type, l);
}
constexpr array ones(const shape& s, dtype type = f32, source_line l = source_line::current()) {
  return full(s, 1, type, l);
}
constexpr array full_like(const array& x, double value) { return array(value, x.type()); }
constexpr array zeros_like(const array& x) { return full_like(x, 0); }
constexpr array ones_like(const array& x) { return full_like(x, 1); }

/// x[i] == k for every class k: a new last axis.
///
/// shapes  x [...] -> [..., classes]
/// errors  "iota: shape" for a negative number of classes
/// source  jax.nn.one_hot
constexpr array one_hot(const array& x, std::int64_t classes, dtype type = f32,
                        source_line l = source_line::current()) {
  shape s = x.shape();
  s.push_back(classes);
  const dtype counted = compute_dtype(x.dtype());  // which no number of classes wraps around
  return convert_element_type(expand_dims(astype(x, counted, l), -1, l) == iota(counted, s, s.rank() - 1, l), type,
                              false, l);
}

}  // namespace tokamax
