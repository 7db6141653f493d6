// tests/nn/experts/mixture_of_experts.cpp: tokens get what their experts give, with the same bits alone and among others, and so do gradients.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/nn/capture.hpp>
#include <tokamax/nn/experts/mixture_of_experts.hpp>
#include <tokamax/nn/experts/router_losses.hpp>
#include <tokamax/nn/initializers/init.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::nn::expert_score;
using tk::nn::mixture_of_experts;
using tk::nn::router_options;

namespace {

/// A mixture for each thing that differs.
std::vector<mixture_of_experts> mixtures() {
  const auto with = [](router_options routing, auto change) {
    mixture_of_experts m{.width = 6, .hidden = 5, .routing = routing};
    change(m);
    const mixture_of_experts shaped{.width = 6,
                                    .hidden = 5,
                                    .routing = routing,
                                    .use_bias = m.use_bias,
                                    .limit = m.limit,
                                    .weighs_inputs = m.weighs_inputs,
                                    .shared_hidden = m.shared_hidden,
                                    .gates_shared = m.gates_shared,
                                    .kernel_init = tk::nn::initializers::normal<0.7>};
    mixture_of_experts filled = tk::init(shaped, tk::random::key(7));
    for (tk::array* a : {&filled.gate_bias, &filled.up_bias, &filled.down_bias, &filled.router.correction})
      *a = tk::random::normal(tk::random::key(8), a->shape());
    return filled;
  };
  const auto none = [](auto&) {};
  return {
      with({.experts = 4, .chosen = 2}, none),
      with({.experts = 5, .chosen = 3, .normalise = true, .scale = 1.5},
           [](auto& m) { m.shared_hidden = 4, m.gates_shared = true; }),
      with({.experts = 4, .chosen = 2, .score = expert_score::softmax_of_chosen, .use_bias = true},
           [](auto& m) { m.use_bias = true, m.limit = 0.5; }),
      with({.experts = 6,
            .chosen = 2,
            .score = expert_score::sigmoid,
            .normalise = true,
            .groups = 3,
            .chosen_groups = 2,
            .best_of_group = 2,
            .use_correction = true},
           [](auto& m) { m.shared_hidden = 3; }),
      with({.experts = 6, .chosen = 3, .groups = 3, .chosen_groups = 2}, none),
      with({.experts = 3, .score = expert_score::sigmoid}, [](auto& m) { m.weighs_inputs = true; }),
      with({.experts = 1}, none),
  };
}

/// The same with every expert for every token, of which those that are not chosen count 0.
tk::array dense(const mixture_of_experts& m, const tk::array& x) {
  const tk::array rows = tk::reshape(x, {-1, m.width});
  const tk::nn::expert_choice by = m.router(rows);
  tk::array y = tk::zeros_like(rows);
  for (int e = 0; e < m.routing.experts; ++e) {
    const tk::array weight =
        tk::sum(tk::select(by.experts == e, by.weights, tk::zeros_like(by.weights)), {.axis = {1}, .keepdims = true});
    const auto part = [&](const tk::array& a) {
      return tk::reshape(tk::slice_in_dim(a, e, e + 1, 0), {a.rank() > 2 ? a.extent(1) : 1, a.extent(-1)});
    };
    const auto product = [&](const tk::array& in, const tk::array& kernel, const tk::array& bias) {
      return m.use_bias ? tk::matmul(in, part(kernel)) + part(bias) : tk::matmul(in, part(kernel));
    };
    const tk::array in = m.weighs_inputs ? rows * weight : rows;
    tk::array g = product(in, m.gate, m.gate_bias), u = product(in, m.up, m.up_bias);
    if (m.limit > 0) {
      g = tk::minimum(g, m.limit), u = tk::clamp(tk::array(-m.limit), u, tk::array(m.limit));
      g = g * tk::logistic(g * m.alpha) * (u + 1.0f);
    } else {
      g = tk::silu(g) * u;
    }
    const tk::array out = product(g, m.down, m.down_bias);
    y = y + (m.weighs_inputs ? out : out * weight);
  }
  if (m.shared_hidden > 0) {
    const tk::array all = m.shared(rows);
    y = y + (m.gates_shared ? all * tk::logistic(m.shared_gate(rows)) : all);
  }
  return tk::reshape(y, x.shape());
}

const tk::array x = tk::random::normal(tk::random::key(3), {2, 4, 6});
std::vector<float> floats(const tk::array& a) {
  const auto v = a.values<float>();
  return {v.begin(), v.end()};
}
double apart(const tk::array& a, const tk::array& b) {
  return a.size() == 0 ? 0 : static_cast<double>(tk::max(tk::abs(a - b)).item());
}

}  // namespace

TEST_CASE("a mixture gives what all experts give if those that are not chosen count nothing, and so do its gradients") {
  for (const mixture_of_experts& m : mixtures()) {
    CAPTURE(m.routing.experts, m.routing.chosen);
    CHECK(apart(m(x), dense(m, x)) < 2e-6);
    const auto loss_of = [](auto f) {
      return
          [f](const mixture_of_experts& w, const tk::array& in) { return tk::sum(tk::square(f(w, in) - tk::cos(in))); };
    };
    const auto sparse = [](const mixture_of_experts& w, const tk::array& in) { return w(in); };
    const auto gradients = [](auto loss) {
      return tk::jit([loss](const mixture_of_experts& w, const tk::array& in) { return tk::grad(loss)(w, in); },
                     tk::any_device(tk::cpu));
    };
    const mixture_of_experts a = gradients(loss_of(sparse))(m, x), b = gradients(loss_of(dense))(m, x);
    std::vector<tk::array> expected;
    tk::for_each_leaf([&](const tk::array& g) { expected.push_back(g); }, b);
    std::size_t i = 0;
    tk::for_each_leaf_with_path(
        [&](std::string_view path, const tk::array& g) {
          CAPTURE(path);
          const double scale = g.size() == 0 ? 0 : static_cast<double>(tk::max(tk::abs(expected[i])).item());
          CHECK(apart(g, expected[i]) <= 2e-6 * std::fmax(1, scale));
          ++i;
          const bool same_for_all = m.routing.experts == 1 && path.starts_with("router");
          if (g.size() != 0 && path != "router.correction" && !same_for_all) CHECK(tk::max(tk::abs(g)).item() > 0);
        },
        a);
  }
}

TEST_CASE("a token has the same bits alone and among others, eager and compiled, with any number of threads") {
  const auto run =
      tk::jit([](const mixture_of_experts& w, const tk::array& in) { return w(in); }, tk::any_device(tk::cpu));
  for (const mixture_of_experts& m : mixtures()) {
    const std::vector<float> all = floats(m(x));
    CHECK(floats(run(m, x)) == all);
    const tk::array rows = tk::reshape(x, {8, 6});
    CHECK(floats(run(m, tk::symbolic(rows))) == all);
    tk::cpu_backend::set_num_threads(3);
    CHECK(floats(run(m, x)) == all);
    tk::cpu_backend::set_num_threads(0);
    for (int i = 0; i < 8; ++i) {
      const std::vector<float> alone = floats(run(m, tk::slice_in_dim(rows, i, i + 1, 0)));
      CHECK(std::equal(alone.begin(), alone.end(), all.begin() + 6 * i));
    }
    CHECK(m(tk::zeros({0, 6})).shape() == tk::shape{0, 6});
  }
}

TEST_CASE("no token is dropped where all choose one expert, and experts that none chooses are not read") {
  mixture_of_experts m = mixtures()[2];
  m.router.gate.bias = tk::array::from<float>({50, 40, -50, -50});
  m.router.gate.bias.materialize();
  const tk::array expected = m(x);
  CHECK(apart(expected, dense(m, x)) < 2e-6);
  const tk::array first = tk::iota(tk::i32, {4, 1, 1}, 0) < 2;
  for (tk::array* a : {&m.gate, &m.up, &m.down}) *a = tk::select(first, *a, tk::full_like(*a, std::nan("")));
  CHECK(floats(m(x)) == floats(expected));
}

TEST_CASE("bfloat16 experts take bfloat16 tokens") {
  mixture_of_experts m = mixtures()[0];
  const tk::array expected = m(x);
  tk::for_each_leaf([](tk::array& a) { a = tk::astype(a, tk::bf16); }, m);
  const tk::array y = m(tk::astype(x, tk::bf16));
  CHECK(y.dtype() == tk::bf16);
  CHECK(apart(tk::astype(y, tk::f32), expected) < 0.1);
}

TEST_CASE("losses of a router are least where experts are used alike, and logits can be captured") {
  const tk::array alike = tk::array::from<float>({9, 0, 0, 0, 9, 0, 0, 0, 9}, {3, 3}),
                  one = tk::array::from<float>({9, 0, 0, 9, 0, 0, 9, 0, 0}, {3, 3});
  CHECK(tk::nn::balance_loss(alike, 1).item() == Approx(1).margin(1e-5));
  CHECK(tk::nn::balance_loss(one, 1).item() == Approx(3).margin(2e-3));
  CHECK(tk::nn::balance_loss(tk::zeros({2, 5, 4}), 2).item() == Approx(2));
  CHECK(tk::nn::router_z_loss(tk::zeros({2, 4})).item() == Approx(std::pow(std::log(4.0), 2)));
  const mixture_of_experts m = mixtures()[0];
  const auto [y, values] = tk::nn::capture([](const mixture_of_experts& w, const tk::array& in) { return w(in); },
                                           [](std::string_view path) { return path == "router.logits"; })(m, x);
  CHECK(floats(values.at("router.logits")) == floats(m.router(tk::reshape(x, {8, 6})).logits));
  const auto pushed = tk::grad([](const mixture_of_experts& w, const tk::array& in) {
    return tk::nn::balance_loss(w.router(in).logits, 2) + tk::nn::router_z_loss(w.router(in).logits);
  })(m, tk::reshape(x, {8, 6}));
  CHECK(tk::max(tk::abs(pushed.router.gate.kernel)).item() > 0);
}
