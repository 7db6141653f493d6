// tests/optim/transforms/noise.cpp: noisy gradients as in tests/golden/optimisers.txt, and gradients of examples that are clipped.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"
#include "support/optimiser_rows.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;
using tk::test::check_optimiser;

TEST_CASE("noise that fades") {
  check_optimiser("noisy_sgd", optim::noisy_sgd({.learning_rate = 0.05}));
  check_optimiser("noisy_sgd_options", optim::noisy_sgd({.learning_rate = 0.05, .eta = 0.1, .gamma = 0.3, .seed = 7}));
}

namespace {
struct two {
  array a, b;
};
const two examples{array::from<float>({3, 0, 0, 6}, {2, 2}), array::from<float>({4, 8}, {2})};  // norms 5 and 10
}  // namespace

TEST_CASE("gradients of examples are clipped one by one") {
  const auto [sum, clipped] = optim::per_example_global_norm_clip(examples, 5);
  CHECK(tk::test::distance(sum.a, array::from<float>({3, 3})) < 1e-6);
  CHECK(tk::test::distance(sum.b, array(8.0, {tk::f32, false, {}})) < 1e-6);
  CHECK(clipped.item<int>() == 1);
  const auto [even, counts] = optim::per_example_layer_norm_clip(examples, 5);
  CHECK(even.a.values<float>()[0] == Approx(3));
  CHECK(even.a.values<float>()[1] == Approx(5 / std::sqrt(2.0)));
  CHECK(counts.b.item<int>() == 2);
  const auto [sized, unused] = optim::per_example_layer_norm_clip(examples, 5, false);
  CHECK(sized.b.item() == Approx(2 * 5 / std::sqrt(3.0)));
  CHECK_THROWS_WITH(optim::per_example_global_norm_clip(std::pair{tk::ones({2, 2}), tk::ones({3})}, 1),
                    contains("per_example_global_norm_clip: gradient: found f32[3]"));
}

TEST_CASE("without noise private gradient descent is that of clipped means") {
  const auto quiet = optim::dpsgd({.learning_rate = 0.5, .l2_norm_clip = 5, .noise_multiplier = 0});
  const two p{tk::zeros({2}), tk::zeros({})};
  auto [u, state] = quiet.update(examples, quiet.init(p), p);
  CHECK(tk::test::distance(u.a, array::from<float>({-0.75f, -0.75f})) < 1e-6);
  CHECK(u.b.item() == Approx(-2));
  const auto loud = optim::dpsgd({.learning_rate = 0.5, .l2_norm_clip = 5, .noise_multiplier = 2, .seed = 3});
  const auto [first, next] = loud.update(examples, loud.init(p), p);
  const auto [second, unused] = loud.update(examples, next, p);
  CHECK(tk::test::distance(first.a, u.a) > 1e-3);
  CHECK(tk::test::distance(first.a, second.a) > 1e-3);
}
