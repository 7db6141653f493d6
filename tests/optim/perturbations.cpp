// tests/optim/perturbations.cpp: means over noise, and their gradients.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/perturbations.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;

namespace {
array best(const array& x) { return tk::one_hot(tk::argmax(x, -1), 3); }  // constant in pieces
const array x = array::from<float>({0.1f, -0.2f, 0.4f});
}  // namespace

TEST_CASE("the mean of the largest under Gumbel noise is softmax, and so is its gradient") {
  const auto soft =
      optim::make_perturbed_fun(best, optim::perturbed_options<optim::gumbel_noise>{.num_samples = 4000, .sigma = 0.5});
  const array p = tk::softmax(x / 0.5);
  CHECK(tk::test::distance(soft(tk::random::key(1), x), p) < 0.05);
  const array weight = array::from<float>({1, 2, -1});
  const auto loss = [&](const auto& f) { return tk::grad([&](const array& y) { return tk::sum(weight * f(y)); })(x); };
  const array expected = loss([](const array& y) { return tk::softmax(y / 0.5); });
  CHECK(tk::test::distance(loss([&](const array& y) { return soft(tk::random::key(2), y); }), expected) < 0.15);
}

TEST_CASE("normal noise smooths a square by its variance") {
  const auto square = [](const array& y) { return y * y; };
  const auto smooth = optim::make_perturbed_fun(
      square, optim::perturbed_options<optim::normal_noise>{.num_samples = 4000, .sigma = 0.5, .use_baseline = false});
  CHECK(tk::test::distance(smooth(tk::random::key(3), x), x * x + 0.25) < 0.05);
}

TEST_CASE("normal numbers with means and deviations") {
  const optim::multi_normal two{array::from<float>({1, -2}), array::from<float>({0, 0.5f})};
  const array drawn = two.sample(tk::random::key(4), {20000});
  CHECK(drawn.shape() == tk::shape{20000, 2});
  CHECK(tk::test::distance(tk::mean(drawn, {.axis = {0}}), two.loc) < 0.03);
  const double z = (0.5 - -2) / std::exp(0.5);
  CHECK(two.log_prob(array::from<float>({2, 0.5f})).item() ==
        Approx(-0.5 * (1 + z * z) - 0.5 - std::log(2 * 3.14159265358979)));
}
