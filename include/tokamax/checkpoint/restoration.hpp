// tokamax/checkpoint/restoration.hpp: the arrays of a checkpoint, checked against a tree and read one by one.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/checkpoint/state.cpp
#pragma once

#include <tokamax/checkpoint/items.hpp>  // named_array, metadata

#include <concepts>  // derived_from
#include <utility>   // pair

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/element.hpp>              // converted, dispatch
  #include <tokamax/checkpoint/metadata_file.hpp>  // read_metadata
  #include <tokamax/profile/session.hpp>           // span

  #include <set>  // set
#endif

namespace tokamax::checkpoint {

/// What `restore` does with a leaf that the folder does not have.
enum class when_missing : std::uint8_t { refuse, keep };

/// Parts of trees are named by paths such as `model.blocks[3]`, which stand for all that is below them.
struct restore_options {
  bool partial = false;                                          ///< the folder may hold more than the tree
  std::string item = {};                                         ///< the tree is this item of the folder
  std::vector<std::string> only = {};                            ///< restores these parts of the tree; the others stay
  std::vector<std::pair<std::string, std::string>> rename = {};  ///< parts of the tree, and their names in the folder
  bool cast = false;                                             ///< floats are converted to the dtype of the tree
  bool pad_or_truncate = false;                                  ///< other extents are cut, or filled with zeros
  when_missing missing = when_missing::refuse;                   ///< keep: such leaves stay as they are
};

namespace detail {

/// A leaf of the tree: its name there, what it must be, and whether it has memory that is still in use.
struct expected_leaf {
  std::string name;
  array_type type;
  bool has_data;
};
template <class Tree>
std::vector<expected_leaf> expected_leaves(const Tree& tree, std::string_view root) {
  std::vector<expected_leaf> result;
  for (const named_array& leaf : leaves_of(tree, root))
    result.push_back({leaf.name, leaf.value.type(), leaf.value.is_concrete() && !leaf.value.is_literal()});
  return result;
}

/// A checkpoint whose files are open. The constructor compares everything with the tree and with the checksums. If no leaf
/// has data, the arrays are kept as they are read. Otherwise they are read again one at a time, so that the old and
/// the new ones are never in memory together. In recordings both are spans of the name "checkpoint.restore".
class restoration {
 public:
  restoration(const std::filesystem::path& path, const std::vector<expected_leaf>& leaves,
              const restore_options& options);
  /// The same for arrays of which no checksums were saved.
  restoration(std::unique_ptr<const array_source> source, const std::vector<expected_leaf>& leaves,
              const restore_options& options);
  /// Does the folder have leaf `i` of the tree?
  bool has(std::size_t i) const { return !plan_[i].stored.empty(); }
  array read(std::size_t i);
  /// The number of arrays that were saved.
  std::size_t saved() const { return checksums_.size(); }
  metadata about;

 private:
  struct planned {
    std::string stored;  // the name in the folder; empty for a leaf that stays
    array_type type;
    array value = {};
  };
  void compare(const std::vector<expected_leaf>& leaves, const restore_options& options);
  void plan(const expected_leaf& leaf, const restore_options& options);
  void refuse_more(const restore_options& options) const;
  array read_checked(const std::string& name) const;
  std::uint32_t saved_checksum(const std::string& name) const;

  std::unique_ptr<const array_source> source_;
  bool has_checksums_;
  std::map<std::string, std::uint32_t> checksums_;
  std::vector<planned> plan_;
};

// Puts the arrays into the tree from which the list of leaves was made. Each leaf frees its memory before it gets new data.
template <class Tree>
metadata put_leaves(Tree& tree, restoration& from) {
  std::size_t next = 0;
  for_each_leaf(
      [&](auto& leaf) {
        using leaf_type = std::remove_cvref_t<decltype(leaf)>;
        if (is_absent(leaf)) return;
        const std::size_t i = next++;
        if (!from.has(i)) return;
        if constexpr (std::derived_from<leaf_type, array>) static_cast<array&>(leaf) = array(leaf.type());
        leaf = leaf_type(from.read(i));
      },
      tree);
  return std::move(from.about);
}

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
// Is `name` the part of a tree that is called `part`, or below it?
TOKAMAX_FILES_COMPILED_ONCE bool is_part(std::string_view name, std::string_view part) {
  return name.starts_with(part) &&
         (part.empty() || name.size() == part.size() || name[part.size()] == '.' || name[part.size()] == '[');
}
TOKAMAX_FILES_COMPILED_ONCE std::string renamed(const std::string& name, const restore_options& options) {
  for (const auto& [from, to] : options.rename) {
    if (!is_part(name, from)) continue;
    std::string rest = name.substr(from.size());
    if (to.empty() && rest.starts_with('.')) rest.erase(0, 1);
    if (from.empty() && !rest.starts_with('[')) rest.insert(0, ".");
    return to + rest;
  }
  return name;
}

// Floats as another dtype, rounded to the nearest.
TOKAMAX_FILES_COMPILED_ONCE array cast_floats(const array& from, dtype type) {
  array result = array::uninitialized({type, false, from.shape()});
  dispatch(from.dtype(), [&]<dtype From>() {
    dispatch(type, [&]<dtype To>() {
      if constexpr (is_floating(From) && is_floating(To)) {
        const auto* source = from.data<element_t<From>>();
        auto* to = result.mutable_data<element_t<To>>();
        for (std::int64_t i = 0; i < from.size(); ++i) to[i] = converted<element_t<To>>(source[i]);
      }
    });
  });
  return result;
}

// An array of other extents: what both have is the same, and the rest is zeros.
TOKAMAX_FILES_COMPILED_ONCE array fit_shape(const array& from, const shape& extents) {
  array result = array::uninitialized({from.dtype(), false, extents});
  const std::int64_t width = size_of(from.dtype());
  std::memset(result.mutable_bytes(), 0, static_cast<std::size_t>(result.size() * width));
  const int last = from.rank() - 1;
  const std::int64_t row = std::min(from.extent(last), extents[last]);
  for (std::int64_t r = 0; row > 0 && r < from.size() / from.extent(last); ++r) {
    std::int64_t rest = r, at = 0, stride = extents[last];
    bool inside = true;
    for (int axis = last - 1; axis >= 0; --axis) {
      const std::int64_t x = rest % from.extent(axis);
      rest /= from.extent(axis);
      inside = inside && x < extents[axis];
      at += x * stride;
      stride *= extents[axis];
    }
    if (inside)
      std::memcpy(result.mutable_bytes() + at * width, from.bytes() + r * from.extent(last) * width,
                  static_cast<std::size_t>(row * width));
  }
  return result;
}

TOKAMAX_FILES_COMPILED_ONCE restoration::restoration(const std::filesystem::path& path,
                                                     const std::vector<expected_leaf>& leaves,
                                                     const restore_options& options)
    : has_checksums_(true) {
  stored_metadata all = read_metadata(path / "metadata.json");
  about = std::move(all.about);
  checksums_ = std::move(all.checksums);
  source_ = std::make_unique<safetensors_file>(path / "arrays.safetensors");
  compare(leaves, options);
}
TOKAMAX_FILES_COMPILED_ONCE restoration::restoration(std::unique_ptr<const array_source> source,
                                                     const std::vector<expected_leaf>& leaves,
                                                     const restore_options& options)
    : source_(std::move(source)), has_checksums_(false) {
  compare(leaves, options);
}
TOKAMAX_FILES_COMPILED_ONCE void restoration::compare(const std::vector<expected_leaf>& leaves,
                                                      const restore_options& options) {
  const profile::span mark("checkpoint.restore");
  std::vector<std::string> parts = options.only;
  for (const auto& [from, to] : options.rename) parts.push_back(from);
  for (const std::string& part : parts) {
    if (std::ranges::none_of(leaves, [&](const expected_leaf& leaf) { return is_part(leaf.name, part); }))
      throw error("checkpoint: only, rename", part, "a part of the tree", source_->path().string());
  }
  for (const expected_leaf& leaf : leaves) plan(leaf, options);
  refuse_more(options);
  const bool in_use = std::ranges::any_of(leaves, [](const expected_leaf& leaf) { return leaf.has_data; });
  for (planned& leaf : plan_) {
    if (leaf.stored.empty()) continue;
    if (!in_use)
      leaf.value = read_checked(leaf.stored);
    else if (const std::uint32_t found = source_->checksum(leaf.stored);
             has_checksums_ && found != saved_checksum(leaf.stored))
      read_checked(leaf.stored);  // which says what is wrong
  }
}
TOKAMAX_FILES_COMPILED_ONCE void restoration::plan(const expected_leaf& leaf, const restore_options& options) {
  const std::string where = source_->path().string(), expected(message{leaf.type}.view());
  const auto within = [&](const std::string& part) { return is_part(leaf.name, part); };
  plan_.push_back({{}, leaf.type});
  if (!options.only.empty() && !std::ranges::any_of(options.only, within)) return;
  const std::string name = renamed(leaf.name, options), asked = name == leaf.name ? name : leaf.name + " as " + name;
  const auto found = source_->arrays().find(name);
  if (found == source_->arrays().end()) {
    if (options.missing == when_missing::keep) return;
    throw error(error_kind::file, "checkpoint: leaf " + asked, "nothing", expected, where);
  }
  const array_type& type = found->second.type;
  const bool floats = options.cast && is_floating(type.dtype) && is_floating(leaf.type.dtype);
  const bool fits =
      type.shape == leaf.type.shape || (options.pad_or_truncate && type.shape.rank() == leaf.type.shape.rank());
  if (type != leaf.type && !(fits && (floats || type.dtype == leaf.type.dtype)))
    throw error(error_kind::file, "checkpoint: leaf " + asked, found->second.text, expected, where);
  plan_.back().stored = name;
}
// A strict restore takes all leaves of the folder, or of the item.
TOKAMAX_FILES_COMPILED_ONCE void restoration::refuse_more(const restore_options& options) const {
  if (options.partial) return;
  std::set<std::string> taken;
  for (const planned& leaf : plan_) taken.insert(leaf.stored);
  for (const auto& [name, stored] : source_->arrays()) {
    const auto within = [&](const std::string& part) { return is_part(name, renamed(part, options)); };
    const bool asked =
        is_part(name, options.item) && (options.only.empty() || std::ranges::any_of(options.only, within));
    if (asked && !taken.contains(name))
      throw error(error_kind::file, "checkpoint: leaf " + name, stored.text, "no such leaf", source_->path().string());
  }
}
TOKAMAX_FILES_COMPILED_ONCE std::uint32_t restoration::saved_checksum(const std::string& name) const {
  const auto expected = checksums_.find(name);
  if (expected == checksums_.end())
    throw error(error_kind::file, "checkpoint: damaged leaf " + name, "no checksum", "the one that was saved",
                source_->path().string());
  return expected->second;
}
TOKAMAX_FILES_COMPILED_ONCE array restoration::read_checked(const std::string& name) const {
  const array value = source_->read(name);
  if (has_checksums_ && saved_checksum(name) != crc32c(bytes_of(value)))
    throw error(error_kind::file, "checkpoint: damaged leaf " + name, "another checksum", "the one that was saved",
                source_->path().string());
  return value;
}
TOKAMAX_FILES_COMPILED_ONCE array restoration::read(std::size_t i) {
  planned& leaf = plan_[i];
  const profile::span mark("checkpoint.restore");
  array value = leaf.value.is_concrete() ? std::move(leaf.value) : read_checked(leaf.stored);
  leaf.value = {};
  if (value.dtype() != leaf.type.dtype) value = cast_floats(value, leaf.type.dtype);
  if (value.shape() != leaf.type.shape) value = fit_shape(value, leaf.type.shape);
  return array(value.storage(), leaf.type);
}
#endif

}  // namespace detail

}  // namespace tokamax::checkpoint
