// tests/support/catch.hpp: Catch2, whichever of version 2 and 3 is installed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
  #include <catch2/catch_all.hpp>
using Catch::Approx;
#else
  #include <catch2/catch.hpp>
#endif
