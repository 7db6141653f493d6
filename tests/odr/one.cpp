// tests/odr/one.cpp: the whole library in two translation units of one program.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint.hpp>
#include <tokamax/data.hpp>
#include <tokamax/profile.hpp>
#include <tokamax/tokamax.hpp>

std::string_view version_in_two();

int main() { return version_in_two() == tokamax::version ? 0 : 1; }
