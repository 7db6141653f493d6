// tokamax/profile/report/to_json.hpp: the tables of an analysis as JSON, for programs and for the page.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/report/tables.cpp
#pragma once

#include <tokamax/profile/analysis/comparison.hpp>     // comparison
#include <tokamax/profile/analysis/device_time.hpp>    // duty_cycles
#include <tokamax/profile/analysis/input_verdict.hpp>  // input_verdict
#include <tokamax/profile/analysis/suggestions.hpp>    // suggestion
#include <tokamax/profile/files/trace_json.hpp>        // json_number

#include <initializer_list>  // initializer_list
#include <string>            // string
#include <string_view>       // string_view
#include <utility>           // pair
#include <vector>            // vector

namespace tokamax::profile {

namespace detail {
/// A list of JSON of what `one` makes of each item.
template <class Items, class One>
std::string json_list(const Items& items, One one) {
  std::string s = "[";
  for (const auto& item : items) (s += s.size() > 1 ? ",\n" : "") += one(item);
  return s += ']';
}
/// `"name": value`, with values that are JSON already.
inline std::string json_object(std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  std::string s = "{";
  for (const auto& [name, value] : fields) ((s += s.size() > 1 ? ", " : "") += json_string(name)) += ": " + value;
  return s += '}';
}
/// Nanoseconds, mostly.
inline std::string json_of(const spread& x) {
  return json_object({{"count", std::to_string(x.count)},
                      {"mean", json_number(x.mean)},
                      {"deviation", json_number(x.deviation)},
                      {"least", json_number(x.least)},
                      {"median", json_number(x.median)},
                      {"most", json_number(x.most)}});
}
}  // namespace detail

/// A row has name, count, nanoseconds (total, self, best), work, rates a second, share of self time, and what bounds it.
inline std::string to_json(const std::vector<op_row>& rows) {
  return detail::json_list(rows, [](const op_row& o) {
    return detail::json_object({{"name", json_string(o.name)},
                                {"count", std::to_string(o.count)},
                                {"total", std::to_string(o.total)},
                                {"self", std::to_string(o.self)},
                                {"share", json_number(o.share)},
                                {"cumulative", json_number(o.cumulative)},
                                {"flops", json_number(o.work.flops)},
                                {"bfloat16_flops", json_number(o.work.bfloat16_flops)},
                                {"bytes", json_number(o.work.bytes)},
                                {"flops_per_second", json_number(o.flops_per_second())},
                                {"bytes_per_second", json_number(o.bytes_per_second())},
                                {"intensity", json_number(o.intensity())},
                                {"best", json_number(o.best)},
                                {"roof", json_number(o.roof)},
                                {"bound_by", json_string(o.bound_by)}});
  });
}

/// Each step has its number, begin and length from `origin`, and its nanoseconds by activity.
inline std::string to_json(const step_breakdown& steps, std::int64_t origin = 0) {
  std::string by_activity = "{";
  for (std::size_t a = 0; a < activities; ++a) {
    const auto which = static_cast<activity>(a);
    by_activity += fmt::format("{}\"{}\": {}", a ? ", " : "", name(which), detail::json_of(steps.times(which)));
  }
  return detail::json_object({{"marked", steps.marked ? "true" : "false"},
                              {"length", detail::json_of(steps.lengths())},
                              {"activities", by_activity + '}'},
                              {"steps", detail::json_list(steps.steps, [&](const step_times& s) {
                                 std::string by;
                                 for (const std::int64_t time : s.by)
                                   (by += by.empty() ? "" : ", ") += std::to_string(time);
                                 return detail::json_object({{"number", json_number(s.number)},
                                                             {"begin", std::to_string(s.time.begin - origin)},
                                                             {"length", std::to_string(s.length())},
                                                             {"by", '[' + by + ']'}});
                               })}});
}

/// The numbers, the sentences and the names that a suggestion is about.
inline std::string to_json(const std::vector<suggestion>& all) {
  return detail::json_list(all, [](const suggestion& s) {
    return detail::json_object(
        {{"rule", json_string(s.rule)},
         {"value", json_number(s.value)},
         {"threshold", json_number(s.threshold)},
         {"saving", json_number(s.saving)},
         {"text", json_string(s.text)},
         {"cure", json_string(s.cure)},
         {"ops", detail::json_list(s.ops, [](const std::string& o) { return json_string(o); })}});
  });
}

/// The verdict, the steps of both recordings and the ops by their difference.
inline std::string to_json(const comparison& c) {
  constexpr std::string_view verdicts[] = {"unknown", "none", "faster", "slower"};
  return detail::json_object({{"verdict", json_string(verdicts[static_cast<std::size_t>(c.verdict)])},
                              {"text", json_string(c.text)},
                              {"ratio", json_number(c.ratio)},
                              {"noise", json_number(c.noise)},
                              {"before", detail::json_of(c.before)},
                              {"after", detail::json_of(c.after)},
                              {"ops", detail::json_list(c.ops, [](const compared_op& o) {
                                 return detail::json_object({{"name", json_string(o.name)},
                                                             {"before", json_number(o.before)},
                                                             {"after", json_number(o.after)},
                                                             {"count_before", json_number(o.count_before)},
                                                             {"count_after", json_number(o.count_after)}});
                               })}});
}

/// What a recording says at a glance: its length, what was dropped, how busy devices were, MFU, steps, input, suggestions.
inline std::string summary_json(const recording& all, const roofline& limits) {
  const step_breakdown steps = breakdown_of(all);
  const input_verdict input = input_verdict_of(all, steps);
  std::int64_t records = 0, dropped = 0;
  for (const track& t : all.tracks) {
    records += static_cast<std::int64_t>(t.records.size());
    dropped += t.dropped;
  }
  std::string duty = "{";
  for (const auto& [device, part] : duty_cycles(all))
    duty += (duty.size() > 1 ? ", " : "") + json_string(device) + ": " + json_number(part);
  return detail::json_object(
      {{"nanoseconds", std::to_string(all.end - all.begin)},
       {"records", std::to_string(records)},
       {"dropped", std::to_string(dropped)},
       {"duty_cycles", duty + '}'},
       {"flops_utilization", json_number(flops_utilization(all_work(all), limits, all.end - all.begin))},
       {"input_share", json_number(input.share)},
       {"input", json_string(input.text)},
       {"suggestions", to_json(suggestions(all, limits))}});
}

}  // namespace tokamax::profile
