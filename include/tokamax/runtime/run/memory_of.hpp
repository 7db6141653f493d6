// tokamax/runtime/run/memory_of.hpp: the buffers of a program and the steps during which it holds them, for profiles.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (run/executable.hpp includes it)
// tested by tests/profile/analysis/memory_peak.cpp
#pragma once

#include <tokamax/base/extent.hpp>                   // resolve
#include <tokamax/compiler/plan.hpp>                 // plan_view
#include <tokamax/profile/analysis/memory_peak.hpp>  // held_bytes
#include <tokamax/profile/event.hpp>                 // event

#include <algorithm>  // find
#include <string>     // string, to_string
#include <utility>    // move
#include <vector>     // vector

namespace tokamax::detail {

/// The type of what an operand of a step sees, if that is the whole buffer of so many bytes; else none. A loop sees a buffer by
/// its own axes, which may be those of several joined.
inline std::string type_of_whole(const plan_view& p, const plan_step& st, const plan_operand& o, std::int64_t bytes,
                                 const std::int64_t* symbols) {
  const bool loop = st.kind == step_kind::loop;
  shape extents;
  std::int64_t size = size_of(o.type);
  for (int a = 0; a < (loop ? st.rank : o.rank); ++a) {
    if (loop && resolve(p.numbers[o.numbers + a], symbols) == 0) continue;  // an axis that repeats elements
    const std::int64_t extent = resolve(p.numbers[(loop ? st.numbers : o.numbers) + a], symbols);
    extents.push_back(extent);
    size *= extent;
  }
  return size == bytes ? std::string(message(array_type{o.type, false, extents}).view()) : std::string();
}

/// How the steps of a program use a buffer.
struct buffer_use {
  int first = -1, last = -1;  ///< the first steps of the groups, which run together, that use it first and last
  int end = -1;               ///< behind the steps during which it is held
  int writer = -1;            ///< the step that writes it first
  bool scratch = false;       ///< of a call, for its bodies
  std::string type{};         ///< as kernels see it
  std::string joined{};       ///< as loops see it
};

/// The uses of the buffers of the main region, by their numbers. A result may take the place of an operand whose last use its step
/// is: the operand is held until then.
inline std::vector<buffer_use> buffer_uses(const plan_view& p, const std::int64_t* symbols) {
  const plan_region& r = p.regions[0];
  std::vector<buffer_use> uses(static_cast<std::size_t>(r.buffer_count));
  const auto use_by = [&](int s, int k, int begin, int end) {
    const plan_step& st = p.steps[s];
    const plan_operand& o = p.operands[st.operands + k];
    if (o.buffer < 0) return;
    buffer_use& u = uses[static_cast<std::size_t>(o.buffer - r.first_buffer)];
    if (u.first < 0) u.first = begin;
    u.last = begin;
    u.end = end;
    if (k >= st.in_count && u.writer < 0) {
      u.writer = s - r.first_step;
      u.scratch = st.kind == step_kind::call && k == st.in_count + st.out_count - 1;
    }
    std::string& type = st.kind == step_kind::loop ? u.joined : u.type;
    if (type.empty()) type = type_of_whole(p, st, o, resolve(p.buffers[o.buffer].bytes, symbols), symbols);
  };
  for (int begin = 0, end = 0; begin < r.step_count; begin = end) {
    end = end_of_joined(p.steps + r.first_step, begin);
    for (int s = r.first_step + begin; s < r.first_step + end; ++s)
      for (int k = 0; k < p.steps[s].in_count + p.steps[s].out_count; ++k) use_by(s, k, begin, end);
  }
  const plan_buffer* const buffers = p.buffers + r.first_buffer;
  const auto rounded = [&](const plan_buffer& b) { return (resolve(b.bytes, symbols) + 63) / 64 * 64; };
  for (int b = 0; b < r.buffer_count; ++b) {
    const int donor = buffers[b].kind == buffer_kind::arena ? buffers[b].reuse : -1;
    if (donor < 0 || buffers[donor].kind != buffer_kind::arena || buffers[donor].offset != buffers[b].offset) continue;
    buffer_use& from = uses[static_cast<std::size_t>(donor)];
    const int first = uses[static_cast<std::size_t>(b)].first;
    if (from.last == first && rounded(buffers[donor]) == rounded(buffers[b])) from.end = first;
  }
  return uses;
}

/// The buffers of the main region of a plan. `base` has the pointers of a run, by which results are known that take the memory of
/// an argument; `steps` and `places` are the names and lines of the steps, which are told what is held while they run.
inline profile::program_memory memory_of(const plan_view& p, std::byte* const* base, const std::int64_t* symbols,
                                         std::vector<profile::event>& steps, const std::vector<std::string>& places) {
  using enum profile::buffer_role;
  const plan_region& r = p.regions[0];
  const plan_buffer* const buffers = p.buffers + r.first_buffer;
  const std::vector<buffer_use> uses = buffer_uses(p, symbols);
  profile::program_memory all{{}, r.arena_bytes, r.step_count};
  const auto add = [&](int b, profile::buffer_role role, const std::string& named, int first, int last) {
    const buffer_use& u = uses[static_cast<std::size_t>(b)];
    profile::program_buffer made{named, u.type.empty() ? u.joined : u.type, {}, role};
    made.bytes = resolve(buffers[b].bytes, symbols);
    if (made.type.empty()) made.type = std::to_string(made.bytes) + " bytes";
    if (role == intermediate) made.offset = buffers[b].offset;
    made.first = first, made.last = last;
    if (u.writer >= 0) {
      const std::string& writer = steps[static_cast<std::size_t>(u.writer)].name;
      made.name += (named.empty() ? "" : ": ") + (u.scratch ? "scratch of " + writer : writer);
    }
    if (const int known = u.writer >= 0 ? u.writer : u.first; known >= 0)
      made.place = places[static_cast<std::size_t>(known)];  // of an argument: where it is first read
    all.buffers.push_back(std::move(made));
  };
  std::vector<const std::byte*> arguments;
  for (int b = 0; b < r.buffer_count; ++b)
    if (buffers[b].kind == buffer_kind::input) arguments.push_back(base[r.first_buffer + b]);
  for (int b = 0; b < r.buffer_count; ++b) {
    const buffer_use& u = uses[static_cast<std::size_t>(b)];
    const std::string number = ' ' + std::to_string(buffers[b].index);
    const std::byte* const at = base[r.first_buffer + b];
    const bool in_argument = at && std::ranges::find(arguments, at) != arguments.end();
    switch (buffers[b].kind) {
      case buffer_kind::input:
        add(b, argument, "argument" + number, 0, r.step_count - 1);
        break;
      case buffer_kind::output:
        if (!in_argument) add(b, result, "result" + number, 0, r.step_count - 1);
        break;
      case buffer_kind::constant:
        add(b, constant, "constant", 0, r.step_count - 1);
        break;
      case buffer_kind::arena:
        if (u.first >= 0 && u.end > u.first) add(b, intermediate, {}, u.first, u.end - 1);
        break;
    }
  }
  const std::vector<std::int64_t> held = profile::held_bytes(all);
  for (std::size_t s = 0; s < held.size(); ++s) steps[s].memory = held[s];
  return all;
}

}  // namespace tokamax::detail
