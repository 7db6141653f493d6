// tokamax/transforms/associative_scan.hpp: all prefixes of a sequence under an associative function, in few large steps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>              // leaves
#include <tokamax/lax/indexing/slice.hpp>      // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/lax/shapes/reverse.hpp>      // reverse

namespace tokamax {

/// Options of associative_scan.
struct associative_scan_options {
  bool reverse = false;  ///< start with the last entry: the results are suffixes
  int axis = 0;
};

namespace detail {

/// The entries first, first + step, ... of each leaf, up to but without `last`.
template <class Tree>
constexpr Tree entries(const Tree& tree, int axis, std::int64_t first, std::int64_t last, std::int64_t step = 1) {
  return tree_map(
      [&](const array& x) {
        shape from, to = x.shape(), strides;
        for (int k = 0; k < x.rank(); ++k) from.push_back(0), strides.push_back(1);
        from[axis] = first, to[axis] = last, strides[axis] = step;
        return slice(x, from, to, strides);
      },
      tree);
}
/// a[0], b[0], a[1], b[1], ...: a has as many entries as b, or one more.
constexpr array interleaved(const array& a, const array& b, int axis) {
  const std::int64_t n = b.extent(axis), last = a.extent(axis);
  shape s = b.shape();
  s[axis] = 2 * n;
  const array both = reshape(stack({slice_in_dim(a, 0, n, axis), b}, axis + 1), s);
  if (n == last) return both;
  return concatenate({both, slice_in_dim(a, n, last, axis)}, axis);
}
template <class F, class Tree>
constexpr Tree prefixes(const F& f, const Tree& x, int axis, std::int64_t n) {
  if (n < 2) return x;
  const Tree pairs = f(entries(x, axis, 0, n - 1, 2), entries(x, axis, 1, n, 2));
  const Tree odd = prefixes(f, pairs, axis, n / 2);  // the prefixes of 2, 4, ... entries, which belong at 1, 3, ...
  Tree even = entries(x, axis, 0, 1);
  if (n > 2) {
    const Tree longer = f(entries(odd, axis, 0, (n - 1) / 2), entries(x, axis, 2, n, 2));
    even = tree_map([&](const array& a, const array& b) { return concatenate({a, b}, axis); }, even, longer);
  }
  return tree_map([&](const array& a, const array& b) { return interleaved(a, b, axis); }, even, odd);
}

}  // namespace detail

/// Computes x[0], f(x[0], x[1]), f(f(x[0], x[1]), x[2]), ... for an associative function f of two trees. f is called only
/// about 2 log2(n) times, each time on whole slices of the sequence. It must therefore work on many entries at once, as
/// vmap of a function of two entries does.
///
///   associative_scan([](const array& a, const array& b) { return a * b; }, x)  // cumprod(x)
///
/// shapes  leaves of x [..., n at `axis`, ...] -> the same; n is known when it is traced
/// errors  "associative_scan: length" if leaves differ in n; "associative_scan: axis"
/// source  jax.lax.associative_scan: Blelloch 1990, without the zeros
template <class F, class Tree>
constexpr Tree associative_scan(const F& f, const Tree& x, associative_scan_options options = {},
                                source_line l = source_line::current()) {
  return in_trace(
      [&](graph& g, const Tree& given) -> Tree {
        const arrays all = leaves(given);
        if (all.empty()) return given;
        const int axis = checked_axis("associative_scan: axis", options.axis, all[0], l);
        for (const array& a : all)
          if (a.rank() <= axis || a.extent(axis) != all[0].extent(axis) || is_dyn(a.extent(axis))) {
            reject(&g, l, "associative_scan: length", a.type(), message("one known extent at axis ") << axis);
            return given;
          }
        const auto turned = [&](const Tree& tree) -> Tree {
          if (!options.reverse) return tree;
          return tree_map([&](const array& a) { return reverse(a, {axis}, l); }, tree);
        };
        const auto combine = [&](const Tree& a, const Tree& b) -> Tree { return f(a, b); };
        return turned(detail::prefixes(combine, turned(given), axis, all[0].extent(axis)));
      },
      x);
}

}  // namespace tokamax
