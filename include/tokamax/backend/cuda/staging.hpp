// tokamax/backend/cuda/staging.hpp: copies from the host to a GPU by way of pinned memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/instance.cpp
#pragma once

#include <tokamax/backend/cuda/driver.hpp>  // driver

#include <algorithm>  // min
#include <cstring>    // memcpy
#include <mutex>      // lock_guard

namespace tokamax::cuda_backend {

/// Pinned memory of the host, which a GPU reads by itself while the host and the GPU's kernels go on. The driver would copy
/// from other memory too, but only after it has waited for all earlier work of the stream.
///
/// There are four parts, which are allocated when they are first needed and used in turn. Large arrays go through them piece by
/// piece, so that the host fills one part while the GPU reads another.
class staging {
 public:
  explicit staging(const driver& d) : driver_(d) {}
  staging(const staging&) = delete;

  /// Lets a stream copy `bytes` to memory of the GPU. When it returns, `from` has been read. Any number of threads may call it.
  /// errors  tokamax::error "cuda: pinned memory of N bytes" if the host has no such memory left, or that of the failing call
  void copy(device_pointer to, const std::byte* from, std::size_t bytes, stream s) {
    const std::lock_guard lock(mutex_);
    while (bytes > 0) {
      const std::size_t piece = std::min(bytes, most);
      part& p = parts_[next_++ % count];
      prepare(p, piece);
      std::memcpy(p.memory, from, piece);
      driver_.check(driver_.copy_to_device(to, p.memory, piece, s), "copy from the host");
      driver_.check(driver_.record_event(p.read, s), "event");
      to += piece, from += piece, bytes -= piece;
    }
  }

 private:
  static constexpr unsigned count = 4;
  static constexpr std::size_t least = std::size_t{1} << 16, medium = std::size_t{1} << 20, most = std::size_t{1} << 24;
  /// The parts live as long as the process, as GPUs do.
  struct part {
    void* memory = nullptr;
    std::size_t bytes = 0;
    driver_event read = nullptr;  ///< the GPU has read what was written here last
  };
  /// Waits until the part is free, and makes it large enough.
  void prepare(part& p, std::size_t bytes) {
    if (!p.read) driver_.check(driver_.create_event(&p.read, event_without_time), "event");
    driver_.check(driver_.synchronize_event(p.read), "copy from the host");
    if (p.bytes >= bytes) return;
    if (p.memory) driver_.check(driver_.release_pinned(p.memory), "release of pinned memory");
    p.memory = nullptr, p.bytes = 0;
    const std::size_t size = bytes <= least ? least : bytes <= medium ? medium : most;  // pinning takes milliseconds
    driver_.check(driver_.allocate_pinned(&p.memory, size, pinned_for_all_gpus), "pinned memory of",
                  (std::to_string(size) + " bytes").c_str());
    p.bytes = size;
  }

  const driver& driver_;
  std::mutex mutex_;
  part parts_[count];
  unsigned next_ = 0;
};

}  // namespace tokamax::cuda_backend
