// tokamax/runtime/filled_literals.hpp: data for arguments that are one number in every element.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/jit.cpp
#pragma once

#include <tokamax/runtime/device_put.hpp>  // device_put

#include <algorithm>  // find_if
#include <bit>        // bit_cast
#include <vector>     // vector

namespace tokamax::detail {

/// The data of arguments during a call. A literal has none, and the caller's array may be a constant, so it gets a copy. So
/// does data of the host that another device needs.
///
/// Equal literals share one, as large as the largest of them: the zeros that an optimizer starts from are written once and
/// stay in the cache, and the results that replace them are first touched by the threads that compute them. What is larger
/// than a cache has a copy of its own, which may become a result.
class filled_literals {
 public:
  /// The argument or its copy on a device, which stays where it is while no more than `start` was told are made.
  const array& with_data(const array& a, device& where) {
    if (!a.is_literal()) {
      if (where.is_host() || a.storage()->where) return a;
      made_.push_back({device_put(a, where), {}, std::int64_t{1} << 40});  // data of the host follows
      return made_.back().data;
    }
    const auto bits = a.literal_bits();
    const auto known = std::find_if(made_.rbegin(), made_.rend(), [&](const copy& c) {  // the last is the largest
      return c.bits == bits && c.data.dtype() == a.dtype() && shares(c.filled, c.data);
    });
    if (known != made_.rend() && known->filled >= a.size())
      made_.push_back({array(known->data.storage(), a.type()), bits, known->filled});
    else
      made_.push_back({device_put(array::filled(a.type(), a.literal_bits()), where), bits, a.size()});
    return made_.back().data;
  }
  void start(std::size_t most) {
    made_.clear();
    made_.reserve(most);
  }
  void clear() { made_.clear(); }

 private:
  struct copy {
    array data;
    element_bits bits;    ///< of the number
    std::int64_t filled;  ///< elements that have it, from data on
  };
  static bool shares(std::int64_t elements, const array& a) {
    return elements * tokamax::size_of(a.dtype()) <= std::int64_t{1} << 24;
  }
  std::vector<copy> made_;
};

}  // namespace tokamax::detail
