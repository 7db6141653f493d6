// tests/models/gpt.cpp: the model whose size is in its type and the one made at run time are the same model.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core.hpp>
#include <tokamax/lax.hpp>
#include <tokamax/models/gpt.hpp>
#include <tokamax/nn.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/ops.hpp>
#include <tokamax/optim.hpp>
#include <tokamax/random.hpp>
#include <tokamax/runtime.hpp>
#include <tokamax/train/step.hpp>
#include <tokamax/transforms.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;

namespace {
constexpr tk::models::gpt_config size{.vocabulary = 32, .context = 8, .width = 16, .heads = 2, .layers = 2};
using fixed = tk::models::fixed_gpt<size>;
struct batch {
  tk::tensor<tk::i32, 4, size.context> inputs, targets;
};
constexpr auto loss_of = [](const auto& model, const batch& b) {
  return tk::mean(tk::softmax_cross_entropy(model(b.inputs), b.targets));
};
constexpr auto optimizer =
    tk::optim::chain(tk::optim::clip_by_global_norm(1.0), tk::optim::adamw({.learning_rate = 1e-2}));
constexpr auto train_step = tk::train::step<loss_of, optimizer>();

batch some_batch() {
  const tk::array ids = tk::random::randint(tk::random::key(5), {4, size.context + 1}, 0, size.vocabulary);
  return {tk::slice_in_dim(ids, 0, size.context, 1), tk::slice_in_dim(ids, 1, size.context + 1, 1)};
}

/// The bytes of the losses of three steps and of all parameters after them.
template <class Model>
std::vector<std::byte> three_steps(const Model& model, const auto& run) {
  std::vector<std::byte> bytes;
  auto append = [&](tk::array a) {
    a.materialize();
    const auto* from = a.storage()->data;
    bytes.insert(bytes.end(), from, from + a.size() * tk::size_of(a.dtype()));
  };
  tk::train::state<Model, optimizer> s{model, optimizer.init(model)};
  for (int i = 0; i < 3; ++i) {
    auto [next, value] = run(std::move(s), some_batch());
    s = std::move(next);
    append(value);
  }
  tk::for_each_leaf([&](const tk::array& a) { append(a); }, s);
  return bytes;
}
}  // namespace

TEST_CASE("static and run-time trace, fixed and free size, one and two threads train to the same bits") {
  const fixed known = tk::init<fixed>(tk::random::key(1));
  const tk::models::gpt free = tk::init(tk::models::make_gpt(size), tk::random::key(1));
  const auto compiled = tk::jit(train_step, tk::cpu);
  const auto late = tk::jit(train_step, tk::cpu, tk::at_run_time);
  tk::cpu_backend::set_num_threads(1);
  const std::vector<std::byte> expected = three_steps(known, compiled);
  CHECK(three_steps(known, late) == expected);
  CHECK(three_steps(free, late) == expected);
  CHECK(three_steps(free, train_step) == expected);
  tk::cpu_backend::set_num_threads(2);
  CHECK(three_steps(known, compiled) == expected);
  CHECK(three_steps(free, late) == expected);
  tk::cpu_backend::set_num_threads(0);
}

TEST_CASE("an untrained GPT knows nothing") {
  const tk::models::gpt model = tk::init(tk::models::make_gpt(size), tk::random::key(2));
  CHECK(loss_of(model, some_batch()).item() == Approx(std::log(32.0)).margin(0.1));
  CHECK(model(some_batch().inputs).type() == tk::array_type{tk::f32, false, {4, 8, 32}});
}

TEST_CASE("a token does not see the tokens after it") {
  const tk::models::gpt model = tk::init(tk::models::make_gpt(size), tk::random::key(2));
  const tk::array a = tk::array::from<std::int32_t>({1, 2, 3, 4, 5}, {1, 5}),
                  b = tk::array::from<std::int32_t>({1, 2, 3, 9, 9}, {1, 5});
  const tk::array x = tk::slice_in_dim(model(a), 0, 3, 1), y = tk::slice_in_dim(model(b), 0, 3, 1);
  CHECK(tk::sum(tk::abs(x - y)).item() == 0);
}

TEST_CASE("impossible sizes are refused") {
  CHECK_THROWS_WITH(tk::models::make_gpt({.width = 30, .heads = 4}), contains("found 30, expected a multiple of 4"));
  CHECK_THROWS_WITH(tk::models::make_gpt({.layers = 0}), contains("gpt: layers: found 0"));
}
