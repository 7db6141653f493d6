// tokamax/profile/files/folded.hpp: a recording as folded stacks, from which flame graphs are drawn.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/files/traces.cpp
#pragma once

#include <tokamax/profile/analysis/activity.hpp>  // name_of
#include <tokamax/profile/analysis/nesting.hpp>   // nesting_of

#include <algorithm>    // min
#include <cstddef>      // size_t
#include <map>          // map
#include <string>       // string
#include <string_view>  // string_view
#include <utility>      // move
#include <vector>       // vector

namespace tokamax::profile {

/// The frames of a scope, "blocks[3].attend" as "blocks[3]" and "attend".
inline std::vector<std::string> frames_of(std::string_view scope) {
  std::vector<std::string> frames;
  while (!scope.empty()) {
    const std::size_t length = scope.find_first_of("./");
    if (length > 0) frames.emplace_back(scope.substr(0, length));
    scope.remove_prefix(length == std::string_view::npos ? scope.size() : length + 1);
  }
  return frames;
}

/// The own nanoseconds of each stack: the track, at most 254 records around the work, its scope, its name.
inline std::map<std::vector<std::string>, std::int64_t> stacks(const recording& all) {
  constexpr std::size_t deepest = 255;
  std::map<std::vector<std::string>, std::int64_t> times;
  for (const track& t : all.tracks) {
    const nesting n = nesting_of(t);
    std::vector<std::string> around{t.name};
    for (const std::size_t i : n.order) {
      const record& r = t.records[i];
      around.resize(std::min(deepest, static_cast<std::size_t>(n.depth[i]) + 1));
      if (n.self[i] > 0) {
        std::vector<std::string> stack = around;
        if (const event* e = all.work(r))
          for (std::string& frame : frames_of(e->scope)) stack.push_back(std::move(frame));
        stack.emplace_back(name_of(all, r));
        times[std::move(stack)] += n.self[i];
      }
      if (around.size() < deepest) around.emplace_back(name_of(all, r));
    }
  }
  return times;
}

/// Lines of "track;span;scope;op nanoseconds". Semicolons and control characters within names become colons and blanks.
/// source  github.com/brendangregg/FlameGraph, which draws them, as speedscope.app does
inline std::string to_folded(const recording& all) {
  std::string s;
  for (const auto& [stack, time] : stacks(all)) {
    const char* separator = "";
    for (const std::string& frame : stack) {
      s += separator;
      for (const char c : frame) s += c == ';' ? ':' : static_cast<unsigned char>(c) < ' ' ? ' ' : c;
      separator = ";";
    }
    (s += ' ') += std::to_string(time) + '\n';
  }
  return s;
}

}  // namespace tokamax::profile
