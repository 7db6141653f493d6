// bench/compile/scipy.cpp: what statistics, signals and special functions cost a program beside the umbrella.
// SPDX-License-Identifier: Apache-2.0
// limits: 30 % above umbrella, 700 MB
#include <tokamax/scipy.hpp>
#include <tokamax/tokamax.hpp>
