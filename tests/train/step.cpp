// tests/train/step.cpp: a step is the gradient, the update and its application, written out.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/functions.hpp"

namespace tk = tokamax;

namespace {
struct line {
  tk::tensor<tk::f32, 2> slope;
  tk::tensor<tk::f32> offset;
  constexpr tk::array operator()(const tk::array& x) const { return tk::sum(slope * x, {{1}}) + offset; }
};
struct points {
  tk::tensor<tk::f32, 8, 2> x;
  tk::tensor<tk::f32, 8> y;
};
constexpr auto loss = [](const line& m, const points& p) { return tk::mean(tk::square(m(p.x) - p.y)); };
constexpr auto optimizer = tk::optim::adam({.learning_rate = 1e-1});
using state = tk::train::state<line, optimizer>;

state written_out(const state& s, const points& p) {
  auto [value, grads] = tk::value_and_grad(loss)(s.model, p);
  auto [updates, opt_state] = optimizer.update(grads, s.opt_state, s.model);
  return {tk::optim::apply_updates(s.model, updates), opt_state};
}
line first_model() { return {tk::test::noise({2}, 1), tk::array(0.5f)}; }
points some_points() { return {tk::test::noise({8, 2}, 2), tk::test::noise({8}, 3)}; }

std::string bits_of_steps(const auto& step, auto now) {
  const points p = some_points();
  std::string bits;
  for (int i = 0; i < 3; ++i) {
    auto [next, value] = step(std::move(now), p);
    now = std::move(next);
    bits += tk::to_string(value) + " ";
  }
  tk::for_each_leaf([&](const tk::array& a) { bits += tk::to_string(a); }, now);
  return bits;
}
}  // namespace

TEST_CASE("a step is what it is written out, static, at run time and eager") {
  const line model = first_model();
  const state start{model, optimizer.init(model)};
  state expected = start;
  for (int i = 0; i < 3; ++i) expected = written_out(expected, some_points());
  const auto known = tk::train::step<loss, optimizer>();
  const auto made = tk::train::step(loss, optimizer);
  const std::string eager = bits_of_steps(known, start);
  CHECK(eager.find(tk::to_string(expected.model.slope)) != std::string::npos);
  CHECK(bits_of_steps(tk::jit(known, tk::cpu, tk::while_compiling), start) == eager);
  CHECK(bits_of_steps(tk::jit(known, tk::cpu, tk::at_run_time), start) == eager);
  CHECK(bits_of_steps(tk::jit(made, tk::cpu), tk::train::start(model, optimizer)) == eager);
  CHECK(bits_of_steps(made, start) == eager);
}

TEST_CASE("an optimizer that asks for the loss is told it") {
  const auto plateau = tk::optim::chain(tk::optim::sgd({.learning_rate = 0.0}),
                                        tk::optim::reduce_on_plateau({.factor = 0.5, .patience = 1}));
  const auto step = tk::train::step(loss, plateau);
  auto now = tk::train::start(first_model(), plateau);
  for (int i = 0; i < 5; ++i) now = step(now, some_points()).first;
  CHECK(std::get<1>(now.opt_state).scale.item() < 1.0f);
}

TEST_CASE("a loss that is no scalar is refused at the line of the step") {
  const auto step = tk::train::step([](const line& m, const points& p) { return m(p.x); }, optimizer);
  CHECK_THROWS_WITH(step(tk::train::start(first_model(), optimizer), some_points()),
                    contains("grad: value of the function: found f32[8]") && contains("step.cpp"));
}
