// tests/train/compute_dtype.cpp: a GPT trained in bf16 follows the one trained in f32.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core.hpp>
#include <tokamax/lax.hpp>
#include <tokamax/models/gpt.hpp>
#include <tokamax/nn.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/ops.hpp>
#include <tokamax/optim.hpp>
#include <tokamax/random.hpp>
#include <tokamax/runtime.hpp>
#include <tokamax/train/step.hpp>
#include <tokamax/transforms.hpp>

#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace tk = tokamax;

namespace {
constexpr auto optimizer =
    tk::optim::chain(tk::optim::clip_by_global_norm(1.0), tk::optim::adamw({.learning_rate = 1e-2}));

/// Means of the losses of 50 steps each. Each id is three times the one before plus one of four numbers by chance.
template <tk::precision_policy Policy>
std::vector<double> losses_of_windows() {
  constexpr tk::models::gpt_config small{.vocabulary = 32, .context = 16, .width = 32, .heads = 2, .layers = 2};
  const auto loss = [](const tk::models::gpt& model, const tk::array& b) {
    const tk::array inputs = tk::slice_in_dim(b, 0, 16, 1), targets = tk::slice_in_dim(b, 1, 17, 1);
    return tk::mean(tk::softmax_cross_entropy(model(inputs), targets));
  };
  const auto run = tk::jit(tk::train::step(tk::with_precision<Policy>(loss), optimizer), tk::cpu, tk::at_run_time);
  const tk::models::gpt model = tk::init(tk::models::make_gpt(small), tk::random::key(1));
  auto s = tk::train::start(model, optimizer);
  std::vector<double> means(6, 0.0);
  unsigned chance = 12345;
  for (int i = 0; i < 300; ++i) {
    std::vector<std::int32_t> ids(8 * 17);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      chance = chance * 1664525u + 1013904223u;
      ids[k] = static_cast<std::int32_t>(k % 17 == 0 ? chance >> 27 : (3u * ids[k - 1] + (chance >> 30)) % 32u);
    }
    auto [next, value] = run(std::move(s), tk::array::from<std::int32_t>(ids, {8, 17}));
    s = std::move(next);
    means[static_cast<std::size_t>(i / 50)] += static_cast<double>(value.item()) / 50;
    tk::for_each_leaf([](const tk::array& a) { REQUIRE((a.dtype() == tk::f32 || a.dtype() == tk::i32)); }, s);
  }
  return means;
}
}  // namespace

TEST_CASE("bf16 as compute dtype trains to the losses of f32, to 1 %") {
  const std::vector<double> exact = losses_of_windows<tk::precision_policy{}>(),
                            narrow = losses_of_windows<tk::bf16_compute>();
  CHECK(exact[5] < 0.7 * exact[0]);
  for (std::size_t k = 0; k < exact.size(); ++k) {
    INFO("steps " << 50 * k << " on: " << exact[k] << " and " << narrow[k]);
    CHECK(std::abs(narrow[k] - exact[k]) <= 0.01 * exact[k]);
  }
}
