// tests/optim/schedules/onecycle.cpp: one-cycle schedules at each step, against Optax.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/schedules/onecycle.hpp>

#include "support/contains.hpp"

#include <vector>

namespace optim = tokamax::optim;
using tokamax::array;

namespace {
void check_steps(const auto& schedule, const std::vector<double>& expected) {
  for (std::size_t n = 0; n < expected.size(); ++n) {
    CAPTURE(n);
    const array step = array::from<std::int32_t>({static_cast<std::int32_t>(n)}, {});
    CHECK(array(schedule(step)).item<double>() == Approx(expected[n]).epsilon(1e-5));
  }
}
}  // namespace

TEST_CASE("one-cycle schedules follow Optax") {
  check_steps(optim::linear_onecycle(
                  {.steps = 10, .peak = 1000, .start = 0.3, .final = 0.7, .divisor = 10, .final_divisor = 100}),
              {100, 400, 700, 1000, 775, 550, 325, 100, 67, 34, 1, 1});
  check_steps(optim::cosine_onecycle({.steps = 5, .peak = 1000, .start = 0.4, .divisor = 10, .final_divisor = 100}),
              {100, 550, 1000, 750.25, 250.75, 1, 1});
  check_steps(optim::cosine_onecycle({.steps = 10, .peak = 25}), {1});
}

TEST_CASE("one-cycle schedules have steps in every part") {
  CHECK_THROWS_WITH(optim::linear_onecycle({.steps = 0}), contains("linear_onecycle: steps: found 0"));
  CHECK_THROWS_WITH(optim::cosine_onecycle({.steps = -3}), contains("cosine_onecycle: steps: found -3"));
  CHECK_THROWS_WITH(optim::cosine_onecycle({.steps = 2}), contains("piecewise: boundary: found 0"));
}
