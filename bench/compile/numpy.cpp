// bench/compile/numpy.cpp: what all of jax.numpy costs a program beside the umbrella.
// SPDX-License-Identifier: Apache-2.0
// limits: 30 % above umbrella, 700 MB
#include <tokamax/numpy.hpp>
#include <tokamax/tokamax.hpp>
