// tokamax/runtime/device_put.hpp: move arrays to a device, and wait for what devices compute.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/far/device.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/tree.hpp>           // for_each_leaf
#include <tokamax/core/array.hpp>          // array

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/profile/session.hpp>  // span
#endif

namespace tokamax {

/// The device that a value such as `tk::cpu` names.
inline device& device_of(device& d) { return d; }
template <class Device>
  requires requires(const Device& d) { d.get(); }
device& device_of(const Device& d) {
  return d.get();
}

namespace detail {
array moved_to(const array& a, device& where);
void wait_for(const array& a);

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE array moved_to(const array& a, device& where) {
  if (a.is_traced() || a.is_abstract()) return a;
  if (!a.is_literal() && &a.device() == &where) return a;
  if (a.is_literal() && where.is_host()) return a;
  const auto bytes = static_cast<std::size_t>(a.size()) * static_cast<std::size_t>(size_of(a.dtype()));
  const bool reads_device = !a.is_literal() && a.storage()->where;
  const profile::span mark("transfer");
  try {
    return array(reads_device ? where.put(a.storage(), bytes) : where.put(a.bytes(), bytes), a.type());
  } catch (const std::bad_alloc& cause) {
    throw memory_error(cause, std::string(message(a.type()).view()), std::string(where.name()));
  }
}
TOKAMAX_COMPILED_ONCE void wait_for(const array& a) {
  if (!a.is_traced() && a.storage() && a.storage()->ready) a.storage()->ready->wait();
}
#endif
}  // namespace detail

/// A tree with all its arrays on a device. Those that are on the device already are not copied. Between GPUs, arrays are copied
/// without the host, and this does not wait for the copies: what reads the arrays does. A literal goes to the host's device
/// without a copy. In a trace nothing changes. The host's data may change when it returns; a GPU copies while it does earlier work.
/// In recordings a copy is a span of the name "transfer".
///
/// errors  the exception of the work that computes an array; "device: lost"; "memory of" the array
/// source  jax.device_put
template <class Tree, class Device>
Tree device_put(Tree tree, Device&& where) {
  device& to = device_of(where);
  for_each_leaf([&](auto& a) { static_cast<array&>(a) = detail::moved_to(a, to); }, tree);
  return tree;
}
/// Waits until all arrays of a tree have been computed, and returns it.
/// errors  the exception of the work that computes them
/// source  jax.block_until_ready
template <class Tree>
const Tree& block_until_ready(const Tree& tree) {
  for_each_leaf([](const array& a) { detail::wait_for(a); }, tree);
  return tree;
}

}  // namespace tokamax
