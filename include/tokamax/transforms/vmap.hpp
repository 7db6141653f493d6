// tokamax/transforms/vmap.hpp: a function of one example as a function of a batch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>               // in_trace
#include <tokamax/lax/shapes/transpose.hpp>     // move the batch axis
#include <tokamax/transforms/callable.hpp>      // callable, takes
#include <tokamax/transforms/passes/batch.hpp>  // batch

namespace tokamax {

/// An argument of vmap that every example shares.
inline constexpr std::int64_t not_mapped = -1000;

/// The options of vmap.
struct vmap_options {
  axes in_axes = {};  ///< for each argument the batch axis of its leaves, or not_mapped; empty: all 0
  /// The batch axis of the results: one for all, or one for each element of the pair or tuple that f returns. It is
  /// not_mapped for results that are the same for all entries. Empty: all 0.
  axes out_axes = {};
  std::string_view axis_name = {};  ///< the name of the axis for collectives in f, see collectives.hpp
  std::int64_t axis_size = -1;      ///< its extent; needed only if no argument is mapped
};

namespace detail {
/// Stands for axes that are not given as a tree.
struct nothing_given {};

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

/// Makes the axis of a vmap known by its name while the function is traced.
class axis_scope {
 public:
  constexpr axis_scope(graph& g, const named_axis& axis) : g_(axis.name.empty() ? nullptr : &g) {
    if (g_) g_->axes.push_back(axis);
  }
  constexpr ~axis_scope() {
    if (g_) g_->axes.pop_back();
  }
  axis_scope(const axis_scope&) = delete;

 private:
  graph* g_;
};

/// The number of leaves of each element of a pair or tuple. Any other tree counts as one element.
template <class Tree>
constexpr vec<int> leaves_of_elements(const Tree& tree) {
  if constexpr (requires { fields_of<Tree>::positional; })
    return visit_fields(tree, [](const auto&... each) { return vec<int>{static_cast<int>(count_leaves(each))...}; });
  else
    return vec<int>{static_cast<int>(count_leaves(tree))};
}

/// The axis of each leaf of `tree`: `given` is a number for all of them, or a tree of such.
template <class Tree, class Given>
constexpr void append_axes(vec<std::int64_t>& axes, const Tree& tree, const Given& given) {
  constexpr tree_kind kind = kind_of<Tree>;
  if constexpr (std::is_arithmetic_v<Given> && kind != tree_kind::constant) {
    for (std::size_t k = count_leaves(tree); k > 0; --k) axes.push_back(static_cast<std::int64_t>(given));
  } else if constexpr (std::is_base_of_v<array, Given>) {  // a number in a struct of arrays
    const std::int64_t axis = given.is_literal() ? static_cast<std::int64_t>(given.literal()) : not_mapped - 1;
    append_axes(axes, tree, axis);
  } else if constexpr (kind == tree_kind::record) {
    static_assert(kind_of<Given> == kind, "tokamax: vmap: the tree of axes is not like the argument");
    const auto children = fields(tree);
    const auto entries = fields(given);
    static_assert(std::tuple_size_v<decltype(children)> == std::tuple_size_v<decltype(entries)>,
                  "tokamax: vmap: the tree of axes is not like the argument");
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (append_axes(axes, std::get<Index>(children), std::get<Index>(entries)), ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(children)>>{});
  } else if constexpr (kind == tree_kind::sequence) {
    for (std::size_t i = 0; i < std::size(tree) && i < std::size(given); ++i) append_axes(axes, tree[i], given[i]);
  } else {
    static_assert(kind == tree_kind::constant, "tokamax: vmap: trees of axes have structs, tuples, arrays and vectors");
  }
}
}  // namespace detail

/// What `vmap(f)` returns. `In` and `Out` are trees of axes, if they are given so.
template <class F, class In = detail::nothing_given, class Out = detail::nothing_given>
struct vmap_function {
  [[no_unique_address]] F f;
  vmap_options options;
  source_line where;  ///< the line of the call of vmap
  [[no_unique_address]] In in_axes{};
  [[no_unique_address]] Out out_axes{};
  template <class... Args>
  constexpr auto operator()(const Args&... args) const {
    static_assert(takes<F, Args...>,
                  "tokamax: vmap: the function does not take one example of each of these arguments");
    if constexpr (takes<F, Args...>) return in_graph(args...);
  }

 private:
  template <class... Args>
  constexpr auto in_graph(const Args&... args) const {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
    return in_trace([this](graph& g, const Args&... traced) -> result_type { return map<result_type>(g, traced...); },
                    args...);
  }
  /// The axis of each leaf of the result.
  template <class Result>
  constexpr vec<std::int64_t> out_axes_of(graph& g, const Result& result) const {
    vec<std::int64_t> places;
    if constexpr (!std::is_same_v<Out, detail::nothing_given>) {
      detail::append_axes(places, result, out_axes);
      if (const auto count = count_leaves(result); places.size() != count)
        reject(&g, where, "vmap: out_axes", message() << places.count() << " entries",
               message("one for each of ") << static_cast<int>(count) << " leaves");
      return places;
    }
    const vec<int> counts = detail::leaves_of_elements(result);
    const int given = options.out_axes.rank();
    if (given > 1 && given != counts.count())
      reject(&g, where, "vmap: out_axes", message() << options.out_axes,
             message("one entry, or one for each of ") << counts.count() << " results");
    for (int element = 0; element < counts.count(); ++element)
      for (int k = 0; k < counts[element]; ++k)
        places.push_back(given == 0 ? 0 : options.out_axes[given == counts.count() ? element : 0]);
    return places;
  }
  constexpr void refuse(graph& g, message found, message expected) const {
    reject(&g, where, "vmap: in_axes", found, expected);
  }
  /// The axis of each leaf of the arguments.
  template <class... Args>
  constexpr vec<std::int64_t> in_axes_of(graph& g, const Args&... args) const {
    vec<std::int64_t> places;
    if constexpr (std::is_same_v<In, detail::nothing_given>) {
      const int given = options.in_axes.rank();
      if (given != 0 && given != sizeof...(Args))
        refuse(g, message() << options.in_axes, message("one entry for each of ") << sizeof...(Args) << " arguments");
      int argument = 0;
      (detail::append_axes(places, args, argument < given ? options.in_axes[argument++] : 0), ...);
    } else {
      static_assert(std::tuple_size_v<In> == sizeof...(Args), "tokamax: vmap: in_axes has one entry an argument");
      detail::append_axes(places, std::tie(args...), in_axes);
      if (const auto count = count_leaves(std::tie(args...)); places.size() != count)
        refuse(g, message() << places.count() << " entries",
               message("one for each of ") << static_cast<int>(count) << " leaves");
    }
    return places;
  }
  template <class Result, class... Args>
  constexpr Result map(graph& g, const Args&... args) const {
    const vec<std::int64_t> places = in_axes_of(g, args...);
    std::int64_t n = options.axis_size < 0 ? -1 : options.axis_size;
    if (g.find_axis(options.axis_name) && !options.axis_name.empty())
      reject(&g, where, "vmap: axis_name", options.axis_name, "a name that no vmap around it has");
    arrays examples, batches;
    int leaf = 0;
    auto example = [&](auto tree) {
      for_each_leaf(
          [&](auto& a) {
            const std::int64_t axis = leaf < places.count() ? places[leaf] : 0;
            ++leaf;
            if (axis == not_mapped) return;
            const array b = detail::move_axis(a, checked_axis("vmap: in_axes", axis, a, where), 0, where);
            if (n == -1) n = b.extent(0);
            if (b.rank() == 0 || n != b.extent(0))
              reject(&g, where, "vmap: batch extent", b.type(), message("a leading extent of ") << n);
            array_type t = b.type();
            t.shape = {};
            for (int i = 1; i < b.rank(); ++i) t.shape.push_back(b.extent(i));
            examples.push_back(placeholder(g, t));
            g.nodes[examples.back().id()].scope = {detail::leaf_path(g, b.id()), 0};  // layers find their names by it
            batches.push_back(b);
            static_cast<array&>(a) = examples.back();
          },
          tree);
      return tree;
    };
    std::tuple<Args...> inside{example(args)...};  // braces: from left to right
    if (n == -1) refuse(g, "no argument that is mapped", "one or more");
    Result result = [&] {
      const detail::axis_scope scope(g, {options.axis_name, n});
      return std::apply(f, inside);
    }();
    arrays ys;
    for (const array& a : leaves(result)) ys.push_back(lift(g, a));
    const std::string_view axis = options.axis_name;
    batched_arrays all = batch_all(g, n, examples, batches, ys, axis);
    const vec<std::int64_t> targets = out_axes_of(g, result);
    for (int k = 0; k < ys.count(); ++k) {
      array& y = all.values[k];
      if (!y.exists()) y = ys[k];
      if (targets[k] == not_mapped) {
        if (all.mapped[k])
          reject(&g, where, "vmap: out_axes", y.type(), "for not_mapped, a result that is the same for all entries");
        continue;
      }
      if (!all.mapped[k]) y = with_leading_axis(y, n);
      y = detail::move_axis(y, 0, checked_axis("vmap: out_axes", targets[k], y, where), where);
    }
    return with_leaves(result, all.values);
  }
};

/// A function that applies f to every entry of a batch, as one computation on whole batches.
///
/// shapes  leaves of mapped arguments have the batch axis `in_axes`; results have it at `out_axes`
/// errors  "vmap: batch extent" if leaves have different ones; "vmap: in_axes" if their number is not that of the
///         arguments, none is mapped, or a leaf lacks the axis; "vmap: out_axes" if a result lacks the axis, or differs
///         between entries and is not mapped; "vmap: axis_name" if a vmap around it has that name
/// source  jax.vmap
template <class F>
constexpr vmap_function<callable<F>> vmap(F f, vmap_options options = {}, source_line l = source_line::current()) {
  return {as_callable(f), options, l};
}
constexpr vmap_function<library_function> vmap(library_function f, vmap_options options = {},
                                               source_line l = source_line::current()) {
  return {f, options, l};
}
/// The same with an axis for each leaf: `in` is a tuple with one entry an argument, `out` one for the result. An entry is a
/// number, for all leaves, or a tree of them: a value of the argument's own type with numbers for arrays, a tuple of entries,
/// or what `tree_map<int>(f, tree)` returns.
///
///   vmap(loss, std::tuple{network{.weight = 0, .bias = not_mapped}, 1})(networks, x)
///
/// errors  those above; entries that are not like their arguments do not compile, "vmap: in_axes" for a data array
template <class F, class First, class... In, class Out = detail::nothing_given>
constexpr vmap_function<callable<F>, std::tuple<First, In...>, Out> vmap(F f, std::tuple<First, In...> in, Out out = {},
                                                                         vmap_options options = {},
                                                                         source_line l = source_line::current()) {
  return {as_callable(f), options, l, in, out};
}

}  // namespace tokamax
