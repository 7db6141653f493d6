// tokamax/compiler/memory.hpp: one arena for all intermediate buffers of a region.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/compiler/plan.hpp>  // plan_view

namespace tokamax {

/// Gives every arena buffer of a region its offset. A buffer is live from the step that writes it to the last step that
/// reads it, and gets the first gap between the live ones that is large enough. Offsets are multiples of 64 bytes.
///
/// If a result has an operand that it may overwrite (`reuse`) and whose last use is this step, it takes its place.
constexpr void assign_arena(const plan_view& p, plan_buffer* all, plan_region& r, const std::int64_t* symbols) {
  plan_buffer* const buffers = all + r.first_buffer;
  const int n = r.buffer_count, steps = r.step_count;
  vec<int> last_step(static_cast<std::size_t>(n), -1);
  int* const last = last_step.data();  // raw pointers, because accessors are slow in constant expressions
  const plan_step* const step = p.steps + r.first_step;
  auto each_operand = [&](int s, int end, auto&& f) {  // of steps that run together
    const plan_step& st = step[end - 1];
    for (int k = step[s].operands, last_operand = st.operands + st.in_count + st.out_count; k < last_operand; ++k)
      if (const int b = p.operands[k].buffer; b >= 0) f(b - r.first_buffer);
  };
  // Pass 1: the last step that uses each buffer.
  for (int s = 0, end = 0; s < steps; s = end) {
    end = end_of_joined(step, s);
    each_operand(s, end, [&](int b) { last[b] = s; });
  }
  vec<std::int64_t> sizes(static_cast<std::size_t>(n), 0);
  std::int64_t* const bytes = sizes.data();
  // The live buffers form a list that is ordered by offset and linked in both directions; n is its head.
  vec<int> links(2 * static_cast<std::size_t>(n) + 2, -1);
  int *const next = links.data(), *const before = next + n + 1;
  enum : char { absent, placed, done };
  vec<char> states(static_cast<std::size_t>(n), absent);
  char* const state = states.data();
  r.total_bytes = r.arena_bytes = 0;
  for (int b = 0; b < n; ++b) {
    if (buffers[b].kind != plan_buffer::what::arena) state[b] = done;
    bytes[b] = (resolve(buffers[b].bytes, symbols) + 63) / 64 * 64;
    if (state[b] == absent) r.total_bytes += bytes[b];
  }
  // Pass 2: step by step, place the buffers that are used for the first time, then remove those that die.
  for (int s = 0, end = 0; s < steps; s = end) {
    end = end_of_joined(step, s);
    each_operand(s, end, [&](int b) {
      if (state[b] != absent) return;
      state[b] = placed;
      const int donor = buffers[b].reuse;
      if (donor >= 0 && state[donor] == placed && last[donor] == s && bytes[donor] == bytes[b]) {
        buffers[b].offset = buffers[donor].offset;  // take the donor's place in the list
        next[b] = next[donor];
        before[b] = before[donor];
        next[before[b]] = b;
        if (next[b] >= 0) before[next[b]] = b;
        state[donor] = done;
        return;
      }
      std::int64_t at = 0;  // the first gap that is large enough begins here, behind the buffer `after`
      int after = n;
      for (int c = next[n]; c >= 0; c = next[c]) {
        const std::int64_t offset = buffers[c].offset;
        if (offset - at >= bytes[b]) break;
        at = offset + bytes[c];
        after = c;
      }
      buffers[b].offset = at;
      if (at + bytes[b] > r.arena_bytes) r.arena_bytes = at + bytes[b];
      next[b] = next[after];
      before[b] = after;
      if (next[b] >= 0) before[next[b]] = b;
      next[after] = b;
    });
    each_operand(s, end, [&](int b) {
      if (state[b] != placed || last[b] > s) return;
      state[b] = done;
      next[before[b]] = next[b];
      if (next[b] >= 0) before[next[b]] = before[b];
    });
  }
}

/// Lays out the arenas of all regions of a plan. Bodies come first, because a call needs a scratch buffer, which is its
/// last result. The buffer holds a second copy of each carry that is not updated in place, and the arena of the body that
/// runs. Programs with dynamic extents call this again when the values of `symbols` change.
constexpr void assign_arenas(const plan_view& p, plan_buffer* buffers, plan_region* regions,
                             const std::int64_t* symbols) {
  auto rounded = [&](std::int64_t bytes) { return (resolve(bytes, symbols) + 63) / 64 * 64; };
  for (int i = p.region_count - 1; i >= 0; --i) {  // bodies have higher numbers than the regions that call them
    plan_region& r = regions[i];
    for (int s = 0; s < r.step_count; ++s) {
      const plan_step& st = p.steps[r.first_step + s];
      if (st.kind != plan_step::what::call) continue;
      const plan_operand* const results = p.operands + st.operands + st.in_count;
      std::int64_t bytes = 0;
      for (int b = st.region; b < st.region + st.region_count; ++b)
        if (const std::int64_t arena = rounded(regions[b].arena_bytes); arena > bytes) bytes = arena;
      for (int k = 0; k < st.carries; ++k)
        if (!carries_in_place(buffers, p.numbers, regions[st.region + st.region_count - 1], k))
          bytes += rounded(buffers[results[k].buffer].bytes);
      buffers[results[st.out_count - 1].buffer].bytes = bytes;
    }
    assign_arena(p, buffers, r, symbols);
  }
}

}  // namespace tokamax
