// tokamax/backend/cpu/vector/threads.hpp: loops over fixed chunks on several threads, and scratch memory of kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/vector/thread_pool.hpp>  // run_chunks
#include <tokamax/base/error.hpp>                      // no_memory
#include <tokamax/core/context.hpp>                    // context_part
#include <tokamax/core/memory/step_scratch.hpp>        // lent_memory

#include <algorithm>  // min
#include <cstdint>    // int64_t

namespace tokamax::cpu_backend {

/// The most threads that a loop of the calling thread has. It is 1 inside another parallel_for, and if TOKAMAX_ONE_THREAD is
/// defined. A `thread_team` sets it for its thread.
inline int num_threads() noexcept {
#if defined(TOKAMAX_ONE_THREAD)
  return 1;
#else
  if (const int own = detail::own_threads(); own > 0) return own;
  const int limit = detail::thread_limit.load(std::memory_order_relaxed);
  return limit > 0 ? limit : detail::default_threads();
#endif
}

/// Limits the threads of later loops: all that run at the same time have so many together, but those of a `thread_team`.
/// 0 goes back to OMP_NUM_THREADS, or to all processors. Results do not depend on it.
inline void set_num_threads(int n) noexcept {
  detail::thread_limit.store(n <= 0 ? 0 : n < most_threads ? n : most_threads, std::memory_order_relaxed);
}

/// Gives loops of the calling thread `threads` threads of their own, for the lifetime of this object, whatever the limit is
/// and others do; 0: changes nothing.
class thread_team {
 public:
  explicit thread_team(int threads) noexcept : scope_(threads > 0 ? threads : current_context.threads) {}

 private:
  context_part<&context::threads> scope_;
};

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
// A local variable, because gcc 12 never destroys a thread_local variable template.
template <class Tag>
lent_memory& scratch_of() noexcept {
  static thread_local lent_memory memory;
  return memory;
}
}  // namespace detail

/// At least `count` uninitialised elements, aligned to 64 bytes, of the calling thread and named by Tag.
///
/// They are borrowed from the pool of the host until the step of the program ends, and counted there as in use. A thread that
/// helps with a loop keeps them from loop to loop, until it finds no work. Outside of kernels they stay with the thread. The
/// next call with the same Tag on the same thread invalidates the pointer if it needs more.
///
/// errors  std::bad_alloc when memory is exhausted
template <class Tag, class T = float>
T* scratch(std::int64_t count) {
  if (count > (std::int64_t{1} << 56) / static_cast<std::int64_t>(sizeof(T)))  // beyond addresses
    throw no_memory(static_cast<std::size_t>(count));
  constexpr std::size_t behind = 64;  // kernels may read one vector behind the used part, as in arenas
  return reinterpret_cast<T*>(detail::scratch_of<Tag>().grow(static_cast<std::size_t>(count) * sizeof(T) + behind));
}

}  // namespace tokamax::cpu_backend
