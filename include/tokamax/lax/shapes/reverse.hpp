// tokamax/lax/shapes/reverse.hpp: elements in reverse order along some axes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/shapes/broadcast_in_dim.hpp>  // shifted

namespace tokamax {

/// Attributes of reverse.
struct reverse_options {
  axes dimensions;
};

inline constexpr op reverse_p{
    .name = "reverse",
    .stablehlo = "stablehlo.reverse",
    .algebra = {.linear = true},
    .attributes = schema<reverse_options>,
    .infer = [](const call& c) -> array_type {
      const axes d = c.attrs<reverse_options>().dimensions;
      const int rank = c[0].rank();
      bool ok = other_axes(rank, d).rank() + d.rank() == rank;  // each once
      for (std::int64_t a : d) ok = ok && a >= 0 && a < rank;
      if (!ok) return c.fail("reverse: axes", message() << d, message("axes of ") << c[0].type());
      return c[0].type();
    },
    .vjp = [](const call& c) -> arrays { return bind(*c.self, {c.ct()}, c.attrs<reverse_options>(), c.where); },
    .batch = [](const call& c) -> arrays {
      return bind(*c.self, {c[0]}, reverse_options{detail::shifted(c.attrs<reverse_options>().dimensions)}, c.where);
    },
    .simplify = [](const call& c) -> array {
      for (std::int64_t a : c.attrs<reverse_options>().dimensions)
        if (c[0].extent(static_cast<int>(a)) != 1) return {};
      return c[0];
    },
    .kernels = kernels_of<reverse_p>,
};

/// `x` in reverse order along the axes `dimensions`; negative ones count from the end.
///
/// shapes  any -> the same
/// errors  "reverse: axes"
/// source  jax.lax.rev, jax.numpy.flip
constexpr array reverse(const array& x, const axes& dimensions, source_line l = source_line::current()) {
  axes d;
  for (std::int64_t a : dimensions) d.push_back(a < 0 ? a + x.rank() : a);
  return bind(described<reverse_p>(), {x}, reverse_options{d}, l);
}

}  // namespace tokamax
