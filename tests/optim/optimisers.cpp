// tests/optim/optimisers.cpp: optimisers on a matrix, a vector and a number, step by step as in tests/golden/optimisers.txt.
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
using tk::test::flat;
using tk::test::probes;
using tk::test::waves;

TEST_CASE("Adam and what divides by other averages") {
  check_optimiser("adam", optim::adam({.learning_rate = 0.1}));
  check_optimiser("nadam", optim::adam({.learning_rate = 0.1, .b1 = 0.8, .nesterov = true}));
  check_optimiser("nadamw", optim::adamw({.learning_rate = 0.1, .weight_decay = 0.1, .nesterov = true}));
  check_optimiser("amsgrad", optim::amsgrad({.learning_rate = 0.1}));
  check_optimiser("amsgrad_plain",
                  optim::amsgrad({.learning_rate = 0.02, .bias_correction_mu = false, .bias_correction_nu = false}));
  check_optimiser("amsgrad_options",
                  optim::amsgrad({.learning_rate = 0.05, .b1 = 0.8, .b2 = 0.9, .eps = 1e-3, .eps_root = 1e-4}));
  check_optimiser("adamax", optim::adamax({.learning_rate = 0.1}));
  check_optimiser("adamaxw",
                  optim::adamaxw({.learning_rate = 0.05, .b1 = 0.7, .b2 = 0.9, .eps = 1e-3, .weight_decay = 0.1}));
  check_optimiser("adabelief", optim::adabelief({.learning_rate = 0.1}));
  check_optimiser(
      "adabelief_nesterov",
      optim::adabelief({.learning_rate = 0.05, .b1 = 0.8, .b2 = 0.9, .eps = 1e-4, .eps_root = 1e-6, .nesterov = true}));
  check_optimiser("yogi", optim::yogi({.learning_rate = 0.1}));
  check_optimiser("yogi_options", optim::yogi({.learning_rate = 0.05, .b1 = 0.8, .b2 = 0.9, .eps = 1e-2}));
  check_optimiser("radam", optim::radam({.learning_rate = 0.1}));
  check_optimiser("radam_nesterov", optim::radam({.learning_rate = 0.05,
                                                  .b1 = 0.8,
                                                  .b2 = 0.9,
                                                  .eps = 1e-4,
                                                  .eps_root = 1e-4,
                                                  .threshold = 3,
                                                  .nesterov = true}));
}

TEST_CASE("trust ratios and signs") {
  check_optimiser("lamb", optim::lamb({.learning_rate = 0.1}));
  check_optimiser("lamb_decay",
                  optim::lamb({.learning_rate = 0.05, .b1 = 0.8, .b2 = 0.9, .eps = 1e-3, .weight_decay = 0.1}));
  check_optimiser("lars", optim::lars({.learning_rate = 0.5}));
  check_optimiser("lars_decay", optim::lars({.learning_rate = 0.1,
                                             .weight_decay = 0.1,
                                             .trust_coefficient = 0.1,
                                             .eps = 1e-3,
                                             .momentum = 0.5,
                                             .nesterov = true}));
  check_optimiser("sign_sgd", optim::sign_sgd(0.05));
}

namespace {
constexpr auto muon = optim::muon({.learning_rate = 0.05});
constexpr auto radam = optim::radam({.learning_rate = 0.05, .nesterov = true});
template <const auto& Optimizer>
struct progress {
  probes p;
  decltype(Optimizer.init(probes{})) state = Optimizer.init(probes{});
};
template <const auto& Optimizer>
constexpr auto step =
    [](const progress<Optimizer>& now, const probes& g) { return Optimizer.update(g, now.state, now.p).first; };
template <const auto& Optimizer>
void check_known() {
  const probes p = waves(0.9, 0.3), g = tk::test::probe_gradient(p, tk::ones({}));
  const progress<Optimizer> now{p, Optimizer.init(p)};
  const auto known = tk::jit(step<Optimizer>, tk::cpu, tk::while_compiling);
  CHECK(tk::to_string(flat(known(now, g))) == tk::to_string(flat(Optimizer.update(g, now.state, p).first)));
}
}  // namespace

TEST_CASE("updates known while compiling have the bits of others") {
  check_known<muon>();
  check_known<radam>();
}

TEST_CASE("states of sixteen bits are kept in f32") {
  const auto check_dtype = [](const auto& optimizer) {
    probes p = tk::tree_map([](const array& a) { return tk::astype(a, tk::bf16); }, waves(0.9, 0.3));
    const auto [updates, state] = optimizer.update(p, optimizer.init(p), p);
    CHECK(updates.matrix.dtype() == tk::bf16);
    bool all = true;
    tk::for_each_leaf([&](const array& a) { all = all && a.dtype() != tk::bf16; }, state);
    CHECK(all);
  };
  check_dtype(optim::amsgrad({.learning_rate = 0.1}));
  check_dtype(optim::adamax({.learning_rate = 0.1}));
  check_dtype(optim::adabelief({.learning_rate = 0.1}));
  check_dtype(optim::yogi({.learning_rate = 0.1}));
  check_dtype(optim::radam({.learning_rate = 0.1}));
  check_dtype(optim::lamb({.learning_rate = 0.1}));
  check_dtype(optim::muon({.learning_rate = 0.1}));
}

TEST_CASE("parameters of sixteen bits take the steps of Optax, too") {
  using tk::test::check_narrow;
  check_narrow("sgd", optim::sgd({.learning_rate = 0.05, .momentum = 0.9, .nesterov = true}));
  check_narrow("adam", optim::adam({.learning_rate = 0.1}));
  check_narrow("adamw", optim::adamw({.learning_rate = 0.05, .weight_decay = 0.1}));
  check_narrow("nadam", optim::adam({.learning_rate = 0.1, .b1 = 0.8, .nesterov = true}));
  check_narrow("amsgrad", optim::amsgrad({.learning_rate = 0.05}));
  check_narrow("adamax", optim::adamax({.learning_rate = 0.05}));
  check_narrow("adabelief", optim::adabelief({.learning_rate = 0.05}));
  check_narrow("yogi", optim::yogi({.learning_rate = 0.05}));
  check_narrow("radam", optim::radam({.learning_rate = 0.05}));
  check_narrow("lamb", optim::lamb({.learning_rate = 0.05, .weight_decay = 0.1}));
  check_narrow("lion", optim::lion({.learning_rate = 0.03}));
  check_narrow("rmsprop", optim::rmsprop({.learning_rate = 0.02, .momentum = 0.8}));
  check_narrow("adagrad", optim::adagrad({.learning_rate = 0.3}));
  check_narrow("adan", optim::adan({.learning_rate = 0.05}));
  check_narrow("ademamix", optim::ademamix({.learning_rate = 0.02}));
  check_narrow("novograd", optim::novograd({.learning_rate = 0.05}));
  check_narrow("muon", optim::muon({.learning_rate = 0.05}));
}
