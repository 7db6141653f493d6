// tokamax/checkpoint/manager.hpp: the checkpoints of a run, one folder a step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/checkpoint/state.hpp>  // save, restore

#include <charconv>  // from_chars
#include <optional>  // optional

namespace tokamax::checkpoint {

struct manager_options {
  std::int64_t every = 500;      ///< steps between two checkpoints
  std::int64_t keep = 3;         ///< newest checkpoints that stay; 0 keeps all
  std::int64_t keep_period = 0;  ///< multiples of this stay whatever `keep` says; 0 for none
};

/// Saves to and restores from `<root>/<step>/`. One process at a time may save; any number may read.
/// source  Orbax, CheckpointManager; unlike there, step 0 is saved only when asked for by `save_now`
class manager {
 public:
  explicit manager(std::filesystem::path root, manager_options options = {})
      : root_(std::move(root)), options_(options) {
    if (options.every < 1 || options.keep < 0 || options.keep_period < 0)
      throw error("checkpoint manager: every, keep, keep_period",
                  std::to_string(options.every) + ", " + std::to_string(options.keep) + ", " +
                      std::to_string(options.keep_period),
                  "every from 1, the others from 0 on", root_.string());
  }
  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path folder(std::int64_t step) const { return root_ / std::to_string(step); }

  /// The saved steps in increasing order; what was not finished does not count.
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> result;
    for (const auto& [path, name] : entries()) {
      std::int64_t step = -1;
      std::from_chars(name.data(), name.data() + name.size(), step);
      if (step >= 0 && std::to_string(step) == name && std::filesystem::is_directory(path)) result.push_back(step);
    }
    std::ranges::sort(result);
    return result;
  }
  std::optional<std::int64_t> latest() const {
    const std::vector<std::int64_t> all = steps();
    return all.empty() ? std::nullopt : std::optional(all.back());
  }

  /// Whether `save` would save at this step.
  bool due(std::int64_t step) const { return step > 0 && step % options_.every == 0; }

  /// Saves every `every` steps and says whether it did. Afterwards old checkpoints are deleted.
  /// errors  as checkpoint::save; the checkpoints that were there stay
  template <class Tree>
  bool save(std::int64_t step, const Tree& tree, metadata about = {}) {
    if (!due(step)) return false;
    save_now(step, tree, std::move(about));
    return true;
  }
  template <class Tree>
  void save_now(std::int64_t step, const Tree& tree, metadata about = {}) {
    if (step < 0) throw error("checkpoint: step", std::to_string(step), "0 or more", root_.string());
    remove_unfinished();
    remove_old();  // what kills between saving and deleting left, so that never more than keep + 1 are there
    about.step = step;
    checkpoint::save(folder(step), tree, about);
    remove_old();
  }

  /// Restores one step; see checkpoint::restore.
  /// errors  tokamax::error that lists the saved steps if this is none of them
  template <class Tree>
  metadata restore(std::int64_t step, Tree& tree, restore_options options = {}) const {
    const std::vector<std::int64_t> all = steps();
    if (!std::ranges::binary_search(all, step)) {
      std::string saved;
      for (const std::int64_t s : all) saved += (saved.empty() ? "" : ", ") + std::to_string(s);
      throw error("checkpoint: step", std::to_string(step), saved.empty() ? "a checkpoint" : "one of " + saved,
                  root_.string());
    }
    return checkpoint::restore(folder(step), tree, options);
  }
  /// Restores the latest step; nothing happens, and nothing is returned, if there is none.
  template <class Tree>
  std::optional<metadata> restore(Tree& tree, restore_options options = {}) const {
    const std::optional<std::int64_t> step = latest();
    if (!step) return std::nullopt;
    return checkpoint::restore(folder(*step), tree, options);
  }

 private:
  std::vector<std::pair<std::filesystem::path, std::string>> entries() const {
    std::vector<std::pair<std::filesystem::path, std::string>> result;
    std::error_code missing;  // no folder: no entries
    for (const auto& entry : std::filesystem::directory_iterator(root_, missing))
      result.emplace_back(entry.path(), entry.path().filename().string());
    return result;
  }
  // What a killed process left: half a checkpoint, or half a deletion.
  void remove_unfinished() const {
    std::error_code ignored;
    for (const auto& [path, name] : entries()) {
      if (name.find(detail::temporary_mark) != std::string::npos) std::filesystem::remove_all(path, ignored);
    }
  }
  // A checkpoint loses its name before its files, so that no half of one is ever seen. What cannot be deleted stays.
  void remove_old() const {
    if (options_.keep == 0) return;
    std::vector<std::int64_t> old = steps();
    old.resize(old.size() - std::min(old.size(), static_cast<std::size_t>(options_.keep)));
    for (const std::int64_t step : old) {
      if (options_.keep_period > 0 && step % options_.keep_period == 0) continue;
      std::filesystem::path dying = folder(step);
      dying += std::string(detail::temporary_mark) + "-deleted";
      std::error_code ignored;
      std::filesystem::rename(folder(step), dying, ignored);
      std::filesystem::remove_all(dying, ignored);
    }
  }

  std::filesystem::path root_;
  manager_options options_;
};

}  // namespace tokamax::checkpoint
