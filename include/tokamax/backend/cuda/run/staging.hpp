// tokamax/backend/cuda/run/staging.hpp: copies from the host to a GPU by way of pinned memory.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/run/staging.cpp
#pragma once

#include <tokamax/backend/cuda/driver/driver.hpp>  // driver

#include <algorithm>  // min
#include <cstring>    // memcpy
#include <mutex>      // lock_guard

namespace tokamax::cuda_backend {

/// Pinned memory of the host, which a GPU reads by itself while the host and the GPU's kernels go on. From other memory the
/// driver copies too, but more than 64 KiB only after it has waited for all earlier work of the stream.
///
/// There are four parts, which are allocated when they are first needed, used in turn, and kept as long as the process, as
/// GPUs are. Large arrays go through them piece by piece, so that the host fills one part while the GPU reads another.
class staging {
 public:
  static constexpr std::size_t few_bytes = std::size_t{1} << 12;  ///< which cost less without it
  static constexpr std::size_t part_bytes = std::size_t{1} << 22;

  explicit staging(const driver& d) : driver_(d) {}
  staging(const staging&) = delete;

  /// Lets a stream copy `bytes` to memory of the GPU. When it returns, `from` has been read. Any number of threads may call it.
  /// The rest goes without pinned memory if the host has none left.
  /// errors  tokamax::error that names the call
  void copy(device_pointer to, const std::byte* from, std::size_t bytes, stream s) {
    while (bytes > 0) {
      const std::size_t piece = copy_piece(to, from, bytes, s);
      to += piece, from += piece, bytes -= piece;
    }
  }

 private:
  static constexpr unsigned count = 4;
  struct part {
    void* memory = nullptr;
    driver_event read = nullptr;  ///< the GPU has read what was written here last
  };
  std::size_t copy_piece(device_pointer to, const std::byte* from, std::size_t bytes, stream s) {
    const std::lock_guard lock(mutex_);  // for one piece, so that a small array need not wait for all of a large one
    part& p = parts_[next_++ % count];
    if (!p.read) driver_.check(driver_.create_event(&p.read, event_with_sleep), "event");
    if (p.memory) {
      driver_.check(driver_.synchronize_event(p.read), "copy from the host");
    } else if (driver_.allocate_pinned(&p.memory, part_bytes, 0) != driver_success || !p.memory) {
      p.memory = nullptr;
      driver_.check(driver_.copy_to_device(to, from, bytes, s), "copy from the host");
      return bytes;
    }
    const std::size_t piece = std::min(bytes, part_bytes);
    std::memcpy(p.memory, from, piece);
    driver_.check(driver_.copy_to_device(to, p.memory, piece, s), "copy from the host");
    if (const int result = driver_.record_event(p.read, s)) {
      driver_.synchronize_stream(s);  // nothing else tells when the part is free
      driver_.check(result, "event");
    }
    return piece;
  }

  const driver& driver_;
  std::mutex mutex_;
  part parts_[count];
  unsigned next_ = 0;
};

}  // namespace tokamax::cuda_backend
