// tests/support/model_checks.hpp: comparisons of what models give.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace tokamax::test {

inline std::vector<float> floats(const array& a) {
  const auto v = a.values<float>();
  return {v.begin(), v.end()};
}
/// The greatest difference, as a part of the greatest magnitude that is expected.
inline double most_apart(const array& logits, const std::vector<float>& expected) {
  const auto found = logits.values<float>();
  REQUIRE(found.size() == expected.size());
  double most = 0, scale = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    most = std::fmax(most, std::fabs(static_cast<double>(found[i]) - static_cast<double>(expected[i])));
    scale = std::fmax(scale, std::fabs(static_cast<double>(expected[i])));
    if (!std::isfinite(found[i])) return 1e9;
  }
  return most / scale;
}

}  // namespace tokamax::test
