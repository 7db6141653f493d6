// tokamax/transforms/collectives.hpp: how entries of a named axis communicate: all_gather, psum, pmean, axis_index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/indexing/gather.hpp>     // gather: the entry's own row
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/lax/shapes/transpose.hpp>    // swapaxes
#include <tokamax/numpy/statistics.hpp>        // sum, mean, max, min
#include <tokamax/transforms/vmap.hpp>         // axis_name

namespace tokamax {

/// Attributes of ops about a named axis.
struct axis_attributes {
  axis_name axis = {};
  std::int64_t size = 0;
};

/// The number of the entry. The batch rule replaces the node when its axis is mapped. A node that is left refers to an
/// axis that nothing maps.
inline constexpr op axis_index_p{
    .name = "axis_index",
    .axis = axis_role::differs,
    .attributes = schema<axis_attributes>,
    .infer = [](const call&) -> array_type { return {i32, false, {}}; },
    .batch = [](const call& c) -> arrays { return iota(i32, {c.batch_size}, 0); },
};

/// The values of all entries, on a new first axis.
inline constexpr op all_gather_p{
    .name = "all_gather",
    .stablehlo = "stablehlo.all_gather",
    .algebra = {.linear = true},
    .axis = axis_role::gathers,
    .attributes = schema<axis_attributes>,
    .infer = [](const call& c) -> array_type {
      array_type t{c[0].dtype(), false, {c.attrs<axis_attributes>().size}};
      for (const std::int64_t e : c[0].shape()) t.shape.push_back(e);
      return t;
    },
    .vjp = [](const call& c) -> arrays {  // each entry gets its row of the sum of all cotangents
      const auto w = c.attrs<axis_attributes>();
      const array all = reduce_sum(bind(*c.self, {c.ct()}, w, c.where), {0});
      return gather(all, bind(described<axis_index_p>(), {}, w, c.where));
    },
    .batch = [](const call& c) -> arrays {
      const auto w = c.attrs<axis_attributes>();
      if (c.axis == w.axis.view()) return with_batch_axis(c, 0);
      const array all = bind(*c.self, {c[0]}, w, c.where);  // [entries, batch, ...]
      return swapaxes(all, 0, 1);
    },
};

namespace detail {
constexpr graph* graph_around(const array& x) {
  if (!std::is_constant_evaluated() && current_context.trace) return current_context.trace;
  return x.trace();
}
constexpr array gathered(const char* what, const array& x, std::string_view name, source_line l) {
  graph* g = graph_around(x);
  const named_axis* axis = g ? g->find_axis(name) : nullptr;
  if (!axis) {
    reject(g, l, message(what) << ": axis name", name, "the axis_name of a vmap around it");
    return with_leading_axis(x, 1);
  }
  return bind(described<all_gather_p>(), {x}, axis_attributes{name, axis->size}, l);
}
template <class Tree, class F>
constexpr auto for_leaves(const Tree& x, const F& f) {
  if constexpr (std::is_arithmetic_v<Tree>)
    return f(array(x));
  else
    return tree_map(f, x);
}
}  // namespace detail

/// The values of x of all entries of the axis that a vmap around it calls `axis_name`, on a new first axis.
///
///   vmap([](const array& x) { return x / psum(x, "batch"); }, {.axis_name = "batch"})
///
/// shapes  x [...] -> [entries, ...], the same for all entries
/// errors  "all_gather: axis name" if no vmap around it has that name
/// source  jax.lax.all_gather
constexpr array all_gather(const array& x, std::string_view axis_name, source_line l = source_line::current()) {
  return detail::gathered("all_gather", x, axis_name, l);
}

/// The sum, mean, maximum and minimum over the entries of a named axis, for each leaf of a tree. A number counts once for
/// each entry, so psum(1, name) is the number of entries.
///
/// shapes  x [...] -> the same, equal for all entries
/// errors  "psum: axis name" and so on if no vmap around it has that name
/// source  jax.lax.psum, pmean, pmax, pmin. As there, the gradient of a sum is the sum of the cotangents of all entries
template <class Tree>
constexpr auto psum(const Tree& x, std::string_view axis_name, source_line l = source_line::current()) {
  return detail::for_leaves(x,
                            [&](const array& a) { return sum(detail::gathered("psum", a, axis_name, l), {{0}}, l); });
}
template <class Tree>
constexpr auto pmean(const Tree& x, std::string_view axis_name, source_line l = source_line::current()) {
  return detail::for_leaves(x,
                            [&](const array& a) { return mean(detail::gathered("pmean", a, axis_name, l), {{0}}, l); });
}
template <class Tree>
constexpr auto pmax(const Tree& x, std::string_view axis_name, source_line l = source_line::current()) {
  return detail::for_leaves(x,
                            [&](const array& a) { return max(detail::gathered("pmax", a, axis_name, l), {{0}}, l); });
}
template <class Tree>
constexpr auto pmin(const Tree& x, std::string_view axis_name, source_line l = source_line::current()) {
  return detail::for_leaves(x,
                            [&](const array& a) { return min(detail::gathered("pmin", a, axis_name, l), {{0}}, l); });
}

/// The number of the entry along a named axis, i32.
/// errors  "axis_index: axis name" at run time, a missing kernel for axis_index while compiling
/// source  jax.lax.axis_index
constexpr array axis_index(std::string_view axis_name, source_line l = source_line::current()) {
  const axis_attributes w{axis_name, 0};
  if (!std::is_constant_evaluated() && (!current_context.trace || !current_context.trace->find_axis(axis_name)))
    reject(current_context.trace, l, "axis_index: axis name", axis_name, "the axis_name of a vmap around it");
  return bind(described<axis_index_p>(), {}, w, l);
}

/// Sends values between entries: for each pair {from, to}, entry `to` gets the x of entry `from`. Other entries get zeros.
///
/// errors  "ppermute: axis name"; "ppermute: pair" if it names an entry that does not exist, or a receiver twice
/// source  jax.lax.ppermute
constexpr array ppermute(const array& x, std::string_view axis_name,
                         std::initializer_list<std::pair<std::int64_t, std::int64_t>> pairs,
                         source_line l = source_line::current()) {
  const array all = detail::gathered("ppermute", x, axis_name, l);
  const std::int64_t n = all.extent(0);
  vec<std::int64_t> from(static_cast<std::size_t>(n), -1);
  for (const auto& [source, target] : pairs) {
    if (source < 0 || source >= n || target < 0 || target >= n || from[static_cast<int>(target)] >= 0) {
      reject(detail::graph_around(x), l, "ppermute: pair", message() << source << " to " << target,
             message("entries below ") << n << ", each a receiver once");
      return x;
    }
    from[static_cast<int>(target)] = source;
  }
  arrays rows;
  for (const std::int64_t f : from) {
    array row = array(0.0, {x.dtype(), false, x.shape()});
    if (f >= 0) row = squeeze(slice_in_dim(all, f, f + 1, 0, l), 0, l);
    rows.push_back(expand_dims(row, 0, l));
  }
  return gather(concatenate(rows, 0, l), axis_index(axis_name, l), l);
}

}  // namespace tokamax
