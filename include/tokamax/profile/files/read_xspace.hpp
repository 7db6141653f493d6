// tokamax/profile/files/read_xspace.hpp: the XSpace of a `*.xplane.pb` file, by whomever it was written.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/files/xspace.cpp
#pragma once

#include <tokamax/profile/files/xspace.hpp>  // xspace

#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::profile {

namespace detail {
/// Calls `take` with each field of a message.
template <class Take>
void fields(std::string_view message, std::string_view where, Take take) {
  wire_reader reader(message, where);
  for (wire_field f; reader.next(f);) take(f);
}
/// A stat has one value; of several the last counts, as in all messages.
inline xstat read_stat(std::string_view message, std::string_view where) {
  xstat s;
  fields(message, where, [&](const wire_field& f) {
    switch (f.number) {
      case 1:
        s.id = f.integer();
        break;
      case 2:
        s.value = f.real();
        break;
      case 3:
        s.value = f.value;
        break;
      case 4:
        s.value = f.integer();
        break;
      case 5:
        s.value = std::string(f.bytes);
        break;
      case 6:
        s.value = xstat::bytes{std::string(f.bytes)};
        break;
      case 7:
        s.value = xstat::reference{f.value};
        break;
      default:
        break;
    }
  });
  return s;
}
/// An event tells when it began, or how often it happened; times of the latter are 0.
inline xevent read_event(std::string_view message, std::string_view where) {
  xevent e;
  fields(message, where, [&](const wire_field& f) {
    switch (f.number) {
      case 1:
        e.id = f.integer();
        break;
      case 2:
        e.offset_ps = f.integer();
        break;
      case 3:
        e.duration_ps = f.integer();
        break;
      case 4:
        e.stats.push_back(read_stat(f.bytes, where));
        break;
      default:
        break;
    }
  });
  return e;
}
/// Events are read where they lie in the bytes, without a copy of the message.
inline xline read_line(std::string_view message, std::string_view where) {
  xline l;
  fields(message, where, [&](const wire_field& f) {
    switch (f.number) {
      case 1:
        l.id = f.integer();
        break;
      case 2:
        l.name = f.bytes;
        break;
      case 3:
        l.timestamp_ns = f.integer();
        break;
      case 4:
        l.events.push_back(read_event(f.bytes, where));
        break;
      case 11:
        l.display_name = f.bytes;
        break;
      default:
        break;
    }
  });
  return l;
}
/// The id of a kind is the key of its entry.
inline xevent_kind read_kind(std::string_view message, std::string_view where) {
  xevent_kind k;
  fields(message, where, [&](const wire_field& f) {
    switch (f.number) {
      case 2:
        k.name = f.bytes;
        break;
      case 4:
        k.display_name = f.bytes;
        break;
      case 5:
        k.stats.push_back(read_stat(f.bytes, where));
        break;
      default:
        break;
    }
  });
  return k;
}
/// Calls `take` with the key and the value of an entry of a map.
template <class Take>
void entry(std::string_view message, std::string_view where, Take take) {
  std::int64_t key = 0;
  std::string_view value;
  fields(message, where, [&](const wire_field& f) {
    if (f.number == 1) key = f.integer();
    if (f.number == 2) value = f.bytes;
  });
  take(key, value);
}
/// Lines may come before the names that they use, so ids are resolved by readers of the plane.
inline xplane read_plane(std::string_view message, std::string_view where) {
  xplane p;
  fields(message, where, [&](const wire_field& f) {
    switch (f.number) {
      case 1:
        p.id = f.integer();
        break;
      case 2:
        p.name = f.bytes;
        break;
      case 3:
        p.lines.push_back(read_line(f.bytes, where));
        break;
      case 4:
        entry(f.bytes, where, [&](std::int64_t id, std::string_view kind) { p.kinds[id] = read_kind(kind, where); });
        break;
      case 5:
        entry(f.bytes, where, [&](std::int64_t id, std::string_view named) {
          fields(named, where, [&](const wire_field& g) {
            if (g.number == 2) p.stat_names[id] = g.bytes;
          });
        });
        break;
      case 6:
        p.stats.push_back(read_stat(f.bytes, where));
        break;
      default:
        break;
    }
  });
  return p;
}
}  // namespace detail

/// Reads the bytes of an XSpace. Fields that it does not know are passed over.
///
/// errors  tokamax::error of kind file for bytes that are no messages, with `where`, the name of the file
inline xspace read_xspace(std::string_view bytes, std::string_view where) {
  xspace all;
  detail::fields(bytes, where, [&](const wire_field& f) {
    if (f.number == 1) all.planes.push_back(detail::read_plane(f.bytes, where));
    if (f.number == 4) all.hostnames.emplace_back(f.bytes);
  });
  return all;
}

}  // namespace tokamax::profile
