// tests/optim/schedules/schedule.cpp: schedules at each step, against Optax.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/optim/schedules/join_schedules.hpp>
#include <tokamax/optim/schedules/onecycle.hpp>
#include <tokamax/optim/schedules/schedule.hpp>

#include "support/contains.hpp"
#include "support/golden.hpp"

namespace optim = tokamax::optim;
using tokamax::array;
using tokamax::optim::schedule;

namespace {

double at(const schedule& s, std::int32_t step) { return s(array::from<std::int32_t>({step}, {})).item<double>(); }

void check_steps(const std::string& name, const schedule& s) {
  CAPTURE(name);
  const array expected = tokamax::test::golden("optim.txt", name);
  for (int n = 0; n < expected.size(); ++n)
    CHECK(
        at(s, n) ==
        Approx(static_cast<double>(expected.values<float>()[static_cast<std::size_t>(n)])).epsilon(1e-6).margin(1e-7));
}

}  // namespace

TEST_CASE("schedules follow Optax") {
  check_steps("warmup_cosine", optim::warmup_cosine({.peak = 1, .warmup = 5, .total = 15, .end = 0.1}));
  check_steps("cosine", optim::cosine({.init = 1, .steps = 10, .alpha = 0.1}));
  check_steps("linear", optim::linear(1, 0.1, 10));
  check_steps("exponential", optim::exponential({.init = 1, .steps = 5, .rate = 0.5}));
}

TEST_CASE("schedules give Optax's exact values") {
  const schedule square = optim::polynomial({.init = 25, .end = 10, .steps = 10, .power = 2});
  for (int n : {0, 3, 10, 12}) {
    const double left = 1 - std::fmin(n, 10) / 10;
    CHECK(at(square, n) == Approx(10 + 15 * left * left));
  }
  const schedule late = optim::polynomial({.init = 30, .end = 10, .steps = 10, .begin = 4});
  CHECK(at(late, 4) == Approx(30));
  CHECK(at(late, 9) == Approx(20));
  const schedule steep = optim::cosine({.init = 0.1, .steps = 100, .exponent = 2});
  CHECK(at(steep, 10) == Approx(0.09516553580760956));
  CHECK(at(steep, 50) == Approx(0.025));
  CHECK(at(optim::cosine({.init = 1000, .steps = 10000000000}), 1000000000) == Approx(975.52826));
  const schedule warm =
      optim::warmup_cosine({.init = 0.2, .peak = 1.21, .warmup = 50, .total = 100, .end = -3, .exponent = 2});
  CHECK(at(warm, 0) == Approx(0.2));
  CHECK(at(warm, 10) == Approx(0.402));
  CHECK(at(warm, 50) == Approx(1.21));
  CHECK(at(warm, 75) == Approx(-1.9475002));
  CHECK(at(warm, 100) == Approx(-3));
  const schedule flat =
      optim::warmup_cosine({.init = 0.2, .peak = 0, .warmup = 50, .total = 100, .end = -3, .exponent = 2});
  CHECK(at(flat, 10) == Approx(0.16));
  CHECK(at(flat, 75) == 0);
}

TEST_CASE("a captureless function is a schedule") {
  const schedule twice = [](const array& step) { return tokamax::astype(step, tokamax::f32) * 2.0; };
  CHECK(at(twice, 7) == 14);
  CHECK(at(schedule(0.5), 7) == 0.5);
}

TEST_CASE("a rate that is no number is refused") {
  CHECK_THROWS_WITH(schedule(std::nan("")),
                    contains("schedule: value: found NaN, expected a number") && contains("schedule.cpp:"));
  CHECK_THROWS_WITH(optim::adam({.learning_rate = std::nan("")}), contains("schedule.cpp:"));
}

TEST_CASE("schedules without steps are constant or refused, as in Optax") {
  CHECK(at(optim::linear(0.5, 0.1, 0), 3) == 0.5);
  CHECK(at(optim::polynomial({.init = 0.5, .end = 0.1, .steps = -3, .power = 2}), 3) == 0.5);
  CHECK(at(optim::polynomial({.init = 0.5, .end = 0.1, .steps = 10, .begin = -5}), 3) == Approx(0.38));
  CHECK(at(optim::exponential({.init = 0.5, .steps = 0}), 7) == 0.5);
  CHECK(at(optim::exponential({.init = 0.5, .steps = 3, .rate = 0}), 7) == 0.5);
  CHECK(at(optim::exponential({.init = 0.5, .steps = 3, .rate = 0.9, .begin = -2}), 7) == Approx(0.3910232));
  CHECK(at(optim::warmup_cosine({.peak = 1, .warmup = -2, .total = 5}), 1) == Approx(0.6112605));
  CHECK_THROWS_WITH(optim::cosine({.init = 1, .steps = 0}), contains("cosine: steps: found 0, expected at least 1"));
  CHECK_THROWS_WITH(optim::warmup_cosine({.warmup = 5, .total = 5}),
                    contains("warmup_cosine: steps after the warmup: found 0, expected at least 1"));
}

TEST_CASE("all schedules follow Optax for forty steps") {
  const auto check = [](const std::string& name, const auto& f) {
    CAPTURE(name);
    const array expected = tokamax::test::golden("optimisers.txt", "schedule_" + name);
    for (int n = 0; n < expected.size(); ++n) {
      CAPTURE(n);
      const double found = array(f(array::from<std::int32_t>({n}, {}))).template item<double>();
      CHECK(found == Approx(static_cast<double>(expected.values<float>()[static_cast<std::size_t>(n)]))
                         .epsilon(2e-6)
                         .margin(2e-7));
    }
  };
  using optim::interpolation;
  check("constant", schedule(0.3));
  check("linear", optim::linear(1, 0.1, 25));
  check("polynomial", optim::polynomial({.init = 25, .end = 10, .steps = 20, .begin = 6, .power = 2}));
  check("polynomial_half", optim::polynomial({.init = 1, .end = 3, .steps = 30, .power = 0.5}));
  check("cosine", optim::cosine({.init = 2, .steps = 30, .alpha = 0.1, .exponent = 1.5}));
  check("exponential", optim::exponential({.init = 2, .steps = 7, .rate = 0.6, .begin = 5}));
  check("exponential_stairs",
        optim::exponential(
            {.init = 2, .steps = 7, .rate = 0.6, .begin = 3, .end = 0.5, .bounded = true, .staircase = true}));
  check("exponential_grows",
        optim::exponential({.init = 0.5, .steps = 7, .rate = 1.5, .end = 2, .bounded = true, .staircase = true}));
  check("piecewise_constant", optim::piecewise_constant(2, {{5, 0.5}, {11, 3}, {20, 0}}));
  check("piecewise_linear", optim::piecewise_interpolate(interpolation::linear, 2, {{5, 0.5}, {11, 3}, {30, 0.25}}));
  check("piecewise_cosine", optim::piecewise_interpolate(interpolation::cosine, 2, {{5, 0.5}, {11, 3}, {30, 0.25}}));
  check("linear_onecycle",
        optim::linear_onecycle(
            {.steps = 35, .peak = 2, .start = 0.25, .final = 0.8, .divisor = 10, .final_divisor = 100}));
  check("cosine_onecycle",
        optim::cosine_onecycle({.steps = 35, .peak = 2, .start = 0.4, .divisor = 10, .final_divisor = 100}));
  check("warmup_constant", optim::linear(0.1, 1, 9));
  check("warmup_cosine",
        optim::warmup_cosine({.init = 0.2, .peak = 1.2, .warmup = 8, .total = 33, .end = 0.1, .exponent = 2}));
  check("warmup_exponential",
        optim::warmup_exponential({.init = 0.1, .peak = 1, .warmup = 6, .steps = 5, .rate = 0.7, .begin = 4}));
  check("warmup_exponential_stairs", optim::warmup_exponential({.init = 0.1,
                                                                .peak = 1,
                                                                .warmup = 6,
                                                                .steps = 5,
                                                                .rate = 0.7,
                                                                .begin = 2,
                                                                .staircase = true,
                                                                .end = 0.3,
                                                                .bounded = true}));
  check("sgdr", optim::sgdr({{.init = 0.1, .peak = 1, .warmup = 2, .total = 10, .end = 0.2},
                             {.init = 0.2, .peak = 0.7, .warmup = 5, .total = 15},
                             {.init = 0, .peak = 0.5, .warmup = 0, .total = 12, .exponent = 2}}));
  check("joined",
        optim::join_schedules({7, 20}, 0.5, optim::linear(1, 0, 10), optim::cosine({.init = 0.3, .steps = 9})));
}
