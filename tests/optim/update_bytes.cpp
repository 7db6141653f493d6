// tests/optim/update_bytes.cpp: an update reads and writes each array once, and its state stays where it is.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/descent/lion.hpp>

#include <tokamax/tokamax.hpp>

#include "support/byte_count.hpp"
#include "support/catch.hpp"
#include "support/functions.hpp"

using namespace tokamax;

namespace {

using leaves = std::vector<array>;

/// A matrix, a vector, an array without elements, and a number.
leaves leaves_of(dtype t, std::uint32_t seed) {
  leaves list;
  for (const shape& s : {shape{300, 500}, shape{700}, shape{0, 3}, shape{}})
    list.push_back(astype(random::normal(random::key(seed++), s), t));
  for (array& a : list) a.materialize();
  return list;
}

template <class State>
leaves list_of(const State& s) {
  leaves list;
  for_each_leaf([&](const array& a) { list.push_back(a); }, s);
  return list;
}

/// Checks an optimiser on parameters of dtype `t`, for which an update must move `bytes` for each parameter.
template <class Optimizer>
void check(const char* name, const Optimizer& optimizer, dtype t, double bytes) {
  CAPTURE(name);
  using memory = decltype(optimizer.init(leaves()));
  const auto update = [optimizer](const std::pair<leaves, memory>& s, const leaves& g) {
    auto [updates, next] = optimizer.update(g, s.second, s.first);
    return std::pair{optim::apply_updates(s.first, updates), next};
  };
  const auto run = jit(update, cpu, at_run_time);
  const leaves start = leaves_of(t, 1), gradient = leaves_of(t, 11);
  std::pair<leaves, memory> s{start, optimizer.init(start)}, eager = s;
  for (int k = 0; k < 3; ++k) {
    s = run(std::move(s), gradient);
    eager = update(eager, gradient);
  }
  CHECK(test::bit_difference(list_of(s), list_of(eager)).empty());
  std::vector<const std::byte*> places;
  for (const array& a : list_of(s)) places.push_back(a.storage()->data);
  test::byte_count count;
  {
    const profile::observed_scope scope(&count);
    s = run(std::move(s), gradient);
  }
  const double parameters = 300 * 500 + 700 + 1;
  CHECK(count.bytes >= bytes * parameters);
  CHECK(count.bytes < bytes * parameters + 400);  // numbers of the step
  const leaves now = list_of(s);
  for (std::size_t k = 0; k < now.size(); ++k) CHECK((now[k].size() < 2 || now[k].storage()->data == places[k]));
}

}  // namespace

TEST_CASE("an update moves each array once") {
  const auto rate = optim::linear(1e-3, 1e-4, 100);
  check("AdamW", optim::adamw({.learning_rate = 1e-3, .weight_decay = 0.1}), f32, 28);
  check("AdamW by a schedule", optim::adamw({.learning_rate = rate, .weight_decay = 0.1}), f32, 28);
  check("Lion", optim::lion({.learning_rate = 1e-3}), f32, 20);
  check("Lion by a schedule", optim::lion({.learning_rate = rate}), f32, 20);
  check("AdamW of bf16", optim::adamw({.learning_rate = 1e-3}), bf16, 2 + 2 + 2 + 16);
  check("Lion with a bf16 moment", optim::lion({.learning_rate = 1e-3, .mu_dtype = bf16}), f32, 16);
  check("gradient descent", optim::sgd(1e-2), f32, 12);
  check("momentum", optim::sgd({.learning_rate = 1e-2, .momentum = 0.9}), f32, 20);
}

namespace {
using matrix = tensor<f32, 300, 500>;
constexpr auto adamw = optim::adamw({.learning_rate = 1e-3, .weight_decay = 0.1});
constexpr auto lion = optim::lion({.learning_rate = 1e-3});
template <const auto& Optimizer>
constexpr auto known_update = [](const matrix& p, const decltype(Optimizer.init(matrix()))& s, const matrix& g) {
  auto [updates, next] = Optimizer.update(g, s, p);
  return std::pair{optim::apply_updates(p, updates), next};
};
template <const auto& Optimizer>
double bytes_while_compiling() {
  const auto run = jit(known_update<Optimizer>, cpu, while_compiling);
  const matrix p(random::normal(random::key(1), {300, 500})), g(random::normal(random::key(2), {300, 500}));
  test::byte_count count;
  const profile::observed_scope scope(&count);
  run(p, Optimizer.init(p), g);
  return count.bytes / (300 * 500);
}
}  // namespace

TEST_CASE("an update that is known while compiling moves each array once") {
  CHECK(bytes_while_compiling<adamw>() < 28.01);
  CHECK(bytes_while_compiling<lion>() < 20.01);
}
