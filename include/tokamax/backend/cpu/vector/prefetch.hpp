// tokamax/backend/cpu/vector/prefetch.hpp: asks for memory before it is needed.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstdint>  // int64_t, uintptr_t

namespace tokamax::simd {

/// Asks for a line that is read soon, in the second level cache: rows that are a power of two apart share too few lines of
/// the first.
[[gnu::always_inline]] inline void prefetch_to_read(const void* from) noexcept { __builtin_prefetch(from, 0, 2); }

/// Asks for a line that is written soon, and takes it from the other cores: after they have read it, each first write would
/// wait for them. The address may be outside of any object.
[[gnu::always_inline]] inline void prefetch_to_write(void* to) noexcept {
#if defined(__x86_64__)
  // The builtin becomes this instruction only where it is enabled; machines without it skip it.
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<char*>(to)));
#else
  __builtin_prefetch(to, 1);
#endif
}

namespace detail {
/// The address so many bytes behind p, maybe behind the end of what p points into.
inline const void* address_behind(const void* p, std::int64_t bytes) noexcept {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(bytes));
}

inline constexpr std::int64_t rows_ahead = 32;    // of a source whose rows are read one after the other
inline constexpr std::int64_t bytes_ahead = 256;  // of a source that is read along its rows
inline constexpr std::int64_t words_ahead = 256;  // of a destination
}  // namespace detail

}  // namespace tokamax::simd
