// tests/optim/wrappers/apply_if_finite.cpp: gradients with NaN are left out, but not for ever, as in Optax.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/optim/adaptive/adam.hpp>
#include <tokamax/optim/descent/sgd.hpp>
#include <tokamax/optim/wrappers/apply_if_finite.hpp>
#include <tokamax/runtime/jit.hpp>

#include "support/contains.hpp"
#include "support/device.hpp"

#include <limits>

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;

namespace {
struct weights {
  tk::tensor<tk::f32, 2> w;
  tk::tensor<tk::i32> count;  // no gradient
};
constexpr auto optimizer = optim::apply_if_finite(optim::adam({.learning_rate = 0.5}), 2);
using state = decltype(optimizer.init(weights()));
constexpr auto step = [](const weights& g, const state& s) { return optimizer.update(g, s, g); };
weights gradient(float a, float b) { return {array::from<float>({a, b}), array(tk::zeros({}, tk::i32))}; }
constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

/// The state, and whether the updates were zero.
struct outcome {
  int in_a_row, total;
  bool last, zero;
};
void check_run(const auto& run) {
  auto s = optimizer.init(gradient(0, 0));
  const auto next = [&](float a, float b) {
    auto [u, after] = run(gradient(a, b), s);
    s = after;
    const bool zero = u.w.template values<float>()[0] == 0 && u.w.template values<float>()[1] == 0;
    return outcome{s.notfinite_count.template item<int>(), s.total_notfinite.template item<int>(),
                   s.last_finite.template item<bool>(), zero};
  };
  const auto check = [](outcome o, int in_a_row, int total, bool last, bool zero) {
    CHECK(o.in_a_row == in_a_row);
    CHECK(o.total == total);
    CHECK(o.last == last);
    CHECK(o.zero == zero);
  };
  check(next(1, 2), 0, 0, true, false);
  const auto moments = std::get<0>(s.inner).mu.w.template values<float>()[1];
  check(next(nan, 1), 1, 1, false, true);
  check(next(1, -inf), 2, 2, false, true);
  CHECK(std::get<0>(s.inner).mu.w.template values<float>()[1] == moments);  // the inner state has stayed
  check(next(3, 4), 0, 2, true, false);
  check(next(inf, 1), 1, 3, false, true);
  check(next(nan, nan), 2, 4, false, true);
  check(next(1, nan), 3, 5, false, false);  // the third in a row goes through
}
}  // namespace

TEST_CASE("gradients that are not finite are left out for some calls") {
  check_run(step);
  check_run(tk::jit(step, tk::cpu, tk::while_compiling));
  check_run(tk::jit(step, tk::test::here, tk::at_run_time));
  CHECK_THROWS_WITH(optim::apply_if_finite(optim::sgd(0.1), -1),
                    contains("apply_if_finite: max_consecutive_errors: found -1"));
}
