// tokamax/runtime/versioned.hpp: weights in versions, which some threads read while another makes the next one.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve and train at once use it)
#pragma once

#include <tokamax/core/memory/fork_mutexes.hpp>  // fork_mutexes

#include <cstdint>  // uint64_t
#include <memory>   // shared_ptr
#include <mutex>    // lock_guard
#include <utility>  // move

namespace tokamax {

/// The versions of a tree of arrays, such as the weights of a model that a server reads while they are trained.
///
/// A reader borrows the last version. It stays as it is for as long as anybody has it, and then its buffers go back to their
/// pool. A trainer publishes a copy of its tree, which shares the buffers, and goes on with `state = step(std::move(state), x)`:
/// a donated buffer that a version shares is left alone, and the result gets a new one. So nobody waits for anybody, and the
/// memory is that of one version more than the trainer's. Threads may call all functions at the same time.
template <class Tree>
class versioned {
 public:
  explicit versioned(Tree first) : last_(std::make_shared<const Tree>(std::move(first))) {}
  versioned(const versioned&) = delete;
  versioned& operator=(const versioned&) = delete;

  /// The last version.
  std::shared_ptr<const Tree> borrow() const {
    const std::lock_guard lock(mutex());
    return last_;
  }
  /// Makes `next` the last version, for all who borrow from now on.
  void publish(Tree next) {
    auto version = std::make_shared<const Tree>(std::move(next));
    const std::lock_guard lock(mutex());  // released before the version that was the last
    last_.swap(version);
    ++published_;
  }
  /// How many versions have been published after the first.
  std::uint64_t published() const {
    const std::lock_guard lock(mutex());
    return published_;
  }

 private:
  std::mutex& mutex() const { return fork_mutexes::of(this); }
  std::shared_ptr<const Tree> last_;
  std::uint64_t published_ = 0;
};

}  // namespace tokamax
