// tests/transforms/rewrite/rewrite.cpp: passes that change which leaves an argument has.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/transforms/rewrite/rewrite.hpp>

#include <tokamax/checkpoint.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/transforms/rewrite/fold_leaves.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

struct network {
  tk::nn::linear up{4, 8}, down{8, 2};
  array operator()(const array& x) const { return down(tk::tanh(up(x))); }
};
struct adapter {
  array a = tk::nn::parameter({4, 2}), b = tk::nn::parameter({2, 8});
};
struct adapted {
  network base;
  adapter of_up;
};
/// The network with a low-rank adapter beside the kernel of `up`.
const auto forward = [](const adapted& m, const array& x) {
  network f = m.base;
  f.up.kernel = f.up.kernel + 0.5f * tk::matmul(m.of_up.a, m.of_up.b);
  return f(x);
};

adapted some_model() {
  adapted m{tk::init(network{}, tk::random::key(1)), {}};
  m.of_up = {tk::random::normal(tk::random::key(2), {4, 2}), tk::random::normal(tk::random::key(3), {2, 8})};
  return m;
}
std::vector<float> values(array a) {
  const auto v = a.values<float>();
  return {v.begin(), v.end()};
}
std::vector<std::string> paths(const auto& r) {
  std::vector<std::string> all;
  for (const auto& [path, leaf] : r.leaves) all.push_back(path);
  return all;
}
const array x = tk::reshape(tk::arange(12) / 12.0f, {3, 4});
/// A pass that changes nothing.
const auto nothing = [](const tk::graph& g, int) { return tk::rewritten_graph{g, {}}; };

}  // namespace

TEST_CASE("an adapter is merged into its matrix, with equal results in every kind of call") {
  const adapted m = some_model();
  const auto merged = tk::rewrite(forward, tk::fold_leaves());
  const auto packed = merged.prepare(m, x);
  CHECK(paths(packed) ==
        std::vector<std::string>{"base.down.bias", "base.down.kernel", "base.up.bias", "base.up.kernel"});
  const std::vector<float> expected = values(tk::jit(forward, tk::cpu)(m, x));
  CHECK(values(merged(packed, x)) == expected);
  CHECK(values(tk::jit(merged, tk::cpu)(packed, x)) == expected);
  const network whole = packed.as(network{}, "base");
  CHECK(values(whole(x)) == values(forward(m, x)));
  CHECK(values(whole.up.kernel) == values(m.base.up.kernel + 0.5f * tk::matmul(m.of_up.a, m.of_up.b)));
  const auto other = tk::rewrite(forward, tk::fold_leaves("base.down")).prepare(m, x);
  CHECK(paths(other).size() == 6);  // the adapter stays
  CHECK_THROWS_WITH(packed.as(adapted{}), contains("rewritten: leaf of_up.a") && contains("none"));
  CHECK_THROWS_WITH(packed.as(network{.up = {4, 9}}, "base"), contains("f32[4,8]") && contains("f32[4,9]"));
}

TEST_CASE("gradients reach the new leaves, and what was prepared is saved and restored") {
  const adapted m = some_model();
  const auto loss = [](const adapted& f, const array& in) { return tk::sum(tk::square(forward(f, in))); };
  const auto merged = tk::rewrite(loss, tk::fold_leaves());
  const auto packed = merged.prepare(m, x);
  const auto grads = tk::jit(tk::grad(merged), tk::cpu)(packed, x);
  const adapted by_hand = tk::grad(loss)(m, x);
  CHECK(values(grads.leaves.at("base.up.kernel")) == values(by_hand.base.up.kernel));
  const network folded = packed.as(network{}, "base");
  const network direct =
      tk::grad([](const network& f, const array& in) { return tk::sum(tk::square(f(in))); })(folded, x);
  CHECK(values(grads.leaves.at("base.down.kernel")) == values(direct.down.kernel));

  const temporary_folder folder;
  tk::checkpoint::save(folder.path / "packed", packed);
  auto again = merged.prepare(adapted{tk::init(network{}, tk::random::key(7)), m.of_up}, x);
  tk::checkpoint::restore(folder.path / "packed", again);
  CHECK(values(merged(again, x)) == values(merged(packed, x)));
}

TEST_CASE("arguments that are moved in lend their memory to the results") {
  const auto grow = [](const adapted& m, const array& cache) {
    return std::pair{forward(m, tk::ones({1, 4})), cache + 1};
  };
  const auto grown = tk::rewrite(grow, tk::fold_leaves());
  array cache = tk::random::normal(tk::random::key(4), {64});
  const float last = cache.values<float>()[63];
  const void* const before = cache.storage()->data;
  const auto model = grown.prepare(some_model(), cache);
  const auto [y, next] = tk::jit(grown, tk::cpu)(model, std::move(cache));
  CHECK(next.storage()->data == before);
  CHECK(next.values<float>()[63] == last + 1);
}

TEST_CASE("a pass that changes nothing keeps the leaves that are used, and wrong passes are refused") {
  const adapted m = some_model();
  const auto same = tk::rewrite(forward, nothing);
  const auto packed = same.prepare(m, x);
  CHECK(paths(packed).size() == 6);
  CHECK(values(same(packed, x)) == values(forward(m, x)));
  const auto unused = tk::rewrite([](const adapted& f, const array& in) { return f.base.down.bias + in; }, nothing);
  CHECK(paths(unused.prepare(m, tk::ones({2}))) == std::vector<std::string>{"base.down.bias"});
  const auto wrong = [](const tk::graph& g, int) { return tk::rewritten_graph{g, {{g.outputs[0], "result"}}}; };
  CHECK_THROWS_WITH(tk::rewrite(forward, wrong).prepare(m, x),
                    contains("rewrite: leaf") && contains("result depends on more"));
  const auto merged = tk::rewrite(forward, tk::fold_leaves());
  CHECK_THROWS_WITH(same(merged.prepare(m, x), x), contains("rewrite: leaf") && contains("none at of_up.a"));
}

TEST_CASE("programs tell apart what was prepared from models with other static values") {
  struct scaled {
    int factor = 1;
    array w = tk::ones({2});
  };
  const auto f =
      tk::rewrite([](const scaled& s, const array& in) { return s.w * static_cast<float>(s.factor) * in; }, nothing);
  const auto run = tk::jit(f, tk::cpu);
  const array in = tk::ones({2});
  CHECK(run(f.prepare(scaled{2}, in), in).values<float>()[0] == 2);
  CHECK(run(f.prepare(scaled{3}, in), in).values<float>()[0] == 3);
}
