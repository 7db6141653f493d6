// expects: dyn: expected a symbol from 0 to 7
// tests/base/extent.dyn.fail.cpp: a ninth symbol for extents that are known when a program runs.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/shape.hpp>

#ifdef TOKAMAX_FIXED
constexpr tokamax::shape rows{tokamax::dyn(7), 4};
#else
constexpr tokamax::shape rows{tokamax::dyn(8), 4};
#endif

int main() { return rows.rank(); }
