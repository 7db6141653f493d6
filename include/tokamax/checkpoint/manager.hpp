// tokamax/checkpoint/manager.hpp: the checkpoints of a run, one folder a step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/checkpoint/state.hpp>  // save, restore

#include <optional>  // optional

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <charconv>  // from_chars
  #include <chrono>    // milliseconds
  #include <thread>    // sleep_for
#endif

namespace tokamax::checkpoint {

struct manager_options {
  std::int64_t every = 500;      ///< steps between two checkpoints
  std::int64_t keep = 3;         ///< number of newest checkpoints that stay; 0 keeps all
  std::int64_t keep_period = 0;  ///< steps that are multiples of this stay in addition; 0 for none
};

/// Saves to and restores from `<root>/<step>/`. One process at a time may save; any number may read.
/// source  Orbax, CheckpointManager; unlike there, step 0 is saved only when asked for by `save_now`
class manager {
 public:
  explicit manager(std::filesystem::path root, manager_options options = {});
  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path folder(std::int64_t step) const;

  /// The saved steps in increasing order. Unfinished ones do not count, and without the folder there are none.
  /// errors  tokamax::error if the folder cannot be read
  std::vector<std::int64_t> steps() const;
  /// The last saved step. If another process saves meanwhile, it is a step that existed during the call.
  std::optional<std::int64_t> latest() const;

  /// Would `save` save at this step?
  bool due(std::int64_t step) const { return step > 0 && step % options_.every == 0; }

  /// Saves every `every` steps and says whether it did. Afterwards old checkpoints are deleted.
  /// errors  as checkpoint::save, and if the step is not after the latest; the checkpoints that were there stay
  template <class Tree>
  bool save(std::int64_t step, const Tree& tree, metadata about = {}) {
    if (!due(step)) return false;
    save_now(step, tree, std::move(about));
    return true;
  }
  template <class Tree>
  void save_now(std::int64_t step, const Tree& tree, metadata about = {}) {
    save_leaves(step, detail::leaves_of(tree), std::move(about));
  }

  /// Restores one step; see checkpoint::restore.
  /// errors  tokamax::error that lists the saved steps if this is none of them
  template <class Tree>
  metadata restore(std::int64_t step, Tree& tree, restore_options options = {}) const {
    std::vector<named_array> leaves = detail::leaves_of(tree);
    metadata about = restore_leaves(step, leaves, options);
    detail::replace_leaves(tree, leaves);
    return about;
  }
  /// Restores the latest step. If there is none, nothing happens and nothing is returned.
  /// errors  as checkpoint::restore; if the step is damaged, the message names the latest one that is whole
  template <class Tree>
  std::optional<metadata> restore(Tree& tree, restore_options options = {}) const {
    std::vector<named_array> leaves = detail::leaves_of(tree);
    std::optional<metadata> about = restore_latest(leaves, options);
    if (about) detail::replace_leaves(tree, leaves);
    return about;
  }
  /// The metadata of the latest step; errors as `restore`.
  std::optional<metadata> about() const;

 private:
  void save_leaves(std::int64_t step, std::vector<named_array> leaves, metadata about);
  metadata restore_leaves(std::int64_t step, std::vector<named_array>& leaves, restore_options options) const;
  std::optional<metadata> restore_latest(std::vector<named_array>& leaves, restore_options options) const;
  template <class Read>
  std::optional<metadata> from_latest(const Read& read) const;
  error with_a_way_out(const error& e, std::int64_t step) const;
  bool is_whole(std::int64_t step) const;
  std::vector<std::string> names() const;
  void remove_unfinished() const;
  void remove_old(std::vector<std::int64_t> old) const;

  std::filesystem::path root_;
  manager_options options_;
};

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
TOKAMAX_FILES_COMPILED_ONCE manager::manager(std::filesystem::path root, manager_options options)
    : root_(std::move(root)), options_(options) {
  if (options.every < 1 || options.keep < 0 || options.keep_period < 0)
    throw error("checkpoint manager: every, keep, keep_period",
                std::to_string(options.every) + ", " + std::to_string(options.keep) + ", " +
                    std::to_string(options.keep_period),
                "every from 1, the others from 0 on", root_.string());
}
TOKAMAX_FILES_COMPILED_ONCE std::filesystem::path manager::folder(std::int64_t step) const {
  return root_ / std::to_string(step);
}
TOKAMAX_FILES_COMPILED_ONCE std::vector<std::int64_t> manager::steps() const {
  std::vector<std::int64_t> result;
  for (const std::string& name : names()) {
    std::int64_t step = -1;
    std::from_chars(name.data(), name.data() + name.size(), step);
    if (step >= 0 && std::to_string(step) == name && folder_exists(root_ / name)) result.push_back(step);
  }
  std::ranges::sort(result);
  return result;
}
TOKAMAX_FILES_COMPILED_ONCE std::optional<std::int64_t> manager::latest() const {
  // While another process saves, a listing may miss both the step that is deleted and the newer one that is made.
  for (int look = 0; look < 20; ++look) {
    const std::vector<std::int64_t> all = steps();
    if (!all.empty()) return all.back();
    if (names().empty()) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return std::nullopt;
}
TOKAMAX_FILES_COMPILED_ONCE void manager::save_leaves(std::int64_t step, std::vector<named_array> leaves,
                                                      metadata about) {
  if (step < 0) throw error("checkpoint: step", std::to_string(step), "0 or more", root_.string());
  const std::vector<std::int64_t> all = steps();
  if (!all.empty() && step < all.back())  // an older step would be deleted at once
    throw error("checkpoint: step", std::to_string(step),
                "one after " + std::to_string(all.back()) + ", the latest; or another folder", root_.string());
  remove_unfinished();
  remove_old(all);  // a process killed after saving may have left old ones: there must never be more than keep + 1
  about.step = step;
  detail::save_leaves(folder(step), std::move(leaves), about);
  try {
    remove_old(steps());
  } catch (const error&) {  // the step is saved, and the next call tries again to delete old ones
  }
}
TOKAMAX_FILES_COMPILED_ONCE metadata manager::restore_leaves(std::int64_t step, std::vector<named_array>& leaves,
                                                             restore_options options) const {
  const std::vector<std::int64_t> all = steps();
  if (!std::ranges::binary_search(all, step)) {
    std::string saved;
    for (const std::int64_t s : all) saved += (saved.empty() ? "" : ", ") + std::to_string(s);
    throw error(error_kind::file, "checkpoint: step", std::to_string(step),
                saved.empty() ? "a checkpoint" : "one of " + saved, root_.string());
  }
  return detail::restore_leaves(folder(step), leaves, options);
}
// Reads the latest step. If a process that saves deletes it meanwhile, the step that is the latest then is read.
template <class Read>
std::optional<metadata> manager::from_latest(const Read& read) const {
  for (int attempt = 0;; ++attempt) {
    const std::optional<std::int64_t> step = latest();
    if (!step) return std::nullopt;
    try {
      return read(folder(*step));
    } catch (const error& e) {
      if (attempt < 1000 && !folder_exists(folder(*step))) continue;
      throw with_a_way_out(e, *step);
    }
  }
}
TOKAMAX_FILES_COMPILED_ONCE std::optional<metadata> manager::restore_latest(std::vector<named_array>& leaves,
                                                                            restore_options options) const {
  return from_latest([&](const std::filesystem::path& path) { return detail::restore_leaves(path, leaves, options); });
}
TOKAMAX_FILES_COMPILED_ONCE std::optional<metadata> manager::about() const { return from_latest(checkpoint::about); }
TOKAMAX_FILES_COMPILED_ONCE error manager::with_a_way_out(const error& e, std::int64_t step) const {
  if (is_whole(step)) return e;
  std::vector<std::int64_t> older = steps();
  std::erase_if(older, [&](std::int64_t s) { return s >= step; });
  while (!older.empty() && !is_whole(older.back())) older.pop_back();
  if (older.empty()) return error(e.kind, e.subject, e.found, e.expected + "; no older checkpoint is whole", e.where);
  return error(e.kind, e.subject, e.found,
               e.expected + "; checkpoint " + std::to_string(older.back()) +
                   " is whole: move the folder of the damaged one elsewhere to go on from there",
               e.where);
}
TOKAMAX_FILES_COMPILED_ONCE bool manager::is_whole(std::int64_t step) const {
  try {
    checkpoint::check(folder(step));
    return true;
  } catch (const error&) {
    return false;
  }
}
TOKAMAX_FILES_COMPILED_ONCE std::vector<std::string> manager::names() const {
  return folder_names(root_).value_or(std::vector<std::string>());
}
// Removes what a killed process left: half a checkpoint, or half a deletion.
TOKAMAX_FILES_COMPILED_ONCE void manager::remove_unfinished() const {
  std::error_code ignored;
  for (const std::string& name : names()) {
    if (name.find(detail::temporary_mark) != std::string::npos) std::filesystem::remove_all(root_ / name, ignored);
  }
}
// A checkpoint is renamed before its files are deleted, so that nobody sees half of one. What cannot be deleted stays.
TOKAMAX_FILES_COMPILED_ONCE void manager::remove_old(std::vector<std::int64_t> old) const {
  if (options_.keep == 0) return;
  old.resize(old.size() - std::min(old.size(), static_cast<std::size_t>(options_.keep)));
  for (const std::int64_t step : old) {
    if (options_.keep_period > 0 && step % options_.keep_period == 0) continue;
    std::filesystem::path dying = folder(step);
    dying += detail::temporary_mark;
    dying += "-deleted";
    std::error_code ignored;
    std::filesystem::rename(folder(step), dying, ignored);
    std::filesystem::remove_all(dying, ignored);
  }
}
#endif

}  // namespace tokamax::checkpoint
