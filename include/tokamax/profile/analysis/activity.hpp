// tokamax/profile/analysis/activity.hpp: what a process does at a time, as a user thinks of it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/analysis/step_breakdown.cpp
#pragma once

#include <tokamax/profile/recording.hpp>  // record

#include <cstddef>      // size_t
#include <optional>     // optional
#include <string_view>  // string_view

namespace tokamax::profile {

/// What a step of training is spent on. When several happen at a time, the first of them counts.
enum class activity : std::uint8_t {
  compute,   ///< a program runs, on any thread or device
  transfer,  ///< a copy between the memories of host and device
  compile,   ///< tracing and planning of a program
  input,     ///< a wait for data
  wait,      ///< another wait: for a checkpoint, a thread, a device
  host,      ///< a span of the user's own
  idle       ///< nothing that was recorded
};
inline constexpr std::size_t activities = 7;

constexpr std::string_view name(activity a) {
  constexpr std::string_view names[activities] = {"compute", "transfer", "compile", "input", "wait", "host", "idle"};
  return names[static_cast<std::size_t>(a)];
}

/// The first word of the name of a step or mark: `dot_general`, `loop`, `scan`.
constexpr std::string_view kind_of(std::string_view name) { return name.substr(0, name.find(' ')); }

/// The name of a record; one that names no step and no mark is "?".
inline std::string_view name_of(const recording& all, const record& r) {
  if (const event* e = all.work(r)) return e->name;
  if (const mark_name* m = all.mark(r)) return m->name;
  return "?";
}

/// The activity that a record stands for: nothing for steps of training, counters and records without a name. Transfers are
/// those whose names begin with "transfer" or, as CUDA has it, with "Memcpy". Waits for data have names that begin with "data".
inline std::optional<activity> activity_of(const recording& all, const record& r) {
  const std::string_view name = name_of(all, r);
  if (name.starts_with("transfer") || name.starts_with("Memcpy")) return activity::transfer;
  if (all.work(r)) return activity::compute;
  const mark_name* m = all.mark(r);
  if (!m || m->kind == mark_kind::step || m->kind == mark_kind::counter) return std::nullopt;
  if (m->kind == mark_kind::compile) return activity::compile;
  if (m->kind == mark_kind::span) return activity::host;
  return name.starts_with("data") ? activity::input : activity::wait;
}

}  // namespace tokamax::profile
