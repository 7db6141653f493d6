// tokamax/core/eager.hpp: ops and graphs that run at once, on the device of their data.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/eager.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/device.hpp>         // device
#include <tokamax/core/op.hpp>             // op, arrays

#include <string>  // to_string

namespace tokamax {

/// Runs a graph on arrays with data, on the device of the data. Data of the host is moved to the device of the others.
/// errors  tokamax::error "device: operands" for arrays of several devices
arrays execute_graph(const graph& g, const arrays& inputs);

namespace detail {
/// Applies an op to literals and arrays with data, on the device of the data.
arrays run_eagerly(const op& o, const array* in, int n, const words& w, location where);
#if defined(TOKAMAX_COMPILED_ONCE)
[[noreturn]] void reject_devices(const op* o, const array& a, const array& b, location where);
TOKAMAX_COMPILED_ONCE void reject_devices(const op* o, const array& a, const array& b, location where) {
  throw error(error_kind::device, "device: operands" + (o ? " of " + std::string(o->name) : std::string()),
              std::string(a.device().name()) + " and " + std::string(b.device().name()),
              "one device: device_put moves arrays",
              where.line ? std::string(where.file) + ":" + std::to_string(where.line) : std::string());
}
/// The device of operands: the one on which some of them are, or else the host. Data of the host is moved there.
inline device& device_of(const op* o, const array* in, int n, location where) {
  const array* found = nullptr;
  for (int k = 0; k < n; ++k) {
    if (in[k].is_literal() || !in[k].storage() || !in[k].storage()->where) continue;
    if (found && found->storage()->where != in[k].storage()->where) reject_devices(o, *found, in[k], where);
    found = &in[k];
  }
  return found ? *found->storage()->where : host_device();
}
TOKAMAX_COMPILED_ONCE arrays run_eagerly(const op& o, const array* in, int n, const words& w, location where) {
  for (int k = 0; k < n; ++k)
    if (!in[k].is_concrete())
      throw error(std::string(o.name) + ": operand", std::string(message(in[k].type()).view()) + " that was moved from",
                  "a concrete array", std::string(where.file) + ":" + std::to_string(where.line));
  return device_of(&o, in, n, where).apply(o, in, n, w.data(), w.count(), where);
}
#endif

}  // namespace detail

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE arrays execute_graph(const graph& g, const arrays& inputs) {
  return detail::device_of(nullptr, inputs.data(), inputs.count(), {}).execute(g, inputs);
}
#endif

}  // namespace tokamax
