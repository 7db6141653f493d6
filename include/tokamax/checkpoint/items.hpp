// tokamax/checkpoint/items.hpp: things of several kinds under names of their own, saved in one step.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/checkpoint/state.cpp
#pragma once

#include <tokamax/base/tree.hpp>               // for_each_leaf_with_path
#include <tokamax/checkpoint/metadata.hpp>     // metadata
#include <tokamax/checkpoint/safetensors.hpp>  // named_array
#include <tokamax/core/partition.hpp>          // is_absent

namespace tokamax::checkpoint {

namespace detail {

// The leaves of a tree under the name `root`, but for places that `filter` left empty. They share the data of the tree.
template <class Tree>
std::vector<named_array> leaves_of(const Tree& tree, std::string_view root = {}) {
  std::vector<named_array> result;
  for_each_leaf_with_path(
      [&](std::string_view path, const auto& leaf) {
        if (!is_absent(leaf)) result.push_back({std::string(path.empty() ? "value" : path), leaf});
      },
      tree, root);
  return result;
}

/// What a checkpoint holds.
struct content {
  std::vector<named_array> leaves;
  metadata about;
};

}  // namespace detail

/// Trees, records and bytes under names: `items().tree("model", m).record("data", reader.state()).bytes("tokenizer", file)`.
/// A checkpoint of items is saved like a tree, whole or not at all, and each item is restored by itself:
/// `restore(path, m, {.item = "model"})`, `about(path).get<T>("data")`, `read_bytes(path, "tokenizer")`.
class items {
 public:
  template <class Tree>
  items& tree(std::string_view name, const Tree& tree) {
    for (named_array& leaf : detail::leaves_of(tree, name)) leaves_.push_back(std::move(leaf));
    return *this;
  }
  /// A number, a text, a vector of those, or a plain struct of any of those, as an entry of the metadata.
  template <class T>
  items& record(const std::string& name, const T& value) {
    entries_.set(name, value);
    return *this;
  }
  /// Any bytes; they become an array u8.
  items& bytes(const std::string& name, std::string_view content) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(content.data());
    leaves_.push_back(
        {name, array::from(std::span(first, content.size()), {static_cast<std::int64_t>(content.size())})});
    return *this;
  }
  detail::content content(metadata about) const;

 private:
  std::vector<named_array> leaves_;
  metadata entries_;
};

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
TOKAMAX_FILES_COMPILED_ONCE detail::content items::content(metadata about) const {
  for (const auto& [name, value] : entries_.entries->items()) {
    if (about.has(name)) throw error("checkpoint: item", name + " twice", "distinct names");
    about.entries[name] = value;
  }
  return {leaves_, std::move(about)};
}
#endif

namespace detail {

template <class Tree>
content content_of(const Tree& tree, metadata about) {
  if constexpr (std::is_same_v<Tree, items>)
    return tree.content(std::move(about));
  else
    return {leaves_of(tree), std::move(about)};
}

}  // namespace detail

}  // namespace tokamax::checkpoint
