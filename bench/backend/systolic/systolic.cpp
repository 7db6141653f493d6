// bench/backend/systolic/systolic.cpp: the simulated TPU beside published numbers, and how fast it is simulated.
// SPDX-License-Identifier: Apache-2.0
//
// Tables go to stderr: all numbers with the model's, those that fitted a constant with what the model says without them,
// and the constants that were fitted or guessed.
// The lines for cmake/bench.cmake have the mean errors, of numbers that fitted nothing and of those that were left out.
//
// Arguments are files with numbers to judge the model by, instead of tests/golden/tpu_measurements.txt and with lines like there:
//
//   mine | v5e own | v5e | matmul | 4096 4096 4096 512 1024 1024 | 875 | | my own machine
#include <tokamax/backend/systolic/report/left_out.hpp>

#include <fstream>
#include <sstream>

#include "support/measure.hpp"

namespace sys = tokamax::systolic_backend;

int main(int count, char** files) {
  const char* published = TOKAMAX_BENCH_SYSTOLIC_NUMBERS;
  for (int f = 1; f < std::max(2, count); ++f) {
    const char* const name = count > 1 ? files[f] : published;
    std::ifstream in(name);
    std::stringstream text;
    text << in.rdbuf();
    const auto all = sys::read_measurements(text.str());
    const auto left_out = sys::each_left_out(all);
    fmt::print(stderr, "{}:\n{}\n{}\n{}\n", name, sys::measurement_table(all), sys::left_out_table(all, left_out),
               sys::constants_text(all));
    for (const auto& [group, error] : sys::model_errors(all))
      if (error.judged > 0) bench::report("systolic", group, "tokamax", 100 * error.mean, "% mean error");
    for (const auto& [group, error] : sys::left_out_errors(all, left_out))
      if (error.judged > 0) bench::report("systolic", group, "each left out", 100 * error.mean, "% mean error");
  }
  const double seconds =
      bench::median_seconds([] { sys::simulate_matmul(sys::v5e, {4096, 4096, 4096}, {.block = {128, 128, 128}}); });
  bench::report("systolic", "4096^3 in blocks of 128", "tokamax", seconds * 1e3, "ms");
}
