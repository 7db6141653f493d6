// tests/nn/stacked.cpp: a loop over layers against the layers one by one.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/stacked.hpp>

#include <tokamax/models/gpt.hpp>
#include <tokamax/nn/lora.hpp>
#include <tokamax/nn/norms/batch_norm.hpp>
#include <tokamax/random/stream.hpp>
#include <tokamax/tokamax.hpp>

#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"
#include "support/largest_value.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

namespace stacked_test {  // with a name, for clang
using block = tk::models::gpt_block;
constexpr int depth = 3;
struct looped {
  nn::stacked<block> blocks = nn::stack(depth, block{16, 2});
  nn::linear head{16, 1};
  constexpr array operator()(const array& x) const { return head(blocks(x)); }
};
struct unrolled {
  std::array<block, depth> blocks = tk::nn::copies<depth>(block{16, 2});
  nn::linear head{16, 1};
  constexpr array operator()(const array& x) const {
    array h = x;
    for (const block& b : blocks) h = b(h);
    return head(h);
  }
};
using points = tk::tensor<tk::f32, 2, 5, 16>;
constexpr auto loss = [](const auto& m, const points& x) { return tk::mean(tk::square(m(x))); };
const points x = tk::test::noise({2, 5, 16}, 1);

/// The largest difference between the stack and the layers, entry by entry.
double distance(const block& stack, const std::array<block, depth>& layers) {
  double most = 0;
  for (int i = 0; i < depth; ++i)
    tk::for_each_leaf(
        [&](const array& all, const array& one) { most = std::max(most, tk::test::distance(all[i], one)); }, stack,
        layers[static_cast<std::size_t>(i)]);
  return most;
}

struct counting {
  nn::linear up{4, 4};
  nn::batch_norm norm{4};
  tk::random::stream noise;
  constexpr array operator()(const array& h, const array& shift) {
    const array y = norm(up(h) + shift);
    return y + 0.1 * tk::random::normal(noise.next(), y.shape());
  }
};
}  // namespace stacked_test
using namespace stacked_test;

TEST_CASE("a stack has the first values, results and gradients of its layers") {
  const looped m = tk::init<looped>(tk::random::key(0));
  const unrolled n = tk::init<unrolled>(tk::random::key(0));
  CHECK(m.blocks.layers.attend.qkv.kernel.shape() == tk::shape{depth, 16, 48});
  CHECK(distance(m.blocks.layers, n.blocks) == 0);
  CHECK(tk::test::distance(m(x), n(x)) < 1e-6);
  for (const bool recompute : {false, true}) {
    looped again = m;
    again.blocks.recompute = recompute;
    const auto [value, g] = tk::jit(tk::value_and_grad(loss), tk::cpu, tk::at_run_time)(again, x);
    const auto [expected, h] = tk::jit(tk::value_and_grad(loss), tk::cpu, tk::at_run_time)(n, x);
    CHECK(tk::test::distance(value, expected) < 1e-6);
    CHECK(distance(g.blocks.layers, h.blocks) < 2e-6);
    CHECK(tk::test::distance(g.head.kernel, h.head.kernel) < 1e-6);
  }
  const auto early = tk::jit(tk::grad(loss), tk::cpu, tk::while_compiling)(m, x);
  const auto late = tk::jit(tk::grad(loss), tk::cpu, tk::at_run_time)(m, x);
  CHECK(tk::test::bit_difference({early.blocks.layers.attend.qkv.kernel, early.head.bias},
                                 {late.blocks.layers.attend.qkv.kernel, late.head.bias})
            .empty());
}

TEST_CASE("a stack is traced as one layer, whose nodes have its name") {
  const auto of = [](int count) { return nn::stack(count, block{16, 2}); };
  const auto forward = [](const nn::stacked<block>& s, const array& in) { return s(in); };
  const tk::graph few = tk::make_graph(forward, of(2), x), many = tk::make_graph(forward, of(50), x);
  CHECK(few.count() == many.count());
  CHECK(tk::to_text(many).find("attend.qkv") != std::string::npos);
}

TEST_CASE("layers of a stack that change are changed, each on its own") {
  const auto stack = tk::init(nn::stack(2, counting{}), tk::random::key(3));
  std::array<counting, 2> layers = tk::init(std::array<counting, 2>{}, tk::random::key(3));
  const array in = tk::test::noise({6, 4}, 2), shift = tk::test::noise({4}, 3);
  auto changed = stack;
  array h = in;
  for (counting& c : layers) h = c(h, shift);
  CHECK(tk::test::distance(changed(in, shift), h) < 1e-6);
  for (int i = 0; i < 2; ++i) {
    const auto& layer = layers[static_cast<std::size_t>(i)];
    CHECK(tk::test::distance(changed.layers.norm.average[i], layer.norm.average) < 1e-6);
    CHECK(tk::test::distance(tk::astype(changed.layers.noise[i], tk::f32), tk::astype(layer.noise, tk::f32)) == 0);
  }
  const auto loss_of = [](nn::stacked<counting> s, const array& a, const array& b) {
    const array value = tk::mean(tk::square(s(a, b)));
    return std::pair{value, s};
  };
  const auto [result, g] = tk::value_and_grad(loss_of, tk::has_aux)(stack, in, shift);
  CHECK(tk::test::distance(result.second.layers.norm.variance, changed.layers.norm.variance) < 1e-6);
  CHECK(g.layers.up.kernel.shape() == tk::shape{2, 4, 4});
}

TEST_CASE("adapters of a stack enter the loop as factors") {
  namespace lora = tk::lora;
  const looped m = tk::init<looped>(tk::random::key(0));
  auto a = lora::init(m, tk::matching("blocks.*.kernel"), {.rank = 1}, tk::random::key(1));
  unsigned seed = 5;
  tk::for_each_leaf([&](array& f) { f = tk::test::noise(f.shape(), ++seed) * 0.2f; }, a);
  for (const bool recompute : {false, true}) {
    looped again = m;
    again.blocks.recompute = recompute;
    const auto adapted = [&](const lora::adapters<looped>& f, const points& in) {
      return loss(lora::apply(again, f), in);
    };
    const auto merged = [&](const lora::adapters<looped>& f, const points& in) {
      return loss(lora::merge(again, f), in);
    };
    const auto [value, g] = tk::jit(tk::value_and_grad(adapted), tk::cpu)(a, x);
    const auto [expected, h] = tk::value_and_grad(merged)(a, x);
    CHECK(tk::test::distance(value, expected) < 1e-6);
    tk::for_each_leaf([](const array& found, const array& wanted) { CHECK(tk::test::distance(found, wanted) < 1e-5); },
                      g, h);
    const auto of_one = [&](const lora::adapters<looped>& f, const array& in) {
      return tk::sum(lora::apply(again, f)(in));
    };
    const array one = tk::test::noise({1, 1, 16}, 2);
    CHECK(tk::test::largest_value(tk::make_graph(tk::value_and_grad(of_one), a, one)) < 3 * 16 * 16 * 4);
  }
}

TEST_CASE("stack says what is wrong") {
  CHECK_THROWS_WITH(nn::stack(0, block{16, 2}), contains("stack: count") && contains("0") && contains("stacked.cpp"));
}
