// tests/support/adversarial.hpp: functions on values, extents and layouts that kernels easily get wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/check_op.hpp"

namespace tokamax::test {

/// NaN, infinities, zeros of both signs, denormal numbers, the smallest and largest ones, and some ordinary ones.
std::vector<float> special_floats();
/// Noise in which some rows (along the last axis) hold one special value each; `largest` says whether numbers near the
/// largest one are among them.
array sprinkled(const shape& s, unsigned seed, dtype t = f32, bool largest = true);

struct adversarial_options {
  double tolerance = 0;  ///< of each element, relative to itself; 0: the rounded result of the reference, bit by bit
  double floor = 0;      ///< elements smaller than this have the absolute error of one of this size
  bool views = true;     ///< try operands that lie transposed inside of larger arrays, too
};

/// f gives the reference's values, element by element: NaN and infinities where it has them, zeros of its sign (if the
/// tolerance is 0), and the same bits with one, two and three threads, for dense operands and for strided ones that are not
/// aligned.
void check_adversarial(const function& f, const std::vector<array>& inputs, const adversarial_options& options = {});

}  // namespace tokamax::test
