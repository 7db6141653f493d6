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
  std::byte* data_of(const array& a) {
    if (!a.is_literal()) return a.storage()->data;
    made_.push_back(a);
    made_.back().materialize();
    return made_.back().storage()->data;
  }
  void clear() { made_.clear(); }

 private:
  std::vector<array> made_;
};

}  // namespace tokamax::detail
