// tokamax/stablehlo/checks.hpp: compares results with expected ones as the test suite of StableHLO does.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/program.cpp
#pragma once

#include <tokamax/stablehlo/check_result.hpp>  // check_result

#include <cmath>   // abs
#include <limits>  // numeric_limits

namespace tokamax::stablehlo::detail {

/// How many numbers of a dtype lie between two, whose bits are given; infinite between NaN, infinities and others.
inline double steps_between(dtype t, element_bits a, element_bits b) {
  const double x = as_double(a, t), y = as_double(b, t);
  const bool x_is_nan = x != x, y_is_nan = y != y;
  if (x_is_nan && y_is_nan) return 0;
  if (!(std::abs(x) <= std::numeric_limits<double>::max()) || !(std::abs(y) <= std::numeric_limits<double>::max()))
    return a == b ? 0 : std::numeric_limits<double>::infinity();
  const std::uint64_t sign = std::uint64_t{1} << (bits_of(t) - 1);
  const auto place = [&](element_bits v) {
    const auto size = static_cast<std::int64_t>(v.value & (sign - 1));
    return v.value & sign ? -size : size;
  };
  const std::int64_t p = place(a), q = place(b);
  return p > q ? static_cast<double>(static_cast<std::uint64_t>(p) - static_cast<std::uint64_t>(q))
               : static_cast<double>(static_cast<std::uint64_t>(q) - static_cast<std::uint64_t>(p));
}

/// expect_eq wants equal elements, expect_close at most so many units of the last place, and expect_almost_eq a difference of at
/// most `bound`.
inline check_result compared(const std::string& kind, double bound, array found, array expected) {
  check_result r{kind};
  found.materialize();
  expected.materialize();
  if (!(found.type() == expected.type())) return r.distance = std::numeric_limits<double>::infinity(), r;
  const dtype t = found.dtype();
  const bool almost = kind == "check.expect_almost_eq", close = kind == "check.expect_close" && is_floating(t);
  r.passed = true;
  dispatch(t, [&]<dtype T>() {
    const auto *a = found.data<element_t<T>>(), *b = expected.data<element_t<T>>();
    for (std::int64_t i = 0; i < found.size(); ++i) {
      const element_bits x = element_bits::of(a[i]), y = element_bits::of(b[i]);
      const double p = as_double(x, T), q = as_double(y, T);
      double d = is_floating(T) ? steps_between(T, x, y) : x == y ? 0 : std::abs(p - q);
      bool ok = close ? d <= bound : d == 0;
      if (almost) {
        d = (p != p && q != q) || p == q ? 0 : std::abs(p - q);
        ok = d <= bound;
      }
      r.passed = r.passed && ok;
      if (!(d <= r.distance)) r.distance = d;
    }
  });
  return r;
}

}  // namespace tokamax::stablehlo::detail
