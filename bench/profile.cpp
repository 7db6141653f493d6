// bench/profile.cpp: what a session that records costs the programs of its process.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/session.hpp>
#include <tokamax/tokamax.hpp>

#include "support/measure.hpp"

namespace tk = tokamax;

/// A program of twenty steps on matrices of some rows, with and without a session, in turns; the best of each counts.
int main() {
  tk::cpu_backend::set_num_threads(1);
  const auto f = [](const tk::array& x, const tk::array& w) {
    tk::array y = x;
    for (int i = 0; i < 10; ++i) y = tk::tanh(tk::matmul(y, w) * 0.5f);
    return y;
  };
  for (const std::int64_t rows : {8, 64, 256}) {
    const tk::array x = tk::full({rows, 64}, 0.5f), w = tk::full({64, 64}, 0.01f);
    const auto run = tk::jit(f, tk::cpu, tk::at_run_time);
    const int calls = static_cast<int>(40000 / rows);
    const auto plain = [&] {
      for (int i = 0; i < calls; ++i) run(x, w);
    };
    const auto recorded = [&] {
      const tk::profile::session s({.bytes = 1 << 16});  // it keeps the last ones, as one that stays open does
      plain();
    };
    const auto seconds = bench::best_seconds_of({plain, recorded}, 21);
    const double steps = 20.0 * calls;
    const std::string name = fmt::format("steps of {} rows", rows);
    bench::report("profile", name + ", plain", "tokamax", seconds[0] / steps * 1e9, "ns a step");
    bench::report("profile", name + ", more when recorded", "tokamax", (seconds[1] - seconds[0]) / steps * 1e9,
                  "ns a step");
  }
}
