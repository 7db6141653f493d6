// tests/optim/transforms/aggregating.cpp: gradients of examples become updates as in optax.experimental.aggregating.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/transforms/aggregating.hpp>

#include <tokamax/tokamax.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
namespace aggregating = tokamax::optim::aggregating;
using tk::array;
using tk::test::distance;

namespace {
array gradients(int step) {
  array a = array::uninitialized({tk::f32, false, {5, 2, 3}});
  for (std::int64_t i = 0; i < a.size(); ++i)
    a.mutable_data<float>()[i] = static_cast<float>(std::sin((0.9 + 0.1 * step) * static_cast<double>(i) + 0.3));
  return a;
}
/// Compares four updates with a row, and returns the last state.
template <class Optimizer>
auto check_updates(const std::string& name, const Optimizer& optimizer) {
  CAPTURE(name);
  const array expected = tk::test::golden("optimisers.txt", name), p = tk::zeros({2, 3});
  auto state = optimizer.init(p);
  const auto run =
      tk::jit([&](const array& g, const auto& s, const array& x) { return optimizer.update(g, s, x); }, tk::cpu);
  for (int n = 0; n < 4; ++n) {
    CAPTURE(n);
    const auto [update, next] = run(gradients(n), state, p);
    CHECK(distance(tk::reshape(update, {6}), expected[n]) < 2e-6);
    state = next;
  }
  return state;
}
template <class State>
void check_moments(const std::string& name, const State& state) {
  const array expected = tk::test::golden("optimisers.txt", name);
  const auto [mean, variance] = aggregating::unbiased_mean_and_variance(std::get<0>(std::get<2>(state)));
  CHECK(distance(tk::reshape(mean, {6}), expected[4]) < 2e-6);
  CHECK(distance(tk::reshape(variance, {6}), expected[5]) < 2e-6);
}
}  // namespace

TEST_CASE("gradients of examples become one update") {
  const auto adam = optim::adam({.learning_rate = 0.1});
  check_updates("aggregated_mean",
                aggregating::process{optim::scale{2.0}, aggregating::average_per_element_updates{}, adam});
  check_updates("aggregated_calls",
                aggregating::process{optim::identity{}, aggregating::average_incrementally{0, 2}, adam});
  check_moments("aggregated_moments",
                check_updates("aggregated_moments", aggregating::add_mean_variance_to_opt(adam, 0.8)));
  check_moments("aggregated_moments_calls",
                check_updates("aggregated_moments_calls", aggregating::add_mean_variance_to_opt(adam, 0.7, 0, 2)));
}

TEST_CASE("leaves have gradients of the same number of examples") {
  const std::pair<array, array> g{tk::ones({4, 2}), tk::ones({4, 2, 3})}, mixed{tk::ones({4, 2}), tk::ones({5, 2, 3})};
  CHECK(aggregating::batch_size(g) == 4);
  CHECK(aggregating::batch_size(g, {0, 1}) == 8);
  CHECK_THROWS_WITH(
      aggregating::batch_size(mixed),
      contains("aggregating: examples: found 5 of f32[5,2,3], expected 4") && contains("aggregating.cpp:"));
  CHECK_THROWS_WITH(aggregating::accumulate_avg_updates(0), contains("accumulate_avg_updates: steps: found 0"));
  const aggregating::mean_and_sum_sq_diff spread;
  const auto [mean, facts] = spread.update(array::from<float>({1, 2, 6}), spread.init(tk::zeros({})), tk::zeros({}));
  CHECK(mean.item() == 3);
  CHECK(facts.sum_sq_diff_grads.item() == 14);
  CHECK(facts.sample_size.item<int>() == 3);
  const aggregating::track_mean_and_variance track{0.5};
  const auto averages = track.update(mean, track.init(mean), mean, facts).second;
  CHECK(averages.variance.item() == 3.5f);
  CHECK(aggregating::unbiased_mean_and_variance(averages).second.item() == 7);
  const array none = tk::ones({3, 0});
  CHECK(aggregating::average_per_element_updates{}.update(none, {}, none).first.shape() == tk::shape{0});
}
