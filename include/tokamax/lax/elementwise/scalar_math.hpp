// tokamax/lax/elementwise/scalar_math.hpp: the functions that element functions call, for one double.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cmath>        // exp
#include <type_traits>  // is_arithmetic_v

/// Element functions are templates on the value type. For a SIMD batch, argument-dependent lookup finds the functions of
/// the batch. The functions here do the same for a double; constant folding and the reference interpreter use them.
namespace tokamax::scalar_math {

template <class C>
  requires std::is_arithmetic_v<C>
constexpr double select(C c, double a, double b) {
  return c != C{} ? a : b;
}
using std::abs;
using std::ceil;
using std::cos;
using std::erf;
using std::erfc;
using std::exp;
using std::expm1;
using std::floor;
using std::log;
using std::log1p;
using std::nearbyint;
using std::pow;
using std::sin;
using std::sqrt;
using std::tanh;
inline double fmod(double a, double b) { return std::fmod(a, b); }

}  // namespace tokamax::scalar_math
