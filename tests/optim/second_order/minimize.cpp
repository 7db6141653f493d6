// tests/optim/second_order/minimize.cpp: line searches and L-BFGS on the problems of Optax, and minimisations as one program.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

#include <tokamax/tokamax.hpp>

#include <limits>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;

namespace {
array part(const array& x, std::int64_t from, std::int64_t to) { return tk::slice_in_dim(x, from, to, 0); }
array rosenbrock(const array& x) {
  const std::int64_t n = x.extent(0);
  const array a = part(x, 0, n - 1), b = part(x, 1, n);
  return tk::sum(100.0 * (b - a * a) * (b - a * a) + (1.0 - a) * (1.0 - a));
}
array himmelblau(const array& x) {
  const array a = part(x, 0, 1), b = part(x, 1, 2), c = a * a + b - 11.0, d = a + b * b - 7.0;
  return tk::sum(c * c + d * d);
}
array matyas(const array& x) {
  const array a = part(x, 0, 1), b = part(x, 1, 2);
  return tk::sum(0.26 * (a * a + b * b) - 0.48 * a * b);
}
array zakharov(const array& x) {
  const array s = tk::sum(0.5 * (tk::astype(tk::iota(tk::i32, x.shape(), 0), tk::f32) + 1.0) * x);
  return tk::sum(x * x) + s * s + s * s * s * s;
}
array squares(const array& x) { return tk::sum(x * x); }
array values(std::initializer_list<float> v) { return array::from<float>(v); }
struct fixed_model {
  tk::tensor<tk::f32, 2, 3> w;
  tk::tensor<tk::f32> b;
};
constexpr auto fixed_loss = [](const fixed_model& m) {
  const array w = m.w - 3.0, b = m.b * m.b + 1.0 - m.b;
  return tk::sum(w * w) + b * b;
};
/// The losses before each of `steps` steps.
template <class Optimizer, class F>
std::vector<double> losses(const Optimizer& optimizer, const F& f, array x, int steps) {
  std::vector<double> found;
  auto state = optimizer.init(x);
  const auto step = [&](const array& p, const auto& s) {
    auto [value, slope] = tk::value_and_grad([&](const array& q) { return f(q); })(p);
    auto [u, next] = optimizer.update(slope, s, p, optim::line_facts{value, slope, f});
    return std::tuple{optim::apply_updates(p, u), next, value};
  };
  for (int n = 0; n < steps; ++n) {
    const auto [p, s, value] = tk::jit(step, tk::cpu)(x, state);
    x = p;
    state = s;
    found.push_back(value.template item<double>());
  }
  return found;
}
void check_losses(const std::string& name, const std::vector<double>& found, double tolerance) {
  CAPTURE(name);
  const array expected = tk::test::golden("optimisers.txt", name);
  const double scale = expected.values<float>()[0];
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i] ==
          Approx(static_cast<double>(expected.values<float>()[i])).epsilon(tolerance).margin(tolerance * scale));
  }
}
}  // namespace

TEST_CASE("losses fall as in Optax") {
  check_losses("lbfgs_rosenbrock", losses(optim::lbfgs(), rosenbrock, values({-1, 1.5f, 0.5f}), 12), 1e-3);
  check_losses(
      "lbfgs_options",
      losses(optim::lbfgs({.memory_size = 3, .scale_init_precond = false}), rosenbrock, values({-1, 1.5f, 0.5f}), 12),
      1e-3);
  const auto descent = [](const auto& search) { return optim::chain(optim::sgd(1.0), search); };
  check_losses("backtracking",
               losses(descent(optim::scale_by_backtracking_linesearch{.max_backtracking_steps = 30}), rosenbrock,
                      values({-1, 1.5f, 0.5f}), 12),
               1e-4);
  check_losses("backtracking_options",
               losses(descent(optim::scale_by_backtracking_linesearch{.max_backtracking_steps = 20,
                                                                      .slope_rtol = 0.1,
                                                                      .decrease_factor = 0.5,
                                                                      .increase_factor = 3,
                                                                      .max_learning_rate = 0.5,
                                                                      .store_grad = true}),
                      rosenbrock, values({-1, 1.5f, 0.5f}), 12),
               1e-4);
  check_losses("zoom",
               losses(descent(optim::scale_by_zoom_linesearch{.max_linesearch_steps = 20}), rosenbrock,
                      values({-1, 1.5f, 0.5f}), 12),
               1e-3);
  check_losses("zoom_options",
               losses(descent(optim::scale_by_zoom_linesearch{.max_linesearch_steps = 15,
                                                              .max_learning_rate = 0.01,
                                                              .increase_factor = 1.5,
                                                              .curv_rtol = 0.5,
                                                              .guess = optim::first_guess::one}),
                      rosenbrock, values({-1, 1.5f, 0.5f}), 12),
               1e-3);
}

TEST_CASE("L-BFGS finds the minima of hard functions") {
  const auto check = [](const auto& f, const array& start, const array& expected, double tolerance) {
    const auto found = optim::minimize(f, start, optim::lbfgs(), {.max_steps = 500, .tol = 1e-4});
    CAPTURE(found.steps.template item<int>());
    CAPTURE(found.error.item());
    CHECK(tk::test::distance(found.params, expected) < tolerance);
  };
  check(rosenbrock, values({0, 0}), values({1, 1}), 1e-3);
  check(rosenbrock, tk::zeros({16}), tk::ones({16}), 1e-2);
  check(himmelblau, values({1, 1}), values({3, 2}), 1e-4);
  check([](const array& x) { return matyas(x - 1.0); }, values({7, 7}), values({1, 1}), 1e-2);
  const auto deep =
      optim::minimize(zakharov, values({600, 700, 200, 100, 90, 1000}), optim::lbfgs(), {.max_steps = 200});
  CHECK(deep.value.item() < 1e-3);
}

TEST_CASE("a minimisation is one program, for any tree and optimiser") {
  struct model {
    array w, b;
  };
  const auto loss = [](const model& m) { return squares(m.w - 3.0) + squares(m.b + 1.0); };
  const model start{tk::zeros({2, 3}), tk::zeros({4})};
  const auto run = tk::jit([&](const model& m) { return optim::minimize(loss, m); }, tk::cpu);
  const auto found = run(start);
  CHECK(found.converged.item<bool>());
  CHECK(found.steps.item<int>() <= 3);
  CHECK(tk::test::distance(found.params.w, tk::full({2, 3}, 3.0f)) < 1e-5);
  CHECK(tk::test::distance(found.params.b, tk::full({4}, -1.0f)) < 1e-5);

  const auto slow = optim::minimize(loss, start, optim::adam({.learning_rate = 0.1}), {.max_steps = 7});
  CHECK(slow.steps.item<int>() == 7);
  CHECK_FALSE(slow.converged.item<bool>());
  CHECK(slow.value.item() < squares(tk::full({6}, 3.0f)).item() + 4);
  CHECK(optim::minimize(loss, model{tk::full({2, 3}, 3.0f), tk::full({4}, -1.0f)}).steps.item<int>() == 0);
}

TEST_CASE("a minimisation over arrays of known shapes is known while compiling, with the same bits") {
  const fixed_model start{tk::full({2, 3}, 1.0f), tk::full({}, 5.0f)};
  const auto run = [&](auto when) {
    return tk::jit([](const fixed_model& m) { return optim::minimize(fixed_loss, m); }, tk::cpu, when)(start);
  };
  const auto early = run(tk::while_compiling), late = run(tk::at_run_time);
  CHECK(early.converged.item<bool>());
  CHECK(tk::test::distance(early.params.w, tk::full({2, 3}, 3.0f)) < 1e-4);
  CHECK(early.params.b.item() == Approx(0.5).margin(1e-4));
  CHECK(early.params.b.item() == late.params.b.item());
  CHECK(early.steps.item<int>() == late.steps.item<int>());
}

TEST_CASE("line searches that cannot succeed make no harm") {
  const float inf = std::numeric_limits<float>::infinity();
  const array x = values({1, 2});
  const auto facts = [&](const auto& f) {
    auto [value, slope] = tk::value_and_grad([&](const array& q) { return array(f(q)); })(x);
    return optim::line_facts{value, slope, f};
  };
  const auto wall = [&](const array& p) {
    return tk::select(tk::sum(tk::abs(p - x)) == 0.0, squares(p), tk::full({}, inf));
  };
  const optim::scale_by_backtracking_linesearch back{.max_backtracking_steps = 5};
  const optim::scale_by_zoom_linesearch zoom{.max_linesearch_steps = 5};
  const array down = values({-2, -4});
  CHECK(tk::test::distance(back.update(down, back.init(x), x, facts(wall)).first, tk::zeros({2})) == 0);
  CHECK(tk::test::distance(zoom.update(down, zoom.init(x), x, facts(wall)).first, tk::zeros({2})) == 0);
  const auto flat = [](const array& p) { return tk::sum(0.0 * p); };
  CHECK(zoom.update(down, zoom.init(x), x, facts(flat)).second.steps.item<int>() <= 5);
  const auto up = zoom.update(values({2, 4}), zoom.init(x), x, facts(squares)).second;
  CHECK(up.steps.item<int>() == 5);
  CHECK(std::isfinite(up.value.item()));
  CHECK_THROWS_WITH(optim::scale_by_lbfgs{.memory_size = 0}.init(x), contains("lbfgs: memory_size: found 0"));

  const auto undefined = [](const array& p) {
    return tk::sum(tk::sqrt(p));
  };  // its minimum is at the edge of its domain
  const auto edge = optim::minimize(undefined, values({4}), optim::sgd(1.0), {.max_steps = 100});
  CHECK(std::isfinite(edge.value.item()));
  CHECK(edge.params.values<float>()[0] >= 0);
}

TEST_CASE("the state of a line search has the next value and gradient") {
  const auto optimizer = optim::lbfgs();
  const array x = values({2, 3});
  const auto known = optim::value_and_grad_from_state(squares);
  const auto [value, slope] = known(x, optimizer.init(x));
  CHECK(value.item() == 13);
  const auto [u, state] = optimizer.update(slope, optimizer.init(x), x, optim::line_facts{value, slope, squares});
  const array y = optim::apply_updates(x, u);
  const auto [next, gradient] = known(y, state);
  CHECK(next.item() == Approx(squares(y).item()).margin(1e-6));
  CHECK(tk::test::distance(gradient, 2.0 * y) < 1e-5);
}
