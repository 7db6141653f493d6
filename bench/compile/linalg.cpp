// bench/compile/linalg.cpp: what linear algebra costs a program that includes the whole library.
// SPDX-License-Identifier: Apache-2.0
// limits: 30 % above umbrella, 700 MB
#include <tokamax/linalg.hpp>
#include <tokamax/tokamax.hpp>
