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
/// Zero, one, the ends of the dtypes, where they wrap, and amounts of shifts; bool, i8, i32 and u32 keep what fits.
std::vector<std::int32_t> special_integers();
/// n elements of any dtype: its special values over and over, each `stretch` times.
array specials(dtype t, std::int64_t n, std::int64_t stretch = 1);
/// Noise in which some rows (along the last axis) hold one special value each; finite ones above `most` are left out.
array sprinkled(const shape& s, unsigned seed, dtype t = f32, double most = std::numeric_limits<double>::infinity());
/// The same for any dtype; what is not floating has its special values everywhere.
array adversarial(const shape& s, unsigned seed, dtype t);

struct adversarial_options {
  double tolerance = 0;  ///< of each element, relative to itself; 0: the rounded result of the reference, bit by bit
  double floor = 0;      ///< elements smaller than this have the absolute error of one of this size
  bool views = true;     ///< try operands that lie transposed inside of larger arrays, too
};

/// What is tried, and the dtype.
inline std::string named(std::string_view what, dtype t) { return std::string(what) + " " + std::string(name(t)); }

/// A function of few ops, and operands that are easy to get wrong.
struct adversarial_case {
  std::string name;
  function f;
  std::vector<array> inputs;
  adversarial_options options = {};
};

/// f gives the reference's values, element by element: NaN and infinities where it has them, zeros of its sign (if the
/// tolerance is 0), and the same bits with 1, 2, 3 and 5 threads, for operands and results at any address, for dense
/// operands and for strided ones.
void check_adversarial(const function& f, const std::vector<array>& inputs, const adversarial_options& options = {});
void check_adversarial(const std::vector<adversarial_case>& cases);

}  // namespace tokamax::test
