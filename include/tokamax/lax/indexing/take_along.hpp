// tokamax/lax/indexing/take_along.hpp: elements along one axis, whose index each has of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/indexing/gather.hpp>  // gather

namespace tokamax {

/// Attributes of take_along.
struct take_along_options {
  axis_number axis = {};
};

inline constexpr op take_along_p{
    .name = "take_along",
    .precision = {.selects = true},
    .cost = {.bytes = [](const call& c) { return 2 * bytes_of(c.type) + bytes_of(c[1].type()); }},
    .attributes = schema<take_along_options>,
    .infer = [](const call& c) -> array_type {
      const array &x = c[0], &indices = c[1];
      const int axis = c.attrs<take_along_options>().axis, rank = x.rank();
      bool ok = indices.dtype() == i32 && indices.rank() == rank && axis >= 0 && axis < rank;
      for (int i = 0; ok && i < rank; ++i) ok = i == axis || indices.extent(i) == x.extent(i);
      if (!ok)
        return c.fail("take_along_axis: indices", indices.type(), message("i32 or i64 shaped like ") << x.type());
      if (is_dyn(x.extent(axis)))
        return c.fail("take_along_axis: axis", x.type(), message("a known extent of axis ") << axis);
      if (x.size() > most_indices)  // positions are i32
        return c.fail("take_along_axis: elements", x.type(), message("at most ") << most_indices);
      return {x.dtype(), false, indices.shape()};
    },
    .compose = [](const call& c) -> arrays {
      const array &x = c[0], &indices = c[1];
      const int axis = c.attrs<take_along_options>().axis;
      const auto number = [](double v) { return array(v, {i32, false, {}}); };
      const double n = static_cast<double>(x.extent(axis));
      const array i = select(indices < number(0), indices + number(n), indices);
      const array inside = logical_and(i >= number(0), i < number(n));
      array at = zeros(indices.shape(), i32);  // position in row-major order
      double stride = 1;
      for (int k = x.rank() - 1; k >= 0; --k) {
        array along = i;
        if (k != axis) along = iota(i32, indices.shape(), k);
        at = at + along * number(stride);
        stride *= static_cast<double>(x.extent(k));
      }
      return gather(reshape(x, {x.size()}), select(inside, at, number(-1)));
    },
    .batch = [](const call& c) -> arrays {
      return bind(*c.self, {with_batch_axis(c, 0), with_batch_axis(c, 1)},
                  take_along_options{c.attrs<take_along_options>().axis + 1}, c.where);
    },
    .kernels = kernels_of<take_along_p>,
};

}  // namespace tokamax
