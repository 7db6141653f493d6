// tests/support/optimiser_rows.cpp: how an optimiser is run and compared, compiled once.
// SPDX-License-Identifier: Apache-2.0
#include "support/optimiser_rows.hpp"

#include <tokamax/tokamax.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace tokamax::test {

namespace {
array wave(const shape& s, double scale, double shift) {
  array a = array::uninitialized({f32, false, s});
  for (std::int64_t i = 0; i < a.size(); ++i)
    a.mutable_data<float>()[i] = static_cast<float>(std::sin(scale * static_cast<double>(i) + shift));
  return a;
}
}  // namespace

probes waves(double scale, double shift) {
  return {wave({4, 3}, scale, shift), wave({3}, scale, shift), wave({}, scale, shift)};
}
array flat(const probes& p) { return concatenate({reshape(p.matrix, {12}), p.vector, reshape(p.number, {1})}, 0); }
array probe_loss(const probes& p, const array& factor) {
  array total = zeros({});
  for_each_leaf(
      [&](const array& a, const array& t, const array& w) { total = total + sum((w + 1.5f) * (a - t) * (a - t)); }, p,
      waves(1.7, 1.1), waves(0.7, 2.0));
  return total * 0.5f * factor;
}
probes probe_gradient(const probes& p, const array& factor) {
  return tree_map([&](const array& a, const array& t, const array& w) { return (w + 1.5f) * (a - t) * factor; }, p,
                  waves(1.7, 1.1), waves(0.7, 2.0));
}

void check_steps_of(const std::string& name, const list_update& update, std::vector<array> state, double tolerance) {
  CAPTURE(name);
  const array expected = golden("optimisers.txt", name);
  const auto run = jit([&](const probes& g, const std::vector<array>& s, const probes& p, const array& value,
                           const array& factor) { return update(g, s, p, value, factor); },
                       cpu);
  probes p = tree_map([](const array& a) { return 2.0f * a; }, waves(0.9, 0.3));
  int row = 0;
  for (int n = 0; row < static_cast<int>(expected.extent(0)); ++n) {
    const array factor = array::from<float>({static_cast<float>(1 + std::sin(n) / 2)}, {});
    const array value = probe_loss(p, factor);
    const probes g = probe_gradient(p, factor);
    const auto [updates, next] = run(g, state, p, value, factor);
    if (n == 1) CHECK(to_string(flat(update(g, state, p, value, factor).first)) == to_string(flat(updates)));
    p = optim::apply_updates(p, updates);
    state = next;
    for (const int kept : {1, 2, 5, 10, 25, 50})
      if (n + 1 == kept) {
        CAPTURE(kept);
        CHECK(distance(flat(p), expected[row]) < tolerance);
        ++row;
      }
  }
}

double distance_after(const list_update& update, const std::vector<array>& state, int steps) {
  using progress = std::pair<probes, std::vector<array>>;
  const auto run = jit(
      [&](const progress& start) {
        const auto step = [&](const array&, const progress& now) -> progress {
          const array one = ones({});
          auto [updates, next] =
              update(probe_gradient(now.first, one), now.second, now.first, probe_loss(now.first, one), one);
          return {optim::apply_updates(now.first, updates), std::move(next)};
        };
        return fori_loop(0, steps, step, start);
      },
      cpu);
  const progress end = run(progress{tree_map([](const array& a) { return 2.0f * a; }, waves(0.9, 0.3)), state});
  return distance(flat(end.first), flat(waves(1.7, 1.1)));
}

}  // namespace tokamax::test
