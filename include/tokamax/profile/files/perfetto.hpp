// tokamax/profile/files/perfetto.hpp: a recording as a trace of Perfetto.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/files/traces.cpp
#pragma once

#include <tokamax/profile/analysis/activity.hpp>  // name_of
#include <tokamax/profile/analysis/nesting.hpp>   // nesting_of
#include <tokamax/profile/files/wire.hpp>         // wire_writer

#include <algorithm>    // max, min
#include <cstddef>      // size_t
#include <limits>       // numeric_limits
#include <map>          // map
#include <string>       // string
#include <string_view>  // string_view
#include <utility>      // move
#include <vector>       // vector

namespace tokamax::profile {

namespace detail {
/// Writes packets. The numbers of their fields are those of protos/perfetto/trace: trace_packet, track_event, track_descriptor
/// and interned_data.
class perfetto_writer {
 public:
  std::string write(const recording& all) && {
    wire_writer process, described;
    process.number(1, 1);
    process.text(6, "tokamax");
    described.number(1, 1);
    described.message(3, process);
    descriptor(described, 1);  // the state of the sequence begins here
    for (std::size_t i = 0; i < all.tracks.size(); ++i) {
      const track& t = all.tracks[i];
      const std::uint64_t uuid = new_uuid();
      wire_writer thread, d;
      thread.number(1, 1);
      thread.number(2, i + 2);
      thread.text(5, t.name);
      d.number(1, uuid);
      d.number(5, 1);
      d.message(4, thread);
      descriptor(d, 2);
      slices(all, t, uuid);
    }
    return std::move(trace_).bytes();
  }

 private:
  /// Begins and ends in the order of time. A record that ends after the one around it ends with that, because slices nest.
  void slices(const recording& all, const track& t, std::uint64_t uuid) {
    const nesting n = nesting_of(t);
    std::vector<std::int64_t> ends;
    const auto end_until = [&](std::int64_t time) {
      for (; !ends.empty() && ends.back() <= time; ends.pop_back()) {
        wire_writer e;
        e.number(9, 2);
        e.number(11, uuid);
        packet(ends.back() - all.begin, e);
      }
    };
    for (const std::size_t i : n.order) {
      const record& r = t.records[i];
      end_until(r.begin);
      const mark_name* m = all.mark(r);
      if (m && m->kind == mark_kind::counter) {
        counter(r, m->name, r.begin - all.begin);
        continue;
      }
      wire_writer e, names;
      e.number(9, 1);
      e.number(10, name_id(name_of(all, r), names));
      e.number(11, uuid);
      if (const event* work = all.work(r)) {
        annotate(e, "flops", work->flops + work->bfloat16_flops);
        annotate(e, "bytes", work->bytes);
        if (!work->scope.empty()) annotate(e, "scope", std::string_view(work->scope));
      } else if (m && m->kind == mark_kind::step) {
        annotate(e, "step", r.value);
      }
      packet(r.begin - all.begin, e, names.bytes());
      const std::int64_t end = r.begin + duration(r);
      ends.push_back(ends.empty() ? end : std::min(end, ends.back()));
    }
    end_until(std::numeric_limits<std::int64_t>::max());
  }
  /// A counter is a track of its own, by its name.
  void counter(const record& r, const std::string& name, std::int64_t time) {
    const auto [at, added] = counters_.try_emplace(name, 0);
    if (added) {
      at->second = new_uuid();
      wire_writer d;
      d.number(1, at->second);
      d.text(2, name);
      d.number(5, 1);
      d.text(8, "");
      descriptor(d, 2);
    }
    wire_writer e;
    e.number(9, 4);
    e.number(11, at->second);
    e.real(44, r.value);
    packet(time, e);
  }
  /// The number of a name, which the packet that uses it first tells with it.
  std::uint64_t name_id(std::string_view name, wire_writer& names) {
    const auto [at, added] = names_.try_emplace(std::string(name), names_.size() + 1);
    if (added) {
      wire_writer named;
      named.number(1, at->second);
      named.text(2, name);
      names.message(2, named);
    }
    return at->second;
  }
  /// What the details of a slice show.
  static void annotate(wire_writer& e, std::string_view name, double value) {
    wire_writer a;
    a.real(5, value);
    a.text(10, name);
    e.message(4, a);
  }
  static void annotate(wire_writer& e, std::string_view name, std::string_view value) {
    wire_writer a;
    a.text(6, value);
    a.text(10, name);
    e.message(4, a);
  }
  /// Times count from the begin of the recording. A packet with names needs the state of the sequence.
  void packet(std::int64_t time, const wire_writer& track_event, const std::string& names = {}) {
    wire_writer p;
    p.number(8, static_cast<std::uint64_t>(std::max<std::int64_t>(0, time)));
    p.number(10, 1);
    p.message(11, track_event);
    if (!names.empty()) p.text(12, names);
    p.number(13, 2);
    trace_.message(1, p);
  }
  void descriptor(const wire_writer& d, std::uint64_t flags) {
    wire_writer p;
    p.number(10, 1);
    p.number(13, flags);
    p.message(60, d);
    trace_.message(1, p);
  }
  std::uint64_t new_uuid() { return ++uuids_; }

  wire_writer trace_;
  std::map<std::string, std::uint64_t> names_, counters_;
  std::uint64_t uuids_ = 1;
};
}  // namespace detail

/// The bytes of a `*.perfetto-trace` file, for ui.perfetto.dev: a thread for each track, slices with their work, counters.
inline std::string to_perfetto(const recording& all) { return detail::perfetto_writer{}.write(all); }

}  // namespace tokamax::profile
