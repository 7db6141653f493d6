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
probes starting_point() {
  return tree_map([](const array& a) { return 2.0f * a; }, waves(0.9, 0.3));
}
probes empty_leaves() { return {zeros({0, 3}), zeros({0}), wave({}, 0.9, 0.3)}; }
array flat(const probes& p) { return concatenate({reshape(p.matrix, {12}), p.vector, reshape(p.number, {1})}, 0); }
array probe_loss(const probes& p, const array& factor) {
  array total = zeros({});
  for_each_leaf(
      [&](const array& a) {
        const array t = wave(a.shape(), 1.7, 1.1), w = wave(a.shape(), 0.7, 2.0);
        total = total + sum((w + 1.5f) * (a - t) * (a - t));
      },
      p);
  return total * 0.5f * factor;
}
probes probe_gradient(const probes& p, const array& factor) {
  return tree_map(
      [&](const array& a) { return (wave(a.shape(), 0.7, 2.0) + 1.5f) * (a - wave(a.shape(), 1.7, 1.1)) * factor; }, p);
}

static auto jitted(const list_update& update) {
  return jit([&](const probes& g, const std::vector<array>& s, const probes& p, const array& value,
                 const array& factor) { return update(g, s, p, value, factor); },
             cpu);
}
static array factor_of(int step) { return array::from<float>({static_cast<float>(1 + std::sin(step) / 2)}, {}); }

void check_steps_of(const std::string& name, const list_update& update, std::vector<array> state, double tolerance) {
  CAPTURE(name);
  const array expected = golden("optimisers.txt", name);
  const auto run = jitted(update);
  probes p = starting_point();
  int row = 0;
  for (int n = 0; row < static_cast<int>(expected.extent(0)); ++n) {
    const array factor = factor_of(n), value = probe_loss(p, factor);
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

void check_empty_leaves(const std::string& name, const list_update& update, const std::vector<array>& state) {
  CAPTURE(name, "leaves without elements");
  const probes p = empty_leaves();
  const array one = ones({});
  const probes g = probe_gradient(p, one);
  std::vector<array> now = state;
  for (int n = 0; n < 2; ++n) {
    auto [updates, next] = update(g, now, p, probe_loss(p, one), one);
    CHECK(updates.matrix.shape() == p.matrix.shape());
    CHECK(updates.vector.shape() == p.vector.shape());
    CHECK(std::isfinite(updates.number.item()));
    now = next;
  }
}

void check_narrow_steps_of(const std::string& name, const list_update& update, std::vector<array> state) {
  CAPTURE(name);
  const array expected = golden("optimisers.txt", "bf16_" + name);
  const auto run = jitted(update);
  const auto in = [](const probes& p, dtype type) {
    return tree_map([&](const array& a) { return astype(a, type); }, p);
  };
  probes p = in(starting_point(), bf16);
  for (int n = 0; n < 10; ++n) {
    const array factor = factor_of(n);
    const probes wide = in(p, f32);
    const auto [updates, next] =
        run(in(probe_gradient(wide, factor), bf16), state, p, probe_loss(wide, factor), factor);
    p = optim::apply_updates(p, updates);
    state = next;
  }
  const array found = flat(in(p, f32));
  for (std::int64_t i = 0; i < 16; ++i) {
    const float x = found.values<float>()[static_cast<std::size_t>(i)],
                y = expected.values<float>()[static_cast<std::size_t>(i)];
    CAPTURE(i);
    CHECK(std::fabs(x - y) <= 2 * std::ldexp(1.0f, std::ilogb(y) - 7));
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
  const progress end = run(progress{starting_point(), state});
  return distance(flat(end.first), flat(waves(1.7, 1.1)));
}

}  // namespace tokamax::test
