// bench/backend/systolic/systolic.cpp: the simulated TPU beside published numbers, and how fast it is simulated.
// The table goes to stderr; the lines for cmake/bench.cmake have the mean errors of numbers that fitted nothing.
//
// Arguments are files with more numbers to judge the model by, one a line: `id chip case value numbers...`, such as
//
//   mine v5e matmul 875.0 4096 4096 4096 512 1024 1024    microseconds, with the launch; m, k, n, and those of a block
//   mine v4 transfers 1689 4 256                          cycles; how many DMAs, KiB of each
//   mine v4 product 435 1024 128 128                      cycles, with two readings of the counter; m, k, n
#include <tokamax/backend/systolic/report/measurements.hpp>

#include <deque>
#include <fstream>
#include <sstream>

#include "support/measure.hpp"

namespace sys = tokamax::systolic_backend;

namespace {

/// The numbers of a file. `texts` keeps their words.
std::vector<sys::measurement> read(const char* file, std::deque<std::string>& texts) {
  std::vector<sys::measurement> all;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string id, chip, what;
    sys::measurement m{};
    words >> id >> chip >> what >> m.value;
    const bool read_value = static_cast<bool>(words);
    for (double& n : m.numbers) words >> n;
    for (const sys::chip& c : sys::tpus)
      if (c.name == chip) m.on = &c;
    const std::string_view cases[] = {"matmul", "transfers", "product"};
    const auto found = std::ranges::find(cases, what);
    if (!read_value || m.on == nullptr || found == std::end(cases))
      throw tokamax::error("systolic measurement", line, "id, chip, matmul | transfers | product, value, numbers",
                           file);
    m.what = static_cast<sys::measured_case>(found - std::begin(cases));
    m.id = texts.emplace_back(id);
    m.group = texts.emplace_back(chip + " " + what);
    all.push_back(m);
  }
  return all;
}

}  // namespace

int main(int count, char** files) {
  fmt::print(stderr, "{}", sys::measurement_table());
  for (int f = 1; f < count; ++f) {
    std::deque<std::string> texts;
    fmt::print(stderr, "{}:\n{}", files[f], sys::measurement_table(read(files[f], texts)));
  }
  for (const auto& [group, error] : sys::model_errors())
    if (error.judged > 0) bench::report("systolic", group, "tokamax", 100 * error.mean, "% mean error");
  const double seconds =
      bench::median_seconds([] { sys::simulate_matmul(sys::v5e, {4096, 4096, 4096}, {.block = {128, 128, 128}}); });
  bench::report("systolic", "4096^3 in blocks of 128", "tokamax", seconds * 1e3, "ms");
}
