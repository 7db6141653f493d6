// tokamax/scipy/special/special_op.hpp: what special functions are composed of, and numbers like their operands.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/lax/elementwise/composed.hpp>   // for its users: special
#include <tokamax/lax/elementwise/logaddexp.hpp>  // the functions that special ones are composed of
#include <tokamax/lax/elementwise/special.hpp>    // for its users: normal_cdf and erf_inv
#include <tokamax/lax/iota.hpp>                   // for its users: zeros_like
#include <tokamax/numpy/where.hpp>                // for its users: where

#include <limits>  // infinity

namespace tokamax::detail {

/// A number of the dtype and shape of x.
constexpr array filled_like(const array& x, double v) { return array(v, {x.dtype(), false, x.shape()}); }
constexpr array infinity_like(const array& x) { return filled_like(x, std::numeric_limits<double>::infinity()); }
constexpr array nan_like(const array& x) { return filled_like(x, std::numeric_limits<double>::quiet_NaN()); }
/// The distance of 1 from the next number.
constexpr double rounding_unit(const array& x) { return x.dtype() == f64 ? 0x1p-52 : 0x1p-23; }

}  // namespace tokamax::detail
