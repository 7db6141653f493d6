// bench/compile/ops.cpp: what all ops, the rarer ones too, cost a program beside the umbrella.
// SPDX-License-Identifier: Apache-2.0
// limits: 30 % above umbrella, 700 MB
#include <tokamax/ops.hpp>
#include <tokamax/tokamax.hpp>
