// tokamax/backend/cpu/loop/loop_program.hpp: when a loop that is only known at run time becomes machine code.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/xbyak/loop.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/runtime/kernel.hpp>      // loop_program

#include <atomic>   // atomic
#include <cstdint>  // int64_t
#include <limits>   // numeric_limits
#include <mutex>    // mutex

namespace tokamax::cpu_backend {

namespace detail {
inline constinit std::atomic<std::int64_t> code_limit{std::int64_t{64} << 20};
/// Making the code of a loop takes about as long as interpreting so many elements of a line. So a loop that has done so much
/// becomes code.
inline constinit std::atomic<std::int64_t> work_before_code{std::int64_t{1} << 18};
}  // namespace detail
/// Limits the bytes of machine code of loops that are traced at run time; 0: all loops run without it, with the same bits.
inline void set_loop_code_limit(std::int64_t bytes) noexcept { detail::code_limit.store(bytes); }
inline std::int64_t loop_code_limit() noexcept { return detail::code_limit.load(); }

#if defined(TOKAMAX_XBYAK)
/// Makes machine code of a loop, or finds that of an equal one; null if a line has none, or if the system refuses. It is in
/// backend/xbyak/.
std::shared_ptr<const loop_program> make_loop_program(const loop_arguments& a);
#endif

/// The program of a loop; null: it is interpreted.
const loop_program* loop_program_of(const loop_arguments& a);

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE const loop_program* loop_program_of([[maybe_unused]] const loop_arguments& a) {
  #if defined(TOKAMAX_XBYAK)
  constexpr std::int64_t call = 1 << 12, never = std::numeric_limits<std::int64_t>::min() / 2;
  if (!a.kept || loop_code_limit() <= 0) return nullptr;
  if (const loop_program* p = a.kept->program.load(std::memory_order_acquire)) return p;
  if (a.kept->work.load(std::memory_order_relaxed) < 0) return nullptr;
  std::int64_t elements = a.count;
  if (elements < 0) {
    elements = 1;
    for (int axis = 0; axis < a.rank; ++axis) elements *= a.extents[axis];
  }
  const std::int64_t now = call + elements * a.kernel->count;
  if (a.kept->work.fetch_add(now, std::memory_order_relaxed) + now <
      detail::work_before_code.load(std::memory_order_relaxed))
    return nullptr;
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (!a.kept->owner && a.kept->work.load(std::memory_order_relaxed) >= 0) {
    a.kept->owner = make_loop_program(a);
    if (!a.kept->owner) a.kept->work.store(never, std::memory_order_relaxed);
    a.kept->program.store(a.kept->owner.get(), std::memory_order_release);
  }
  return a.kept->owner.get();
  #else
  return nullptr;
  #endif
}
#endif

}  // namespace tokamax::cpu_backend
