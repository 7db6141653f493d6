// expects: scale_by_polyak: update needs extra.value, the loss
// expects: momo: update needs extra.value, the loss
// expects: hutchinson_estimator_diag_hessian: update needs extra.obj_fn, the loss of parameters
// expects: line search: update needs line_facts
// expects: found another state, expected what init\(params\) gives
// tests/optim/extra.missing.fail.cpp: optimisers that follow the loss are not told it, and one gets the state of another.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

namespace optim = tokamax::optim;

struct model {
  tokamax::array w = tokamax::zeros({3});
};
struct facts {
#ifdef TOKAMAX_FIXED
  tokamax::array value;
  model grad;
  tokamax::array obj_fn(const model& m) const { return tokamax::sum(m.w * m.w); }
  tokamax::array value_fn(const model& m) const { return obj_fn(m); }
#else
  tokamax::array loss;
#endif
};

template <class Optimizer>
void step(const Optimizer& optimizer) {
  const model p;
  (void)optimizer.update(p, optimizer.init(p), p, facts{});
}

int main() {
  step(optim::polyak_sgd({}));
  step(optim::momo({.learning_rate = 0.1}));
  step(optim::sophia({.learning_rate = 0.1}));
  step(optim::lbfgs());
  const model p;
#ifdef TOKAMAX_FIXED
  (void)optim::adam({.learning_rate = 0.1}).update(p, optim::adam({.learning_rate = 0.1}).init(p), p);
#else
  (void)optim::adam({.learning_rate = 0.1}).update(p, optim::lion({.learning_rate = 0.1}).init(p), p);
#endif
}
