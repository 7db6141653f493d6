// expects: <model, std::tuple<.*found another state, expected what init\(params\) gives
// lines: 25
// tests/optim/transform.swapped.fail.cpp: the arguments of update have changed places.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/adaptive/adam.hpp>

namespace tk = tokamax;

struct model {
  tk::array w = tk::ones({3});
};

int main() {
  const auto optimizer = tk::optim::adam({.learning_rate = 1e-3});
  const model m, g;
  const auto s = optimizer.init(m);
#ifdef TOKAMAX_FIXED
  (void)optimizer.update(g, s, m);
#else
  (void)optimizer.update(s, g, m);
#endif
}
