// tests/optim/wrappers/wrappers.cpp: transforms around optimisers, step by step as in tests/golden/optimisers.txt.
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
using tk::test::loss_functions;
using tk::test::probes;

namespace {
constexpr auto two_of_three = [](const array& step) { return tk::rem(step, array(3)) != 1; };

/// A lookahead as an optimiser of the fast parameters, whose slow ones are part of the state.
template <class Inner>
struct fast_only {
  optim::lookahead<Inner> both;
  auto init(const probes& p) const { return std::pair{both.init(optim::init_synced(p)), p}; }
  template <class State>
  std::pair<probes, State> update(const probes& g, const State& s, const probes& p) const {
    auto [u, next] = both.update(g, s.first, {p, s.second});
    return {u.fast, {next, optim::apply_updates(s.second, u.slow)}};
  }
};
template <class Inner>
fast_only<Inner> fast(const optim::lookahead<Inner>& both) {
  return {both};
}
}  // namespace

TEST_CASE("averages of parameters") {
  check_optimiser("schedule_free_sgd", optim::schedule_free_sgd({.learning_rate = 0.1}));
  check_optimiser(
      "schedule_free_sgd_options",
      optim::schedule_free_sgd(
          {.learning_rate = 0.2, .warmup_steps = 10, .b1 = 0.8, .weight_decay = 0.05, .weight_lr_power = 1.0}));
  check_optimiser("schedule_free_adamw", optim::schedule_free_adamw({.learning_rate = 0.05}));
  check_optimiser(
      "schedule_free_adamw_options",
      optim::schedule_free_adamw(
          {.learning_rate = 0.1, .warmup_steps = 10, .b1 = 0.8, .b2 = 0.9, .eps = 1e-3, .weight_decay = 0.05}));
  check_optimiser("lookahead", fast(optim::lookahead(optim::sgd(0.1), 3, 0.5)));
  check_optimiser("lookahead_reset", fast(optim::lookahead(optim::adam({.learning_rate = 0.1}), 5, 0.8, true)));
  CHECK_THROWS_WITH(optim::lookahead(optim::sgd(0.1), 0, 0.5), contains("lookahead: sync_period: found 0"));

  const array y = tk::full({2}, 2.0f), z = tk::full({2}, 7.0f);
  auto state = optim::schedule_free_sgd().init(y);
  state.z = z;
  CHECK(tk::test::distance(optim::schedule_free_eval_params(state, y), tk::full({2}, (2 - 0.1f * 7) / 0.9f)) < 1e-6);
}

TEST_CASE("lookahead syncs in every third call") {
  const auto ahead = optim::lookahead(optim::scale{-0.25}, 3, 0.5);
  auto both = optim::init_synced(array(3.0, {tk::f32, false, {}}));
  auto state = ahead.init(both);
  for (const double expected : {2.0, 1.0, 1.5, 0.5, -0.5, 0.0}) {
    const auto [updates, next] = ahead.update(array(4.0, {tk::f32, false, {}}), state, both);
    both = optim::apply_updates(both, updates);
    state = next;
    CHECK(both.fast.item<double>() == expected);
  }
  CHECK(both.slow.item<double>() == 0);
}

TEST_CASE("sharpness-aware steps") {
  const auto up = optim::chain(optim::normalize(), optim::sgd(0.05));
  check_optimiser("sam", optim::sam(optim::sgd(0.1), up));
  check_optimiser("sam_options",
                  optim::sam(optim::adam({.learning_rate = 0.05}), optim::adam({.learning_rate = 0.02}), 3, false));
  check_optimiser<loss_functions>("sam_opaque", optim::opaque_sam(optim::adam({.learning_rate = 0.05}), up, 3));
  CHECK_THROWS_WITH(optim::sam(optim::sgd(0.1), up, 0), contains("sam: sync_period: found 0"));
}

TEST_CASE("some calls only") {
  check_optimiser("ema", optim::chain(optim::ema{0.8}, optim::sgd(0.1)));
  check_optimiser("ema_plain", optim::chain(optim::ema{0.5, false}, optim::sgd(0.1)));
  check_optimiser("apply_every", optim::chain(optim::sgd(0.03), optim::apply_every(3)));
  check_optimiser("conditionally_transform",
                  optim::chain(optim::conditionally_transform(optim::adam({.learning_rate = 0.1}), two_of_three),
                               optim::scale{0.1}));
  check_optimiser("conditionally_mask", optim::conditionally_mask(optim::adam({.learning_rate = 0.1}), two_of_three));
  check_optimiser("multi_steps_schedule",
                  optim::multi_steps(optim::adam({.learning_rate = 0.1}),
                                     [](const array& step) { return 1 + tk::rem(step, array(3)); }));
  check_optimiser("multi_steps_sum", optim::multi_steps(optim::sgd(0.03), 2, optim::skip_none{}, false));
  check_optimiser("multi_steps_skip",
                  optim::multi_steps(optim::adam({.learning_rate = 0.1}), 2, optim::skip_large_updates{20}));
  CHECK_THROWS_WITH(optim::apply_every(0), contains("apply_every: k: found 0"));
}

TEST_CASE("a condition sees what update gets") {
  const auto low = [](const array&, const tk::test::loss_at& extra) { return extra.value < 1.0; };
  const auto halved = optim::conditionally_transform(optim::scale{0.5}, low);
  const array g = tk::full({2}, 8.0f);
  const auto updated = [&](double loss) {
    return halved.update(g, halved.init(g), g, tk::test::loss_at{array(loss)}).first.values<float>()[0];
  };
  CHECK(updated(0.5) == 4);
  CHECK(updated(2) == 8);
}

TEST_CASE("multi_steps leaves out gradients that are not finite") {
  const auto every_second = optim::multi_steps(optim::scale{1.0}, 2, optim::skip_not_finite{});
  const array p = tk::zeros({1});
  auto state = every_second.init(p);
  const auto call = [&](float g) {
    auto [u, next] = every_second.update(array::from<float>({g}), state, p);
    state = next;
    return u.values<float>()[0];
  };
  CHECK(call(2) == 0);
  CHECK(call(std::numeric_limits<float>::quiet_NaN()) == 0);
  CHECK(call(std::numeric_limits<float>::infinity()) == 0);
  CHECK_FALSE(optim::has_updated(state).item<bool>());
  CHECK(call(4) == 3);
  CHECK(optim::has_updated(state).item<bool>());
  CHECK(call(1e30f) == 0);
}

TEST_CASE("means of sixteen bits are kept in f32") {
  const auto mean = optim::multi_steps(optim::scale{1.0}, 256);
  const array p = tk::zeros({1}, tk::bf16), one = tk::full({1}, 1.0f, tk::bf16), two = tk::full({1}, 2.0f, tk::bf16);
  auto state = mean.init(p);
  CHECK(state.average.dtype() == tk::f32);
  array last;
  for (int n = 0; n < 256; ++n) {
    auto [u, next] = mean.update(n % 2 == 0 ? one : two, state, p);
    state = next;
    last = u;
  }
  CHECK(last.dtype() == tk::bf16);
  CHECK(tk::astype(last, tk::f32).values<float>()[0] == 1.5f);
}

TEST_CASE("all parameters as one vector") {
  check_optimiser("flatten",
                  optim::flatten(optim::chain(optim::clip_by_block_rms(0.5), optim::adam({.learning_rate = 0.1}))));
  const probes p;
  const auto state = optim::flatten(optim::scale_by_adam{}).init(p);
  CHECK(state.mu.shape() == tk::shape{16});
}

TEST_CASE("measurements of updates are part of the state") {
  const auto norm = [](const auto& u) { return optim::global_norm(u); };
  const auto watch =
      optim::monitor(optim::named<"norm">(norm), optim::named<"smooth">(optim::measure_with_ema{norm, 0.5}));
  const array g = array::from<float>({3, 4});
  auto state = watch.init(g);
  for (const float factor : {1.0f, 2.0f}) {
    auto [u, next] = watch.update(g * factor, state, g);
    CHECK(tk::test::distance(u, g * factor) == 0);
    state = next;
  }
  CHECK(optim::get(state, "norm").item() == 10);
  CHECK(optim::get(state, "smooth").item() == Approx((0.25 * 5 + 0.5 * 10) / 0.75));
  const auto shot = optim::snapshot<"size">(norm);
  CHECK(optim::get(shot.update(g, shot.init(g), g).second, "size").item() == 5);
}
