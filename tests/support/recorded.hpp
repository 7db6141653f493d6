// tests/support/recorded.hpp: recordings written as rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/recording.hpp>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>

/// A record. A name that begins with # is a mark: "#step", whose number is `flops`, "#wait data", "#compile f", "#span f" or
/// "#counter f", whose value is `flops`. Other names are steps of programs; two rows of one name are the same step.
struct recorded_row {
  std::string track;  ///< such as "main"; "gpu..." are devices
  std::string name;
  std::int64_t begin = 0, end = 0;
  double flops = 0, bytes = 0;
  std::string scope{}, place{};
  double bfloat16_flops = 0;
};

inline tokamax::profile::recording recorded(std::vector<recorded_row> rows) {
  using namespace tokamax::profile;
  recording all;
  std::vector<event> steps;
  std::vector<std::string> places;
  const auto find_or_add = [](auto& list, auto value, auto member) {
    const auto found = std::ranges::find(list, value.*member, member);
    if (found != list.end()) return static_cast<std::uint32_t>(found - list.begin());
    list.push_back(value);
    return static_cast<std::uint32_t>(list.size() - 1);
  };
  if (!rows.empty()) all.begin = rows.front().begin, all.end = rows.front().end;
  for (const recorded_row& r : rows) {
    track& t = all.tracks.at(find_or_add(all.tracks, track{r.track, r.track.starts_with("gpu"), {}, 0}, &track::name));
    all.begin = std::min(all.begin, r.begin);
    all.end = std::max(all.end, r.end);
    record to{r.begin, r.end, 0, 0, r.flops};
    if (r.name.starts_with('#')) {
      const auto space = r.name.find(' ');
      const std::string kind = r.name.substr(1, space - 1);
      const std::string name = space == std::string::npos ? "step" : r.name.substr(space + 1);
      const mark_kind k = kind == "step"      ? mark_kind::step
                          : kind == "wait"    ? mark_kind::wait
                          : kind == "compile" ? mark_kind::compile
                          : kind == "counter" ? mark_kind::counter
                                              : mark_kind::span;
      to.step = find_or_add(all.names, mark_name{name, k}, &mark_name::name);
    } else {
      event e;
      e.name = r.name;
      e.flops = r.flops;
      e.bytes = r.bytes;
      e.scope = r.scope;
      e.device = r.track;
      e.bfloat16_flops = r.bfloat16_flops;
      e.outer = r.name == "scan" || r.name == "while";
      to.table = 1;
      to.step = find_or_add(steps, e, &event::name);
      if (to.step == places.size()) places.push_back(r.place);
    }
    t.records.push_back(to);
  }
  all.tables[1] = std::make_shared<const step_table>(std::move(steps), std::move(places));
  return all;
}
