// tokamax/backend/xbyak/code_memory.hpp: memory that runs and cannot be written any more.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/xbyak/loop.cpp
// umbrella: no (the library of kernels includes it, where Xbyak is found)
// needs <sys/mman.h>
#pragma once

#include <tokamax/backend/cpu/loop/loop_program.hpp>  // loop_code_limit

#include <sys/mman.h>  // mmap, mprotect
#include <unistd.h>    // sysconf

#include <atomic>   // atomic
#include <cstddef>  // size_t
#include <cstring>  // memcpy

namespace tokamax::xbyak {

/// A copy of machine code in pages of its own, which are writable before they are executable, and never both.
class code_memory {
 public:
  code_memory(const void* code, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (bytes + page - 1) / page * page;
    const auto all = static_cast<std::int64_t>(bytes_);
    if (in_use().fetch_add(all) + all > cpu_backend::loop_code_limit()) return;
    void* const made = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return;
    std::memcpy(made, code, bytes);
    if (mprotect(made, bytes_, PROT_READ | PROT_EXEC) == 0)
      data_ = made;
    else
      munmap(made, bytes_);
  }
  code_memory(const code_memory&) = delete;
  code_memory& operator=(const code_memory&) = delete;
  ~code_memory() {
    if (data_) munmap(data_, bytes_);
    in_use().fetch_sub(static_cast<std::int64_t>(bytes_));
  }
  /// The code; null if the system refuses, or if all such memory together would exceed `loop_code_limit`.
  const void* data() const { return data_; }
  /// The bytes of all code.
  static std::atomic<std::int64_t>& in_use() noexcept {
    static constinit std::atomic<std::int64_t> bytes{0};
    return bytes;
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tokamax::xbyak
