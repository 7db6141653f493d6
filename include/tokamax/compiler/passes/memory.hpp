// tokamax/compiler/passes/memory.hpp: one arena for all intermediate buffers of a region.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/compiler/plan.hpp>  // plan_view

namespace tokamax {

namespace detail {

/// The live buffers of an arena, and those of them with a gap above, in two lists that are ordered by offset. A search walks
/// the gaps, which are few, and not the live buffers. Raw pointers, because accessors are slow in constant expressions.
class arena_layout {
 public:
  /// `bytes` is the size of each buffer, a multiple of 64.
  constexpr arena_layout(plan_buffer* buffers, const std::int64_t* bytes, int n)
      : buffers_(buffers),
        bytes_(bytes),
        bottom_(n),
        links_(4 * (static_cast<std::size_t>(n) + 1), none),
        next_(links_.data()),
        before_(next_ + n + 1),
        next_gap_(before_ + n + 1),
        gap_before_(next_gap_ + n + 1),
        lowest_(n) {
    next_[n] = next_gap_[n] = gap_before_[n] = end;
  }

  /// Gives b the first gap that is large enough.
  constexpr void place(int b) {
    int below = bytes_[b] ? lowest_ : bottom_;
    if (bytes_[b])
      while (next_[below] != end && buffers_[next_[below]].offset - top_of(below) < bytes_[b]) below = next_gap_[below];
    buffers_[b].offset = top_of(below);
    next_[b] = next_[below];
    before_[b] = below;
    next_[below] = b;
    if (next_[b] != end) before_[next_[b]] = b;
    if (next_gap_[below] == none) return;
    if (next_[b] == end || buffers_[next_[b]].offset > top_of(b))
      replace_gap(below, b);
    else
      close_gap(below);
  }
  /// Gives b the place of `donor`, which has its size and dies.
  constexpr void take_over(int b, int donor) {
    buffers_[b].offset = buffers_[donor].offset;
    next_[b] = next_[donor];
    before_[b] = before_[donor];
    next_[before_[b]] = b;
    if (next_[b] != end) before_[next_[b]] = b;
    if (next_gap_[donor] != none) replace_gap(donor, b);
  }
  constexpr void remove(int b) {
    const int below = before_[b];
    next_[below] = next_[b];
    if (next_[b] != end) before_[next_[b]] = below;
    const bool above = next_gap_[b] != none;
    if (next_gap_[below] != none) {
      if (above) close_gap(b);
    } else if (above) {
      replace_gap(b, below);
    } else if (bytes_[b]) {
      open_gap(below);
    }
  }

 private:
  static constexpr int end = -1, none = -2;

  constexpr std::int64_t top_of(int b) const { return b == bottom_ ? 0 : buffers_[b].offset + bytes_[b]; }
  constexpr void link_gaps(int low, int high) {
    if (low == end)
      lowest_ = high;
    else
      next_gap_[low] = high;
    if (high != end) gap_before_[high] = low;
  }
  constexpr void open_gap(int b) {
    int low = end, high = lowest_;
    for (const std::int64_t at = top_of(b); high != end && top_of(high) < at; high = next_gap_[high]) low = high;
    link_gaps(low, b);
    link_gaps(b, high);
    if (high == end) next_gap_[b] = end;
  }
  constexpr void close_gap(int b) {
    link_gaps(gap_before_[b], next_gap_[b]);
    next_gap_[b] = none;
  }
  constexpr void replace_gap(int b, int by) {
    link_gaps(gap_before_[b], by);
    next_gap_[by] = end;
    link_gaps(by, next_gap_[b]);
    next_gap_[b] = none;
  }

  plan_buffer* buffers_;
  const std::int64_t* bytes_;
  int bottom_;  // a buffer of no bytes below all others
  vec<int> links_;
  int *next_, *before_;          // buffers by offset
  int *next_gap_, *gap_before_;  // buffers with a gap above them; `none` for others. The last gap has no end.
  int lowest_;
};

}  // namespace detail

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
    for (; s < end; ++s)
      for (int k = step[s].operands, last_operand = k + step[s].in_count + step[s].out_count; k < last_operand; ++k)
        if (const int b = p.operands[k].buffer; b >= 0) f(b - r.first_buffer);
  };
  // Pass 1: the last step that uses each buffer.
  for (int s = 0, end = 0; s < steps; s = end) {
    end = end_of_joined(step, s);
    each_operand(s, end, [&](int b) { last[b] = s; });
  }
  vec<std::int64_t> sizes(static_cast<std::size_t>(n), 0);
  std::int64_t* const bytes = sizes.data();
  enum : char { absent, placed, done };
  vec<char> states(static_cast<std::size_t>(n), absent);
  char* const state = states.data();
  r.total_bytes = r.arena_bytes = 0;
  for (int b = 0; b < n; ++b) {
    if (buffers[b].kind != buffer_kind::arena) state[b] = done;
    bytes[b] = (resolve(buffers[b].bytes, symbols) + 63) / 64 * 64;
    if (state[b] == absent) r.total_bytes += bytes[b];
  }
  detail::arena_layout layout(buffers, bytes, n);
  // Pass 2: step by step, place the buffers that are used for the first time, then remove those that die.
  for (int s = 0, end = 0; s < steps; s = end) {
    end = end_of_joined(step, s);
    each_operand(s, end, [&](int b) {
      if (state[b] != absent) return;
      state[b] = placed;
      const int donor = buffers[b].reuse;
      if (donor >= 0 && state[donor] == placed && last[donor] == s && bytes[donor] == bytes[b]) {
        layout.take_over(b, donor);
        state[donor] = done;
        return;
      }
      layout.place(b);
      if (const std::int64_t top = buffers[b].offset + bytes[b]; top > r.arena_bytes) r.arena_bytes = top;
    });
    each_operand(s, end, [&](int b) {
      if (state[b] != placed || last[b] > s) return;
      state[b] = done;
      layout.remove(b);
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
      if (st.kind != step_kind::call) continue;
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
