// bench/compile/complex.cpp: what complex numbers cost a program beside the umbrella.
// SPDX-License-Identifier: Apache-2.0
// limits: 30 % above umbrella, 700 MB
#include <tokamax/complex.hpp>
#include <tokamax/tokamax.hpp>
