// tokamax/ops/layer_norm_across.hpp: layer_norm of an axis with long rows after it, as one op.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/layer_norm_across.cpp
#pragma once

#include <tokamax/ops/rms_norm.hpp>  // norm_attributes, carried, mean

namespace tokamax {

namespace detail {
/// layer_norm of axis `axis` of x, with parameters [C], or [B, C] for the examples of axis 0.
constexpr array normalised_across(const array& x, int axis, const array& scale, const array& offset, double epsilon) {
  const array centred = less_mean(carried(x), {{axis}, true});
  const array rstd = rsqrt(mean(centred * centred, {{axis}, true}) + epsilon);
  const auto spread = [&](const array& p) {
    return broadcast_in_dim(carried(p), centred.shape(), p.rank() == 1 ? axes{axis} : axes{0, axis});
  };
  return astype(centred * rstd * spread(scale) + spread(offset), x.dtype());
}
}  // namespace detail

/// layer_norm of the middle one of three axes. A backend keeps some columns of an entry in its caches, while loops over rows
/// read x three times.
///
/// shapes  x [L, C, R], scale and offset [C] -> that of x
inline constexpr op layer_norm_across_p{
    .name = "layer_norm_across",
    .precision = {.kernels_in_f32 = true},
    .attributes = schema<norm_attributes>,
    .infer = [](const call& c) -> array_type {
      if (!is_floating(c[0].dtype()) || c[0].rank() != 3)
        return c.fail("layer_norm_across: x", c[0].type(), "floats [L,C,R]");
      const array_type parameter{c[1].dtype(), false, {c[0].extent(1)}};
      if (!(c[1].type() == parameter) || !(c[2].type() == parameter))
        return c.fail("layer_norm_across: parameters", message(c[1].type()) << ", " << c[2].type(), parameter);
      return c[0].type();
    },
    .compose = [](const call& c) -> arrays {
      return detail::normalised_across(c[0], 1, c[1], c[2], c.attrs<norm_attributes>().epsilon);
    },
    .batch = [](const call& c) -> arrays {
      const array x = with_batch_axis(c, 0);  // [B, L, C, R]
      const auto options = c.attrs<norm_attributes>();
      if (c.batched(1) || c.batched(2)) return detail::normalised_across(x, 2, c[1], c[2], options.epsilon);
      const array joined = reshape(x, {mul_extent(x.extent(0), x.extent(1)), x.extent(2), x.extent(3)});
      return reshape(bind(*c.self, {joined, c[1], c[2]}, options, c.where), x.shape());
    },
    .kernels = kernels_of<layer_norm_across_p>,
};

namespace detail {
/// Is the axis so far from the last one that rows after it are long, and do the parameters fit?
constexpr bool normalises_across(const array& x, int axis, const array& scale, const array& offset) {
  constexpr std::int64_t long_row = 64;
  std::int64_t row = 1;
  if (x.rank() == 0 || !is_floating(x.dtype()) || is_dynamic(x.shape()) || x.size() == 0) return false;
  for (int i = axis + 1; i < x.rank(); ++i) row *= x.extent(i);
  const shape feature{x.extent(axis)};
  return row >= long_row && scale.shape() == feature && offset.type() == scale.type() && is_floating(scale.dtype());
}
/// layer_norm where `normalises_across` holds.
constexpr array layer_norm_across(const array& x, int axis, const array& scale, const array& offset, double epsilon,
                                  source_line l) {
  std::int64_t before = 1, after = 1;
  for (int i = 0; i < x.rank(); ++i) (i < axis ? before : after) *= i == axis ? 1 : x.extent(i);
  const array middle = reshape(x, {before, x.extent(axis), after}, l);
  return reshape(bind(described<layer_norm_across_p>(), {middle, scale, offset}, norm_attributes{epsilon}, l),
                 x.shape(), l);
}
}  // namespace detail

}  // namespace tokamax
