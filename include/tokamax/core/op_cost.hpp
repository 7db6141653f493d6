// tokamax/core/op_cost.hpp: the work of an op: floating-point operations, transcendental functions, and bytes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/cost_analysis.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <algorithm>  // max

namespace tokamax {

struct call;

/// The work of a call or of a program, in the terms of XLA's cost analysis.
struct op_cost {
  double flops = 0;            ///< operations on numbers, such as additions, comparisons and conversions
  double bfloat16_flops = 0;   ///< those among them that belong to products of bfloat16
  double transcendentals = 0;  ///< exp, log, tanh, sqrt, pow and so on, which are not among the flops
  double bytes_accessed = 0;   ///< read and written

  constexpr op_cost& operator+=(const op_cost& o) {
    flops += o.flops;
    bfloat16_flops += o.bfloat16_flops;
    transcendentals += o.transcendentals;
    bytes_accessed += o.bytes_accessed;
    return *this;
  }
  constexpr op_cost operator*(double times) const {
    return {times * flops, times * bfloat16_flops, times * transcendentals, times * bytes_accessed};
  }
};
constexpr op_cost operator+(op_cost a, const op_cost& b) { return a += b; }
/// The largest of each number.
constexpr op_cost largest(const op_cost& a, const op_cost& b) {
  return {std::max(a.flops, b.flops), std::max(a.bfloat16_flops, b.bfloat16_flops),
          std::max(a.transcendentals, b.transcendentals), std::max(a.bytes_accessed, b.bytes_accessed)};
}

/// How much an op computes and how much memory it touches.
struct cost_facts {
  /// Elementwise: for each element of the result. One primitive function is one operation, also if several instructions
  /// compute it.
  double flops = 1, transcendentals = 0;
  /// The operations of a call whose `type` is set; null: see `cost_of`.
  op_cost (*operations)(const call&) = nullptr;
  /// The bytes of a call that reads or writes only a part of its operands and result; null: all of them are accessed. If
  /// the op may overwrite an operand, these are the bytes of a call that does.
  double (*bytes)(const call&) = nullptr;
};
/// The cost of one transcendental function.
inline constexpr cost_facts transcendental{.flops = 0, .transcendentals = 1};

}  // namespace tokamax
