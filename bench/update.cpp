// bench/update.cpp: bandwidth of an optimiser's update of many parameters, next to a plain copy.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/vector/rows.hpp>
#include <tokamax/tokamax.hpp>

#include "support/measure.hpp"

namespace tk = tokamax;

constexpr std::int64_t count = 40'000'000;
using parameters = tk::tensor<tk::f32, count>;
constexpr auto optimizer = tk::optim::adamw({.learning_rate = 3e-4, .weight_decay = 0.1});

struct state {
  parameters p;
  decltype(optimizer.init(parameters{})) memory = optimizer.init(parameters{});
};

constexpr auto update = [](state s, const parameters& gradient) {
  auto [updates, memory] = optimizer.update(gradient, s.memory, s.p);
  return state{tk::optim::apply_updates(s.p, updates), memory};
};

parameters filled(float scale) {
  tk::array a = tk::array::uninitialized(parameters::static_type);
  for (std::int64_t i = 0; i < count; ++i)
    a.mutable_data<float>()[i] = static_cast<float>(i * 2654435761 % 1000 - 500) * scale;
  return parameters(a);
}

// Each byte that must move counts once: the parameter, both moments and the gradient are read, the first three are written.
int main() {
  const auto run = tk::jit(update, tk::cpu, tk::while_compiling);
  const parameters gradient = filled(1e-4f);
  state s{filled(1e-3f)};
  s.memory = optimizer.init(s.p);
  tk::array target = tk::array::uninitialized(parameters::static_type);
  const float* const from = gradient.data<float>();
  float* const to = target.mutable_data<float>();
  const auto copy = [=] {
    constexpr std::int64_t chunk = 1 << 14;
    tk::simd::parallel_for((count + chunk - 1) / chunk, [=](std::int64_t i) {
      const std::int64_t first = i * chunk;
      tk::simd::for_vectors(std::min(chunk, count - first),
                            [=](std::int64_t j, auto lanes) { lanes.put(to + first + j, lanes(from + first + j)); });
    });
  };
  const std::vector<double> seconds = bench::median_seconds_of({[&] { s = run(std::move(s), gradient); }, copy}, 5);
  bench::report("update", "AdamW of 40000000 parameters", "tokamax", 28e-9 * count / seconds[0], "GB/s");
  bench::report("update", "AdamW of 40000000 parameters", "copy", 8e-9 * count / seconds[1], "GB/s");
}
