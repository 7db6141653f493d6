// tokamax/runtime/filled_literals.hpp: data for arguments that are one number in every element.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/jit.cpp
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <vector>  // vector

namespace tokamax::detail {

/// The data of arguments during a call. A literal has none, and the caller's array may be a constant, so it gets a copy.
class filled_literals {
 public:
  std::byte* data_of(const array& a) { return with_data(a).storage()->data; }
  /// The argument or its copy, which stays where it is while no more than `start` was told are made.
  const array& with_data(const array& a) {
    if (!a.is_literal()) return a;
    made_.push_back(a);
    made_.back().materialize();
    return made_.back();
  }
  void start(std::size_t most) {
    made_.clear();
    made_.reserve(most);
  }
  void clear() { made_.clear(); }

 private:
  std::vector<array> made_;
};

}  // namespace tokamax::detail
