// tokamax/lax/shapes/split.hpp: cut an array along an axis; the transpose of concatenate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate

namespace tokamax {

constexpr arrays split(const array& x, const words& sizes, int axis = -1, source_line l = source_line::current());

namespace detail {
/// The attributes of split: the axis, and the size of each part.
struct split_attributes {
  axis_number axis = {};
  words sizes;
};
}  // namespace detail

/// The parts are views of the operand. This is one op, so that the gradient writes the cotangents side by side; with a
/// slice for each part it would add padded cotangents.
inline constexpr op split_p{
    .name = "split",
    .attributes = schema<detail::split_attributes>,
    .infer_all = [](const call& c) -> types {
      const auto [of, sizes] = c.attrs<detail::split_attributes>();
      const int axis = of;
      array_type t = c[0].type();
      types ts;
      std::int64_t total = 0;
      if (axis < 0 || axis >= t.shape.rank()) {
        c.fail("split: axis", message() << axis, message("an axis of ") << t);
        return types(sizes.size(), t);
      }
      bool ok = true;
      for (std::int64_t n : sizes) {
        ok = ok && n >= 0 && n <= c[0].extent(axis) - total;
        if (ok) total += n, t.shape[axis] = n;
        ts.push_back(t);
      }
      if (!ok || total != c[0].extent(axis))
        c.fail("split: sizes", message() << "a sum of " << total,
               message("that of axis ") << axis << " of " << c[0].type());
      return ts;
    },
    .compose = [](const call& c) -> arrays {
      const auto [of, sizes] = c.attrs<detail::split_attributes>();
      const int axis = of;
      arrays parts;
      std::int64_t at = 0;
      for (std::int64_t n : sizes) {
        parts.push_back(slice_in_dim(c[0], at, at + n, axis));
        at += n;
      }
      return parts;
    },
    .vjp = [](const call& c) -> arrays {
      const auto [of, sizes] = c.attrs<detail::split_attributes>();
      const int axis = of;
      arrays parts;
      for (int k = 0; k < sizes.count(); ++k) {
        shape extents = c[0].shape();
        extents[axis] = sizes[k];
        parts.push_back(c.cotangents[k].exists() ? c.cotangents[k] : zeros(extents, c[0].dtype()));
      }
      return concatenate(parts, axis);
    },
    .jvp = [](const call& c) -> arrays {
      const auto [of, sizes] = c.attrs<detail::split_attributes>();
      const int axis = of;
      return split(c.tangents[0], sizes, axis);
    },
    .batch = [](const call& c) -> arrays {
      const auto [of, sizes] = c.attrs<detail::split_attributes>();
      const int axis = of;
      return split(c[0], sizes, axis + 1);
    },
};

/// Parts of the given sizes, in order along `axis`.
///
/// shapes  extents of the axis are `sizes`, which add up to that of x
/// errors  "split: sizes"
/// source  jax.lax.split
constexpr arrays split(const array& x, const words& sizes, int axis, source_line l) {
  const detail::split_attributes w{checked_axis("split: axis", axis, x, l), sizes};
  return bind_all(described<split_p>(), &x, 1, pack(w), l);
}

/// `parts` equal parts of one axis.
/// errors  "split: axis", "split: parts", "split: extent" if it is no multiple of `parts`
/// source  jax.numpy.split
constexpr arrays split(const array& x, int parts, int axis = -1, source_line l = source_line::current()) {
  axis = checked_axis("split: axis", axis, x, l);
  if (x.rank() == 0) return x;
  if (parts < 1) {
    reject(x, l, "split: parts", message() << parts, "1 or more");
    return x;
  }
  const std::int64_t n = x.extent(axis) / parts;
  if (n * parts != x.extent(axis)) reject(x, l, "split: extent", x.type(), message("a multiple of ") << parts);
  words sizes;
  for (int i = 0; i < parts; ++i) sizes.push_back(n);
  return split(x, sizes, axis, l);
}

}  // namespace tokamax
