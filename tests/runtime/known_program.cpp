// tests/runtime/known_program.cpp: programs known while compiling check their arguments and join other traces.
#include <tokamax/runtime/known_program.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;
using vector = tk::tensor<tk::f32, 3>;

namespace {
struct scaled {
  bool twice = true;
  array scale = tk::ones({3});
  std::array<array, 2> offsets{tk::zeros({3}), tk::zeros({3})};
};
constexpr auto f = [](const scaled& m, const vector& x) {
  const array y = m.scale * x + m.offsets[0] - m.offsets[1];
  if (m.twice) return tk::sum(y * y);
  return tk::sum(y);
};
constexpr auto known = [](const scaled& m, const vector& x) { return std::pair{f(m, x), m}; };
}  // namespace

TEST_CASE("a layout lists leaves and static values where they lie") {
  const scaled m, other{false};
  const tk::tree_layout l = tk::tree_layout::of<scaled>(&m, "m");
  REQUIRE(l.leaves.size() == 3);
  REQUIRE(l.constants.size() == 1);
  CHECK(l.leaves[2].path == "m.offsets[1]");
  CHECK(&l.leaves[2].leaf(&other) == &other.offsets[1]);
  CHECK(l.constants[0].at.in(&other) == &other.twice);
  CHECK(l.constants[0].equal(&m.twice, &m.twice));
  CHECK(!l.constants[0].equal(&m.twice, &other.twice));
}

TEST_CASE("a compiled program is a part of the trace around it") {
  const auto run = tk::jit(known, tk::cpu);
  const scaled m{true, array::from<float>({1, 2, 3}), {tk::ones({3}), tk::zeros({3})}};
  const vector x(array::from<float>({4, 5, 6}));
  const auto around = [&](const scaled& a, const vector& b) { return run(a, b).first * 2.0f; };
  CHECK(tk::jit(around, tk::cpu)(m, x).item() == 2 * f(m, x).item());
  const auto [value, grads] = tk::value_and_grad(around)(m, x);
  const auto [plain, expected] = tk::value_and_grad(f)(m, x);
  CHECK(value.item() == 2 * plain.item());
  for (int i = 0; i < 3; ++i) CHECK(grads.scale.values<float>()[i] == 2 * expected.scale.values<float>()[i]);
}

TEST_CASE("arguments that do not fit are named inside a trace too") {
  const auto run = tk::jit(known, tk::cpu);
  const auto around = [&](const scaled& a, const vector& b) { return run(a, b).first; };
  const vector x(tk::ones({3}));
  CHECK_THROWS_WITH(tk::jit(around, tk::cpu, tk::at_run_time)(scaled{true, tk::ones({1})}, x),
                    contains("argument 0.scale") && contains("f32[1]") && contains("f32[3]"));
  CHECK_THROWS_WITH(tk::jit(around, tk::cpu, tk::at_run_time)(scaled{false}, x), contains("argument 0.twice"));
}
