// tokamax/profile/report/memory_text.hpp: what lives at the peak of a program, as lines of text and as JSON.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/report/tables.cpp
#pragma once

#include <tokamax/profile/analysis/memory_over_time.hpp>  // memory_peaks
#include <tokamax/profile/report/to_json.hpp>             // json_object
#include <tokamax/profile/report/to_text.hpp>             // printable

#include <fmt/format.h>  // format_to

#include <algorithm>  // min
#include <cstddef>    // size_t
#include <iterator>   // back_inserter
#include <string>     // string
#include <vector>     // vector

namespace tokamax::profile {

/// A sentence on the peak, and the `lines` largest buffers that live there. Bytes are in units of 10^6.
inline std::string to_text(const program_memory& m, const memory_peak& peak, std::size_t lines = 20) {
  const auto mb = [](std::int64_t bytes) { return static_cast<double>(bytes) * 1e-6; };
  std::string s = fmt::format("{:.3f} MB are held at step {} of {}", mb(peak.bytes), peak.step, m.steps);
  for (std::size_t role = 0; role < std::size(peak.by_role); ++role)
    if (peak.by_role[role] > 0)
      fmt::format_to(std::back_inserter(s), ", {:.3f} by {}s", mb(peak.by_role[role]),
                     name(static_cast<buffer_role>(role)));
  fmt::format_to(std::back_inserter(s), "; {:.3f} MB of the arena are unused there\n", mb(peak.unused()));
  fmt::format_to(std::back_inserter(s), "{:>12} {:>6} {:>11} {:<13} {}\n", "MB", "share", "steps", "role", "value");
  for (std::size_t i = 0; i < std::min(lines, peak.lives.size()); ++i) {
    const program_buffer& b = m.buffers[peak.lives[i]];
    fmt::format_to(std::back_inserter(s), "{:>12.6f} {:>5.1f}% {:>11} {:<13} {}, {}{}{}\n", mb(b.bytes),
                   100.0 * static_cast<double>(b.bytes) / static_cast<double>(peak.bytes),
                   fmt::format("{}-{}", b.first, b.last), name(b.role), detail::printable(b.type),
                   detail::printable(b.name), b.place.empty() ? "" : ", ", detail::printable(b.place));
  }
  if (peak.lives.size() > lines) s += fmt::format("and {} smaller ones\n", peak.lives.size() - lines);
  return s;
}

/// The peaks of the `programs` programs that hold the most.
inline std::string memory_text(const recording& all, std::size_t lines = 20, std::size_t programs = 3) {
  const auto peaks = memory_peaks(all);
  if (peaks.empty()) return "no whole program was recorded, so nothing is known of its memory\n";
  std::string s;
  for (std::size_t i = 0; i < std::min(programs, peaks.size()); ++i)
    s += fmt::format("program {}: ", peaks[i].first) +
         to_text(all.tables.at(peaks[i].first)->memory, peaks[i].second, lines);
  if (peaks.size() > programs) s += fmt::format("and {} programs that hold less\n", peaks.size() - programs);
  return s;
}

/// The peak and the buffers of a program, of which the `most` largest that live at the peak come first, then others.
inline std::string to_json(const program_memory& m, const memory_peak& peak, std::size_t most = 2000) {
  std::vector<std::size_t> order = peak.lives;
  std::vector<bool> lives(m.buffers.size(), false);
  for (const std::size_t i : peak.lives) lives[i] = true;
  for (std::size_t i = 0; i < m.buffers.size(); ++i)
    if (!lives[i]) order.push_back(i);
  order.resize(std::min(order.size(), most));
  return detail::json_object({{"steps", std::to_string(m.steps)},
                              {"arena_bytes", std::to_string(m.arena_bytes)},
                              {"peak_step", std::to_string(peak.step)},
                              {"peak_bytes", std::to_string(peak.bytes)},
                              {"reserved_bytes", std::to_string(peak.reserved)},
                              {"buffers", detail::json_list(order, [&](std::size_t i) {
                                 const program_buffer& b = m.buffers[i];
                                 return detail::json_object({{"name", json_string(b.name)},
                                                             {"type", json_string(b.type)},
                                                             {"place", json_string(b.place)},
                                                             {"role", json_string(name(b.role))},
                                                             {"bytes", std::to_string(b.bytes)},
                                                             {"offset", std::to_string(b.offset)},
                                                             {"first", std::to_string(b.first)},
                                                             {"last", std::to_string(b.last)},
                                                             {"at_peak", lives[i] ? "true" : "false"}});
                               })}});
}

/// The same of the `programs` programs that hold the most, each with the number of its table.
inline std::string memory_json(const recording& all, std::size_t programs = 20) {
  auto peaks = memory_peaks(all);
  peaks.resize(std::min(peaks.size(), programs));
  return detail::json_list(peaks, [&](const auto& p) {
    return detail::json_object(
        {{"program", std::to_string(p.first)}, {"memory", to_json(all.tables.at(p.first)->memory, p.second)}});
  });
}

}  // namespace tokamax::profile
