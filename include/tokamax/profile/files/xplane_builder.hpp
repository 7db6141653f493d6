// tokamax/profile/files/xplane_builder.hpp: a plane of an XSpace, whose names get their ids when they are first used.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/files/xspace.cpp
#pragma once

#include <tokamax/profile/files/xspace.hpp>  // xplane

#include <map>      // map
#include <string>   // string
#include <utility>  // move

namespace tokamax::profile {

/// Makes a plane. Two stats or events of one name share an id.
class xplane_builder {
 public:
  xplane_builder(std::int64_t id, std::string name) : plane_{id, std::move(name)} {}

  /// A stat with its name's id.
  template <class Value>
  xstat stat(const std::string& name, Value value) {
    const auto [at, added] = stat_ids_.try_emplace(name, static_cast<std::int64_t>(stat_ids_.size() + 1));
    if (added) plane_.stat_names[at->second] = name;
    return {at->second, std::move(value)};
  }
  /// A stat of the plane itself.
  template <class Value>
  void add_stat(const std::string& name, Value value) {
    plane_.stats.push_back(stat(name, std::move(value)));
  }
  /// The id of a kind of events, which `describe` fills in when `key` is new.
  template <class Describe>
  std::int64_t kind(const std::string& key, Describe describe) {
    const auto [at, added] = kind_ids_.try_emplace(key, static_cast<std::int64_t>(kind_ids_.size() + 1));
    if (added) plane_.kinds[at->second] = describe();
    return at->second;
  }
  /// The id of a kind that is a name alone.
  std::int64_t kind(const std::string& name) {
    return kind(name, [&] { return xevent_kind{name}; });
  }
  /// The line with a name, made where there is none.
  xline& line(const std::string& name, const std::string& display_name, std::int64_t timestamp_ns) {
    for (xline& l : plane_.lines)
      if (l.name == name && l.display_name == display_name) return l;
    plane_.lines.push_back({static_cast<std::int64_t>(plane_.lines.size() + 1), name, display_name, timestamp_ns});
    return plane_.lines.back();
  }
  xplane plane() && { return std::move(plane_); }

 private:
  xplane plane_;
  std::map<std::string, std::int64_t> stat_ids_, kind_ids_;
};

}  // namespace tokamax::profile
