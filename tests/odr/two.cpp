// tests/odr/two.cpp: the second translation unit.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint.hpp>
#include <tokamax/data.hpp>
#include <tokamax/profile.hpp>
#include <tokamax/tokamax.hpp>

std::string_view version_in_two();
std::string_view version_in_two() { return tokamax::version; }
