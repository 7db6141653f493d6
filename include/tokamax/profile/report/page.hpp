// tokamax/profile/report/page.hpp: a recording as one HTML file that opens without a network.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/files/folded.hpp>          // stacks
#include <tokamax/profile/report/page_base.hpp>      // page_base
#include <tokamax/profile/report/page_controls.hpp>  // page_controls
#include <tokamax/profile/report/page_style.hpp>     // page_style
#include <tokamax/profile/report/page_timeline.hpp>  // page_timeline
#include <tokamax/profile/report/page_views.hpp>     // page_views
#include <tokamax/profile/report/to_json.hpp>        // to_json

#include <algorithm>    // clamp, max, min
#include <cstddef>      // size_t
#include <map>          // map
#include <string>       // string
#include <string_view>  // string_view
#include <utility>      // pair
#include <vector>       // vector

namespace tokamax::profile {

namespace detail {
/// Bytes in base64. source: RFC 4648, section 4
inline std::string base64(const std::vector<std::uint32_t>& words) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto byte = [&](std::size_t i) { return words[i / 4] >> 8 * (i % 4) & 0xFF; };  // the lowest byte first
  const std::size_t n = 4 * words.size();
  std::string s;
  s.reserve((n + 2) / 3 * 4);
  for (std::size_t i = 0; i < n; i += 3) {
    const std::uint32_t three = byte(i) << 16 | (i + 1 < n ? byte(i + 1) << 8 : 0) | (i + 2 < n ? byte(i + 2) : 0);
    for (std::size_t k = 0; k < 4; ++k) s += i + k <= n ? digits[three >> (18 - 6 * k) & 63] : '=';
  }
  return s;
}

/// The records of a page: three words of 32 bits each, and the items that they name.
class page_records {
 public:
  page_records(const recording& all, const roofline& limits) : all_(all), limits_(limits) {
    unit_ = std::max<std::int64_t>(1, (all.end - all.begin) / 0xFFFF'FFFF + 1);
    tracks_ = json_list(all.tracks, [&](const track& t) {
      return json_object({{"name", json_string(t.name)},
                          {"count", std::to_string(t.records.size())},
                          {"dropped", std::to_string(t.dropped)},
                          {"records", '"' + base64(words(t)) + '"'}});
    });
  }
  std::int64_t unit() const { return unit_; }
  const std::string& tracks() const { return tracks_; }
  std::string items() const {
    return json_list(items_, [](const std::string& item) { return item; });
  }
  /// The values of each counter over time.
  std::string counters() const {
    return json_list(counters_of(all_), [&](const auto& counter) {
      std::string times, values;
      double low = counter.second.front().second, high = low;
      for (const auto& [time, value] : counter.second) {
        (times += times.empty() ? "" : ",") += std::to_string(time - all_.begin);
        (values += values.empty() ? "" : ",") += json_number(value);
        low = std::min(low, value);
        high = std::max(high, value);
      }
      return json_object({{"name", json_string(counter.first)},
                          {"times", '[' + times + ']'},
                          {"values", '[' + values + ']'},
                          {"range", '[' + json_number(low) + ", " + json_number(high) + ']'}});
    });
  }

 private:
  /// Records by their begins, so that those of one depth ascend.
  std::vector<std::uint32_t> words(const track& t) {
    const nesting n = nesting_of(t);
    std::vector<std::uint32_t> result;
    result.reserve(3 * t.records.size());
    for (const std::size_t i : n.order) {
      const record& r = t.records[i];
      if (const mark_name* m = all_.mark(r); m && m->kind == mark_kind::counter) continue;
      // A record that ends after the one around it would lie on others of its depth, so it is shown up to that end.
      const std::int64_t end = n.parent[i] == nesting::none ? r.end : std::min(r.end, t.records[n.parent[i]].end);
      const auto in_units = [&](std::int64_t time) {
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(time - all_.begin, 0, all_.end - all_.begin) /
                                          unit_);
      };
      const std::uint32_t begin = in_units(r.begin), depth = static_cast<std::uint32_t>(std::min(n.depth[i], 255));
      result.insert(result.end(), {begin, std::max(begin, in_units(end)) - begin, depth << 24 | item(r)});
    }
    return result;
  }
  /// A page has at most 2^24 items; later ones share the last.
  std::uint32_t item(const record& r) {
    const std::uint32_t limit = 0xFF'FFFF;
    const auto [at, added] =
        numbers_.try_emplace({r.table, r.step}, std::min(limit, static_cast<std::uint32_t>(items_.size())));
    if (added && items_.size() <= limit) {
      const event* e = all_.work(r);
      const std::vector<std::string>* places = e ? &all_.tables.at(r.table)->places : nullptr;
      items_.push_back(json_object({{"name", json_string(name_of(all_, r))},
                                    {"scope", json_string(e ? e->scope : "")},
                                    {"place", json_string(places && r.step < places->size() ? (*places)[r.step] : "")},
                                    {"flops", json_number(e ? e->flops + e->bfloat16_flops : 0)},
                                    {"bytes", json_number(e ? e->bytes : 0)},
                                    {"best", json_number(e ? 1e9 * limits_.bound(*e) : 0)}}));
    }
    return at->second;
  }

  const recording& all_;
  const roofline& limits_;
  std::int64_t unit_ = 1;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
  std::vector<std::string> items_;
  std::string tracks_;  // made first, because it numbers the items
};

/// Stacks as lists of the numbers of frames, with the nanoseconds at the end.
inline std::pair<std::string, std::string> stacks_json(const recording& all) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::string> frames;
  std::string lists = json_list(stacks(all), [&](const auto& stack) {
    std::string s = "[";
    for (const std::string& frame : stack.first) {
      const auto [at, added] = numbers.try_emplace(frame, frames.size());
      if (added) frames.push_back(json_string(frame));
      s += std::to_string(at->second) + ',';
    }
    return s + std::to_string(stack.second) + ']';
  });
  return {json_list(frames, [](const std::string& f) { return f; }), lists};
}
}  // namespace detail

/// What the script of a page shows, as JSON.
inline std::string page_data(const recording& all, const roofline& limits, std::string_view title) {
  const detail::page_records records(all, limits);
  const auto [frames, stacks] = detail::stacks_json(all);
  return detail::json_object(
      {{"title", json_string(title)},
       {"length", std::to_string(all.end - all.begin)},
       {"unit", std::to_string(records.unit())},
       {"limits", detail::json_object({{"flops", json_number(limits.flops)},
                                       {"bfloat16_flops", json_number(limits.bfloat16_flops)},
                                       {"bytes", json_number(limits.bytes)}})},
       {"summary", summary_json(all, limits)},
       {"steps", to_json(breakdown_of(all), all.begin)},
       {"ops", detail::json_object({{"op", to_json(op_table(all, limits))},
                                    {"kind", to_json(op_table(all, limits, group_by::kind))},
                                    {"scope", to_json(op_table(all, limits, group_by::scope))},
                                    {"line", to_json(op_table(all, limits, group_by::place))},
                                    {"track", to_json(op_table(all, limits, group_by::track))}})},
       {"frames", frames},
       {"stacks", stacks},
       {"items", records.items()},
       {"counters", records.counters()},
       {"tracks", records.tracks()}});
}

/// A page with the views Summary, Timeline, Flames, Ops, Roofline and Steps. It loads nothing else. No name can end the element
/// that holds the data, because `<` is written as \u003c there.
inline std::string to_html(const recording& all, const roofline& limits, std::string_view title = "tokamax profile") {
  std::string s =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n";
  s += "<title>tokamax profile</title>\n<style>";
  (s += page_style) += "</style>\n<body>\n<script type=\"application/json\" id=\"data\">";
  for (const char c : page_data(all, limits, title)) c == '<' ? s += "\\u003c" : s += c;
  s += "</script>\n<script>";
  for (const std::string_view part : {page_base, page_timeline, page_controls, page_views}) s += part;
  return s += "</script>\n</body>\n</html>\n";
}

}  // namespace tokamax::profile
