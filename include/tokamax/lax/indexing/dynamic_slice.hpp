// tokamax/lax/indexing/dynamic_slice.hpp: read or overwrite a box whose position is a value of the program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/iota.hpp>            // zeros_like
#include <tokamax/lax/shapes/reshape.hpp>  // squeeze

namespace tokamax {

/// Attributes of dynamic_slice and dynamic_update_slice.
struct dynamic_slice_options {
  shape sizes;    ///< of the box
  int batch = 0;  ///< number of leading batch axes of all operands; each entry has its own position
};

namespace detail {
/// The operands are the array, for an update the new box, and one start for each axis.
constexpr arrays dynamic_operands(const call& c, const array& x, const array* update, int first_start) {
  arrays in{x};
  if (update) in.push_back(*update);
  for (int k = first_start; k < c.count; ++k) in.push_back(c[k]);
  return in;
}
/// A literal start may have been written as any integer.
constexpr array start_value(const array& s) {
  if (!s.is_literal() || !is_integer(s.dtype())) return s;
  const double v = s.literal();
  return convert_element_type(s, v < -0x1p31 || v >= 0x1p31 ? i64 : i32);
}
constexpr array dynamic_bind(const op& o, const arrays& in, const dynamic_slice_options& options, location where) {
  return bind_all(o, in.data(), in.count(), pack(options), where)[0];
}
constexpr bool starts_fit(const call& c, int first, int rank, int batch) {
  bool ok = c.count == first + rank - batch;
  for (int k = first; ok && k < c.count; ++k) {
    ok = (c[k].dtype() == i32 || c[k].dtype() == i64) && c[k].rank() == batch;
    for (int i = 0; ok && i < batch; ++i) ok = c[k].extent(i) == c[0].extent(i);
  }
  return ok;
}
constexpr arrays dynamic_batch(const call& c) {
  auto o = c.attrs<dynamic_slice_options>();
  ++o.batch;
  return dynamic_bind(*c.self, with_batch_axis(c), o, c.where);
}
constexpr array dynamic_update(const arrays& operands, const dynamic_slice_options& options, location where);
}  // namespace detail

inline constexpr op dynamic_slice_p{
    .name = "dynamic_slice",
    .stablehlo = "stablehlo.dynamic_slice",
    .cost = {.bytes = [](const call& c) { return 2 * bytes_of(c.type) + bytes_of_operands(c, 1); }},
    .attributes = schema<dynamic_slice_options>,
    .infer = [](const call& c) -> array_type {
      const auto [sizes, batch] = c.attrs<dynamic_slice_options>();
      array_type t = c[0].type();
      const int rank = t.shape.rank();
      if (!detail::starts_fit(c, 1, rank, batch))
        return c.fail("dynamic_slice: starts", message() << c.count - 1, message("one i32 or i64 per axis of ") << t);
      bool ok = sizes.rank() == rank - batch;
      for (int i = 0; ok && i < sizes.rank(); ++i) ok = at_most(sizes[i], t.shape[batch + i]);
      if (!ok) return c.fail("dynamic_slice: sizes", message() << sizes, message("inside ") << t);
      for (int i = 0; i < sizes.rank(); ++i) t.shape[batch + i] = sizes[i];
      return t;
    },
    .vjp = [](const call& c) -> arrays {
      const array ct = c.ct();
      arrays out(static_cast<std::size_t>(c.count));
      out[0] = detail::dynamic_update(detail::dynamic_operands(c, zeros_like(c[0]), &ct, 1),
                                      c.attrs<dynamic_slice_options>(), c.where);
      return out;
    },
    .jvp = [](const call& c) -> arrays {
      if (!c.tangents[0].exists()) return array();
      return detail::dynamic_bind(*c.self, detail::dynamic_operands(c, c.tangents[0], nullptr, 1),
                                  c.attrs<dynamic_slice_options>(), c.where);
    },
    .batch = detail::dynamic_batch,
    .kernels = kernels_of<dynamic_slice_p>,
};

inline constexpr op dynamic_update_slice_p{
    .name = "dynamic_update_slice",
    .stablehlo = "stablehlo.dynamic_update_slice",
    .memory = {.overwrites = 0},
    .cost = {.bytes = [](const call& c) { return bytes_of(c[1].type()) + bytes_of_operands(c, 1); }},
    .attributes = schema<dynamic_slice_options>,
    .infer = [](const call& c) -> array_type {
      const auto [sizes, batch] = c.attrs<dynamic_slice_options>();
      const array_type t = c[0].type();
      const int rank = t.shape.rank();
      if (!detail::starts_fit(c, 2, rank, batch))
        return c.fail("dynamic_update_slice: starts", message() << c.count - 2,
                      message("one i32 or i64 per axis of ") << t);
      bool ok = c[1].dtype() == t.dtype && c[1].rank() == rank && sizes.rank() == rank - batch;
      for (int i = 0; ok && i < rank; ++i)
        ok = i < batch ? c[1].extent(i) == t.shape[i]
                       : at_most(c[1].extent(i), t.shape[i]) && sizes[i - batch] == c[1].extent(i);
      return ok ? t : c.fail("dynamic_update_slice: update", c[1].type(), message("inside ") << t);
    },
    .vjp = [](const call& c) -> arrays {
      const auto o = c.attrs<dynamic_slice_options>();
      arrays out(static_cast<std::size_t>(c.count));
      const array nothing = zeros_like(c[1]);
      if (c.needs(0)) out[0] = detail::dynamic_update(detail::dynamic_operands(c, c.ct(), &nothing, 2), o, c.where);
      if (c.needs(1))
        out[1] = detail::dynamic_bind(described<dynamic_slice_p>(), detail::dynamic_operands(c, c.ct(), nullptr, 2), o,
                                      c.where);
      return out;
    },
    .jvp = [](const call& c) -> arrays {
      const array x = c.tangents[0].exists() ? c.tangents[0] : zeros_like(c[0]),
                  u = c.tangents[1].exists() ? c.tangents[1] : zeros_like(c[1]);
      return detail::dynamic_update(detail::dynamic_operands(c, x, &u, 2), c.attrs<dynamic_slice_options>(), c.where);
    },
    .batch = detail::dynamic_batch,
    .kernels = kernels_of<dynamic_update_slice_p>,
};

namespace detail {
constexpr array dynamic_update(const arrays& operands, const dynamic_slice_options& options, location where) {
  return dynamic_bind(described<dynamic_update_slice_p>(), operands, options, where);
}
}  // namespace detail

/// The box of extents `sizes` at `starts`. A negative start counts from the end; the box is then moved so that it fits.
///
/// shapes  x [...], one start an axis, scalars -> sizes
/// dtypes  starts i32
/// errors  "dynamic_slice: starts", "dynamic_slice: sizes"
/// source  jax.lax.dynamic_slice
constexpr array dynamic_slice(const array& x, const arrays& starts, const shape& sizes,
                              source_line l = source_line::current()) {
  arrays in{x};
  for (const array& s : starts) in.push_back(detail::start_value(s));
  return detail::dynamic_bind(described<dynamic_slice_p>(), in, {sizes, 0}, l);
}

/// `x` with the box at `starts` replaced by `update`.
///
/// errors  "dynamic_update_slice: starts", "dynamic_update_slice: update"
/// source  jax.lax.dynamic_update_slice
constexpr array dynamic_update_slice(const array& x, const array& update, const arrays& starts,
                                     source_line l = source_line::current()) {
  arrays in{x, convert_element_type(update, x.dtype())};
  for (const array& s : starts) in.push_back(detail::start_value(s));
  return detail::dynamic_update(in, {update.shape(), 0}, l);
}

namespace detail {
constexpr arrays starts_on(int axis, int rank, const array& start) {
  arrays s(static_cast<std::size_t>(rank), array(0));
  s[axis] = start;
  return s;
}
}  // namespace detail

/// The same along one axis; the box has the whole extent of the others.
/// errors  "dynamic_slice_in_dim: axis", "dynamic_update_slice_in_dim: axis", and those above
/// source  jax.lax.dynamic_slice_in_dim, dynamic_update_slice_in_dim
constexpr array dynamic_slice_in_dim(const array& x, const array& start, std::int64_t size, int axis = 0,
                                     source_line l = source_line::current()) {
  axis = checked_axis("dynamic_slice_in_dim: axis", axis, x, l);
  if (x.rank() == 0) return x;
  shape s = x.shape();
  s[axis] = size;
  return dynamic_slice(x, detail::starts_on(axis, x.rank(), start), s, l);
}
constexpr array dynamic_update_slice_in_dim(const array& x, const array& update, const array& start, int axis = 0,
                                            source_line l = source_line::current()) {
  axis = checked_axis("dynamic_update_slice_in_dim: axis", axis, x, l);
  if (x.rank() == 0) return x;
  return dynamic_update_slice(x, update, detail::starts_on(axis, x.rank(), start), l);
}

/// Entry `index` of one axis, which vanishes unless it is kept.
/// source  jax.lax.dynamic_index_in_dim
constexpr array dynamic_index_in_dim(const array& x, const array& index, int axis = 0, bool keepdims = true,
                                     source_line l = source_line::current()) {
  const array y = dynamic_slice_in_dim(x, index, 1, axis, l);
  if (keepdims) return y;
  return squeeze(y, axis, l);
}

}  // namespace tokamax
