// tests/optim/transforms/transforms.cpp: updates scaled and bounded leaf by leaf, step by step as in tests/golden/optimisers.txt.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

#include <tokamax/tokamax.hpp>

#include <limits>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"
#include "support/optimiser_rows.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;
using tk::test::check_optimiser;

TEST_CASE("updates by the norms of leaves") {
  check_optimiser("clip_by_block_rms", optim::chain(optim::clip_by_block_rms(0.5), optim::sgd(0.1)));
  check_optimiser("adaptive_grad_clip", optim::chain(optim::adaptive_grad_clip(0.2, 0.1), optim::sgd(0.1)));
  check_optimiser("param_block_norm", optim::chain(optim::scale_by_param_block_norm(0.1), optim::sgd(0.02)));
  check_optimiser("param_block_rms", optim::chain(optim::scale_by_param_block_rms(0.5), optim::sgd(0.05)));
  check_optimiser("centralize", optim::chain(optim::centralize{}, optim::sgd(0.1)));
  check_optimiser("normalize", optim::chain(optim::normalize(), optim::sgd(0.1)));
  check_optimiser("normalize_by_update_norm", optim::chain(optim::normalize_by_update_norm(2.0, 0.1), optim::sgd(0.1)));
  check_optimiser("keep_params_nonnegative", optim::chain(optim::sgd(0.1), optim::keep_params_nonnegative{}));
}

TEST_CASE("NaN become 0, and the state says so") {
  const array g = array::from<float>({1, std::numeric_limits<float>::quiet_NaN()});
  const optim::zero_nans z;
  const auto [u, state] = z.update(g, z.init(g), g);
  CHECK(tk::test::distance(u, array::from<float>({1, 0})) == 0);
  CHECK(state.found_nan.item<bool>());
  CHECK_FALSE(z.update(u, state, u).second.found_nan.item<bool>());
}

TEST_CASE("norms of units") {
  const auto first = [](const tk::shape& s) { return optim::unitwise_norm(tk::ones(s)).values<float>()[0]; };
  CHECK(first({4}) == 2);
  CHECK(first({}) == 1);
  CHECK(first({4, 3}) == 2);
  CHECK(first({1, 4}) == 2);
  CHECK(first({4, 2, 3}) == 2);
  CHECK(first({2, 2, 1, 5}) == 2);
  CHECK(first({2, 1, 2, 1, 5}) == 2);
  CHECK_THROWS_WITH(optim::unitwise_norm(tk::ones({2, 2, 2, 2, 2, 2})), contains("unitwise_norm: x"));
}

TEST_CASE("functions are transforms, and parameters move by parts or at times") {
  const array p = tk::full({2}, 4.0f), g = tk::full({2}, 2.0f);
  const optim::stateless whole([](const array& u, const array& params) { return u + params; });
  const optim::stateless_with_tree_map leaf([](const array& u, const array& params) { return u * params; });
  const auto both = optim::chain(whole, leaf);
  CHECK(tk::test::distance(both.update(g, both.init(p), p).first, tk::full({2}, 24.0f)) == 0);
  CHECK(tk::test::distance(optim::incremental_update(p, g, 0.25), tk::full({2}, 2.5f)) == 0);
  CHECK(tk::test::distance(optim::periodic_update(p, g, array(6), array(3)), p) == 0);
  CHECK(tk::test::distance(optim::periodic_update(p, g, array(7), array(3)), g) == 0);
}

TEST_CASE("gradients of norms are never NaN, and gradients can be scaled") {
  const array zero = tk::zeros({2}), x = array::from<float>({3, 4});
  const auto norm = [](const array& p) { return optim::safe_norm(p, 0.5); };
  const auto rms = [](const array& p) { return optim::safe_root_mean_squares(p, 0.5); };
  CHECK(norm(x).item() == 5);
  CHECK(norm(zero).item() == 0.5);
  CHECK(rms(x).item() == Approx(std::sqrt(12.5)));
  CHECK(rms(zero).item() == 0.5);
  CHECK(tk::test::distance(tk::grad(norm)(x), x / 5.0) < 1e-6);
  CHECK(tk::test::distance(tk::grad(norm)(zero), zero) == 0);
  CHECK(tk::test::distance(tk::grad(rms)(zero), zero) == 0);
  const auto half = [](const array& p) { return tk::sum(optim::scale_gradient(p, 0.5) * p); };
  CHECK(half(x).item() == 25);
  CHECK(tk::test::distance(tk::grad(half)(x), 1.5 * x) < 1e-6);
}
