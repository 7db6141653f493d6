// tokamax/backend/cuda/run/body_memory.hpp: what kernels take for themselves in bodies of recorded control flow.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/run/conditional_node.cpp
#pragma once

#include <tokamax/backend/cuda/driver/driver.hpp>  // driver

#include <vector>  // vector

namespace tokamax::cuda_backend {

/// Memory that lives as long as a CUDA graph, because graphs allocate none in bodies. A rehearsal of the work allocates it, and
/// the recording, which asks for the same blocks in the same order, gets it.
class body_memory {
 public:
  body_memory(const driver& d, context c, stream s) : driver_(d), context_(c), stream_(s) {}
  body_memory(const body_memory&) = delete;
  ~body_memory() {
    driver_.set_context(context_);
    for (const block& b : blocks_) driver_.release(b.place, stream_);
  }
  /// The next block; 0 if there is none, because memory is short or the recording has left the rehearsal's course.
  device_pointer take(std::size_t bytes) {
    if (rehearsed_) return next_ < blocks_.size() && blocks_[next_].bytes == bytes ? blocks_[next_++].place : 0;
    device_pointer p = 0;
    if (bytes > most_bytes - bytes_ || driver_.allocate(&p, bytes, stream_) != driver_success) return 0;
    bytes_ += bytes;
    blocks_.push_back({p, bytes});
    return p;
  }
  /// The recording begins.
  void end_rehearsal() { rehearsed_ = true; }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 28;  // blocks of a body do not share their memory
  struct block {
    device_pointer place;
    std::size_t bytes;
  };
  const driver& driver_;
  context context_;
  stream stream_;
  std::vector<block> blocks_;
  std::size_t bytes_ = 0, next_ = 0;
  bool rehearsed_ = false;
};

}  // namespace tokamax::cuda_backend
