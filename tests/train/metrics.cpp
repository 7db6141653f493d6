// tests/train/metrics.cpp: numbers of a run as lines of JSON, and what a resumed run keeps of them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/train/metrics.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

using tokamax::train::metrics_file;
using points = std::vector<std::pair<double, double>>;

namespace {
std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
}  // namespace

TEST_CASE("a line a step, with numbers that read back exactly") {
  const temporary_folder folder;
  const auto path = folder.path / "metrics.jsonl";
  metrics_file file(path, 0);
  file.write(1, {{"loss", 2.5}});
  file.write(2, {{"loss", 0.1}, {"validation_loss", 1e-20}});
  CHECK(read(path) == "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 0.1, \"validation_loss\": 1e-20}\n");
  CHECK(metrics_file::series(path, "loss") == points{{1, 2.5}, {2, 0.1}});
  CHECK(metrics_file::series(path, "validation_loss") == points{{2, 1e-20}});
  CHECK(metrics_file::series(path, "other").empty());
}

TEST_CASE("a resumed run drops what it will write again, and a line that a kill cut short") {
  const temporary_folder folder;
  const auto path = folder.write("metrics.jsonl",
                                 "{\"step\": 1, \"loss\": 3}\n{\"step\": 2, \"loss\": 2}\n{\"step\": 3, \"loss\": 1}\n"
                                 "{\"step\": 4, \"lo");
  metrics_file file(path, 2);
  CHECK(read(path) == "{\"step\": 1, \"loss\": 3}\n{\"step\": 2, \"loss\": 2}\n");
  file.write(3, {{"loss", 1.5}});
  CHECK(metrics_file::series(path, "loss") == points{{1, 3}, {2, 2}, {3, 1.5}});
}

TEST_CASE("a new run starts an empty file; a file that cannot be written is named") {
  const temporary_folder folder;
  const auto path = folder.write("metrics.jsonl", "{\"step\": 1, \"loss\": 3}\n");
  metrics_file file(path, 0);
  CHECK(read(path).empty());
  CHECK_THROWS_WITH(metrics_file(folder.path / "missing" / "metrics.jsonl", 0), contains("missing"));
}
