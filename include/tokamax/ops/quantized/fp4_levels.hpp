// tokamax/ops/quantized/fp4_levels.hpp: the numbers of floats of 4 bits.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have them)
// tested by tests/quant/pack.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

namespace tokamax::detail {

/// E2M1: the number of each code.
/// source  OCP Microscaling Formats 1.0
inline constexpr float fp4_levels[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                         -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

}  // namespace tokamax::detail
