// bench/compile/cuda.cpp: what GPUs cost a program beside the umbrella.
// SPDX-License-Identifier: Apache-2.0
// limits: 10 % above umbrella, 700 MB
#include <tokamax/backend/cuda.hpp>
#include <tokamax/tokamax.hpp>
