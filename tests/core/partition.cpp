// tests/core/partition.cpp: trees in two parts, eagerly and in traces.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/partition.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

struct model {
  std::array<tk::nn::linear, 2> layers = tk::nn::copies<2>(tk::nn::linear{3, 3});
  array scale = tk::ones({3});
  constexpr array operator()(const array& x) const { return layers[1](tk::tanh(layers[0](x))) * scale; }
};
using batch = tk::tensor<tk::f32, 2, 3>;

constexpr auto loss = [](const model& m, const batch& x) { return tk::sum(tk::square(m(x))); };
constexpr auto last_layer = [](const model& m, const batch& x) {
  const auto parts = tk::partition(m, tk::matching("layers[1]"));
  const auto grads = tk::grad([&](const model& t) { return loss(tk::combine(t, parts.second), x); })(parts.first);
  return std::pair{grads.layers[1].kernel, grads.layers[1].bias};
};

constexpr int kept(const auto& chosen) {
  const model all;  // with a name, for g++ 13
  return tk::tree_reduce([](int n, const array& a) { return n + !tk::is_absent(a); }, tk::filter(all, chosen), 0);
}
static_assert(kept(tk::matching("*.bias")) == 2 && kept(tk::matching("layers[*].kernel")) == 2);
static_assert(kept([](const array& a) { return a.rank() == 2; }) == 2 && kept(tk::matching("scale")) == 1);
static_assert(kept([](std::string_view path, const array& a) { return a.rank() == 1 && path != "scale"; }) == 2);
static_assert(kept(tk::matching("*")) == 5 && kept(tk::matching("none")) == 0);

bool same(const array& a, const array& b) {
  if (a.type() != b.type()) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()); ++i)
    if (a.values<float>()[i] != b.values<float>()[i]) return false;
  return true;
}

}  // namespace

TEST_CASE("a partition comes together again") {
  const model m = tk::init<model>(tk::random::key(0));
  const auto [bias, rest] = tk::partition(m, tk::matching("*.bias"));
  CHECK((tk::is_absent(bias.scale) && tk::is_absent(rest.layers[0].bias) && !tk::is_absent(bias.layers[1].bias)));
  CHECK(tk::tree_all(same, m, tk::combine(bias, rest)));
  CHECK(tk::tree_all(same, m, tk::combine(rest, bias)));
}

TEST_CASE("gradients of one part are those of the whole; eagerly, traced at run time and while compiling") {
  const model m = tk::init<model>(tk::random::key(0));
  const batch x = tk::random::normal(tk::random::key(1), {2, 3});
  const model all = tk::grad(loss)(m, x);
  for (const auto& [kernel, bias] : {last_layer(m, x), tk::jit(last_layer, tk::cpu, tk::while_compiling)(m, x),
                                     tk::jit(last_layer, tk::cpu, tk::at_run_time)(m, x)}) {
    CHECK(same(kernel, all.layers[1].kernel));
    CHECK(same(bias, all.layers[1].bias));
  }
}

TEST_CASE("parts are arguments and results of compiled functions") {
  const model m = tk::init<model>(tk::random::key(0));
  const auto [trained, frozen] = tk::partition(m, tk::matching("layers[1]"));
  const auto step =
      tk::jit([](const model& t, const model& f,
                 const array& x) { return tk::grad([&](const model& p) { return tk::sum(tk::combine(p, f)(x)); })(t); },
              tk::cpu);
  const array x = tk::random::normal(tk::random::key(1), {2, 3});
  const model grads = step(trained, frozen, x);
  CHECK(tk::is_absent(grads.scale));
  CHECK(same(grads.layers[1].bias, tk::grad([&](const model& p) { return tk::sum(p(x)); })(m).layers[1].bias));
}
