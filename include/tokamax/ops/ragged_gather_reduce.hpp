// tokamax/ops/ragged_gather_reduce.hpp: rows by index, weighted and summed in groups, which brings results of experts to tokens.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models with experts use it)
// tested by tests/ops/ragged_gather_reduce.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>         // reduce_sum
#include <tokamax/lax/shapes/split.hpp>   // split
#include <tokamax/ops/ragged_gather.hpp>  // kept_rows, kept_indices

namespace tokamax {

/// Attributes of ragged_gather_reduce: the rows of a group.
struct ragged_gather_reduce_attributes {
  std::int64_t group = 1;
};

constexpr arrays ragged_gather_reduce_vjp(const array& x, const array& indices, const array& weights,
                                          const array& valid, const array& ct, std::int64_t group,
                                          source_line l = source_line::current());

namespace detail {
/// ragged_gather_reduce of small groups. The first rows of all groups are gathered, then the second ones, and so on: so one loop
/// reads the rows of a group side by side, and nothing but the rows themselves is in memory.
constexpr array sum_of_places(const array& x, const array& indices, const array& weights, const array& valid,
                              std::int64_t group, source_line l) {
  const std::int64_t groups = indices.extent(0) / group;
  const auto by_place = [&](const array& a) {
    return reshape(transpose(reshape(a, {groups, group}, l), {1, 0}, l), {groups * group}, l);
  };
  const array seen = by_place(valid), kept = select(seen, by_place(weights), 0.0f);
  const int parts = static_cast<int>(group);
  const arrays rows = split(gather(x, kept_indices(by_place(indices), seen), l), parts, 0, l);
  const arrays scales = split(kept, parts, 0, l), counts = split(seen, parts, 0, l);
  array y;
  for (int j = 0; j < parts; ++j) {
    const array row = carried(kept_rows(rows[j], counts[j]));
    const array term = row * broadcast_in_dim(scales[j], row.shape(), {0});
    y = j == 0 ? term : array(y + term);
  }
  return astype(y, x.dtype(), l);
}
/// ragged_gather_reduce of groups of any size, by a table of all rows.
constexpr array sum_of_groups(const array& x, const array& indices, const array& weights, const array& valid,
                              std::int64_t group, source_line l) {
  const array rows = kept_rows(gather(x, kept_indices(indices, valid), l), valid);
  const array kept = select(valid, weights, zeros_like(weights));
  const array scaled = carried(rows) * broadcast_in_dim(kept, rows.shape(), {0});
  shape s{div_extent(indices.extent(0), group), group};
  for (int i = 1; i < rows.rank(); ++i) s.push_back(rows.extent(i));
  return astype(reduce_sum(reshape(scaled, s, l), {1}, l), x.dtype(), l);
}
/// Are these x, i32 indices, weights in the dtype of sums, and truth values? Rejects the call of an op if not.
constexpr bool ragged_reduce_operands(const call& c) {
  const shape n = c[1].shape();
  const bool fit = is_floating(c[0].dtype()) && c[0].rank() > 0 && c[1].dtype() == i32 && n.rank() == 1 &&
                   c[2].dtype() == carrying(c[0].dtype()) && c[2].shape() == n && c[3].dtype() == bool_ &&
                   c[3].shape() == n;
  if (!fit) c.fail("ragged_gather_reduce: operands", message(c[0].type()) << ", " << c[1].type(), "rows, i32 [n]");
  return fit;
}
/// The type of the sums of groups of rows of x.
constexpr array_type ragged_reduce_type(const call& c) {
  array_type t = c[0].type();
  t.shape[0] = div_extent(c[1].extent(0), c.attrs<ragged_gather_reduce_attributes>().group);
  return t;
}
}  // namespace detail

/// The gradients of ragged_gather_reduce as one op, so that a backend reads each row once:
///
///   dx[r] = sum(weights[i] * ct[i / group] for valid i with indices[i] == r),  dweights[i] = dot(ct[i / group], x[indices[i]])
inline constexpr op ragged_gather_reduce_vjp_p{
    .name = "ragged_gather_reduce_vjp",
    .precision = {.kernels_in_f32 = true},
    .attributes = schema<ragged_gather_reduce_attributes>,
    .infer_all = [](const call& c) -> types {
      if (detail::ragged_reduce_operands(c) && c[4].shape() != detail::ragged_reduce_type(c).shape)
        c.fail("ragged_gather_reduce_vjp: ct", c[4].type(), detail::ragged_reduce_type(c));
      return {c[0].type(), c[2].type()};
    },
    .compose = [](const call& c) -> arrays {
      const std::int64_t group = c.attrs<ragged_gather_reduce_attributes>().group;
      const array indices = detail::kept_indices(c[1], c[3]);
      const array rows = detail::carried(detail::kept_rows(gather(c[0], indices), c[3]));  // [n, ...]
      shape s{c[4].extent(0), group};
      axes kept_axes{0}, features;
      for (int i = 1; i < c[4].rank(); ++i) {
        s.push_back(c[4].extent(i));
        kept_axes.push_back(i + 1);
        features.push_back(i);
      }
      const array ct = reshape(broadcast_in_dim(detail::carried(c[4]), s, kept_axes), rows.shape());
      const array kept = select(c[3], c[2], zeros_like(c[2]));
      const array dx = scatter_add(indices, ct * broadcast_in_dim(kept, ct.shape(), {0}), c[0].extent(0));
      const array dot = features.rank() == 0 ? array(ct * rows) : reduce_sum(ct * rows, features);
      return {astype(dx, c[0].dtype()), select(c[3], dot, zeros_like(dot))};
    },
    .kernels = kernels_of<ragged_gather_reduce_vjp_p>,
};

/// ragged_gather_reduce as one op. Operands are x, indices, weights in the dtype of sums, and valid.
inline constexpr op ragged_gather_reduce_p{
    .name = "ragged_gather_reduce",
    .precision = {.kernels_in_f32 = true},
    .attributes = schema<ragged_gather_reduce_attributes>,
    .infer = [](const call& c) -> array_type {
      return detail::ragged_reduce_operands(c) ? detail::ragged_reduce_type(c) : c[0].type();
    },
    .compose = [](const call& c) -> arrays {
      const std::int64_t group = c.attrs<ragged_gather_reduce_attributes>().group, n = c[1].extent(0);
      constexpr std::int64_t most_terms = 16;  // of a loop that reads all rows of a group
      const bool few = !is_dyn(n) && n > 0 && group <= most_terms;
      return (few ? detail::sum_of_places : detail::sum_of_groups)(c[0], c[1], c[2], c[3], group, {});
    },
    .vjp = [](const call& c) -> arrays {
      const arrays d =
          ragged_gather_reduce_vjp(c[0], c[1], c[2], c[3], c.ct(), c.attrs<ragged_gather_reduce_attributes>().group);
      return {d[0], array(), d[1], array()};
    },
    .kernels = kernels_of<ragged_gather_reduce_p>,
};

/// Brings the results of experts back to their tokens: rows by index, each times its weight, summed over groups of `group`
/// rows that follow one another. Rows whose `valid` is false count as zero, and their indices are not read.
///
///   y[t] = sum(weights[i] * x[indices[i]] for i in [t * group, (t + 1) * group) if valid[i])
///
/// shapes  x [R, ...], indices, weights and valid [n] with n a multiple of group -> [n / group, ...]
/// dtypes  x and weights floats; sums are f32, f64 for f64; the result has the dtype of x
/// errors  "ragged_gather_reduce: x", "ragged_gather_reduce: indices", "ragged_gather_reduce: weights",
///         "ragged_gather_reduce: valid", "ragged_gather_reduce: group"
/// source  tokamax.ragged_gather_reduce
constexpr array ragged_gather_reduce(const array& x, const array& indices, const array& weights, const array& valid,
                                     std::int64_t group, source_line l = source_line::current()) {
  if (!detail::ragged_rows("ragged_gather_reduce: x", "ragged_gather_reduce: indices", x, indices, l)) return x;
  const std::int64_t n = indices.extent(0);
  const array all[] = {x, indices, weights, valid};
  const auto wrong = [&](const char* what, const message& found, const message& expected) {
    reject(all, 4, l, what, found, expected);
    return x;
  };
  if (!is_floating(x.dtype())) return wrong("ragged_gather_reduce: x", x.type(), "floats");
  if (!is_floating(weights.dtype()) || weights.shape() != indices.shape())
    return wrong("ragged_gather_reduce: weights", weights.type(), message("floats") << indices.shape());
  if (valid.dtype() != bool_ || valid.shape() != indices.shape())
    return wrong("ragged_gather_reduce: valid", valid.type(), message("bool") << indices.shape());
  if (group < 1 || (!is_dyn(n) && n % group != 0))
    return wrong("ragged_gather_reduce: group", message() << group, message("a divisor of ") << n);
  const array scales = astype(detail::carried(weights), carrying(x.dtype()), l);
  return bind(described<ragged_gather_reduce_p>(), {x, detail::index_in_i32(indices), scales, valid},
              ragged_gather_reduce_attributes{group}, l);
}

/// The cotangents {dx, dweights} of ragged_gather_reduce for the cotangent `ct` of its result.
///
/// shapes  x [R, ...], indices, weights and valid [n], ct [n / group, ...] -> [R, ...], [n]
/// dtypes  indices i32, weights in the dtype of sums
constexpr arrays ragged_gather_reduce_vjp(const array& x, const array& indices, const array& weights,
                                          const array& valid, const array& ct, std::int64_t group, source_line l) {
  const array in[] = {x, indices, weights, valid, ct};
  return bind_all(described<ragged_gather_reduce_vjp_p>(), in, 5, pack(ragged_gather_reduce_attributes{group}), l);
}

}  // namespace tokamax
