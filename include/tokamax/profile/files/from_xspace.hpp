// tokamax/profile/files/from_xspace.hpp: an XSpace as a recording, so that profiles of JAX have our tables too.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/files/xspace.cpp
#pragma once

#include <tokamax/base/error.hpp>            // error
#include <tokamax/profile/files/xspace.hpp>  // xspace
#include <tokamax/profile/recording.hpp>     // recording
#include <tokamax/profile/roofline.hpp>      // roofline

#include <algorithm>    // clamp, max, min
#include <cmath>        // isfinite
#include <limits>       // numeric_limits
#include <map>          // map
#include <memory>       // make_shared
#include <string>       // string
#include <string_view>  // string_view
#include <utility>      // move, pair

namespace tokamax::profile {

namespace detail {
/// The stats of an event or of its kind, by name.
class named_stats {
 public:
  explicit named_stats(const xplane& p) : plane_(p) {}

  const xstat* find(const std::vector<xstat>& in, std::string_view name) const {
    for (const xstat& s : in)
      if (const auto found = plane_.stat_names.find(s.id); found != plane_.stat_names.end() && found->second == name)
        return &s;
    return nullptr;
  }
  /// A number; `otherwise` if there is none.
  double number(const std::vector<xstat>& in, std::string_view name, double otherwise = 0) const {
    const xstat* s = find(in, name);
    if (!s) return otherwise;
    if (const auto* v = std::get_if<double>(&s->value)) return std::isfinite(*v) ? *v : otherwise;
    if (const auto* v = std::get_if<std::int64_t>(&s->value)) return static_cast<double>(*v);
    if (const auto* v = std::get_if<std::uint64_t>(&s->value)) return static_cast<double>(*v);
    return otherwise;
  }
  /// A whole number, within half the range of its type.
  std::int64_t integer(const std::vector<xstat>& in, std::string_view name) const {
    const xstat* s = find(in, name);
    constexpr std::int64_t most = std::int64_t{1} << 61;
    if (const auto* v = s ? std::get_if<std::int64_t>(&s->value) : nullptr) return std::clamp(*v, -most, most);
    return static_cast<std::int64_t>(std::clamp(number(in, name), -0x1p61, 0x1p61));
  }
  std::string text(const std::vector<xstat>& in, std::string_view name) const {
    const xstat* s = find(in, name);
    if (!s) return {};
    if (const auto* v = std::get_if<std::string>(&s->value)) return *v;
    const auto* v = std::get_if<xstat::reference>(&s->value);
    const auto found = v ? plane_.stat_names.find(static_cast<std::int64_t>(v->id)) : plane_.stat_names.end();
    return found == plane_.stat_names.end() ? std::string() : found->second;
  }

 private:
  const xplane& plane_;
};

/// Time of the line and offset of the event as nanoseconds, kept within half the range, so that differences of times fit.
inline std::int64_t nanoseconds(std::int64_t base, std::int64_t offset_ps) {
  constexpr std::int64_t most = std::int64_t{1} << 61;
  return std::clamp(base, -most, most) + offset_ps / 1000;
}

/// Reads the planes of one XSpace into a recording.
class xspace_reader {
 public:
  recording read(const xspace& all) && {
    for (const xplane& p : all.planes) read(p);
    if (sum_ > 0x1p62)  // sums of times are 64 bits
      throw error(error_kind::file, "a profile", "events of more than 146 years", "shorter ones");
    for (auto& [number, steps] : steps_)
      result_.tables[number] = std::make_shared<const step_table>(std::move(steps), std::move(places_[number]));
    bool first = true;
    for (const track& t : result_.tracks)
      for (const record& r : t.records) {
        begin_ = first ? r.begin : std::min(begin_, r.begin);
        end_ = first ? r.end : std::max(end_, r.end);
        first = false;
      }
    if (!has_times_) result_.begin = begin_, result_.end = end_;
    return std::move(result_);
  }

 private:
  /// Modules of XLA contain the ops, and our line of steps repeats marks, so both are passed over.
  void read(const xplane& p) {
    const named_stats stats(p);
    const bool ours = stats.text(p.stats, "recorded_by") == "tokamax";
    const bool device = p.name.starts_with("/device:");
    if (ours && !device) {
      result_.begin = stats.integer(p.stats, "begin");
      result_.end = std::max(result_.begin, stats.integer(p.stats, "end"));
      has_times_ = true;
    }
    const std::uint32_t table = ++tables_;
    std::map<std::int64_t, std::uint32_t> step_of;  // by the kind of the event
    for (const xline& l : p.lines) {
      if (l.name == "XLA Modules" || (ours && l.name == "Steps")) continue;
      const std::string name =
          ours ? l.display_name : p.name + '/' + (l.display_name.empty() ? l.name : l.display_name);
      track& t = track_of(name);
      if (ours && device) t.dropped = stats.integer(p.stats, "dropped");
      t.device |= ours ? stats.number(p.stats, "is_device") != 0 : device;
      for (const xevent& e : l.events) {
        record r;
        r.begin = nanoseconds(l.timestamp_ns, e.offset_ps);
        r.end = r.begin + std::max<std::int64_t>(0, e.duration_ps / 1000);
        sum_ += static_cast<double>(r.end - r.begin);
        const auto kind = p.kinds.find(e.id);
        static const xevent_kind unknown{"unknown"};
        const xevent_kind& k = kind == p.kinds.end() ? unknown : kind->second;
        if (is_op(stats, l, e, k, device)) {
          const auto [at, added] = step_of.try_emplace(e.id, static_cast<std::uint32_t>(steps_[table].size()));
          if (added) add_step(table, stats, k);
          r.table = table;
          r.step = at->second;
        } else {
          mark(r, stats, l, e, k);
        }
        t.records.push_back(r);
      }
    }
  }
  /// Ops are the events of the lines of a device that have them, and those of threads that name an op of HLO.
  static bool is_op(const named_stats& stats, const xline& l, const xevent& e, const xevent_kind& k, bool device) {
    if (device) return l.name == "XLA Ops" || l.name.starts_with("Stream");
    return stats.find(e.stats, "hlo_op") || stats.find(k.stats, "hlo_op");
  }
  /// The work of an op, from the stats of its kind.
  void add_step(std::uint32_t table, const named_stats& stats, const xevent_kind& k) {
    event e;
    e.name = k.name;
    e.bfloat16_flops = stats.number(k.stats, "bfloat16_flops");
    e.flops = std::max(0.0, stats.number(k.stats, "flops") - e.bfloat16_flops);
    e.bytes = stats.number(k.stats, "bytes_accessed");
    e.transcendentals = stats.number(k.stats, "transcendentals");
    e.outer = stats.number(k.stats, "outer") != 0;
    e.scope = stats.text(k.stats, "scope");
    if (e.scope.empty() && !stats.find(k.stats, "scope")) {
      e.scope = stats.text(k.stats, "tf_op");
      e.scope.resize(std::min(e.scope.size(), e.scope.rfind('/') + 1));
      if (!e.scope.empty()) e.scope.pop_back();
    }
    steps_[table].push_back(std::move(e));
    places_[table].push_back(stats.text(k.stats, "source"));
  }
  /// Our files tell the kind of a mark; JAX has a stat for steps, and names of compilers for compiling.
  void mark(record& r, const named_stats& stats, const xline& l, const xevent& e, const xevent_kind& k) {
    const double kind = stats.number(e.stats, "mark_kind", -1);
    mark_name m{k.name};
    if (kind >= 0 && kind <= static_cast<double>(mark_kind::counter)) {
      m.kind = static_cast<mark_kind>(static_cast<int>(kind));
      r.value = stats.number(e.stats, "value");
    } else if (stats.find(e.stats, "step_num") || l.name == "Steps") {
      m = {"step", mark_kind::step};
      r.value = stats.number(e.stats, "step_num", static_cast<double>(++unnumbered_));
    } else if (k.name.find("compile") != std::string::npos || k.name.find("Compile") != std::string::npos) {
      m.kind = mark_kind::compile;
    }
    const auto [at, added] = names_.try_emplace({m.name, m.kind}, static_cast<std::uint32_t>(result_.names.size()));
    if (added) result_.names.push_back(m);
    r.step = at->second;
  }
  /// Lines of one name are one track, as marks and ops of a thread are in our files.
  track& track_of(const std::string& name) {
    const auto [at, added] = tracks_.try_emplace(name, result_.tracks.size());
    if (added) result_.tracks.push_back({name, false, {}, 0});
    return result_.tracks[at->second];
  }

  recording result_;
  std::map<std::string, std::size_t> tracks_;
  std::map<std::pair<std::string, mark_kind>, std::uint32_t> names_;
  std::map<std::uint32_t, std::vector<event>> steps_;
  std::map<std::uint32_t, std::vector<std::string>> places_;
  std::uint32_t tables_ = 0;
  std::int64_t unnumbered_ = 0, begin_ = 0, end_ = 0;
  bool has_times_ = false;
  double sum_ = 0;  // nanoseconds of all events
};
}  // namespace detail

/// The limits of the machine on which an XSpace was recorded. Those that the file does not tell are infinite, so that nothing is
/// measured against them.
inline roofline limits_of(const xspace& all) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  roofline limits{unknown, unknown, unknown};
  for (const xplane& p : all.planes) {
    const detail::named_stats stats(p);
    const auto set = [&](double& to, std::string_view name, double unit) {
      if (const double v = stats.number(p.stats, name); v > 0) to = v * unit;
    };
    set(limits.flops, "peak_teraflops_per_second", 1e12);
    set(limits.bfloat16_flops, "peak_teraflops_per_second", 1e12);
    set(limits.bytes, "peak_hbm_bw_gigabytes_per_second", 1e9);
    set(limits.flops, "peak_flops", 1);
    set(limits.bfloat16_flops, "peak_bfloat16_flops", 1);
    set(limits.bytes, "peak_bytes", 1);
  }
  return limits;
}

/// The recording of an XSpace. Of our own files it is the recording that was written; of others the tracks are the lines, by
/// "plane/line", steps of programs are the ops, with the work that their stats tell, and all else are spans.
inline recording to_recording(const xspace& all) { return detail::xspace_reader{}.read(all); }

}  // namespace tokamax::profile
