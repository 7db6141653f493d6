// tokamax/ops/attention/window.hpp: how far around its own position a query sees.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/mask.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstdint>  // int64_t

namespace tokamax {

/// How far a query at position i sees: the keys i - left, ..., i + right. One number stands for both sides.
struct attention_window {
  static constexpr std::int64_t unlimited = -1;
  std::int64_t left = unlimited, right = unlimited;
  constexpr attention_window() = default;
  constexpr attention_window(std::int64_t both) : left(both), right(both) {}  // NOLINT: JAX takes a number here
  constexpr attention_window(std::int64_t before, std::int64_t after) : left(before), right(after) {}
  constexpr bool operator==(const attention_window&) const = default;
  constexpr bool limits() const { return left != unlimited || right != unlimited; }
};

/// The keys that both windows reach.
constexpr attention_window operator&(const attention_window& a, const attention_window& b) {
  const auto nearer = [](std::int64_t x, std::int64_t y) {
    if (x == attention_window::unlimited || y == attention_window::unlimited) return x < y ? y : x;
    return x < y ? x : y;
  };
  return {nearer(a.left, b.left), nearer(a.right, b.right)};
}

namespace detail {
/// The reach of a window as a literal; positions are below 2^30.
constexpr int reach(std::int64_t n) { return static_cast<int>(n < (1 << 30) ? n : 1 << 30); }
}  // namespace detail

}  // namespace tokamax
