// tokamax/checkpoint/two_folders.hpp: checkpoints in a near folder that is written often, and in a safe one that is written seldom.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs have two folders)
// tested by tests/checkpoint/two_folders.cpp
#pragma once

#include <tokamax/checkpoint/manager.hpp>  // manager

namespace tokamax::checkpoint {

/// Two managers with a policy each: `two_folders({"/local/run", {.every = 10}}, {"/shared/run", {.every = 1000}})`. A run goes on from the
/// newest step of both, whichever of the folders is lost.
/// source  orbax.checkpoint.experimental.emergency, for one host
class two_folders {
 public:
  two_folders(manager near, manager safe) : near_(std::move(near)), safe_(std::move(safe)) {}
  const manager& near() const { return near_; }
  const manager& safe() const { return safe_; }

  /// Saves to each folder in which the step is due, and says whether it is in any. The arrays are shared, so that the second costs no memory.
  /// errors  as manager::save_async
  template <class Tree>
  bool save_async(std::int64_t step, const Tree& tree, const metadata& about = {}) {
    const bool here = near_.save_async(step, tree, about), there = safe_.save_async(step, tree, about);
    return here || there;
  }
  void wait() const {
    near_.wait();
    safe_.wait();
  }
  std::optional<std::int64_t> latest() const { return std::max(near_.latest(), safe_.latest()); }
  /// Restores the newest step. If it is damaged and the other folder has one that is whole, that one is restored.
  /// errors  as manager::restore
  template <class Tree>
  std::optional<metadata> restore(Tree& tree, const restore_options& options = {}) const {
    const bool safe_first = safe_.latest() > near_.latest();
    const manager &first = safe_first ? safe_ : near_, &second = safe_first ? near_ : safe_;
    try {
      return first.restore(tree, options);
    } catch (const error& e) {
      if (e.kind != error_kind::file || !second.latest()) throw;
      return second.restore(tree, options);
    }
  }

 private:
  manager near_, safe_;
};

}  // namespace tokamax::checkpoint
