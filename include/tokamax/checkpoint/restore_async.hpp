// tokamax/checkpoint/restore_async.hpp: a checkpoint that is read on another thread.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs wait for a restore later)
// tested by tests/checkpoint/state.cpp
#pragma once

#include <tokamax/checkpoint/state.hpp>  // restore

#include <future>  // async

namespace tokamax::checkpoint {

/// A tree and the metadata that were saved with it.
template <class Tree>
struct restored {
  Tree tree;
  metadata about;
};

/// Begins to read folder `path` on another thread, so that the program can open its data and compile its step meanwhile. `tree` says what is
/// expected, as for `restore`.
/// errors  those of `restore`, by `get()`
template <class Tree>
std::future<restored<Tree>> restore_async(std::filesystem::path path, Tree tree, restore_options options = {}) {
  return std::async(std::launch::async,
                    [path = std::move(path), tree = std::move(tree), options = std::move(options)]() mutable {
                      metadata about = restore(path, tree, std::move(options));
                      return restored<Tree>{std::move(tree), std::move(about)};
                    });
}

}  // namespace tokamax::checkpoint
