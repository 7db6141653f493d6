// tokamax/ops/ragged_dot.hpp: products of groups of rows with a matrix for each group, as experts need them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models with experts use it)
#pragma once

#include <tokamax/core/scope/use_implementation.hpp>  // implementation_names
#include <tokamax/lax/cumulative.hpp>                 // cumsum
#include <tokamax/lax/dot_general.hpp>                // dot_general
#include <tokamax/lax/indexing/gather.hpp>            // gather, index_in_i32
#include <tokamax/lax/reduce.hpp>                     // sum
#include <tokamax/ops/activations.hpp>                // no_activation

namespace tokamax {

/// Which axes of the operands of ragged_dot_general are contracted. G is the number of groups, and rows M belong to groups.
enum class ragged_dot_form : std::uint8_t {
  standard,            ///< lhs [M, K], rhs [G, K, N] -> [M, N]
  transposed_rhs,      ///< lhs [M, K], rhs [G, N, K] -> [M, N]
  ragged_contracting,  ///< lhs [M, K], rhs [M, N] -> [G, K, N], a sum over the rows of each group
};

/// How ragged_dot is asked to behave: `ragged_dot(x, w, sizes, {.preferred_element_type = f32})`.
struct ragged_dot_options {
  array group_offset = {};  ///< an integer: rhs has the groups from this one on, and sizes has more; none: all of them
  dtype preferred_element_type = dtype::none;            ///< the dtype of the result; none: that of the operands
  dot_algorithm algorithm = dot_algorithm::unspecified;  ///< as for dot_general
  implementation_names implementation = {};              ///< kernel or compose, see use_implementation
};

/// Attributes of ragged_dot.
struct ragged_dot_attributes {
  ragged_dot_form form = ragged_dot_form::standard;
  bool wide = false;  ///< the result is f32, or f64 for f64
  dot_algorithm algorithm = dot_algorithm::unspecified;
};

namespace detail {
constexpr array ragged_bind(const call& c, ragged_dot_form form, const array& lhs, const array& rhs);

/// Of which group [B, G] is each row [B, M]? truth values [B, M, G] from group_sizes [B, G] and first_row [B].
constexpr array rows_of_groups(const array& sizes, const array& first_row, std::int64_t rows) {
  const shape s{sizes.extent(0), rows, sizes.extent(1)};
  const array m = astype(extent_operand(rows, {}), i64), none = zeros_like(m);
  const auto within = [&](const array& x) { return minimum(maximum(astype(x, i64), none), m); };
  const array first = expand_dims(within(first_row), 1), counts = within(sizes);  // sums of the counts fit into i64
  const array end = first + cumsum(counts, 1);
  const array at = iota(i64, s, 1);
  const auto spread = [&](const array& x) { return broadcast_in_dim(x, s, {0, 2}); };
  return logical_and(at >= spread(end - counts), at < spread(end));
}
/// x [B, M, ...] where `mask` [B, M, G] is true, and 0 elsewhere: [B, M, G, ...].
constexpr array masked_groups(const array& x, const array& mask) {
  shape s = mask.shape();
  axes from{0, 1}, of_mask{0, 1, 2};
  for (int i = 2; i < x.rank(); ++i) {
    from.push_back(i + 1);
    s.push_back(x.extent(i));
  }
  const array spread = broadcast_in_dim(x, s, from);
  return select(broadcast_in_dim(mask, s, of_mask), spread, zeros_like(spread));
}
/// The first two axes of an operand as one.
constexpr array joined_batch(const array& x) {
  shape s{mul_extent(x.extent(0), x.extent(1))};
  for (int i = 2; i < x.rank(); ++i) s.push_back(x.extent(i));
  return reshape(x, s);
}
}  // namespace detail

/// The three forms on a batch of B problems: lhs, rhs, group_sizes [B, G] and first_row [B], the first row of group 0.
inline constexpr op ragged_dot_p{
    .name = "ragged_dot",
    .precision = {.product_operands = 2, .kernels_in_f32 = true},
    .cost = {.operations = [](const call& c) -> op_cost {
      const double columns = static_cast<double>(c.type.shape[c.type.shape.rank() - 1]);
      return detail::product_cost(2.0 * static_cast<double>(c[0].size()) * columns, c[0].dtype(),
                                  c.attrs<ragged_dot_attributes>().algorithm);
    }},
    .attributes = schema<ragged_dot_attributes>,
    .infer = [](const call& c) -> array_type {
      const auto o = c.attrs<ragged_dot_attributes>();
      const bool sums = o.form == ragged_dot_form::ragged_contracting;
      const int inner = o.form == ragged_dot_form::standard ? 2 : 3, outer = 5 - inner;
      const array &lhs = c[0], &rhs = c[1], &sizes = c[2], &first = c[3];
      const bool known = lhs.rank() == 3 && rhs.rank() == (sums ? 3 : 4) && sizes.rank() == 2 && first.rank() == 1 &&
                         detail::has_products(lhs.dtype()) && rhs.dtype() == lhs.dtype() && sizes.dtype() == i32 &&
                         first.dtype() == i32;
      const bool fit = known && (sums ? rhs.extent(1) == lhs.extent(1)
                                      : rhs.extent(inner) == lhs.extent(2) && rhs.extent(1) == sizes.extent(1));
      const bool batch =
          fit && rhs.extent(0) == lhs.extent(0) && sizes.extent(0) == lhs.extent(0) && first.extent(0) == lhs.extent(0);
      if (!batch)
        return c.fail("ragged_dot: operands", message(lhs.type()) << ", " << rhs.type() << ", " << sizes.type(),
                      "[B,M,K], [B,G,K,N], i32[B,G], i32[B]");
      const dtype t = o.wide ? carrying(lhs.dtype()) : lhs.dtype();
      if (sums) return {t, false, {lhs.extent(0), sizes.extent(1), lhs.extent(2), rhs.extent(2)}};
      return {t, false, {lhs.extent(0), lhs.extent(1), rhs.extent(outer)}};
    },
    // Products with the matrices of other groups are computed too, and dropped: what those hold does not matter.
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<ragged_dot_attributes>();
      const array mask = detail::rows_of_groups(c[2], c[3], c[0].extent(1));
      const dtype sums = carrying(c[0].dtype()), result = o.wide ? sums : c[0].dtype();
      if (o.form == ragged_dot_form::ragged_contracting)
        return astype(dot_general(detail::masked_groups(c[0], mask), detail::masked_groups(c[1], mask),
                                  {{1}, {1}, {0, 2}, {0, 2}, sums, o.algorithm}),
                      result);
      const int inner = o.form == ragged_dot_form::standard ? 2 : 3;
      const array all = dot_general(c[0], c[1], {{2}, {inner}, {0}, {0}, sums, o.algorithm});  // [B, M, G, N]
      const array spread = broadcast_in_dim(mask, all.shape(), {0, 1, 2});
      return astype(reduce_sum(select(spread, all, zeros_like(all)), {2}), result);
    },
    .vjp = [](const call& c) -> arrays {
      using enum ragged_dot_form;
      const auto form = c.attrs<ragged_dot_attributes>().form;
      const array& ct = c.ct();
      const auto product = [&](int i, ragged_dot_form f, const array& lhs, const array& rhs) {
        return c.needs(i) ? astype(detail::ragged_bind(c, f, lhs, rhs), c[i].dtype()) : array();
      };
      if (form == ragged_contracting)
        return {product(0, transposed_rhs, c[1], ct), product(1, standard, c[0], ct), array(), array()};
      if (form == standard)
        return {product(0, transposed_rhs, ct, c[1]), product(1, ragged_contracting, c[0], ct), array(), array()};
      return {product(0, standard, ct, c[1]), product(1, ragged_contracting, ct, c[0]), array(), array()};
    },
    .jvp = [](const call& c) -> arrays {
      const auto moved = [&](const array& lhs, const array& rhs) {
        return bind(*c.self, {lhs, rhs, c[2], c[3]}, c.attribute_words(), c.where);
      };
      const array &left = c.tangents[0], &right = c.tangents[1];
      if (!left.exists() && !right.exists()) return array();
      if (!right.exists()) return moved(left, c[1]);
      if (!left.exists()) return moved(c[0], right);
      return moved(left, c[1]) + moved(c[0], right);
    },
    .batch = [](const call& c) -> arrays {
      arrays in;
      for (const array& x : with_batch_axis(c)) in.push_back(detail::joined_batch(x));
      const array y = bind_all(*c.self, in.data(), in.count(), c.attribute_words(), c.where)[0];
      shape s{c.batch_size, div_extent(y.extent(0), c.batch_size)};
      for (int i = 1; i < y.rank(); ++i) s.push_back(y.extent(i));
      return reshape(y, s);
    },
    .kernels = kernels_of<ragged_dot_p>,
};

namespace detail {
/// Another form on the groups of `c`. An operand of a narrower dtype becomes that of the other one.
constexpr array ragged_bind(const call& c, ragged_dot_form form, const array& lhs, const array& rhs) {
  const dtype t = bits_of(lhs.dtype()) < bits_of(rhs.dtype()) ? rhs.dtype() : lhs.dtype();
  const ragged_dot_attributes o{form, false, c.attrs<ragged_dot_attributes>().algorithm};
  return bind(described<ragged_dot_p>(), {astype(lhs, t), astype(rhs, t), c[2], c[3]}, o, c.where);
}

/// The sizes of the groups that rhs has, and the first row of the first one.
struct local_groups {
  array sizes, first_row;
};
constexpr local_groups groups_from(const array& sizes, const array& offset, std::int64_t groups, source_line l) {
  const array all = extent_operand(sizes.extent(0), l), none = zeros_like(all);
  const array from = astype(reshape(offset, shape{}, l), i32, l), at = iota(i32, {groups}, 0, l) + from;
  const array inside = logical_and(at >= none, at < all), before = iota(i32, sizes.shape(), 0, l) < from;
  return {select(inside, gather(sizes, select(inside, at, zeros_like(at)), l), zeros_like(at)),
          sum(select(before, maximum(sizes, zeros_like(sizes)), zeros_like(sizes)), {}, l)};
}

/// Rejects operands whose shapes or dtypes do not fit. False if it has.
constexpr bool ragged_operands(const array* xs, ragged_dot_form form, bool offset, source_line l) {
  const array &lhs = xs[0], &rhs = xs[1], &sizes = xs[2];
  const bool sums = form == ragged_dot_form::ragged_contracting;
  const auto wrong = [&](const char* what, const array& x, const message& expected) {
    reject(xs, 3, l, what, x.type(), expected);
    return false;
  };
  if (lhs.rank() != 2 || !is_floating(lhs.dtype())) return wrong("ragged_dot: lhs", lhs, "floats [M,K]");
  if (sizes.rank() != 1 || !is_index(sizes.dtype())) return wrong("ragged_dot: group_sizes", sizes, "i32 or i64 [G]");
  if (!is_floating(rhs.dtype()) || rhs.rank() != (sums ? 2 : 3))
    return wrong("ragged_dot: rhs", rhs, sums ? "floats [M,N]" : "floats [G,K,N]");
  const int inner = form == ragged_dot_form::standard ? 1 : 2;
  if (sums && rhs.extent(0) != lhs.extent(0))
    return wrong("ragged_dot: rhs", rhs, message("[M,N] with the M of ") << lhs.type());
  if (!sums && rhs.extent(inner) != lhs.extent(1))
    return wrong("ragged_dot: rhs", rhs,
                 message(inner == 1 ? "[G,K,N]" : "[G,N,K]") << " with the K of " << lhs.type());
  if (!sums && !offset && rhs.extent(0) != sizes.extent(0))
    return wrong("ragged_dot: group_sizes", sizes, message("one size for each group of ") << rhs.type());
  return true;
}
}  // namespace detail

/// The three products of groups of rows. The rows of lhs are sorted by their group: the first group_sizes[0] of them belong to
/// group 0, and so on.
///
///   standard            y[m] = lhs[m] rhs[group of m]
///   transposed_rhs      y[m] = lhs[m] rhs[group of m]^T
///   ragged_contracting  y[g] = the sum of lhs[m]^T rhs[m] over the rows m of group g
///
/// shapes  as ragged_dot_form says; group_sizes [G], or with `group_offset` more of them. Rows after the last group, and before the first
///         one that rhs has, are zero and have zero gradients; so is the sum of an empty group
/// dtypes  lhs and rhs any floats, promoted to one dtype; sums are f32, f64 for f64; group_sizes i32 or i64
/// errors  "ragged_dot: lhs", "ragged_dot: rhs", "ragged_dot: group_sizes", "ragged_dot: group_offset" of ragged_contracting or if
///         not one integer, "ragged_dot: preferred type". A negative size counts as 0, and sizes end with the rows of lhs
/// source  jax.lax.ragged_dot_general
constexpr array ragged_dot_general(const array& lhs, const array& rhs, const array& group_sizes, ragged_dot_form form,
                                   const ragged_dot_options& o = {}, source_line l = source_line::current()) {
  const array given[] = {lhs, rhs, group_sizes};
  const bool offset = o.group_offset.exists();
  if (!detail::ragged_operands(given, form, offset, l)) return lhs;
  const dtype t = promote({lhs.dtype(), false}, {rhs.dtype(), false}).type;
  const dtype result = o.preferred_element_type == dtype::none ? t : o.preferred_element_type;
  if (!is_floating(result) || t == dtype::none) {
    reject(given, 3, l, "ragged_dot: preferred type", name(result), "a float");
    return lhs;
  }
  if (offset && (form == ragged_dot_form::ragged_contracting || o.group_offset.size() != 1 ||
                 !detail::is_index(o.group_offset.dtype()))) {
    reject(given, 3, l, "ragged_dot: group_offset", o.group_offset.type(), "one i32 or i64, of a form with [G,K,N]");
    return lhs;
  }
  const dtype type = result == f64 ? f64 : detail::has_products(t) ? t : f32;
  const bool wide = result != type && carrying(type) == carrying(result);
  detail::local_groups groups{detail::index_in_i32(group_sizes), zeros({1}, i32)};
  if (offset) groups = detail::groups_from(groups.sizes, detail::index_in_i32(o.group_offset), rhs.extent(0), l);
  const use_implementation named("ragged_dot", o.implementation, lhs, rhs);
  const array y = bind(described<ragged_dot_p>(),
                       {expand_dims(astype(lhs, type, l), 0, l), expand_dims(astype(rhs, type, l), 0, l),
                        expand_dims(groups.sizes, 0, l), reshape(groups.first_row, {1}, l)},
                       ragged_dot_attributes{form, wide, o.algorithm}, l);
  return astype(squeeze(y, 0, l), result, l);
}

/// Multiplies each row of lhs with the matrix of its group, then applies `activation` to the sums, before they are rounded.
///
///   y[m] = activation(lhs[m] rhs[group of m])
///
/// shapes  lhs [M, K], rhs [G, K, N], group_sizes [G] -> [M, N]; the first group_sizes[0] rows belong to group 0, and so on. Rows
///         after the last group are those of a zero product
/// dtypes, errors  see ragged_dot_general
/// source  jax.lax.ragged_dot, tokamax.ragged_dot; Gale et al. 2022, arXiv:2211.15841
template <class Activation = no_activation>
constexpr array ragged_dot(const array& lhs, const array& rhs, const array& group_sizes,
                           const ragged_dot_options& options = {}, const Activation& activation = {},
                           source_line l = source_line::current()) {
  if constexpr (std::is_same_v<Activation, no_activation>)
    return ragged_dot_general(lhs, rhs, group_sizes, ragged_dot_form::standard, options, l);
  const dtype t = promote({lhs.dtype(), false}, {rhs.dtype(), false}).type;
  ragged_dot_options in_sums = options;
  if (is_floating(t)) in_sums.preferred_element_type = carrying(t);
  const array y = activation(ragged_dot_general(lhs, rhs, group_sizes, ragged_dot_form::standard, in_sums, l));
  return astype(y, options.preferred_element_type == dtype::none ? t : options.preferred_element_type, l);
}

}  // namespace tokamax
