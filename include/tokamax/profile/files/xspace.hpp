// tokamax/profile/files/xspace.hpp: the values of an XSpace, the file of a profile that XProf and JAX read and write.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/files/wire.hpp>  // wire_writer

#include <cstdint>  // int64_t
#include <map>      // map
#include <string>   // string
#include <variant>  // variant, visit
#include <vector>   // vector

namespace tokamax::profile {

/// A named value; the plane has the name. A reference is the id of a name that is the value.
struct xstat {
  struct bytes {
    std::string value;
  };
  struct reference {
    std::uint64_t id = 0;
  };
  std::int64_t id = 0;
  std::variant<std::int64_t, std::uint64_t, double, std::string, bytes, reference> value;
};
/// Something that happened on a line.
struct xevent {
  std::int64_t id = 0;  ///< of the event's kind
  std::int64_t offset_ps = 0, duration_ps = 0;
  std::vector<xstat> stats{};
};
/// What all events with one id have in common.
struct xevent_kind {
  std::string name, display_name{};
  std::vector<xstat> stats{};
};
/// Events that follow or contain each other: a stream of a device, or a thread.
struct xline {
  std::int64_t id = 0;
  std::string name, display_name{};
  std::int64_t timestamp_ns = 0;  ///< to which the offsets of events are added
  std::vector<xevent> events{};
};
/// A device or the host, with the names that its lines use.
struct xplane {
  std::int64_t id = 0;
  std::string name;
  std::vector<xline> lines{};
  std::map<std::int64_t, xevent_kind> kinds{};
  std::map<std::int64_t, std::string> stat_names{};
  std::vector<xstat> stats{};
};
/// The planes of one or more hosts.
struct xspace {
  std::vector<xplane> planes;
  std::vector<std::string> hostnames;
};

namespace detail {
// The numbers of the fields are those of tsl/profiler/protobuf/xplane.proto.
inline void put(wire_writer& to, std::uint32_t field, const std::vector<xstat>& stats) {
  for (const xstat& s : stats) {
    wire_writer w;
    w.number(1, static_cast<std::uint64_t>(s.id));
    struct {
      wire_writer& w;
      void operator()(double v) const { w.real(2, v); }
      void operator()(std::uint64_t v) const { w.number(3, v); }
      void operator()(std::int64_t v) const { w.number(4, static_cast<std::uint64_t>(v)); }
      void operator()(const std::string& v) const { w.text(5, v); }
      void operator()(const xstat::bytes& v) const { w.text(6, v.value); }
      void operator()(const xstat::reference& v) const { w.number(7, v.id); }
    } const value{w};
    std::visit(value, s.value);
    to.message(field, w);
  }
}
inline wire_writer message_of(const xline& l) {
  wire_writer w;
  w.number(1, static_cast<std::uint64_t>(l.id));
  w.text(2, l.name);
  w.number(3, static_cast<std::uint64_t>(l.timestamp_ns));
  for (const xevent& e : l.events) {
    wire_writer m;
    m.number(1, static_cast<std::uint64_t>(e.id));
    m.number(2, static_cast<std::uint64_t>(e.offset_ps));
    m.number(3, static_cast<std::uint64_t>(e.duration_ps));
    put(m, 4, e.stats);
    w.message(4, m);
  }
  if (!l.display_name.empty()) w.text(11, l.display_name);
  return w;
}
/// An entry of a map: the key and a message that has it too.
inline void put_entry(wire_writer& to, std::uint32_t field, std::int64_t id, const wire_writer& value) {
  wire_writer entry;
  entry.number(1, static_cast<std::uint64_t>(id));
  entry.message(2, value);
  to.message(field, entry);
}
inline wire_writer message_of(const xplane& p) {
  wire_writer w;
  w.number(1, static_cast<std::uint64_t>(p.id));
  w.text(2, p.name);
  for (const xline& l : p.lines) w.message(3, message_of(l));
  for (const auto& [id, kind] : p.kinds) {
    wire_writer m;
    m.number(1, static_cast<std::uint64_t>(id));
    m.text(2, kind.name);
    if (!kind.display_name.empty()) m.text(4, kind.display_name);
    put(m, 5, kind.stats);
    put_entry(w, 4, id, m);
  }
  for (const auto& [id, name] : p.stat_names) {
    wire_writer m;
    m.number(1, static_cast<std::uint64_t>(id));
    m.text(2, name);
    put_entry(w, 5, id, m);
  }
  put(w, 6, p.stats);
  return w;
}
}  // namespace detail

/// The bytes of a `*.xplane.pb` file.
inline std::string to_bytes(const xspace& all) {
  wire_writer w;
  for (const xplane& p : all.planes) w.message(1, detail::message_of(p));
  for (const std::string& host : all.hostnames) w.text(4, host);
  return std::move(w).bytes();
}

}  // namespace tokamax::profile
