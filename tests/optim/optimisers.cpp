// tests/optim/optimisers.cpp: optimisers on a matrix, a vector and a number, step by step as in tests/data/optimisers.txt.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

#include <tokamax/tokamax.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;

namespace {

struct tree {
  array matrix = tk::zeros({4, 3}), vector = tk::zeros({3}), number = tk::zeros({});
};

array wave(const tk::shape& s, double scale, double shift) {
  array a = array::uninitialized({tk::f32, false, s});
  for (std::int64_t i = 0; i < a.size(); ++i)
    a.mutable_data<float>()[i] = static_cast<float>(std::sin(scale * static_cast<double>(i) + shift));
  return a;
}
tree waves(double scale, double shift) {
  return {wave({4, 3}, scale, shift), wave({3}, scale, shift), wave({}, scale, shift)};
}
tree gradient(const tree& p, int step) {
  const tree target = waves(1.7, 1.1), weight = waves(0.7, 2.0);
  const auto factor = static_cast<float>(1 + std::sin(step) / 2);
  return tk::tree_map([&](const array& a, const array& t, const array& w) { return (w + 1.5f) * (a - t) * factor; }, p,
                      target, weight);
}
array flat(const tree& p) {
  return tk::concatenate({tk::reshape(p.matrix, {12}), p.vector, tk::reshape(p.number, {1})}, 0);
}

// Rows after steps 1, 2, 5 and 10; the updates traced at run time have the bits of eager ones.
template <class Optimizer>
void check(const std::string& name, const Optimizer& optimizer, double tolerance = 4e-6) {
  CAPTURE(name);
  const array expected = tk::test::golden("optimisers.txt", name);
  const auto update =
      tk::jit([&](const tree& g, const auto& s, const tree& p) { return optimizer.update(g, s, p); }, tk::cpu);
  tree p = tk::tree_map([](const array& a) { return 2.0f * a; }, waves(0.9, 0.3));
  auto state = optimizer.init(p);
  int row = 0;
  for (int n = 0; n < 10; ++n) {
    const tree g = gradient(p, n);
    const auto [updates, next] = update(g, state, p);
    if (n == 1) CHECK(tk::to_string(flat(optimizer.update(g, state, p).first)) == tk::to_string(flat(updates)));
    p = optim::apply_updates(p, updates);
    state = next;
    if (n == 0 || n == 1 || n == 4 || n == 9) {
      CAPTURE(n);
      CHECK(tk::test::distance(flat(p), expected[row]) < tolerance);
      ++row;
    }
  }
}

}  // namespace

TEST_CASE("Adam and what divides by other averages") {
  check("adam", optim::adam({.learning_rate = 0.1}));
  check("nadam", optim::adam({.learning_rate = 0.1, .b1 = 0.8, .nesterov = true}));
  check("nadamw", optim::adamw({.learning_rate = 0.1, .weight_decay = 0.1, .nesterov = true}));
  check("amsgrad", optim::amsgrad({.learning_rate = 0.1}));
  check("amsgrad_options",
        optim::amsgrad({.learning_rate = 0.05, .b1 = 0.8, .b2 = 0.9, .eps = 1e-3, .eps_root = 1e-4}));
  check("adamax", optim::adamax({.learning_rate = 0.1}));
  check("adamaxw", optim::adamaxw({.learning_rate = 0.05, .b1 = 0.7, .b2 = 0.9, .eps = 1e-3, .weight_decay = 0.1}));
  check("adabelief", optim::adabelief({.learning_rate = 0.1}));
  check(
      "adabelief_nesterov",
      optim::adabelief({.learning_rate = 0.05, .b1 = 0.8, .b2 = 0.9, .eps = 1e-4, .eps_root = 1e-6, .nesterov = true}));
  check("yogi", optim::yogi({.learning_rate = 0.1}));
  check("yogi_options", optim::yogi({.learning_rate = 0.05, .b1 = 0.8, .b2 = 0.9, .eps = 1e-2}));
  check("radam", optim::radam({.learning_rate = 0.1}), 1e-4);  // r is a difference of numbers near 2000 in f32
  check("radam_nesterov", optim::radam({.learning_rate = 0.05,
                                        .b1 = 0.8,
                                        .b2 = 0.9,
                                        .eps = 1e-4,
                                        .eps_root = 1e-4,
                                        .threshold = 3,
                                        .nesterov = true}));
}

TEST_CASE("trust ratios and signs") {
  check("lamb", optim::lamb({.learning_rate = 0.1}));
  check("lamb_decay", optim::lamb({.learning_rate = 0.05, .b1 = 0.8, .b2 = 0.9, .eps = 1e-3, .weight_decay = 0.1}));
  check("lars", optim::lars({.learning_rate = 0.5}));
  check("lars_decay", optim::lars({.learning_rate = 0.1,
                                   .weight_decay = 0.1,
                                   .trust_coefficient = 0.1,
                                   .eps = 1e-3,
                                   .momentum = 0.5,
                                   .nesterov = true}));
  check("sign_sgd", optim::sign_sgd(0.05));
}

TEST_CASE("Muon steps by orthogonal matrices, and by Adam elsewhere") {
  check("muon", optim::muon({.learning_rate = 0.05}), 1e-4);
  check("muon_options",
        optim::muon(
            {.learning_rate = 0.02, .steps = 3, .beta = 0.9, .weight_decay = 0.1, .nesterov = false, .adaptive = true}),
        1e-4);
  check("muon_rms",
        optim::muon(
            {.learning_rate = 0.02, .consistent_rms = 0.2, .adam_b1 = 0.8, .adam_b2 = 0.9, .adam_weight_decay = 0.05}),
        1e-4);
  for (const tk::shape& s : {tk::shape{6, 6}, tk::shape{3, 9}, tk::shape{9, 3}}) {
    const array x = tk::random::normal(tk::random::key(3), s) + 2.0f * tk::eye(s[0], s[1]);
    const array q = optim::orthogonalize(x, 20, 1e-8, {1.5, -0.5, 0.0});  // these coefficients converge
    const array eye = s[0] <= s[1] ? tk::matmul(q, tk::transpose(q)) : tk::matmul(tk::transpose(q), q);
    CAPTURE(s[0]);
    CHECK(tk::test::distance(eye, tk::eye(std::min(s[0], s[1]))) < 1e-4);
  }
  CHECK_THROWS_WITH(optim::orthogonalize(tk::ones({2, 2, 2})), contains("orthogonalize: matrix"));
}

namespace {
constexpr auto muon = optim::muon({.learning_rate = 0.05});
constexpr auto radam = optim::radam({.learning_rate = 0.05, .nesterov = true});
template <const auto& Optimizer>
struct progress {
  tree p;
  decltype(Optimizer.init(tree{})) state = Optimizer.init(tree{});
};
template <const auto& Optimizer>
constexpr auto step =
    [](const progress<Optimizer>& now, const tree& g) { return Optimizer.update(g, now.state, now.p).first; };
template <const auto& Optimizer>
void check_known() {
  const tree p = waves(0.9, 0.3), g = gradient(p, 0);
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
    tree p = tk::tree_map([](const array& a) { return tk::astype(a, tk::bf16); }, waves(0.9, 0.3));
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
