// tests/optim/transforms/scale.cpp: updates times a number or a schedule.
#include <tokamax/optim/transforms/scale.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::array;

namespace {
float first(const array& a) { return a.values<float>()[0]; }
}  // namespace

TEST_CASE("scale and scale_by_learning_rate") {
  const array g = array::from<float>({2, 4}), p = tk::zeros({2});
  const tk::optim::scale twice{2.0};
  CHECK(first(twice.update(g, twice.init(p), p).first) == 4.0f);
  const tk::optim::scale_by_learning_rate rate{0.5};
  CHECK(first(rate.update(g, rate.init(p), p).first) == -1.0f);
}

TEST_CASE("a schedule sees the number of earlier updates") {
  const tk::optim::scale_by_schedule by_step{tk::optim::linear(1.0, 0.0, 4)};
  const array g = array::from<float>({8}), p = tk::zeros({1});
  auto state = by_step.init(p);
  for (float expected : {8.0f, 6.0f, 4.0f, 2.0f, 0.0f, 0.0f}) {
    auto [u, next] = by_step.update(g, state, p);
    state = next;
    CHECK(first(u) == expected);
  }
}

TEST_CASE("decoupled weight decay adds a share of the parameters, of matrices only where asked") {
  const tk::optim::add_decayed_weights all{0.1, tk::optim::everything}, some{0.1, tk::optim::matrices};
  const array g = tk::zeros({1}), p = array::from<float>({5});
  CHECK(std::abs(first(all.update(g, all.init(p), p).first) - 0.5f) < 1e-6f);
  CHECK(first(some.update(g, some.init(p), p).first) == 0.0f);
}
