// tokamax/nn/lora.hpp: low-rank adapters beside a model of any kind, which are trained in place of its matrices.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/base/tree/tree_like.hpp>           // tree_map_with_path
#include <tokamax/core/partition.hpp>                // filter_in
#include <tokamax/nn/initializers/initializers.hpp>  // square_root
#include <tokamax/ops/low_rank_update.hpp>           // low_rank_update

#include <optional>  // optional

namespace tokamax::lora {

/// The adapter of one matrix w, which becomes w + scale * a b.
/// shapes  w [..., in, out], a [..., in, rank], b [..., rank, out]
struct factors {
  array a, b;
  double scale = 1;
};

/// The size of adapters: `{.rank = 8, .alpha = 16}`.
struct options {
  int rank = 8;
  double alpha = 0;          ///< the scale is alpha / rank; 0: the scale is 1
  dtype type = dtype::none;  ///< of the factors; none: f32, or f64 for matrices of f64
};

/// Dropout of what adapters read, while they are trained. A key serves one step.
struct dropout {
  double rate = 0;
  random::key key;
};

namespace detail {
/// A struct of its own, because g++ 12 has no name for a function whose result is spelled by a lambda.
template <class Model>
struct adapters_of {
  static constexpr std::optional<factors> none(const array&) { return {}; }
  using type = decltype(tree_map<std::optional<factors>>(none, std::declval<const Model&>()));
};
}  // namespace detail

/// The type of a model's adapters: a tree like the model with factors, or nothing, in place of its arrays.
template <class Model>
using adapters = typename detail::adapters_of<Model>::type;

namespace detail {
constexpr factors first_factors(const array& w, const options& o, const random::key& k) {
  shape of_a = w.shape(), of_b = w.shape();
  const int r = w.rank();
  of_a[r - 1] = of_b[r - 2] = o.rank;
  const dtype type = o.type == dtype::none ? carrying(w.dtype()) : o.type;
  const double bound = nn::initializers::detail::square_root(6.0 / static_cast<double>(w.extent(r - 2)));
  const array uniform = random::uniform(k, of_a, f32, -1.0, 1.0);
  return {astype(random::detail::times(uniform, bound), type), zeros(of_b, type), o.alpha == 0 ? 1 : o.alpha / o.rank};
}
/// Does `f` fit a matrix of this type?
constexpr bool fits(const array& w, const factors& f) {
  const int r = w.rank();
  bool ok = r > 1 && f.a.rank() == r && f.b.rank() == r && f.a.extent(r - 1) == f.b.extent(r - 2);
  for (int i = 0; ok && i < r; ++i)
    ok = (i == r - 1 || f.a.extent(i) == w.extent(i)) && (i == r - 2 || f.b.extent(i) == w.extent(i));
  return ok;
}
/// A copy of `model` with f(array, factors) in place of the arrays that have an adapter.
template <class Model, class Adapters, class F>
constexpr Model with_adapters(const Model& model, const Adapters& adapters, const char* what, const F& f,
                              source_line l) {
  Model result = copy_tree(model);
  bool ok = true;
  for_each_leaf(
      [&](auto& leaf, const std::optional<factors>& of) {
        if (!of) return;
        ok = ok && fits(leaf, *of);
        if (ok) static_cast<array&>(leaf) = f(static_cast<const array&>(leaf), *of);
      },
      result, adapters);
  if (ok) return result;
  for_each_leaf_with_path(
      [&](std::string_view path, const array& leaf, const std::optional<factors>& of) {
        if (!of || fits(leaf, *of)) return;
        reject(of->a, l, message(what) << " " << path, message(of->a.type()) << " and " << of->b.type(),
               message("[..., in, r] and [..., r, out] for ") << leaf.type());
      },
      model, adapters);
  return result;
}
}  // namespace detail

/// Adapters for the matrices that `chosen` selects: a filter, or a function as `filter` takes it. Arrays of less than two axes, and
/// those that are no parameters or no floats, are passed by. Leading axes of an array are a stack of matrices. The model
/// stays as it is, and with these adapters it computes the same as before.
///
///   auto adapters = lora::init(model, of_layer<nn::attention>, {.rank = 8, .alpha = 16}, random::key(0));
///   const auto loss = [](const lora::adapters<network>& a, const network& m, const batch& b) {
///     return loss_of(lora::apply(m, a), b);
///   };
///   value_and_grad(loss)(adapters, model, b);
///
/// init    a he_uniform, b zeros
/// errors  "lora::init: rank" below 1; "lora::init: filter" that selects no matrix, as a mistyped path does
/// source  flax.nnx.LoRA, qwix.apply_lora_to_model; Hu et al. 2021, arXiv:2106.09685
template <class Model, class Filter>
constexpr adapters<Model> init(const Model& model, const Filter& chosen, const options& o, const random::key& key,
                               source_line l = source_line::current()) {
  if (o.rank < 1) reject(nullptr, l, "lora::init: rank", message() << o.rank, "1 or more");
  const auto selects = filter_in(chosen, model);
  int place = 0, found = 0;
  const auto made = [&](graph&, const random::key& k) {
    place = found = 0;
    const auto of = [&](std::string_view path, const auto& w) -> std::optional<factors> {
      ++place;  // keys depend on places alone, and not on what else is chosen
      if (!is_parameter<decltype(w)> || !is_floating(w.dtype()) || w.rank() < 2 || o.rank < 1) return {};
      if (!tokamax::detail::call_on_leaf(selects, path, w)) return {};
      ++found;
      return detail::first_factors(w, o, random::fold_in(k, place));
    };
    return tree_map_with_path<std::optional<factors>>(of, model);
  };
  adapters<Model> result = in_trace(made, key);
  if (found == 0 && o.rank > 0)
    reject(nullptr, l, "lora::init: filter", "one that selects no matrix", "at least one matrix of floats");
  return result;
}

namespace detail {
/// A copy of `model` whose adapted arrays are nodes of a trace.
template <class Model, class Adapters, class F>
constexpr Model applied(const Model& model, const Adapters& adapters, const F& updated, source_line l) {
  if (!std::is_constant_evaluated() && !trace_of(model, adapters))
    reject(nullptr, l, "lora::apply: arrays", "data outside of a trace", "a call within jit or grad, or lora::merge");
  return with_adapters(model, adapters, "lora::apply:", updated, l);
}
}  // namespace detail

/// The model with its adapters, for use in a trace: products with an adapted matrix w are x w + scale * (x a) b, also in
/// gradients, so no program makes an array of the size of w for an adapter, unless it does something else with w. Values are
/// those of `merge` up to rounding.
///
/// errors  "lora::apply: arrays" outside of a trace, where `merge` is what can be done; "lora::apply: PATH" for adapters of
///         another shape than their matrix
template <class Model, class Adapters>
constexpr Model apply(const Model& model, const Adapters& adapters, source_line l = source_line::current()) {
  const auto updated = [&](const array& w, const factors& f) { return low_rank_update(w, f.a, f.b, f.scale, l); };
  return detail::applied(model, adapters, updated, l);
}

/// The same with dropout: products are x w + scale * (d(x) a) b, where d zeroes elements with probability `rate` and divides the others
/// by 1 - rate. Each matrix draws by a key of its own.
///
/// errors  those above, and "lora::apply: dropout" for a rate outside [0, 1]
/// source  peft.LoraConfig.lora_dropout
template <class Model, class Adapters>
constexpr Model apply(const Model& model, const Adapters& adapters, const dropout& drop,
                      source_line l = source_line::current()) {
  if (!(drop.rate >= 0 && drop.rate <= 1))
    reject(nullptr, l, "lora::apply: dropout",
           drop.rate < 0   ? "below 0"
           : drop.rate > 1 ? "above 1"
                           : "nan",
           "a rate from 0 to 1");
  int place = 0;
  const auto updated = [&](const array& w, const factors& f) {
    const random::key k = random::fold_in(drop.key, ++place);
    shape stack;
    for (int i = 0; i + 2 < w.rank(); ++i) stack.push_back(w.extent(i));
    const array keys = stack.rank() == 0 ? array(k) : array(random::split(k, stack));
    return low_rank_update(w, f.a, f.b, f.scale, drop.rate, keys, l);
  };
  return detail::applied(model, adapters, updated, l);
}

/// The model with w + scale * a b in place of each adapted matrix w.
/// errors  "lora::merge: PATH" for adapters of another shape than their matrix
template <class Model, class Adapters>
constexpr Model merge(const Model& model, const Adapters& adapters, source_line l = source_line::current()) {
  const auto sum = [](const array& w, const factors& f) { return tokamax::detail::low_rank_sum(w, f.a, f.b, f.scale); };
  return detail::with_adapters(model, adapters, "lora::merge:", sum, l);
}

/// The model as it was before `merge`, up to rounding.
/// errors  "lora::unmerge: PATH"
template <class Model, class Adapters>
constexpr Model unmerge(const Model& model, const Adapters& adapters, source_line l = source_line::current()) {
  const auto rest = [](const array& w, const factors& f) {
    return tokamax::detail::low_rank_sum(w, f.a, f.b, -f.scale);
  };
  return detail::with_adapters(model, adapters, "lora::unmerge:", rest, l);
}

}  // namespace tokamax::lora
