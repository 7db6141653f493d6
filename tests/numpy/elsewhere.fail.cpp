// expects: declared_in_numpy_hpp::nanmean|#include <tokamax/numpy.hpp>
// lines: 12
// tests/numpy/elsewhere.fail.cpp: a function of a further header, called without it, names the header.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#ifdef TOKAMAX_FIXED
  #include <tokamax/numpy.hpp>
#endif

tokamax::array center(const tokamax::array& x) { return x - tokamax::nanmean(x); }
