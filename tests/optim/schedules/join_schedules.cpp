// tests/optim/schedules/join_schedules.cpp: schedules of schedules, at each step, against Optax.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/adaptive/adam.hpp>
#include <tokamax/optim/schedules/join_schedules.hpp>

#include "support/contains.hpp"
#include "support/trajectory.hpp"

namespace optim = tokamax::optim;
using tokamax::array;

namespace {

double at(const auto& s, std::int32_t step) {
  return array(s(array::from<std::int32_t>({step}, {}))).template item<double>();
}

void check_steps(const std::string& name, const auto& s) {
  CAPTURE(name);
  const array expected = tokamax::test::golden("optim.txt", name);
  for (int n = 0; n < expected.size(); ++n)
    CHECK(
        at(s, n) ==
        Approx(static_cast<double>(expected.values<float>()[static_cast<std::size_t>(n)])).epsilon(1e-6).margin(1e-7));
}

}  // namespace

TEST_CASE("joined schedules and pieces follow Optax") {
  check_steps("joined", optim::join_schedules({5, 12}, optim::linear(0, 1, 5),
                                              optim::cosine({.init = 1, .steps = 7, .alpha = 0.2}), 0.05));
  check_steps("piecewise_constant", optim::piecewise_constant(2, {{5, 0.5}, {11, 0.1}, {17, 4}}));
  check_steps("piecewise_linear",
              optim::piecewise_interpolate(optim::interpolation::linear, 2, {{5, 0.5}, {11, 0.1}, {17, 4}}));
  check_steps("piecewise_cosine",
              optim::piecewise_interpolate(optim::interpolation::cosine, 2, {{5, 0.5}, {11, 0.1}, {17, 4}}));
}

TEST_CASE("any function of the step is the rate of an optimiser") {
  tokamax::test::check_trajectory("adam_joined", [] {
    return optim::adam(optim::adam_options{
        .learning_rate = optim::join_schedules({3}, optim::linear(0, 0.1, 3),
                                               optim::exponential({.init = 0.1, .steps = 2, .rate = 0.5}))});
  });
  const double slope = 0.25;
  const auto rate = [slope](const array& step) { return slope * tokamax::astype(step, tokamax::f32); };
  const auto by_rate = optim::scale_by_learning_rate{rate};
  const array g = array::from<float>({1});
  CHECK(by_rate.update(g, {tokamax::array::from<std::int32_t>({2}, {})}, g).first.values<float>()[0] == -0.5f);
  const auto nested = optim::join_schedules({4}, optim::join_schedules({2}, 1.0, rate), 7.0);
  CHECK((at(nested, 1) == 1 && at(nested, 3) == 0.25 && at(nested, 4) == 7));
}

TEST_CASE("boundaries increase") {
  CHECK_THROWS_WITH(optim::piecewise_constant(1, {{5, 2}, {5, 2}}), contains("piecewise: boundary: found 5"));
  CHECK_THROWS_WITH(optim::piecewise_constant(1, {{0, 2}}), contains("found 0, expected above 0"));
  CHECK_THROWS_WITH(optim::piecewise_constant(1, {{5, -2}}), contains("piecewise: scale: found -2"));
}
