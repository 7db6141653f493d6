// bench/update.cpp: bandwidth of an optimiser's update of many parameters, next to a plain copy.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/vector/rows.hpp>
#include <tokamax/profile.hpp>
#include <tokamax/tokamax.hpp>

#include "support/measure.hpp"

namespace tk = tokamax;

constexpr std::int64_t count = 40'000'000;
using parameters = tk::tensor<tk::f32, count>;
constexpr auto optimizer = tk::optim::adamw({.learning_rate = 3e-4, .weight_decay = 0.1});

struct state {
  parameters p;
  decltype(optimizer.init(parameters{})) opt_state = optimizer.init(parameters{});
};

constexpr auto update = [](state s, const parameters& gradient) {
  auto [updates, opt_state] = optimizer.update(gradient, s.opt_state, s.p);
  return state{tk::optim::apply_updates(s.p, updates), opt_state};
};

parameters filled(float scale) {
  tk::array a = tk::array::uninitialized(parameters::static_type);
  for (std::int64_t i = 0; i < count; ++i)
    a.mutable_data<float>()[i] = static_cast<float>(i * 2654435761 % 1000 - 500) * scale;
  return parameters(a);
}

// A cache of 64 MiB that is given away, of which rows are written: one, twelve in a chain, and 64 in a loop.
using cache = tk::tensor<tk::f32, 4096, 4096>;
using row = tk::tensor<tk::f32, 1, 4096>;
using position = tk::tensor<tk::i32>;
constexpr auto one_row = [](const cache& c, const row& r, const position& at) {
  return cache(tk::dynamic_update_slice_in_dim(c, r, at, 0));
};
constexpr auto twelve_rows = [](const cache& c, const row& r, const position& at) {
  tk::array y = c;
  for (int i = 0; i < 12; ++i) y = tk::dynamic_update_slice_in_dim(y, r, at + 5 * i, 0);
  return cache(y);
};
constexpr auto rows_in_loop = [](const cache& c, const row& r, const position& at) {
  using carry = std::pair<tk::array, tk::array>;
  const auto unfinished = [](const carry& s) { return s.first < 64; };
  const auto step = [&](const carry& s) {
    return std::pair{s.first + 1, tk::dynamic_update_slice_in_dim(s.second, r, at + s.first, 0)};
  };
  return cache(tk::while_loop(unfinished, step, std::pair{tk::array(0), tk::array(c)}).second);
};

template <class F>
void measure_cache(std::string_view name, const F& f) {
  const auto run = tk::jit(f, tk::cpu, tk::while_compiling);
  cache c(tk::array(tk::zeros({4096, 4096})) + 0);
  const row r(tk::array(tk::ones({1, 4096})) + 0);
  const position at(tk::array(3, {tk::i32, false, {}}));
  const auto once = [&] { c = run(std::move(c), r, at); };
  bench::report("update", name, "tokamax", bench::median_seconds(once, 51) * 1e6, "us");
  const tk::profile::timeline recording;
  once();
  double bytes = 0;
  for (const tk::profile::event& e : recording.events()) bytes += e.bytes;
  bench::report("update", fmt::format("{}, moved", name), "tokamax", bytes / (1 << 20), "MiB");
}

// Each byte that must move counts once: the parameter, both moments and the gradient are read, the first three are written.
int main() {
  const auto run = tk::jit(update, tk::cpu, tk::while_compiling);
  const parameters gradient = filled(1e-4f);
  state s{filled(1e-3f)};
  s.opt_state = optimizer.init(s.p);
  tk::array target = tk::array::uninitialized(parameters::static_type);
  const float* const from = gradient.data<float>();
  float* const to = target.mutable_data<float>();
  const auto copy = [=] {
    constexpr std::int64_t chunk = 1 << 14;
    tk::cpu_backend::parallel_for((count + chunk - 1) / chunk, [=](std::int64_t i) {
      const std::int64_t first = i * chunk;
      tk::cpu_backend::for_vectors(std::min(chunk, count - first), [=](std::int64_t j, auto lanes) {
        lanes.put(to + first + j, lanes(from + first + j));
      });
    });
  };
  const std::vector<double> seconds = bench::median_seconds_of({[&] { s = run(std::move(s), gradient); }, copy}, 5);
  bench::report("update", "AdamW of 40000000 parameters", "tokamax", 28e-9 * count / seconds[0], "GB/s");
  bench::report("update", "AdamW of 40000000 parameters", "copy", 8e-9 * count / seconds[1], "GB/s");
  measure_cache("64 MiB, one row", one_row);
  measure_cache("64 MiB, 12 rows in a chain", twelve_rows);
  measure_cache("64 MiB, 64 rows in a loop", rows_in_loop);
}
