// tokamax/core/buffer.hpp: reference-counted storage, and the pool that makes a repeated step allocate nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#if defined(__linux__)
  #include <sys/mman.h>  // madvise
#endif

#include <atomic>   // atomic_ref
#include <bit>      // bit_width
#include <cstddef>  // byte, size_t
#include <cstdlib>  // aligned_alloc
#include <mutex>    // mutex
#include <new>      // bad_alloc
#include <type_traits>
#include <utility>  // swap

namespace tokamax {

struct graph;

/// What a handle shares: bytes of an array, or the graph of a constant expression that met no trace yet.
struct buffer_block {
  int refs = 1;
  std::size_t bytes = 0;         ///< usable size
  std::byte* data = nullptr;     ///< 64-byte aligned
  buffer_block* next = nullptr;  ///< link of the pool's free lists
  graph* expression = nullptr;   ///< only in constant expressions
  void (*destroy)(graph*) = nullptr;
};

/// Freed blocks by size class (four classes a power of two). Blocks go back here and are handed out again, so that a
/// training step asks the system for memory only the first time.
class buffer_pool {
 public:
  static buffer_pool& instance() {
    static buffer_pool* const pool = new buffer_pool;  // outlives every static array
    return *pool;
  }
  buffer_block* allocate(std::size_t bytes) {
    const int c = size_class(bytes);
    {
      const std::lock_guard lock(mutex_);
      if (buffer_block* b = free_[c]) {
        free_[c] = b->next;
        b->refs = 1;
        return b;
      }
    }
    const std::size_t capacity = class_bytes(c);
    auto* raw = system_memory(64 + capacity);
    {
      const std::lock_guard lock(mutex_);
      ++from_system_;
    }
    return new (raw) buffer_block{1, capacity, raw + 64, nullptr, nullptr, nullptr};
  }
  void release(buffer_block* b) noexcept {
    const int c = size_class(b->bytes);
    const std::lock_guard lock(mutex_);
    b->next = free_[c];
    free_[c] = b;
  }
  /// How many blocks came from the system so far; a repeated step leaves it alone.
  std::size_t from_system() const {
    const std::lock_guard lock(mutex_);
    return from_system_;
  }
  buffer_pool(const buffer_pool&) = delete;

 private:
  buffer_pool() = default;
  static int size_class(std::size_t bytes) {
    if (bytes <= 256) return 0;
    const int top = static_cast<int>(std::bit_width(bytes - 1)) - 1;  // 2^top <= bytes - 1 < 2^(top+1)
    return 4 * (top - 8) + static_cast<int>((bytes - 1) >> (top - 2) & 3) + 1;
  }
  static std::size_t class_bytes(int c) {
    if (c == 0) return 256;
    const int top = (c - 1) / 4 + 8, quarter = (c - 1) % 4;
    return (std::size_t{1} << top) + (std::size_t(quarter) + 1) * (std::size_t{1} << (top - 2));
  }
  /// 64-byte aligned; what is large lies on huge pages where the system has them.
  static std::byte* system_memory(std::size_t bytes) {
    constexpr std::size_t huge = std::size_t{1} << 21;
    const std::size_t alignment = bytes >= 2 * huge ? huge : 64;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    void* p = std::aligned_alloc(alignment, bytes);
    if (!p) throw std::bad_alloc();
#if defined(__linux__)
    if (alignment == huge) madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return static_cast<std::byte*>(p);
  }
  mutable std::mutex mutex_;
  std::size_t from_system_ = 0;
  buffer_block* free_[256] = {};
};

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
  constexpr buffer_block* get() const { return block_; }
  /// Is this the only owner (so that a step may write into it)?
  bool unique() const { return block_ && std::atomic_ref(block_->refs).load(std::memory_order_acquire) == 1; }

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
      buffer_pool::instance().release(block_);
    }
    block_ = nullptr;
  }
  buffer_block* block_ = nullptr;
};

}  // namespace tokamax
