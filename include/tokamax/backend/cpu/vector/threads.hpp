// tokamax/backend/cpu/vector/threads.hpp: loops over fixed chunks on several threads, and scratch memory that only grows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/vector/thread_pool.hpp>  // run_chunks

#include <algorithm>  // min
#include <atomic>     // atomic
#include <cstdint>    // int64_t

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <cstdlib>  // aligned_alloc, free
  #include <new>      // bad_alloc

  #if defined(__linux__)
    #include <sys/mman.h>  // madvise
  #endif
#endif

namespace tokamax::cpu_backend {

namespace detail {
inline std::atomic<int> thread_limit{0};  // 0: default_threads
}  // namespace detail

/// The number of threads that parallel_for uses. It is 1 inside another parallel_for, and if TOKAMAX_ONE_THREAD is defined.
inline int num_threads() noexcept {
#if defined(TOKAMAX_ONE_THREAD)
  return 1;
#else
  if (detail::within_loop()) return 1;
  const int limit = detail::thread_limit.load(std::memory_order_relaxed);
  return limit > 0 ? limit : detail::default_threads();
#endif
}

/// Limits the threads of later loops. 0 goes back to OMP_NUM_THREADS, or to all processors. Results do not depend on it.
inline void set_num_threads(int n) noexcept {
  detail::thread_limit.store(n <= 0 ? 0 : n < most_threads ? n : most_threads, std::memory_order_relaxed);
}

/// Number of the calling thread inside parallel_for, 0 outside.
inline int thread_index() noexcept { return detail::number_in_loop(); }

/// Calls f(i) for i in [0, n). Each thread has a contiguous range, so that later loops find their data in the same cache. A
/// thread that has finished its own range helps with others. There are at most `threads` threads, with thread_index() below
/// that, so a loop that keeps memory for each thread names the number that it has memory for.
///
/// n is the number of chunks. It must follow from the shapes and never from the number of threads, so that results have
/// the same bits for any number of threads.
///
/// errors  an exception of f is thrown again here, when no chunk is running any more
template <class F>
void parallel_for(std::int64_t n, F f, int threads = most_threads) {
  if (const int team = n > 1 ? std::min(threads, num_threads()) : 1; team > 1) {
    const auto run = [](void* chunk, std::int64_t i) { (*static_cast<F*>(chunk))(i); };
    return detail::run_chunks(team, n, run, &f);
  }
  for (std::int64_t i = 0; i < n; ++i) f(i);
}

namespace detail {
class scratch_memory {
 public:
  scratch_memory() = default;
  scratch_memory(const scratch_memory&) = delete;
  scratch_memory& operator=(const scratch_memory&) = delete;
  ~scratch_memory();

  float* grow(std::int64_t floats);

 private:
  float* data_ = nullptr;
  std::int64_t capacity_ = 0;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE scratch_memory::~scratch_memory() { std::free(data_); }
TOKAMAX_COMPILED_ONCE float* scratch_memory::grow(std::int64_t floats) {
  if (floats > capacity_) {
    if (floats > std::int64_t{1} << 54) throw std::bad_alloc();  // beyond all addresses
    // Large memory gets huge pages, because packed panels are read from end to end again and again.
    constexpr std::int64_t huge = std::int64_t{1} << 21;
    const std::int64_t wanted = floats * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t page = wanted >= huge ? huge : 4096;
    const std::int64_t bytes = (wanted + page - 1) / page * page;
    std::free(data_);
    capacity_ = 0;
    data_ = static_cast<float*>(std::aligned_alloc(static_cast<std::size_t>(page), static_cast<std::size_t>(bytes)));
    if (data_ == nullptr) throw std::bad_alloc();
  #if defined(__linux__)
    if (page == huge) madvise(data_, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  #endif
    capacity_ = bytes / static_cast<std::int64_t>(sizeof(float));
  }
  return data_;
}
#endif

// A local variable, because gcc 12 never destroys a thread_local variable template.
template <class Tag>
scratch_memory& scratch_of() noexcept {
  static thread_local scratch_memory memory;
  return memory;
}
}  // namespace detail

/// At least `count` uninitialised elements, aligned to a page, owned by the calling thread and named by Tag.
///
/// The memory is kept and only grows, so a training step allocates in its first run only. The next call with the same Tag
/// on the same thread invalidates the pointer if it needs more.
///
/// errors  std::bad_alloc when memory is exhausted
template <class Tag, class T = float>
T* scratch(std::int64_t count) {
  constexpr std::int64_t size = sizeof(T), unit = sizeof(float);
  return reinterpret_cast<T*>(detail::scratch_of<Tag>().grow((count * size + unit - 1) / unit));
}

}  // namespace tokamax::cpu_backend
