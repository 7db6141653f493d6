// expects: scale_by_polyak: update needs extra.value, the loss
// tests/optim/polyak.value.fail.cpp: an optimiser that follows the loss is not told it.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

int main() {
  struct model {
    tokamax::array w = tokamax::zeros({3});
  };
  struct facts {
#ifdef TOKAMAX_FIXED
    tokamax::array value;
#else
    tokamax::array loss;
#endif
  };
  const auto optimizer = tokamax::optim::polyak_sgd({});
  const model p;
  return static_cast<int>(optimizer.update(p, optimizer.init(p), p, facts{}).first.w.rank());
}
