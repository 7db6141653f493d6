// tokamax/backend/far/memory.hpp: memory that the host cannot touch: a file in memory, mapped once closed and once open.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/far/device.cpp
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <sys/mman.h>  // mmap, memfd_create
#include <unistd.h>    // ftruncate

#include <cerrno>   // errno
#include <cstddef>  // byte, size_t
#include <cstring>  // strerror
#include <map>      // map
#include <mutex>    // mutex

namespace tokamax::detail {

/// The memory of a far device. One file that exists only in memory is mapped twice. The addresses that buffers hold are
/// closed: reading or writing there traps. The queue of the device works on the same bytes at other addresses, which
/// are `offset` higher.
class far_memory {
 public:
  explicit far_memory(std::size_t bytes = std::size_t{1} << 32) : size_(bytes) {
    const int file = memfd_create("tokamax_far", 0);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) fail();
    closed_ = map(file, PROT_NONE);
    open_ = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
    free_.emplace(0, bytes);
  }
  far_memory(const far_memory&) = delete;

  /// Allocates memory and returns its closed address, a multiple of 64. One vector behind the end may be read.
  /// errors  std::bad_alloc
  std::byte* allocate(std::size_t bytes) {
    const std::size_t size = rounded(bytes);
    const std::lock_guard lock(mutex_);
    for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
      const auto [at, length] = *piece;
      if (length < size) continue;
      free_.erase(piece);
      if (length > size) free_.emplace(at + size, length - size);
      used_ += size;
      return closed_ + at;
    }
    throw no_memory(bytes);
  }
  /// Makes a range free again, joined with the free ranges before and behind it.
  void release(std::byte* p, std::size_t bytes) noexcept {
    std::size_t at = static_cast<std::size_t>(p - closed_), size = rounded(bytes);
    const std::lock_guard lock(mutex_);
    used_ -= size;
    const auto after = free_.lower_bound(at);
    if (after != free_.end() && at + size == after->first) {
      size += after->second;
      free_.erase(after);
    }
    const auto next = free_.lower_bound(at);
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == at) {
        before->second += size;
        return;
      }
    }
    free_.emplace(at, size);
  }
  /// The open address of a closed one.
  std::byte* opened(std::byte* p) const noexcept { return open_ + (p - closed_); }
  std::size_t used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  /// At least 64 bytes more than asked for, because kernels may read one vector behind the end.
  static std::size_t rounded(std::size_t bytes) { return (bytes + 127) / 64 * 64; }
  [[noreturn]] static void fail() {
    throw error(error_kind::resource, "far device: memory", std::strerror(errno), "memory");
  }
  std::byte* map(int file, int access) const {
    void* const p = mmap(nullptr, size_, access, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (p == MAP_FAILED) fail();
    return static_cast<std::byte*>(p);
  }

  std::size_t size_, used_ = 0;
  std::byte *closed_ = nullptr, *open_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  // the size of each free range, by its offset
};

}  // namespace tokamax::detail
