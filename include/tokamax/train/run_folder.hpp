// tokamax/train/run_folder.hpp: the folder of a training run, which one process at a time works in and none overwrites.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (what a run prints and writes; programs that do so include this header)
#pragma once

#include <tokamax/base/system/file_lock.hpp>  // file_lock
#include <tokamax/base/system/folder.hpp>     // make_folders

#include <optional>  // optional

namespace tokamax::train {

/// The folder of a run: `<path>/checkpoints/`, `metrics.jsonl`, `loss.svg`, `trace.json`, and `lock`, which it holds.
class run_folder {
 public:
  enum class start { fresh, resumed };

  /// A fresh run makes the folder where it is missing; a resumed one goes on in it.
  /// errors  tokamax::error if a fresh run finds what another has left (nothing is touched then), another process is at
  ///         work in the folder, or it cannot be made or read
  run_folder(std::filesystem::path path, start from) : path_(std::move(path)) {
    if (path_.empty()) throw error("run folder", "no name", "the name of a folder");
    if (from == start::fresh) refuse_used();
    make_folders(path_);
    lock_.emplace(path_ / "lock");
    if (from == start::fresh) refuse_used();  // once more, as another run may have begun before we held the lock
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path loss_curve() const { return path_ / "loss.svg"; }
  std::filesystem::path trace() const { return path_ / "trace.json"; }
  std::filesystem::path profile_page() const { return path_ / "profile.html"; }
  std::filesystem::path xplane() const { return path_ / "profile.xplane.pb"; }

 private:
  void refuse_used() const {
    std::string found;
    for (const auto& file : {checkpoints(), metrics(), loss_curve(), trace(), profile_page(), xplane()})
      if (file_exists(file)) found += (found.empty() ? "" : ", ") + file.filename().string();
    if (!found.empty())
      throw error(error_kind::file, "run folder", found + " of an earlier run",
                  "a new folder (--out), or --resume to go on in this one", path_.string());
  }

  std::filesystem::path path_;
  std::optional<file_lock> lock_;
};

}  // namespace tokamax::train
