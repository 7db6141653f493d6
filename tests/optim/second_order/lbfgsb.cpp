// tests/optim/second_order/lbfgsb.cpp: minima between bounds, with the results of scipy.optimize.minimize(method="L-BFGS-B").
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/second_order/lbfgsb.hpp>

#include <tokamax/tokamax.hpp>

#include <limits>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;
using tk::test::distance;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity();
array values(std::initializer_list<float> v) { return array::from<float>(v); }
array part(const array& x, std::int64_t from, std::int64_t to) { return tk::slice_in_dim(x, from, to, 0); }
array rosenbrock(const array& x) {
  const std::int64_t n = x.extent(0);
  const array a = part(x, 0, n - 1), b = part(x, 1, n);
  return tk::sum(100.0 * (b - a * a) * (b - a * a) + (1.0 - a) * (1.0 - a));
}
/// sum c (x - t)^2 / 2 + (sum x)^2 / 4, whose elements depend on one another.
array coupled(const array& x) {
  const array i = tk::astype(tk::iota(tk::i32, x.shape(), 0), tk::f32), s = tk::sum(x);
  return tk::sum((1.0 + i) * (x - tk::sin(i)) * (x - tk::sin(i))) / 2.0 + s * s / 4.0;
}
}  // namespace

TEST_CASE("L-BFGS-B finds minima inside of bounds and on them") {
  const array start = values({-1.2f, 1});
  const auto found = [&](const array& low, const array& high) {
    const auto end =
        tk::jit([&](const array& x) { return optim::minimize_between(rosenbrock, x, low, high, {.max_steps = 200}); },
                tk::cpu)(start);
    CAPTURE(end.error.item(), end.steps.item<int>(), tk::to_string(end.params));
    CHECK(end.value.item() == Approx(rosenbrock(end.params).item()).margin(1e-6));
    return end.params;
  };
  CHECK(distance(found(values({-infinity, -infinity}), values({infinity, infinity})), values({1, 1})) < 1e-2);
  CHECK(distance(found(values({-2, -2}), values({0.5f, 2})), values({0.5f, 0.25f})) < 1e-3);
  CHECK(distance(found(values({-2, 1.5f}), values({2, 2})), values({-1.2210263f, 1.5f})) < 1e-3);
  CHECK(distance(found(values({0.3f, -1}), values({0.3f, -0.5f})), values({0.3f, -0.5f})) < 1e-6);
}

TEST_CASE("L-BFGS-B steps through many bounds") {
  const std::int64_t n = 24;
  const auto end =
      optim::minimize_between(coupled, tk::full({n}, 0.9), tk::full({n}, -0.4), tk::full({n}, 0.6), {.tol = 1e-4});
  CHECK(end.converged.item<bool>());
  // A minimum between bounds is a fixed point of a step down the gradient and back into the box.
  const array g = tk::grad([](const array& x) { return coupled(x); })(end.params);
  CHECK(distance(tk::clip(end.params - 0.01 * g, -0.4, 0.6), end.params) < 1e-5);
  CHECK(end.params[1].item() == Approx(0.53539173).epsilon(1e-4));
  CHECK(end.params[13].item() == Approx(0.3764483).epsilon(1e-4));
  CHECK(end.steps.item<int>() < 40);
  CHECK(tk::sum(tk::astype(end.params == 0.6f, tk::f32)).item() >= 3);
  CHECK(tk::sum(tk::astype(end.params == -0.4f, tk::f32)).item() >= 3);
}

TEST_CASE("bounds are trees of the shapes of parameters") {
  struct model {
    array w = tk::ones({2, 2}), b = tk::ones({}), none = tk::zeros({0});
  };
  const auto loss = [](const model& m) {
    const array w = m.w - 3.0, b = m.b + 2.0;
    return tk::sum(w * w) + b * b;
  };
  const auto all = [](float v) { return model{tk::full({2, 2}, v), tk::full({}, v), tk::zeros({0})}; };
  const auto end = optim::minimize_between(loss, model{}, all(-1), all(2));
  CHECK(distance(end.params.w, tk::full({2, 2}, 2.0)) < 1e-6);
  CHECK(end.params.b.item() == Approx(-1));
  CHECK(end.params.none.shape() == tk::shape{0});
  CHECK_THROWS_WITH(optim::minimize_between(loss, model{}, model{}, model{tk::ones({3})}),
                    contains("minimize_between: bounds") && contains("lbfgsb.cpp:"));
  CHECK_THROWS_WITH(optim::minimize_between(loss, model{}, all(-1), all(2), {.memory_size = 0}),
                    contains("memory_size: found 0, expected 1 or more"));
}
