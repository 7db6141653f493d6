// expects: declared_in_numpy_hpp::nanmean|#include <tokamax/numpy.hpp>
// expects: declared_in_numpy_hpp::median|#include <tokamax/numpy.hpp>
// expects: declared_in_linalg_hpp::solve|deleted function 'solve'
// expects: #include <tokamax/linalg.hpp>, link tokamax::linalg|declared_in_linalg_hpp::solve<>
// expects: declared_in_checkpoint_hpp::save|#include <tokamax/checkpoint.hpp>
// lines: 34
// tests/numpy/elsewhere.fail.cpp: a function of a further header, called without it, names the header and what to link.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#ifdef TOKAMAX_FIXED
  #include <tokamax/checkpoint.hpp>
  #include <tokamax/linalg.hpp>
  #include <tokamax/numpy.hpp>
#endif

tokamax::array center(const tokamax::array& x) { return x - tokamax::nanmean(x); }
tokamax::array middle(const tokamax::array& x) { return tokamax::median(x); }
tokamax::array inverse(const tokamax::array& x) { return tokamax::linalg::solve(x, tokamax::eye(3)); }
void keep(const tokamax::array& x) { tokamax::checkpoint::save("runs", x); }
