// tokamax/nn/initializers/init.hpp: give the parameters of a model their first values.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>  // in_trace
#include <tokamax/random/key.hpp>  // key, fold_in

#include <concepts>  // same_as

namespace tokamax {

namespace detail {
template <class T>
concept initializes_itself = requires(const T& layer, const random::key& k) {
  { layer.init(k) } -> std::same_as<T>;
};

constexpr void require_initial_value(const array& a, source_line l) {
  if (a.is_abstract()) reject(nullptr, l, "init: parameter without a rule", a.type(), "an init member or a value");
}

template <class T>
constexpr T initialized(T tree, const random::key& k, source_line l) {
  if constexpr (initializes_itself<T>) {
    return tree.init(k);
  } else if constexpr (kind_of<T> == tree_kind::leaf) {
    require_initial_value(tree, l);
  } else if constexpr (kind_of<T> != tree_kind::constant) {
    int i = 0;
    for_each_child(
        [&](auto& child) {
          const int position = i++;  // static fields count too, so that keys do not depend on which fields are arrays
          if constexpr (kind_of<std::remove_cvref_t<decltype(child)>> != tree_kind::constant)
            child = initialized(std::move(child), random::fold_in(k, position, l), l);
        },
        tree);
  }
  return tree;
}
}  // namespace detail

/// `model` with values in all its arrays. A layer states its own rule by a member `init(key)` that returns the filled
/// layer. Any other record gives each field a key that is folded with the position of the field; elements of sequences
/// count by index, and those of maps by their order. An array outside of such layers keeps its value, as in
/// `array scale = ones({n})`.
///
/// The whole model is filled by one program, and the values depend on the key and the model only.
///
/// errors  "init: parameter without a rule" for an array that has neither a value nor a layer
/// source  Flax's parameter initialisation; the order of keys is our own
template <class Model>
constexpr Model init(const Model& model, const random::key& key, source_line l = source_line::current()) {
  return in_trace([&](graph&, const random::key& k) { return detail::initialized(copy_tree(model), k, l); }, key);
}
template <class Model>
constexpr Model init(const random::key& key, source_line l = source_line::current()) {
  return init(Model{}, key, l);
}

}  // namespace tokamax
