// tokamax/optim/transforms/masked.hpp: transforms for some of the parameters, chosen by path or array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/partition.hpp>   // filter, combine
#include <tokamax/optim/transform.hpp>  // nothing_extra, update_with, map_floating

namespace tokamax::optim {

template <class Inner>
struct masked_state {
  Inner inner{};
};

/// What `masked` returns.
template <class Inner, class Mask>
struct masked_transform {
  Inner inner;
  Mask only;
  bool may_be_none = false;  ///< may `only` select no parameter?
  source_line where{};       ///< where masked was called

  template <class Params>
  constexpr auto init(const Params& params) const {
    const Params kept = filter(params, only);  // g++ 12 destroys no array of a temporary in constant expressions
    if (!may_be_none && tree_all([](const array& a) { return is_absent(a); }, kept))
      reject(nullptr, where, "masked: filter", "one that selects no leaf", "at least one, or allow_none");
    auto state = inner.init(kept);
    return masked_state<decltype(state)>{std::move(state)};
  }
  template <class Params, class State, class Extra = nothing_extra>
  constexpr std::pair<Params, masked_state<State>> update(const Params& updates, const masked_state<State>& s,
                                                          const Params& params, const Extra& extra = {}) const {
    const Params kept = filter(params, only);
    Params chosen = copy_tree(updates);
    for_each_leaf(
        [](auto& u, const array& p) {
          if (is_absent(p)) static_cast<array&>(u) = absent();
        },
        chosen, kept);
    auto [changed, state] = update_with(inner, chosen, s.inner, kept, extra);
    return {combine(changed, updates), {std::move(state)}};
  }
};

using tokamax::allow_none;  // of `masked(inner, only, allow_none)`

/// Applies `inner` to the parameters that `only` selects. `only` is a function of path and array, of the path, or of the
/// array, or a filter. The updates of other parameters pass unchanged, and `inner` keeps no state for them.
/// errors  "masked: filter" from `init` if it selects nothing, as a mistyped path does
/// source  optax.masked
template <class Inner, class Mask>
constexpr masked_transform<Inner, Mask> masked(Inner inner, Mask only, source_line l = source_line::current()) {
  return {inner, only, false, l};
}
template <class Inner, class Mask>
constexpr masked_transform<Inner, Mask> masked(Inner inner, Mask only, allow_none_tag) {
  return {inner, only, true};
}

/// Zeros in place of all updates.
/// source  optax.set_to_zero
struct set_to_zero {
  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, empty_state> update(const Updates& updates, empty_state s, const Params&) const {
    return {map_floating([](const array& u) { return zeros(u.shape(), u.dtype()); }, updates), s};
  }
};

/// Keeps some parameters as they are: `chain(adam({.learning_rate = 1e-3}), freeze(matching("embed")))`. Adam still has
/// state for them here; to avoid that, give them `set_to_zero` in a `multi_transform`.
/// source  optax.transforms.freeze
template <class Mask>
constexpr auto freeze(Mask only, source_line l = source_line::current()) {
  return masked(set_to_zero{}, only, l);
}

/// A transform for the parameters with one label.
template <class Label, class Transform>
struct labelled {
  Label label;
  Transform transform;
  source_line where;  ///< for messages

  constexpr labelled(Label name, Transform t, source_line l = source_line::current())
      : label(std::move(name)), transform(std::move(t)), where(l) {}
};
template <class Transform>
labelled(const char*, Transform) -> labelled<std::string_view, Transform>;

namespace detail {
template <class LabelOf, class Label>
struct has_label {
  LabelOf label_of;
  Label label;
  constexpr bool operator()(std::string_view path, const array& a) const {
    return tokamax::detail::call_on_leaf(label_of, path, a) == label;
  }
};
}  // namespace detail

/// What `multi_transform` returns: a chain of masked transforms, none of which has a parameter in common.
template <class LabelOf, class... Labelled>
struct multi_transformed
    : chained<
          masked_transform<decltype(Labelled::transform), detail::has_label<LabelOf, decltype(Labelled::label)>>...> {
  using parts = chained<
      masked_transform<decltype(Labelled::transform), detail::has_label<LabelOf, decltype(Labelled::label)>>...>;

  template <class Params>
  constexpr auto init(const Params& params) const {
    for_each_leaf_with_path(
        [&](std::string_view path, const array& p) {
          const bool known =
              std::apply([&](const auto&... part) { return (part.only(path, p) || ...); }, this->transforms);
          if (!known)
            reject(nullptr, std::get<0>(this->transforms).where, "multi_transform: label of a parameter",
                   message("none of those that were given, of ") << path, "a label with a transform");
        },
        params);
    return parts::init(params);
  }
};

/// A transform for each label; `label_of` is a function of path and array, of the path, or of the array:
///
///   multi_transform([](std::string_view path) { return path_matches(path, "*.lora") ? "train" : "freeze"; },
///                   labelled{"train", adam({.learning_rate = 1e-3})}, labelled{"freeze", set_to_zero{}})
///
/// errors  "multi_transform: label of a parameter" from `init` if a label has no transform
/// source  optax.multi_transform (optax.partition)
template <class LabelOf, class... Labelled>
constexpr multi_transformed<LabelOf, Labelled...> multi_transform(LabelOf label_of, Labelled... transforms) {
  return {{{{transforms.transform, {label_of, transforms.label}, true, transforms.where}...}}};
}

}  // namespace tokamax::optim
