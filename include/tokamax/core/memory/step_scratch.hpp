// tokamax/core/memory/step_scratch.hpp: scratch memory of the host's kernels, borrowed from the pool until a step ends.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/memory/step_scratch.cpp
#pragma once

#include <tokamax/core/memory/buffer_pool.hpp>  // buffer_pool

#include <cstddef>  // byte, size_t
#include <utility>  // exchange

namespace tokamax {

/// Memory of the host's pool that grows when more is asked for.
class scratch_memory {
 public:
  constexpr scratch_memory() = default;
  scratch_memory(const scratch_memory&) = delete;
  scratch_memory& operator=(const scratch_memory&) = delete;
  ~scratch_memory() { release(); }

  /// At least so many bytes without a value, aligned to 64 bytes. They stay until more are asked for, or until `release`.
  /// errors  std::bad_alloc
  std::byte* grow(std::size_t bytes) {
    if (block_ && block_->bytes >= bytes) return block_->data;
    release();
    block_ = buffer_pool::instance().allocate(bytes);
    return block_->data;
  }
  /// Gives the memory back to the pool.
  void release() noexcept {
    if (block_) buffer_pool::instance().release(std::exchange(block_, nullptr));
  }

 private:
  buffer_block* block_ = nullptr;
};

/// The same for one use of one thread, which gives it back when the step ends that asked for it first.
class lent_memory {
 public:
  std::byte* grow(std::size_t bytes) {
    if (!listed_) {
      before_ = std::exchange(newest_, this);
      listed_ = true;
    }
    return memory_.grow(bytes);
  }

 private:
  friend class step_scratch;
  inline static constinit thread_local lent_memory* newest_ = nullptr;  // of those that have memory
  scratch_memory memory_;
  lent_memory* before_ = nullptr;
  bool listed_ = false;
};

/// A step of a program on the calling thread: what its kernels have borrowed goes back to the pool at the end. Steps nest, and
/// an inner one leaves the memory of the outer ones alone.
class step_scratch {
 public:
  step_scratch() = default;
  step_scratch(const step_scratch&) = delete;
  ~step_scratch() { give_back(); }
  /// Gives back what was borrowed since this object was made.
  void give_back() const noexcept {
    while (lent_memory::newest_ != mark_) {
      lent_memory& last = *lent_memory::newest_;
      lent_memory::newest_ = last.before_;
      last.listed_ = false;
      last.memory_.release();
    }
  }

 private:
  lent_memory* const mark_ = lent_memory::newest_;
};

}  // namespace tokamax
