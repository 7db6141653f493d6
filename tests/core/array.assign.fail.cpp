// expects: x\[0\] = y and x\(0\) = y do not change x: write x = x\.at\(0\)\.set\(y\)
// lines: 20
// tests/core/array.assign.fail.cpp: a part of an array is assigned to, which would change nothing.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy/indexing/at.hpp>

void change(tokamax::array& x) {
#ifdef TOKAMAX_FIXED
  x = x.at(0).set(5.0f);
#else
  x[0] = 5.0f;
  x(1) = 7.0f;
#endif
}
