// tokamax/transforms/vmap.hpp: a function of one example as a function of a batch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>        // in_trace
#include <tokamax/lax/transpose.hpp>     // move the batch axis
#include <tokamax/transforms/batch.hpp>  // batch

namespace tokamax {

/// An argument of vmap that every example shares.
inline constexpr std::int64_t not_mapped = -1000;

/// How vmap maps its arguments.
struct vmap_options {
  axes in_axes = {};  ///< one an argument: the axis of its leaves that is the batch, or not_mapped; empty: all 0
  int out_axis = 0;   ///< the axis of the results that is the batch
};

namespace detail {
constexpr array move_axis(const array& x, int from, int to, source_line l) {
  if (from < 0) from += x.rank();
  if (to < 0) to += x.rank();
  axes p;
  for (int i = 0; i < x.rank(); ++i)
    if (i != from) p.push_back(i);
  axes q;
  for (int i = 0, k = 0; i < x.rank(); ++i) q.push_back(i == to ? from : p[k++]);
  return transpose(x, q, l);
}
}  // namespace detail

/// What `vmap(f)` returns.
template <class F>
struct vmap_function {
  [[no_unique_address]] F f;
  vmap_options options;
  source_line where;  ///< of the call of vmap
  template <class... Args>
  constexpr auto operator()(const Args&... args) const {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
    return in_trace([this](graph& g, const Args&... traced) -> result_type { return map<result_type>(g, traced...); },
                    args...);
  }

 private:
  constexpr void refuse(graph& g, text found, text expected) const {
    reject(&g, where, "vmap: in_axes", found, expected);
  }
  template <class Result, class... Args>
  constexpr Result map(graph& g, const Args&... args) const {
    if (const int given = options.in_axes.rank(); given != 0 && given != sizeof...(Args))
      refuse(g, text() << options.in_axes, text("one entry for each of ") << sizeof...(Args) << " arguments");
    std::int64_t n = -1;
    arrays examples, batches;
    int argument = 0;
    auto example = [&](auto tree) {
      const std::int64_t axis = argument < options.in_axes.rank() ? options.in_axes[argument] : 0;
      ++argument;
      if (axis == not_mapped) return tree;
      for_each_leaf(
          [&](auto& a) {
            const array b = detail::move_axis(a, checked_axis("vmap: in_axes", axis, a, where), 0, where);
            if (n == -1) n = b.extent(0);
            if (b.rank() == 0 || n != b.extent(0))
              reject(&g, where, "vmap: batch extent", b.type(), text("leading ") << n);
            array_type t = b.type();
            t.extents = {};
            for (int i = 1; i < b.rank(); ++i) t.extents.push_back(b.extent(i));
            examples.push_back(placeholder(g, t));
            batches.push_back(b);
            static_cast<array&>(a) = examples.back();
          },
          tree);
      return tree;
    };
    std::tuple<Args...> inside{example(args)...};  // braces: from left to right
    if (n == -1) refuse(g, "no argument that is mapped", "one or more");
    Result result = std::apply(f, inside);
    arrays ys;
    for (const array& a : leaves(result)) ys.push_back(lift(g, a));
    arrays mapped = batch(g, n, examples, batches, ys);
    for (int k = 0; k < mapped.count(); ++k) {
      if (!mapped[k].exists()) mapped[k] = with_leading_axis(ys[k], n);
      mapped[k] =
          detail::move_axis(mapped[k], 0, checked_axis("vmap: out_axis", options.out_axis, mapped[k], where), where);
    }
    return with_leaves(result, mapped);
  }
};

/// A function that applies f to every entry of a batch, as one computation on whole batches.
///
/// shapes  leaves of mapped arguments have the batch axis `in_axes`; results have it at `out_axis`
/// errors  "vmap: batch extent" if leaves disagree, "vmap: in_axes" if there is not one an argument, none is mapped or
///         leaves lack the axis, "vmap: out_axis" if results do
/// source  jax.vmap
template <class F>
constexpr vmap_function<F> vmap(F f, vmap_options options = {}, source_line l = source_line::current()) {
  return {f, options, l};
}

}  // namespace tokamax
