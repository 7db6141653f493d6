// tokamax/backend/cpu/vector/prefetch.hpp: loads memory into caches before it is needed.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstdint>  // int64_t, uintptr_t

namespace tokamax::cpu_backend {

/// Prefetches a cache line that is read soon, into the second-level cache. Rows that are a power of two apart share too few
/// sets of the first-level cache.
[[gnu::always_inline]] inline void prefetch_to_read(const void* from) noexcept { __builtin_prefetch(from, 0, 2); }

/// Prefetches a cache line that is written soon, and invalidates it in the caches of other cores. If they have read the
/// line, the first write would otherwise wait for them. The address may be outside of any object.
[[gnu::always_inline]] inline void prefetch_to_write(void* to) noexcept {
#if defined(__x86_64__)
  // The builtin becomes this instruction only if it is enabled. Machines without the instruction ignore it.
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<char*>(to)));
#else
  __builtin_prefetch(to, 1);
#endif
}

namespace detail {
/// The address `bytes` behind p, which may be behind the end of its object.
inline const void* address_behind(const void* p, std::int64_t bytes) noexcept {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(bytes));
}

inline constexpr std::int64_t rows_ahead = 32;    // of a source whose rows are read one after the other
inline constexpr std::int64_t bytes_ahead = 256;  // of a source that is read along its rows
inline constexpr std::int64_t words_ahead = 256;  // of a destination
}  // namespace detail

}  // namespace tokamax::cpu_backend
