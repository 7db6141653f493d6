// tokamax/lax/shapes/broadcast_in_dim.hpp: repeat an array along axes, and its transpose, reduce_sum.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/bind.hpp>           // bind
#include <tokamax/lax/shapes/reshape.hpp>  // reshape

namespace tokamax {

/// Attributes of broadcast_in_dim.
struct broadcast_options {
  shape extents;
  axes dimensions;  ///< the axis of the result that each axis of the operand becomes
};

/// Attributes of every reduction: the axes that vanish, in increasing order.
struct reduce_attributes {
  axes axis;
};

constexpr array broadcast_in_dim(const array& x, const shape& s, const axes& dimensions,
                                 source_line l = source_line::current());
constexpr array reduce_sum(const array& x, const axes& axis, source_line l = source_line::current());
constexpr array with_leading_axis(const array& x, std::int64_t n);

namespace detail {
constexpr array_type reduce_infer(const call& c) {
  const axes axis = c.attrs<reduce_attributes>().axis;
  array_type t = c[0].type();
  t.shape = {};
  for (int i = 0; i < c[0].rank(); ++i)
    if (!axis.contains(i)) t.shape.push_back(c[0].extent(i));
  if (t.shape.rank() + axis.rank() != c[0].rank())
    return c.fail(message(c.self->name) << ": axis", message() << axis, message(c[0].type()) << " axes");
  return t;
}
constexpr axes shifted(const axes& a) {
  axes s;
  for (std::int64_t v : a) s.push_back(v + 1);
  return s;
}
constexpr arrays reduce_batch(const call& c) {
  return bind(*c.self, {c[0]}, reduce_attributes{shifted(c.attrs<reduce_attributes>().axis)}, c.where);
}
/// The reduced array `y` repeated along the reduced axes of an operand of shape `s`.
constexpr array expand_reduced(const array& y, const shape& s, const axes& axis) {
  return broadcast_in_dim(y, s, other_axes(s.rank(), axis));
}
/// Does each axis of x become a different axis of s, with an extent of 1 or that of s?
constexpr bool broadcasts_in(const shape& x, const shape& s, const axes& dimensions) {
  bool ok = dimensions.rank() == x.rank() && are_extents(s);
  std::int64_t before = -1;
  for (int i = 0; ok && i < x.rank(); ++i) {
    const std::int64_t d = dimensions[i];
    ok = d > before && d < s.rank() && (x[i] == 1 || x[i] == s[static_cast<int>(d)]);
    before = d;
  }
  return ok;
}
}  // namespace detail

inline constexpr op reduce_sum_p{
    .name = "reduce_sum",
    .stablehlo = "stablehlo.reduce",
    .algebra = {.linear = true},
    .reduction = {combiner::add},
    .precision = {.sums = true},
    .attributes = schema<reduce_attributes>,
    .infer = detail::reduce_infer,
    .vjp = [](const call& c) -> arrays {
      return detail::expand_reduced(c.ct(), c[0].shape(), c.attrs<reduce_attributes>().axis);
    },
    .batch = detail::reduce_batch,
    .simplify = [](const call& c) -> array { return c.attrs<reduce_attributes>().axis.rank() == 0 ? c[0] : array(); },
    .kernels = kernels_of<reduce_sum_p>,
};

inline constexpr op broadcast_in_dim_p{
    .name = "broadcast_in_dim",
    .stablehlo = "stablehlo.broadcast_in_dim",
    .algebra = {.linear = true},
    .memory = {.kind = op_kind::view,
               .strides =
                   [](const array_type& operand, const array_type&, const std::int64_t* w, std::int64_t&,
                      shape& strides) {
                     const auto [extents, dimensions] = unpack<broadcast_options>(w);
                     const shape before = strides;
                     strides = extents;
                     for (int i = 0; i < extents.rank(); ++i) strides[i] = 0;
                     for (int k = 0; k < dimensions.rank(); ++k)
                       if (operand.shape[k] != 1) strides[static_cast<int>(dimensions[k])] = before[k];
                     return true;
                   }},
    .attributes = schema<broadcast_options>,
    .infer = [](const call& c) -> array_type {
      const auto [s, dimensions] = c.attrs<broadcast_options>();
      const shape& x = c[0].shape();
      if (!detail::broadcasts_in(x, s, dimensions))
        return c.fail("broadcast_in_dim: shape", c[0].type(), message("extents of 1 or those of ") << s);
      return {c[0].dtype(), c[0].type().weak, s};
    },
    .vjp = [](const call& c) -> arrays {
      const auto [s, dimensions] = c.attrs<broadcast_options>();
      axes repeated;
      for (int i = 0; i < s.rank(); ++i) {
        bool kept = false;
        for (int k = 0; k < dimensions.rank(); ++k) kept = kept || (dimensions[k] == i && c[0].extent(k) == s[i]);
        if (!kept) repeated.push_back(i);
      }
      return reshape(reduce_sum(c.ct(), repeated), c[0].shape());
    },
    .batch = [](const call& c) -> arrays {
      const auto [s, dimensions] = c.attrs<broadcast_options>();
      shape bs{c.batch_size};
      for (std::int64_t e : s) bs.push_back(e);
      axes bd{0};
      for (std::int64_t d : dimensions) bd.push_back(d + 1);
      return broadcast_in_dim(c[0], bs, bd);
    },
    .simplify = [](const call& c) -> array {
      const auto [s, dimensions] = c.attrs<broadcast_options>();
      if (c[0].shape() == s) return c[0];
      const node& n = (*c.trace)[c[0].id()];
      if (n.op == &constant_p)
        return lift(*c.trace, array(constant_bits(*c.trace, n), {n.type.dtype, n.type.weak, s}), c.where);
      if (n.op != &broadcast_in_dim_p) return {};
      const call inner{.attributes = c.trace->words_of(n), .attribute_count = n.word_count};
      axes through;
      for (std::int64_t d : inner.attrs<broadcast_options>().dimensions)
        through.push_back(dimensions[static_cast<int>(d)]);
      const int id = c.trace->operand(n, 0);
      return broadcast_in_dim(array(c.trace, id, (*c.trace)[id].type), s, through);
    },
};

/// `x` with shape `s`: axis i of x becomes axis dimensions[i], and x is repeated along the other axes.
///
/// shapes  x.shape[i] is 1 or s[dimensions[i]], dimensions increase -> s
/// errors  "broadcast_in_dim: shape"
/// source  jax.lax.broadcast_in_dim
constexpr array broadcast_in_dim(const array& x, const shape& s, const axes& dimensions, source_line l) {
  const array_type t{x.dtype(), x.type().weak, s};
  if (x.is_literal() && !unmet(t) && detail::broadcasts_in(x.shape(), s, dimensions)) return x.reshaped(s);
  return bind(described<broadcast_in_dim_p>(), {x}, broadcast_options{s, dimensions}, l);
}

/// The sum over the axes `axis` (increasing, non-negative), which vanish. 16-bit types are summed in f32.
/// source  jax.lax.reduce_sum_p
constexpr array reduce_sum(const array& x, const axes& axis, source_line l) {
  return bind(described<reduce_sum_p>(), {x}, reduce_attributes{axis}, l);
}

/// `x` repeated along a new leading axis of extent n.
constexpr array with_leading_axis(const array& x, std::int64_t n) {
  shape s{n};
  axes d;
  for (int i = 0; i < x.rank(); ++i) {
    s.push_back(x.extent(i));
    d.push_back(i + 1);
  }
  return broadcast_in_dim(x, s, d);
}

/// For batch rules: operand i of a call with the batch axis in front. An operand without one is repeated along it.
constexpr array with_batch_axis(const call& c, int i) {
  if (c.batched(i)) return c[i];
  return with_leading_axis(c[i], c.batch_size);
}
/// The same for all operands.
constexpr arrays with_batch_axis(const call& c) {
  arrays in;
  in.reserve(static_cast<std::size_t>(c.count));
  for (int i = 0; i < c.count; ++i) in.push_back(with_batch_axis(c, i));
  return in;
}

}  // namespace tokamax
