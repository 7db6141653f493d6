// bench/compile/kernel.cpp: what kernels on blocks cost a program beside the umbrella.
// SPDX-License-Identifier: Apache-2.0
// limits: 30 % above umbrella, 700 MB
#include <tokamax/kernel.hpp>
#include <tokamax/tokamax.hpp>
