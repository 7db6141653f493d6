// tokamax/runtime/captured_values.hpp: finds functions whose captured values have changed since they were traced.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/bind.hpp>           // captured_p, captured_data_of

#include <algorithm>  // equal
#include <atomic>     // atomic
#include <cstdlib>    // getenv
#include <cstring>    // memcmp

namespace tokamax {

/// Are functions that are traced at run time looked at in each call? What a function captures is a constant of its program, so a
/// change is not seen. With TOKAMAX_CHECK_CAPTURES=1 in the environment, or after `check_captured_values(true)`, each call traces
/// again and compares, which is slow.
///
/// errors  then "jit: captured value" in the first call after a change, with the line where the value is used
bool checks_captured_values();
void check_captured_values(bool on);

namespace detail {
/// Refuses a function whose trace is no longer what it was.
void compare_traces(const graph& before, const graph& now);
}  // namespace detail

#if defined(TOKAMAX_COMPILED_ONCE)
namespace detail {
inline std::atomic<bool>& captured_value_checks() {
  static std::atomic<bool> on = [] {
    const char* const asked = std::getenv("TOKAMAX_CHECK_CAPTURES");
    return asked && *asked == '1';
  }();
  return on;
}
/// Do two nodes hold the same data? That of another device is compared by its address.
inline bool same_captured(const graph& g, const node& n, const graph& h, const node& m) {
  const handle &a = captured_data_of(g, n), &b = captured_data_of(h, m);
  const auto bytes = static_cast<std::size_t>(size(n.type.shape)) * static_cast<std::size_t>(size_of(n.type.dtype));
  return a.get() == b.get() || (!a->where && !b->where && std::memcmp(a->data, b->data, bytes) == 0);
}
inline bool same_node(const graph& g, const node& n, const graph& h, const node& m) {
  if (n.op != m.op || n.type != m.type || n.operand_count != m.operand_count) return false;
  for (int k = 0; k < n.operand_count; ++k)
    if (g.operand(n, k) != h.operand(m, k)) return false;
  if (n.op == &captured_p) return same_captured(g, n, h, m);
  const words a(g.words_of(n), static_cast<std::size_t>(n.word_count)),
      b(h.words_of(m), static_cast<std::size_t>(m.word_count));
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
TOKAMAX_COMPILED_ONCE void compare_traces(const graph& before, const graph& now) {
  const int count = before.count() < now.count() ? before.count() : now.count();
  for (int i = 0; i < count; ++i)
    if (!same_node(before, before[i], now, now[i]))
      throw error("jit: captured value", "another one than when the function was traced",
                  "the same: pass what changes as an argument", place_text({}, now[i].where));
  for (int b = 0; b < before.bodies.count() && b < now.bodies.count(); ++b)
    compare_traces(before.bodies[b], now.bodies[b]);
}
}  // namespace detail

TOKAMAX_COMPILED_ONCE bool checks_captured_values() {
  return detail::captured_value_checks().load(std::memory_order_relaxed);
}
TOKAMAX_COMPILED_ONCE void check_captured_values(bool on) {
  detail::captured_value_checks().store(on, std::memory_order_relaxed);
}
#endif

}  // namespace tokamax
