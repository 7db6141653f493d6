// tests/support/adversarial.hpp: functions on values, extents and layouts that kernels easily get wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/check_op.hpp"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tokamax::test {

inline constexpr dtype every_dtype[] = {bool_, i8, i32, u32, bf16, f32};

/// NaN, infinities, zeros of both signs, denormal numbers, the smallest and largest ones, and some ordinary ones.
std::vector<float> special_floats();
/// Zero, one, the ends of the dtypes, where they wrap around, and amounts of shifts. Each dtype takes those that fit.
std::vector<std::int32_t> special_integers();
/// n elements of any dtype: its special values again and again, each repeated `stretch` times.
array specials(dtype t, std::int64_t n, std::int64_t stretch = 1);
/// Noise in which some rows (along the last axis) hold one special value each. Finite values above `most` are left out.
array sprinkled(const shape& s, unsigned seed, dtype t = f32, double most = std::numeric_limits<double>::infinity());
/// The same for any dtype. Arrays that are not floating have special values everywhere.
array adversarial(const shape& s, unsigned seed, dtype t);

struct adversarial_options {
  double tolerance = 0;  ///< of each element, relative to itself; 0: it must be the rounded reference, bit by bit
  double floor = 0;      ///< smaller elements may have the absolute error of an element of this size
  bool views = true;     ///< also try operands that are transposed views of larger arrays
};

/// The name of the case and its dtype, for messages.
inline std::string named(std::string_view what, dtype t) { return std::string(what) + " " + std::string(name(t)); }

/// A function of few ops, and operands that kernels easily get wrong.
struct adversarial_case {
  std::string name;
  function f;
  std::vector<array> inputs;
  adversarial_options options = {};
};

/// Checks that f gives the values of the reference, element by element. NaN and infinities must be at the same places, and
/// with a tolerance of 0 zeros have the same sign. The bits must not depend on the number of threads (1, 2, 3 and 5), on
/// the addresses of operands and results, or on whether operands are dense or strided.
void check_adversarial(const function& f, const std::vector<array>& inputs, const adversarial_options& options = {});
void check_adversarial(const std::vector<adversarial_case>& cases);

}  // namespace tokamax::test
