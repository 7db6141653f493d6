// tests/support/wrong_program.hpp: many wrong programs in one file, each below the message that it must cause.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/program/program.hpp>

#include <string_view>

namespace wrong {

namespace tk = tokamax;

struct device {
  static constexpr std::string_view name = "none";
};
using scalar = tk::tensor<tk::f32>;
using vector = tk::tensor<tk::f32, 3>;
using matrix = tk::tensor<tk::f32, 2, 3>;
using square = tk::tensor<tk::f32, 3, 3>;
using image = tk::tensor<tk::f32, 1, 4, 4, 2>;
using ids = tk::tensor<tk::i32, 3>;

/// Chooses between the text of the wrong program and that of the fixed one.
template <class T>
constexpr T pick([[maybe_unused]] const T& bad, [[maybe_unused]] const T& good) {
#ifdef TOKAMAX_FIXED
  return good;
#else
  return bad;
#endif
}

/// Traces f on arguments of these types, so that the compiler stops with the message of its mistake.
template <class... Args, class F>
void trace(F) {
  if constexpr (!tk::program_trace<F, Args...>::valid) tk::program<device, F, Args...>::check();
}

}  // namespace wrong
