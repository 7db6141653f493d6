// tests/nn/lora.cpp: adapters beside a model: gradients, plans, merging, training and files.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/lora.hpp>

#include <tokamax/checkpoint.hpp>
#include <tokamax/models/gpt.hpp>
#include <tokamax/nn.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/train/step.hpp>

#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"
#include "support/largest_value.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
namespace lora = tokamax::lora;
using tk::array;
using tk::matching;

namespace lora_test {  // with a name, for clang: the compiler finds fields by a conversion to any type

using model = tk::models::gpt;
using adapters = lora::adapters<model>;
constexpr tk::models::gpt_config size{.vocabulary = 50, .context = 6, .width = 32, .heads = 4, .layers = 2};
const auto loss_of = [](const auto& m, const array& ids, const array& targets) {
  return tk::mean(tk::softmax_cross_entropy(m(ids), targets));
};
const auto adapted_loss = [](const adapters& a, const model& m, const array& ids, const array& targets) {
  return loss_of(lora::apply(m, a), ids, targets);
};
const auto merged_loss = [](const adapters& a, const model& m, const array& ids, const array& targets) {
  return loss_of(lora::merge(m, a), ids, targets);
};
const model start = tk::init(tk::models::make_gpt(size), tk::random::key(1));
const array ids = tk::random::randint(tk::random::key(2), {1, 4}, 0, 50), targets = (ids + 7) % 50;

/// Adapters none of whose factors is zero.
adapters some_adapters(int rank = 8) {
  const auto made = lora::init(start, matching("blocks"), {.rank = rank, .alpha = 16}, tk::random::key(3));
  unsigned seed = 10;
  return tk::tree_map([&](const array& a) { return tk::test::noise(a.shape(), ++seed) * 0.1f; }, made);
}
std::vector<array> arrays_of(const auto& tree) {
  std::vector<array> all;
  tk::for_each_leaf([&](const array& a) { all.push_back(a); }, tree);
  return all;
}
double distance(const auto& a, const auto& b) {
  double most = 0;
  tk::for_each_leaf([&](const array& x, const array& y) { most = std::max(most, tk::test::distance(x, y)); }, a, b);
  return most;
}
struct layers {
  std::array<tk::nn::mlp, 2> blocks = tk::nn::copies<2>(tk::nn::mlp{8, 16});
  tk::nn::embed table{20, 8};
  tk::nn::batch_norm norm{8};
  constexpr array operator()(const array& x) const { return table.logits(blocks[1](blocks[0](table(x)))); }
};

}  // namespace lora_test
using namespace lora_test;

TEST_CASE("gradients of adapters of rank 8 are those of merged matrices") {
  const adapters a = some_adapters();
  const auto [value, g] = tk::jit(tk::value_and_grad(adapted_loss), tk::cpu)(a, start, ids, targets);
  const auto [expected, h] = tk::value_and_grad(merged_loss)(a, start, ids, targets);
  CHECK(tk::test::distance(value, expected) < 1e-6);
  CHECK(arrays_of(g).size() == 2 * 4 * 2);
  CHECK(distance(g, h) < 1e-5);
  const auto eager = tk::value_and_grad(adapted_loss)(a, start, ids, targets).second;
  CHECK(tk::test::bit_difference(arrays_of(g), arrays_of(eager)).empty());
}

TEST_CASE("no program of adapters computes a value of the size of a matrix") {
  const adapters a = some_adapters(4);
  const std::int64_t smallest = 32 * 32 * 4;  // blocks[0].attend.projection.kernel
  const auto gradient = tk::value_and_grad(adapted_loss);
  CHECK(tk::test::largest_value(tk::make_graph(gradient, a, start, ids, targets)) < smallest);
  CHECK(tk::test::largest_value(tk::make_graph(adapted_loss, a, start, ids, targets)) < smallest);
  CHECK(tk::test::largest_value(tk::make_graph(tk::value_and_grad(merged_loss), a, start, ids, targets)) >= smallest);
  const auto again = [&](const adapters& f, const model& m, const array& x, const array& y) {
    return tk::remat([&](const array& in) { return loss_of(lora::apply(m, f), in, y); })(x);
  };
  CHECK(tk::test::largest_value(tk::make_graph(tk::grad(again), a, start, ids, targets)) < smallest);
  const auto text = tk::to_text(tk::make_graph(gradient, a, start, ids, targets));
  CHECK(text.find("blocks[1].attend.qkv") != std::string::npos);  // layers keep their names
}

TEST_CASE("first adapters change nothing, and merged ones are taken out again") {
  const auto first =
      lora::init(start, tk::of_layer<tk::nn::attention> && matching("*.kernel"), {.rank = 2}, tk::random::key(3));
  CHECK(arrays_of(first).size() == 2 * 2 * 2);
  const auto run =
      tk::jit([](const adapters& a, const model& m, const array& x) { return lora::apply(m, a)(x); }, tk::cpu);
  CHECK(tk::test::distance(run(first, start, ids), start(ids)) < 1e-6);
  const auto twice = lora::init(start, tk::of_layer<tk::nn::attention>, {.rank = 2}, tk::random::key(3));
  CHECK(tk::test::bit_difference(arrays_of(first), arrays_of(twice)).empty());  // keys depend on places alone
  const adapters a = some_adapters();
  const model merged = lora::merge(start, a);
  CHECK(tk::test::distance(run(a, start, ids), merged(ids)) < 2e-6);
  CHECK(tk::test::distance(merged(ids), start(ids)) > 1e-3);
  CHECK(distance(lora::unmerge(merged, a), start) < 1e-6);
  const array w = start.blocks[0].attend.qkv.kernel;
  const lora::factors& f = *a.get<"blocks">()[0].get<"attend">().get<"qkv">().get<"kernel">();
  CHECK(f.scale == 2);
  CHECK(tk::test::distance(merged.blocks[0].attend.qkv.kernel, w + 2 * tk::matmul(f.a, f.b)) < 1e-6);
}

TEST_CASE("factors start as in Flax, for matrices alone, in f32 or f64") {
  const layers m = tk::init<layers>(tk::random::key(0));
  const auto made = lora::init(m, !matching("norm"), {.rank = 3, .alpha = 6}, tk::random::key(1));
  int count = 0;
  tk::for_each_leaf(
      [&](const array& w, const std::optional<lora::factors>& f) {
        CHECK(f.has_value() == (w.rank() == 2));
        if (!f) return;
        ++count;
        CHECK(f->scale == 2);
        const double bound = std::sqrt(6.0 / static_cast<double>(w.extent(0)));
        const double most = tk::max(tk::abs(f->a)).item();
        CHECK((most <= bound && most > 0.5 * bound));
        CHECK(tk::max(tk::abs(f->b)).item() == 0);
      },
      m, made);
  CHECK(count == 5);
  const auto of_f64 = lora::init(std::pair{tk::ones({3, 4}, tk::f64), tk::ones({2, 5, 4}, tk::bf16)}, matching("*"),
                                 {.rank = 1}, tk::random::key(1));
  CHECK(of_f64.first->a.dtype() == tk::f64);
  CHECK(of_f64.second->a.dtype() == tk::f32);
  CHECK(of_f64.second->b.shape() == tk::shape{2, 1, 4});
}

TEST_CASE("a training step changes adapters and nothing else, and they are saved under the paths of the model") {
  const auto step = tk::jit(tk::train::step(adapted_loss, tk::optim::adamw({.learning_rate = 2e-2})), tk::cpu);
  const auto optimizer = tk::optim::adamw({.learning_rate = 2e-2});
  auto now = tk::train::start(lora::init(start, matching("blocks"), {.rank = 4}, tk::random::key(3)), optimizer);
  double first = 0, last = 0;
  for (int i = 0; i < 20; ++i) {
    auto [next, value] = step(std::move(now), start, ids, targets);
    now = std::move(next);
    (i ? last : first) = value.item();
  }
  CHECK(last < 0.9 * first);
  const temporary_folder folder;
  tk::checkpoint::save(folder.path / "adapters", now.model, {});
  auto back = lora::init(start, matching("blocks"), {.rank = 4}, tk::random::key(9));
  tk::checkpoint::restore(folder.path / "adapters", back);
  CHECK(tk::test::bit_difference(arrays_of(back), arrays_of(now.model)).empty());
  std::string paths;
  tk::for_each_leaf_with_path([&](std::string_view path, const array&) { paths.append(path).append(" "); }, now.model);
  CHECK(paths.find("blocks[1].feed_forward.up.kernel.a ") != std::string::npos);
}

TEST_CASE("dropout changes what adapters read from step to step, and the model alone stays") {
  const adapters a = some_adapters();
  const auto value = [&](double rate, const tk::random::key& k) {
    return tk::jit([rate](const adapters& f, const model& m, const array& x,
                          const tk::random::key& now) { return lora::apply(m, f, {.rate = rate, .key = now})(x); },
                   tk::cpu)(a, start, ids, k);
  };
  const array plain = tk::jit([](const adapters& f, const model& m, const array& x) { return lora::apply(m, f)(x); },
                              tk::cpu)(a, start, ids);
  const tk::random::key one(1), two(2);
  CHECK(tk::test::distance(value(0, one), plain) == 0);
  CHECK(tk::test::distance(value(1, one), start(ids)) < 1e-6);
  CHECK(tk::test::distance(value(0.3, one), value(0.3, one)) == 0);
  CHECK(tk::test::distance(value(0.3, one), plain) > 1e-3);
  CHECK(tk::test::distance(value(0.3, one), value(0.3, two)) > 1e-3);
  CHECK_THROWS_WITH(value(-0.1, one), contains("lora::apply: dropout") && contains("below 0"));
  CHECK_THROWS_WITH(value(std::nan(""), one), contains("lora::apply: dropout") && contains("nan"));
}

TEST_CASE("stacked layers draw by a key for each of them") {
  const auto layers = tk::init(tk::nn::stack(3, tk::nn::linear{8, 8}), tk::random::key(0));
  auto adapter = lora::init(layers, matching("*.kernel"), {.rank = 2}, tk::random::key(1));
  adapter = tk::tree_map([](const array& v) { return tk::test::noise(v.shape(), 5) * 0.3f; }, adapter);
  const array x = tk::test::noise({4, 8}, 6);
  const auto of = [&](double rate) {
    return tk::jit([rate](const auto& f, const auto& m, const array& in,
                          const tk::random::key& k) { return lora::apply(m, f, {.rate = rate, .key = k})(in); },
                   tk::cpu)(adapter, layers, x, tk::random::key(3));
  };
  CHECK(tk::test::distance(of(0), lora::merge(layers, adapter)(x)) < 2e-6);
  CHECK(tk::test::distance(of(1), layers(x)) < 2e-6);
  CHECK(tk::test::distance(of(0.5), of(0)) > 1e-3);
}

TEST_CASE("lora says what does not fit") {
  const adapters a = some_adapters();
  const auto init = [](const auto& chosen, int rank) {
    return lora::init(start, chosen, {.rank = rank}, tk::random::key(0));
  };
  CHECK_THROWS_WITH(init(matching("block"), 8),
                    contains("lora::init: filter") && contains("no matrix") && contains("lora.cpp"));
  CHECK_THROWS_WITH(init(matching("*.bias"), 8), contains("lora::init: filter"));
  CHECK_THROWS_WITH(init(matching("*"), 0), contains("lora::init: rank") && contains("0"));
  CHECK_THROWS_WITH(lora::apply(start, a), contains("lora::apply: arrays") && contains("lora::merge"));
  auto config = size;
  config.width = 16;
  const model other = tk::init(tk::models::make_gpt(config), tk::random::key(1));
  CHECK_THROWS_WITH(lora::merge(other, a), contains("lora::merge: blocks[0].attend.qkv.kernel") &&
                                               contains("f32[16,48]") && contains("f32[32,8]"));
  CHECK_THROWS_WITH(tk::grad(adapted_loss)(a, other, ids, targets),
                    contains("lora::apply: blocks[0].attend.qkv.kernel"));
}
