// tests/optim/matrices/muon.cpp: Muon with all of its options, step by step as in tests/golden/optimisers.txt.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/matrices/muon.hpp>

#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"
#include "support/optimiser_rows.hpp"
#include "support/steps_of.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using optim::preconditioning;
using tk::array;
using tk::test::check_optimiser;

namespace {
array wave(const tk::shape& s, double scale) {
  array a = array::uninitialized({tk::f32, false, s});
  for (std::int64_t i = 0; i < a.size(); ++i)
    a.mutable_data<float>()[i] = static_cast<float>(std::sin(scale * static_cast<double>(i) + 0.3));
  return a;
}
/// The third update of Muon for one weight.
void check_weight(const std::string& name, const optim::scale_by_muon& muon) {
  CAPTURE(name);
  const array expected = tk::test::golden("optimisers.txt", name), p = tk::zeros(expected.shape());
  auto state = muon.init(p);
  array u;
  for (int n = 0; n < 3; ++n) {
    auto [update, next] = muon.update(wave(p.shape(), 0.9 + 0.1 * n), state, p);
    u = update;
    state = next;
  }
  const array b = tk::swapaxes(expected, 0, 1), a = tk::swapaxes(u, 0, 1);
  CHECK(tk::test::distance(a, b) < 1e-4);
}
}  // namespace

TEST_CASE("Muon steps by orthogonal matrices, and by Adam elsewhere") {
  check_optimiser("muon", optim::muon({.learning_rate = 0.05}), 1e-4);
  check_optimiser(
      "muon_options",
      optim::muon(
          {.learning_rate = 0.02, .steps = 3, .beta = 0.9, .weight_decay = 0.1, .nesterov = false, .adaptive = true}),
      1e-4);
  check_optimiser(
      "muon_rms",
      optim::muon(
          {.learning_rate = 0.02, .consistent_rms = 0.2, .adam_b1 = 0.8, .adam_b2 = 0.9, .adam_weight_decay = 0.05}),
      1e-4);
  check_optimiser(
      "muon_dion",
      optim::muon({.learning_rate = 0.02, .adam_learning_rate = 0.05, .coefficients = optim::dion_coefficients}), 1e-4);
  check_optimiser("muon_spectral",
                  optim::muon({.learning_rate = optim::linear(0.05, 0.01, 30),
                               .steps = 4,
                               .eps = 1e-3,
                               .preconditioning = preconditioning::spectral}),
                  1e-4);
  check_optimiser("muon_aol",
                  optim::muon({.learning_rate = 0.02,
                               .steps = 4,
                               .adam_learning_rate = optim::linear(0.1, 0.02, 20),
                               .preconditioning = preconditioning::aol}),
                  1e-4);
  check_optimiser("muon_schatten",
                  optim::muon({.learning_rate = 0.02,
                               .beta = 0.8,
                               .nesterov = false,
                               .adam_eps_root = 1e-4,
                               .preconditioning = preconditioning::schatten}),
                  1e-4);
  check_optimiser("muon_polar", optim::muon({.learning_rate = 0.02, .coefficients = optim::polar_express(5)}), 1e-4);
  check_optimiser("muon_mu_dtype", optim::muon({.learning_rate = 0.05, .mu_dtype = tk::bf16}),
                  1e-2);  // Optax rounds beta mu too
  const auto transposed = [](const array& p) -> optim::muon_dimensions {
    if (p.rank() == 2) return {{1}, {0}};
    return {};
  };
  check_optimiser("muon_transposed", optim::muon({.learning_rate = 0.05, .dimensions = transposed}), 1e-4);
}

TEST_CASE("weights of any rank hold matrices") {
  check_weight("muon_heads", {.dimensions = [](const array&) -> optim::muon_dimensions { return {{0}, {1, 2}}; }});
  check_weight("muon_experts", {.adaptive = true,
                                .preconditioning = preconditioning::aol,
                                .dimensions = [](const array&) -> optim::muon_dimensions { return {{1}, {-1}}; }});
  check_weight("muon_last", {.nesterov = false,
                             .preconditioning = preconditioning::schatten,
                             .dimensions = [](const array&) -> optim::muon_dimensions { return {{-1, 1}, {2}}; }});
  const array p = tk::ones({2, 3});
  const auto of = [&](optim::muon_dimensions (*dimensions)(const array&)) {
    const optim::scale_by_muon muon{.dimensions = dimensions};
    return muon.update(p, muon.init(p), p).first;
  };
  CHECK_THROWS_WITH(of([](const array&) -> optim::muon_dimensions { return {{0}, {-2}}; }),
                    contains("muon: dimensions: found axis 0 twice, expected each axis once"));
  CHECK_THROWS_WITH(of([](const array&) -> optim::muon_dimensions { return {{0}, {2}}; }),
                    contains("muon: dimensions: found axis 2, expected an axis of rank 2"));
  CHECK_THROWS_WITH(of([](const array&) -> optim::muon_dimensions { return {}; }), contains("a weight with a matrix"));
}

TEST_CASE("matrices of one shape can be products of one batch") {
  struct layers {
    array a = wave({4, 6}, 0.9), b = wave({4, 6}, 1.3), other = wave({6, 4}, 0.7), c = wave({4, 6}, 0.4);
  };
  const layers g;
  const auto updates = [&](bool together) {
    const optim::scale_by_muon muon{.one_product = together};
    return muon.update(g, muon.init(g), g).first;
  };
  const layers one = updates(true), each = updates(false);
  tk::for_each_leaf([](const array& x, const array& y) { CHECK(tk::test::distance(x, y) < 1e-5); }, one, each);
  const auto products = [&](bool together) {
    const optim::scale_by_muon muon{.one_product = together};
    const std::string text =
        tk::test::steps_of(tk::jit([=](const layers& x) { return muon.update(x, muon.init(x), x).first; }, tk::cpu), g);
    INFO(text);
    int count = 0;
    for (std::size_t at = text.find("dot"); at != std::string::npos; at = text.find("dot", at + 3)) ++count;
    return count;
  };
  CHECK(products(false) == 4 * 15);
  CHECK(products(true) == 2 * 15);
}

TEST_CASE("steps of Newton and Schulz converge to orthogonal matrices") {
  for (const tk::shape& s : {tk::shape{6, 6}, tk::shape{3, 9}, tk::shape{9, 3}, tk::shape{2, 4, 3}}) {
    const std::int64_t m = s[-2], n = s[-1];
    const array x = tk::random::normal(tk::random::key(3), s) + 2.0f * tk::eye(m, n);
    CAPTURE(m, n);
    const auto check = [&](const optim::orthogonalize_options& o, double tolerance) {
      const array q = optim::orthogonalize(x, o), t = tk::swapaxes(q, -2, -1);
      const array eye = m <= n ? tk::matmul(q, t) : tk::matmul(t, q);
      CHECK(tk::test::distance(eye, tk::broadcast_to(tk::eye(std::min(m, n)), eye.shape())) < tolerance);
    };
    check({.steps = 20, .coefficients = {1.5, -0.5, 0.0}}, 1e-4);
    check({.coefficients = optim::polar_express(8)}, 1e-4);
    for (const preconditioning p : {preconditioning::spectral, preconditioning::aol, preconditioning::schatten})
      check({.steps = 20, .coefficients = {1.5, -0.5, 0.0}, .preconditioning = p}, 1e-4);
  }
  CHECK(optim::orthogonalize(tk::ones({0, 3})).shape() == tk::shape{0, 3});
  CHECK(optim::orthogonalize(tk::ones({3, 0}), {.preconditioning = preconditioning::spectral}).size() == 0);
  CHECK(tk::test::distance(optim::orthogonalize(tk::zeros({2, 3})), tk::zeros({2, 3})) == 0);
  CHECK_THROWS_WITH(optim::orthogonalize(tk::ones({2})), contains("orthogonalize: matrix"));
  CHECK_THROWS_WITH(optim::polar_express(0), contains("polar_express: steps: found 0, expected 1 to 12"));
}
