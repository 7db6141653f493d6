// tokamax/benchmarking/autotuning_result.hpp: how fast the implementations of ops are, as a value that programs use and files keep.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/benchmarking/autotune.cpp
#pragma once

#include <tokamax/base/version.hpp>    // version
#include <tokamax/core/device.hpp>     // device
#include <tokamax/runtime/choice.hpp>  // choice_scope, choice_table

#include <algorithm>  // lower_bound
#include <string>     // string
#include <vector>     // vector

namespace tokamax {

/// The times of one implementation of an op on one call.
struct implementation_times {
  std::string name{};
  std::vector<double> evaluation_times_ms{};
  std::string failure{};  ///< why it has no times; empty if it has some
};

/// The measurements of one call.
struct tuned_call {
  std::string call{};  ///< its `call_text`
  std::vector<implementation_times> implementations{};

  /// The name of the fastest implementation, by the least of its times. The device's kernel wins ties within 3 %. Empty without times.
  std::string_view fastest() const {
    const implementation_times* best = nullptr;
    const auto time = [](const implementation_times& i) {
      return *std::min_element(i.evaluation_times_ms.begin(), i.evaluation_times_ms.end()) *
             (i.name == "kernel" ? 0.97 : 1.0);
    };
    for (const implementation_times& i : implementations)
      if (!i.evaluation_times_ms.empty() && (!best || time(i) < time(*best))) best = &i;
    return best ? std::string_view(best->name) : std::string_view();
  }
};

/// What `autotune` has measured: a value that can be merged with others, put in force for a scope (autotuning_scope), and
/// written to files (autotuning_file.hpp).
struct autotuning_result {
  std::string device_kind{};              ///< `device::kind` of where it was measured
  std::string version{tokamax::version};  ///< that of the library
  std::vector<tuned_call> calls{};        ///< in the order of their texts

  static bool before(const tuned_call& c, std::string_view call) { return c.call < call; }

  /// The measurements of a call; null if there are none.
  const tuned_call* find(std::string_view call) const {
    const auto at = std::lower_bound(calls.begin(), calls.end(), call, before);
    return at != calls.end() && at->call == call ? &*at : nullptr;
  }
  /// Adds the measurements of a call, or replaces them.
  void set(tuned_call c) {
    const auto at = std::lower_bound(calls.begin(), calls.end(), c.call, before);
    if (at != calls.end() && at->call == c.call)
      *at = std::move(c);
    else
      calls.insert(at, std::move(c));
  }
  /// The same without implementations that failed.
  autotuning_result without_failures() const {
    autotuning_result r = *this;
    for (tuned_call& c : r.calls)
      std::erase_if(c.implementations, [](const implementation_times& i) { return !i.failure.empty(); });
    return r;
  }
  /// The fastest implementation of each call, as programs look it up.
  std::shared_ptr<const choice_table> choices() const {
    auto table = std::make_shared<choice_table>();
    table->device_kind = device_kind;
    for (const tuned_call& c : calls)
      if (const std::string_view name = c.fastest(); !name.empty())
        table->choices.push_back({c.call, std::string(name)});
    return table;
  }
};

/// The measurements of both. Of calls that both have, those of `b` stay. `where` is what errors name, such as a file.
/// errors  "autotuning: device kind", "autotuning: version" if they differ; an empty result fits to all
inline autotuning_result merged(autotuning_result a, const autotuning_result& b, const std::string& where = {}) {
  if (b.calls.empty()) return a;
  if (a.calls.empty()) return b;
  if (a.device_kind != b.device_kind)
    throw error(error_kind::device, "autotuning: device kind", "'" + a.device_kind + "'", "'" + b.device_kind + "'",
                where);
  if (a.version != b.version) throw error("autotuning: version", "'" + a.version + "'", "'" + b.version + "'", where);
  for (const tuned_call& c : b.calls) a.set(c);
  return a;
}
inline autotuning_result operator|(const autotuning_result& a, const autotuning_result& b) { return merged(a, b); }

/// Puts a result in force for the programs that this thread runs during the lifetime of this object. The innermost scope that
/// knows a call decides. What a program itself names (use_implementation) goes before.
///
///   const autotuning_result tuned = autotune(step, state, batch);
///   const autotuning_scope fast(tuned);
///
/// source  tokamax.AutotuningResult as a context manager
class autotuning_scope : choice_scope {
 public:
  explicit autotuning_scope(const autotuning_result& r) : choice_scope(r.choices()) {}
};

/// Puts a result in force for all threads, outside of their scopes, until the next one replaces it.
inline void autotune_everywhere(const autotuning_result& r) { choose_everywhere(r.choices()); }

}  // namespace tokamax
