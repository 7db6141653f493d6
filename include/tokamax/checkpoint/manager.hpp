// tokamax/checkpoint/manager.hpp: the checkpoints of a run, one folder a step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/checkpoint/background.hpp>    // background
#include <tokamax/checkpoint/preservation.hpp>  // preservation
#include <tokamax/checkpoint/save_policy.hpp>   // save_policy
#include <tokamax/checkpoint/state.hpp>         // save, restore

#include <atomic>  // atomic

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <charconv>  // from_chars
  #include <thread>    // sleep_for
#endif

namespace tokamax::checkpoint {

/// A step that is on the disk.
struct save_report {
  std::int64_t step;
  std::filesystem::path folder;
  double seconds;      ///< that saving took
  std::int64_t bytes;  ///< of its arrays
};

struct manager_options {
  std::int64_t every = 500;             ///< steps between two checkpoints
  std::int64_t keep = 3;                ///< number of newest checkpoints that stay; 0 keeps all
  std::int64_t keep_period = 0;         ///< steps that are multiples of this stay in addition; 0 for none
  save_policy when = nullptr;           ///< in place of `every`
  preservation preserve = nullptr;      ///< in place of `keep` and `keep_period`
  std::string prefix = {};              ///< of the names of folders: `step_` for step_23
  int digits = 0;                       ///< the least number of digits in them: 4 for 0023
  bool read_only = false;               ///< nothing is ever saved or deleted
  std::chrono::seconds deadline{1200};  ///< how long a call waits for a save in the background
  std::filesystem::path moved_to =
      {};  ///< where deleted checkpoints go instead; a relative one lies in the folder of the run
  std::function<void(const save_report&)> saved = nullptr;  ///< called after each save, by the thread that saves
};

/// Saves to and restores from `<root>/<step>/`. One process at a time may save; any number may read. Copies of a manager share
/// its saves in the background.
/// source  Orbax, CheckpointManager; unlike there, step 0 is saved only when asked for by `save_now` or a policy
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
  /// The saved step with the best number of this name among its metadata; of equal ones the latest.
  std::optional<std::int64_t> best(const std::string& metric, better which = better::lower) const;

  /// Would `save` save at this step? A policy may look at the folder and the clock, and may answer `true` once only.
  bool due(std::int64_t step) const;

  /// Saves a tree, or `items`, if the step is due, and says whether it did. Afterwards old checkpoints are deleted.
  /// errors  as checkpoint::save, and if the step is not after the latest; the checkpoints that were there stay
  template <class Tree>
  bool save(std::int64_t step, const Tree& tree, metadata about = {}) {
    if (!due(step)) return false;
    save_now(step, tree, std::move(about));
    return true;
  }
  template <class Tree>
  void save_now(std::int64_t step, const Tree& tree, metadata about = {}) {
    wait();
    save_content(step, detail::content_of(tree, std::move(about)));
  }

  /// The same in the background: nothing is copied, because the save shares the arrays, and a step that would write over
  /// them takes fresh memory. One save is at work at a time; a call waits for the one before.
  /// errors  of the tree at once; those of files are thrown by the next call that saves or restores, and by `wait`
  template <class Tree>
  bool save_async(std::int64_t step, const Tree& tree, metadata about = {}) {
    if (!due(step)) return false;
    save_async_now(step, tree, std::move(about));
    return true;
  }
  template <class Tree>
  void save_async_now(std::int64_t step, const Tree& tree, metadata about = {}) {
    begin_save(step, detail::content_of(tree, std::move(about)));
  }
  /// Returns when nothing is being saved.
  /// errors  those of the last save in the background; tokamax::error if it has not ended by the deadline
  void wait() const { background_->wait(); }
  bool is_saving() const { return background_->is_busy(); }

  /// Restores one step; see checkpoint::restore.
  /// errors  tokamax::error that lists the saved steps if this is none of them
  template <class Tree>
  metadata restore(std::int64_t step, Tree& tree, restore_options options = {}) const {
    detail::restoration from = open(step, detail::expected_leaves(tree, options.item), options);
    return detail::put_leaves(tree, from);
  }
  /// Restores the latest step. If there is none, nothing happens and nothing is returned.
  /// errors  as checkpoint::restore; if the step is damaged, the message names the latest one that is whole
  template <class Tree>
  std::optional<metadata> restore(Tree& tree, restore_options options = {}) const {
    std::optional<detail::restoration> from = open_latest(detail::expected_leaves(tree, options.item), options);
    if (!from) return std::nullopt;
    return detail::put_leaves(tree, *from);
  }
  /// The metadata of the latest step; errors as `restore`.
  std::optional<metadata> about() const;

  /// Deletes a step, or moves it to `moved_to`.
  /// errors  tokamax::error if it is none of the saved steps, the manager only reads, or the system refuses
  void remove(std::int64_t step) const;
  /// What belongs to the run rather than to a step, in place of what was saved before.
  /// errors  as `save`
  void save_root_metadata(const metadata& about) const;
  std::optional<metadata> root_metadata() const;

 private:
  void save_content(std::int64_t step, detail::content all) const;
  void begin_save(std::int64_t step, detail::content all);
  detail::restoration open(std::int64_t step, const std::vector<detail::expected_leaf>& leaves,
                           const restore_options& options) const;
  std::optional<detail::restoration> open_latest(const std::vector<detail::expected_leaf>& leaves,
                                                 const restore_options& options) const;
  template <class Read>
  auto from_latest(const Read& read) const -> std::optional<decltype(read(std::filesystem::path()))>;
  error with_a_way_out(const error& e, std::int64_t step) const;
  bool is_whole(std::int64_t step) const;
  std::string name_of(std::int64_t step) const;
  std::vector<std::string> names() const;
  void remove_unfinished() const;
  void remove_old(const std::vector<std::int64_t>& all) const;
  void remove_folder(std::int64_t step) const;
  void refuse_unknown(std::int64_t step) const;
  void refuse_read_only() const;

  using clock = std::chrono::steady_clock;

  std::filesystem::path root_;
  manager_options options_;
  // What policies are told of the last save.
  struct last_save {
    std::atomic<clock::time_point> time = clock::now();
    std::atomic<std::int64_t> step = -1;
  };

  std::shared_ptr<last_save> last_ = std::make_shared<last_save>();
  std::shared_ptr<background> background_;
};

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
TOKAMAX_FILES_COMPILED_ONCE manager::manager(std::filesystem::path root, manager_options options)
    : root_(std::move(root)),
      options_(std::move(options)),
      background_(std::make_shared<background>(options_.deadline)) {
  if (options_.every < 1 || options_.keep < 0 || options_.keep_period < 0)
    throw error("checkpoint manager: every, keep, keep_period",
                std::to_string(options_.every) + ", " + std::to_string(options_.keep) + ", " +
                    std::to_string(options_.keep_period),
                "every from 1, the others from 0 on", root_.string());
  const std::string& prefix = options_.prefix;
  if (options_.digits < 0 || options_.digits > 18 || prefix.find_first_of("/0123456789") != std::string::npos ||
      prefix.starts_with('.'))
    throw error("checkpoint manager: prefix, digits", "'" + prefix + "', " + std::to_string(options_.digits),
                "the beginning of a name without digits, and 0 to 18 digits", root_.string());
  if (!options_.when) options_.when = save_every(options_.every);
  if (options_.preserve) return;
  options_.preserve = options_.keep == 0 ? keep_all() : keep_latest(options_.keep);
  if (options_.keep_period > 0) options_.preserve = keep_any({options_.preserve, keep_every(options_.keep_period)});
}
TOKAMAX_FILES_COMPILED_ONCE std::string manager::name_of(std::int64_t step) const {
  const std::string number = std::to_string(step);
  const auto digits = static_cast<std::size_t>(options_.digits);
  return options_.prefix + std::string(digits > number.size() ? digits - number.size() : 0, '0') + number;
}
TOKAMAX_FILES_COMPILED_ONCE std::filesystem::path manager::folder(std::int64_t step) const {
  return root_ / name_of(step);
}
TOKAMAX_FILES_COMPILED_ONCE std::vector<std::int64_t> manager::steps() const {
  std::vector<std::int64_t> result;
  for (const std::string& name : names()) {
    if (!name.starts_with(options_.prefix)) continue;
    std::int64_t step = -1;
    std::from_chars(name.data() + options_.prefix.size(), name.data() + name.size(), step);
    if (step >= 0 && name_of(step) == name && folder_exists(root_ / name)) result.push_back(step);
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
TOKAMAX_FILES_COMPILED_ONCE std::optional<std::int64_t> manager::best(const std::string& metric, better which) const {
  std::optional<std::int64_t> result;
  std::optional<double> least;  // of the numbers, or of their opposites where higher is better
  for (const std::int64_t step : steps()) {
    std::optional<double> value = saved_step{step, folder(step)}.metric(metric);
    if (!value) continue;
    if (which == better::higher) value = -*value;
    if (least && *value > *least) continue;
    least = value;
    result = step;
  }
  return result;
}
TOKAMAX_FILES_COMPILED_ONCE bool manager::due(std::int64_t step) const {
  if (options_.read_only) return false;
  // The folder is listed only for policies that ask: most steps save nothing, and must cost nothing.
  const std::chrono::duration<double> since = clock::now() - last_->time.load();
  const auto last = [&] { return last_->step < 0 ? latest() : std::optional(last_->step.load()); };
  return options_.when({step, last, since.count()});
}
TOKAMAX_FILES_COMPILED_ONCE void manager::save_content(std::int64_t step, detail::content all) const {
  refuse_read_only();
  const clock::time_point begin = clock::now();
  if (step < 0) throw error("checkpoint: step", std::to_string(step), "0 or more", root_.string());
  const std::vector<std::int64_t> before = steps();
  if (!before.empty() && step < before.back())  // an older step would be deleted at once
    throw error("checkpoint: step", std::to_string(step),
                "one after " + std::to_string(before.back()) + ", the latest; or another folder", root_.string());
  remove_unfinished();
  remove_old(before);  // a process killed after saving may have left old ones: there must never be more than keep + 1
  all.about.step = step;
  std::int64_t bytes = 0;
  for (const named_array& leaf : all.leaves) bytes += leaf.value.size() * size_of(leaf.value.dtype());
  detail::save_content(folder(step), std::move(all));
  last_->step = step;
  last_->time = clock::now();
  if (options_.saved)
    options_.saved({step, folder(step), std::chrono::duration<double>(clock::now() - begin).count(), bytes});
  try {
    remove_old(steps());
  } catch (const error&) {  // the step is saved, and the next call tries again to delete old ones
  }
}
TOKAMAX_FILES_COMPILED_ONCE void manager::begin_save(std::int64_t step, detail::content all) {
  // A tree that cannot be saved is an error of this call, and policies count this save from now on.
  detail::check_content(all, folder(step));
  last_->time = clock::now();
  last_->step = step;
  // The job has a copy of this manager without its background, which waits for the job.
  manager alone = *this;
  alone.background_ = nullptr;
  background_->start(
      [alone = std::move(alone), step, all = std::move(all)]() mutable { alone.save_content(step, std::move(all)); });
}
TOKAMAX_FILES_COMPILED_ONCE detail::restoration manager::open(std::int64_t step,
                                                              const std::vector<detail::expected_leaf>& leaves,
                                                              const restore_options& options) const {
  wait();
  refuse_unknown(step);
  return {folder(step), leaves, options};
}
TOKAMAX_FILES_COMPILED_ONCE void manager::refuse_unknown(std::int64_t step) const {
  const std::vector<std::int64_t> all = steps();
  if (std::ranges::binary_search(all, step)) return;
  std::string saved;
  for (const std::int64_t s : all) saved += (saved.empty() ? "" : ", ") + std::to_string(s);
  throw error(error_kind::file, "checkpoint: step", std::to_string(step),
              saved.empty() ? "a checkpoint" : "one of " + saved, root_.string());
}
TOKAMAX_FILES_COMPILED_ONCE void manager::refuse_read_only() const {
  if (options_.read_only)
    throw error("checkpoint: a manager that saves", "read_only", "one that is not", root_.string());
}
TOKAMAX_FILES_COMPILED_ONCE void manager::remove(std::int64_t step) const {
  refuse_read_only();
  wait();
  refuse_unknown(step);
  remove_folder(step);
}
TOKAMAX_FILES_COMPILED_ONCE void manager::save_root_metadata(const metadata& about) const {
  refuse_read_only();
  make_folders(root_);
  // Written beside it and renamed, so that a reader finds the old one or the new one.
  const std::filesystem::path beside = root_ / ("metadata" + std::string(detail::temporary_mark));
  detail::write_metadata(beside, {about, {}});
  rename_file(beside, root_ / "metadata.json");
  sync_folder(root_);
}
TOKAMAX_FILES_COMPILED_ONCE std::optional<metadata> manager::root_metadata() const {
  if (!file_exists(root_ / "metadata.json")) return std::nullopt;
  return detail::read_metadata(root_ / "metadata.json").about;
}
// Reads the latest step. If a process that saves deletes it meanwhile, the step that is the latest then is read.
template <class Read>
auto manager::from_latest(const Read& read) const -> std::optional<decltype(read(std::filesystem::path()))> {
  wait();
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
TOKAMAX_FILES_COMPILED_ONCE std::optional<detail::restoration> manager::open_latest(
    const std::vector<detail::expected_leaf>& leaves, const restore_options& options) const {
  return from_latest([&](const std::filesystem::path& path) { return detail::restoration(path, leaves, options); });
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
TOKAMAX_FILES_COMPILED_ONCE void manager::remove_old(const std::vector<std::int64_t>& all) const {
  std::vector<saved_step> saved;
  for (const std::int64_t step : all) saved.push_back({step, folder(step)});
  const std::vector<bool> stays = options_.preserve(saved);
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (i >= stays.size() || stays[i]) continue;
    try {
      remove_folder(saved[i].step);
    } catch (const error&) {}
  }
}
TOKAMAX_FILES_COMPILED_ONCE void manager::remove_folder(std::int64_t step) const {
  if (options_.moved_to.empty()) return detail::remove_whole(folder(step));
  const std::filesystem::path to = root_ / options_.moved_to;
  make_folders(to);
  rename_file(folder(step), to / name_of(step));
}
#endif

}  // namespace tokamax::checkpoint
