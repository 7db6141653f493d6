// tokamax/backend/cpu/threads.hpp: loops over fixed chunks on several threads, and scratch memory that only grows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>   // atomic
#include <cstdint>  // int64_t
#include <cstdlib>  // aligned_alloc, free, abort

#if defined(__linux__)
  #include <sys/mman.h>  // madvise
#endif

#if defined(_OPENMP)
  #include <omp.h>  // omp_get_max_threads, omp_in_parallel
#endif

namespace tokamax::simd {

namespace detail {
inline std::atomic<int> thread_limit{0};  // 0: what OpenMP offers
}  // namespace detail

/// Threads that parallel_for uses; 1 without OpenMP and inside another parallel_for.
inline int num_threads() noexcept {
#if defined(_OPENMP)
  if (omp_in_parallel()) return 1;
  const int limit = detail::thread_limit.load(std::memory_order_relaxed);
  return limit > 0 ? limit : omp_get_max_threads();
#else
  return 1;
#endif
}

/// Limits the threads of later loops; 0 goes back to what OpenMP offers. Results never depend on it.
inline void set_num_threads(int n) noexcept { detail::thread_limit.store(n > 0 ? n : 0, std::memory_order_relaxed); }

/// Number of the calling thread inside parallel_for, 0 outside.
inline int thread_index() noexcept {
#if defined(_OPENMP)
  return omp_get_thread_num();
#else
  return 0;
#endif
}

/// Calls f(i) for i in [0, n), each thread a contiguous range, so that later loops find their data in the same cache.
///
/// n is the number of chunks, chosen from the shapes and never from the number of threads: this is what makes
/// results the same bits for any number of threads. f must not throw.
template <class F>
void parallel_for(std::int64_t n, F f) noexcept {
#if defined(_OPENMP)
  const int limit = num_threads();
  const int threads = n < limit ? static_cast<int>(n) : limit;
  if (threads > 1) {
  #pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t i = 0; i < n; ++i) f(i);
    return;
  }
#endif
  for (std::int64_t i = 0; i < n; ++i) f(i);
}

namespace detail {
/// The chunks of one thread, which others may take from. A cache line of its own.
struct alignas(64) chunk_range {
  std::atomic<std::int64_t> next{0};
  std::int64_t end = 0;
};
}  // namespace detail

/// As parallel_for, but a thread that has done its own range helps with the others': for chunks of unequal cost.
template <class F>
void parallel_for_dynamic(std::int64_t n, F f) noexcept {
#if defined(_OPENMP)
  const int limit = num_threads();
  const int threads = n < limit ? static_cast<int>(n) : limit;
  if (threads > 1) {
    constexpr int most = 128;
    detail::chunk_range ranges[most];
    const int parts = threads < most ? threads : most;
    for (int t = 0; t < parts; ++t) {
      ranges[t].next.store(n * t / parts, std::memory_order_relaxed);
      ranges[t].end = n * (t + 1) / parts;
    }
  #pragma omp parallel num_threads(threads)
    for (int t = 0; t < parts; ++t) {
      detail::chunk_range& range = ranges[(thread_index() + t) % parts];
      for (std::int64_t i; (i = range.next.fetch_add(1, std::memory_order_relaxed)) < range.end;) f(i);
    }
    return;
  }
#endif
  for (std::int64_t i = 0; i < n; ++i) f(i);
}

namespace detail {
class scratch_memory {
 public:
  scratch_memory() = default;
  scratch_memory(const scratch_memory&) = delete;
  scratch_memory& operator=(const scratch_memory&) = delete;
  ~scratch_memory() { std::free(data_); }

  float* grow(std::int64_t floats) noexcept {
    if (floats > capacity_) {
      // pages, and huge ones for what is large: packed panels are read from end to end again and again
      constexpr std::int64_t huge = std::int64_t{1} << 21;
      const std::int64_t wanted = floats * static_cast<std::int64_t>(sizeof(float));
      const std::int64_t page = wanted >= huge ? huge : 4096;
      const std::int64_t bytes = (wanted + page - 1) / page * page;
      std::free(data_);
      data_ = static_cast<float*>(std::aligned_alloc(static_cast<std::size_t>(page), static_cast<std::size_t>(bytes)));
      if (data_ == nullptr) std::abort();
#if defined(__linux__)
      if (page == huge) madvise(data_, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
#endif
      capacity_ = bytes / static_cast<std::int64_t>(sizeof(float));
    }
    return data_;
  }

 private:
  float* data_ = nullptr;
  std::int64_t capacity_ = 0;
};

// A local: gcc 12 never destroys a thread_local variable template.
template <class Tag>
scratch_memory& scratch_of() noexcept {
  static thread_local scratch_memory memory;
  return memory;
}
}  // namespace detail

/// At least `floats` uninitialised floats, aligned to a page, owned by the calling thread and named by Tag.
///
/// The memory is kept and only grows: a training step allocates in its first run alone. The next call with the same
/// Tag on the same thread invalidates the pointer when it asks for more. Ends the program when memory is exhausted.
template <class Tag>
float* scratch(std::int64_t floats) noexcept {
  return detail::scratch_of<Tag>().grow(floats);
}

}  // namespace tokamax::simd
