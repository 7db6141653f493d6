// bench/backend/systolic/measurements.cpp: the simulated TPU beside published numbers, and how fast it is simulated.
// The table goes to stderr; the lines for cmake/bench.cmake have the mean errors of numbers that fitted nothing.
#include <tokamax/backend/systolic/report/measurements.hpp>

#include "support/measure.hpp"

namespace sys = tokamax::systolic_backend;

int main() {
  fmt::print(stderr, "{}", sys::measurement_table());
  for (const auto& [group, error] : sys::model_errors())
    if (error.judged > 0) bench::report("systolic", group, "tokamax", 100 * error.mean, "% mean error");
  const double seconds =
      bench::median_seconds([] { sys::simulate_matmul(sys::v5e, {4096, 4096, 4096}, {.block = {128, 128, 128}}); });
  bench::report("systolic", "4096^3 in blocks of 128", "tokamax", seconds * 1e3, "ms");
}
