// tokamax/runtime/program/filled_literals.hpp: data for arguments that are one number in every element.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/jit.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/runtime/device_put.hpp>  // device_put

#include <algorithm>  // find_if
#include <vector>     // vector

namespace tokamax::detail {

/// The data of arguments during a call. A literal has no data, and the caller's array may be a constant, so a filled copy
/// takes its place. Data of the host that another device needs is copied too.
///
/// Equal literals share a copy, which is as large as the largest of them. So the zeros from which an optimiser starts are
/// written once and stay in the cache, and results that replace them are first touched by the threads that compute them.
/// A literal that is larger than a cache has its own copy, which may become a result.
class filled_literals {
 public:
  /// The argument or its copy on a device. References stay valid, as long as there are not more copies than `start` was told.
  const array& with_data(const array& a, device& where);
  void start(std::size_t most);
  void clear();

 private:
  struct copy {
    array data;
    element_bits bits;    ///< the number
    std::int64_t filled;  ///< how many elements of the data have it
  };
  static bool shares(std::int64_t elements, const array& a) {
    return elements * tokamax::size_of(a.dtype()) <= std::int64_t{1} << 24;
  }
  std::vector<copy> made_;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE const array& filled_literals::with_data(const array& a, device& where) {
  if (!a.is_literal()) {
    if (where.is_host() || a.storage()->where) return a;
    made_.push_back({device_put(a, where), {}, std::int64_t{1} << 40});  // data of the host follows
    return made_.back().data;
  }
  const auto bits = a.literal_bits();
  const auto known = std::find_if(made_.rbegin(), made_.rend(), [&](const copy& c) {  // the last one is the largest
    return c.bits == bits && c.data.dtype() == a.dtype() && shares(c.filled, c.data);
  });
  if (known != made_.rend() && known->filled >= a.size())
    made_.push_back({array(known->data.storage(), a.type()), bits, known->filled});
  else
    made_.push_back({device_put(array::filled(a.type(), a.literal_bits()), where), bits, a.size()});
  return made_.back().data;
}
TOKAMAX_COMPILED_ONCE void filled_literals::start(std::size_t most) {
  made_.clear();
  made_.reserve(most);
}
TOKAMAX_COMPILED_ONCE void filled_literals::clear() { made_.clear(); }
#endif

}  // namespace tokamax::detail
