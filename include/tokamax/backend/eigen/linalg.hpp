// tokamax/backend/eigen/linalg.hpp: the host functions of linalg, by Eigen: compiled here or in the library of tokamax::linalg.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (who compiles these functions himself includes it)
// tested by tests/linalg/cholesky.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_LINALG_COMPILED_ONCE

#if defined(TOKAMAX_LINALG_COMPILED_ONCE)
  #include <tokamax/backend/eigen/linalg/factors.hpp>
  #include <tokamax/backend/eigen/linalg/spectra.hpp>
#endif
