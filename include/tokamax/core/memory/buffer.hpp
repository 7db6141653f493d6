// tokamax/core/memory/buffer.hpp: reference-counted storage.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>        // checked before all else
#include <tokamax/core/event.hpp>               // for its users: event
#include <tokamax/core/memory/buffer_pool.hpp>  // buffer_block, buffer_pool

#include <atomic>  // atomic_ref
#include <type_traits>
#include <utility>  // exchange, swap

namespace tokamax {

/// A shared pointer to a block, null while tracing.
class handle {
 public:
  constexpr handle() = default;
  constexpr explicit handle(buffer_block* b) : block_(b) {}
  constexpr handle(const handle& o) noexcept : block_(o.block_) {
    if (block_) retain();
  }
  constexpr handle(handle&& o) noexcept : block_(o.block_) { o.block_ = nullptr; }
  constexpr handle& operator=(const handle& o) noexcept {
    handle copy(o);
    std::swap(block_, copy.block_);
    return *this;
  }
  constexpr handle& operator=(handle&& o) noexcept {
    std::swap(block_, o.block_);
    return *this;
  }
  constexpr ~handle() {
    if (block_) drop();
  }
  constexpr explicit operator bool() const { return block_ != nullptr; }
  constexpr buffer_block* operator->() const { return block_; }
  constexpr buffer_block& operator*() const { return *block_; }
  constexpr buffer_block* get() const { return block_; }
  /// Gives up the share without releasing it; the caller must count it.
  buffer_block* release() noexcept { return std::exchange(block_, nullptr); }
  /// Is this the only owner, of memory that may be written? Then a step may write into it.
  bool unique() const {
    return block_ && !block_->read_only && std::atomic_ref(block_->refs).load(std::memory_order_acquire) == 1;
  }

 private:
  constexpr void retain() {
    if (std::is_constant_evaluated())
      ++block_->refs;
    else
      std::atomic_ref(block_->refs).fetch_add(1, std::memory_order_relaxed);
  }
  constexpr void drop() {
    if (std::is_constant_evaluated()) {
      if (--block_->refs == 0) {
        block_->destroy(block_->expression);
        delete block_;
      }
    } else if (std::atomic_ref(block_->refs).fetch_sub(1, std::memory_order_acq_rel) == 1) {
      end(block_);
    }
    block_ = nullptr;
  }
  static void end(buffer_block* b) noexcept {
    if (b->release) return end_elsewhere(b);
    if (b->data) return buffer_pool::instance().release(b);
    if (b->next) buffer_pool::instance().release(b->next);
    delete b;
  }
  static void end_elsewhere(buffer_block* b) noexcept;
  buffer_block* block_ = nullptr;
};

#if defined(TOKAMAX_COMPILED_ONCE)
/// Gives back a block that is not of the host's pool: its copy there, its event, then itself.
TOKAMAX_COMPILED_ONCE void handle::end_elsewhere(buffer_block* b) noexcept {
  if (b->next) buffer_pool::instance().release(b->next);
  if (b->ready) b->ready->release();
  b->next = nullptr;
  b->ready = nullptr;
  b->release(b);
}
#endif

}  // namespace tokamax
