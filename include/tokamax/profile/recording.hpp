// tokamax/profile/recording.hpp: what a session has recorded, as values.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/session.cpp
#pragma once

#include <tokamax/profile/step_table.hpp>  // step_table

#include <map>     // map
#include <memory>  // shared_ptr
#include <string>  // string
#include <vector>  // vector

namespace tokamax::profile {

/// Work between two times, in nanoseconds of std::chrono::steady_clock.
struct record {
  std::int64_t begin = 0, end = 0;
  std::uint32_t table = 0;  ///< 0: a mark of the user, whose name is `names[step]`; else a program's table
  std::uint32_t step = 0;   ///< of that table
  double value = 0;         ///< the number of a training step, or the value of a counter
};

/// What a name of a user stands for.
enum class mark_kind : std::uint8_t {
  span,     ///< work of the user's own, from begin to end
  step,     ///< a step of training or serving; its number is `value`
  wait,     ///< for data, a checkpoint or another thread
  compile,  ///< tracing and planning of a program
  counter   ///< `value` at `begin`
};
struct mark_name {
  std::string name;
  mark_kind kind = mark_kind::span;
};

/// The records of one thread, or of the clock of one device, by their ends. A record lies within another of the same track, or
/// beside it.
struct track {
  std::string name;
  bool device = false;  ///< are these the times of a device that works beside the threads?
  std::vector<record> records;
  std::int64_t dropped = 0;  ///< older records for which there was no room
};

/// A recording. It needs neither the programs nor the session any more.
struct recording {
  std::int64_t begin = 0, end = 0;  ///< of the session
  std::vector<track> tracks;
  std::vector<mark_name> names;
  std::map<std::uint32_t, std::shared_ptr<const step_table>> tables;

  /// What a record of a program's step did, without the times; null for a mark of the user.
  const event* work(const record& r) const {
    const auto found = tables.find(r.table);
    return found == tables.end() || r.step >= found->second->steps.size() ? nullptr : &found->second->steps[r.step];
  }
  /// Null for a program's step.
  const mark_name* mark(const record& r) const {
    return r.table == 0 && r.step < names.size() ? &names[r.step] : nullptr;
  }
};

}  // namespace tokamax::profile
