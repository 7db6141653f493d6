// tests/train/metrics.cpp: numbers of a run as lines of JSON, and what a resumed run keeps of them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/train/metrics.hpp>

#include <sys/resource.h>

#include <csignal>

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
// What is kept of `bytes` by a run that goes on from step 9.
std::string kept_of(const std::string& bytes) {
  const temporary_folder folder;
  const auto path = folder.write("metrics.jsonl", bytes);
  const metrics_file file(path, 9);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
  return read(path);
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

TEST_CASE("only whole lines are kept") {
  const std::string one = "{\"step\": 1, \"loss\": 3}\n", two = "{\"step\": 2, \"loss\": -2.5e-7, \"v\": 1}\n";
  CHECK(kept_of(one + two) == one + two);
  CHECK(kept_of(one + two + "{\"step\": 3, \"loss\": 2") == one + two);
  CHECK(kept_of(one + "{\"step\": 3, {\"step\": 4, \"loss\": 2}\n" + two) == one + two);
  CHECK(kept_of(one + "{\"step\": 3, \"lo{\"step\": 4, \"loss\": 2}\n" + two) == one + two);
  CHECK(kept_of(one + "{\"step\": 3, \"loss\": 2{\"step\": 4, \"loss\": 2}\n" + two) == one + two);
  CHECK(kept_of(one + "{\"step\": 10, \"loss\": 2}\n") == one);
  CHECK(kept_of(one + "\n\nx\n{}\n" + std::string("\0\0\n", 3) + two) == one + two);
  CHECK(kept_of(one + two.substr(0, two.size() - 1)) == one + two);  // only its end is missing
}

TEST_CASE("a file that cannot be read is an error, and stays") {
  const temporary_folder folder;
  std::filesystem::create_directory(folder.path / "metrics.jsonl");
  CHECK_THROWS_WITH(metrics_file(folder.path / "metrics.jsonl", 0), contains("Is a directory"));
  CHECK_THROWS_AS(metrics_file::series(folder.path / "metrics.jsonl", "loss"), tokamax::error);
  CHECK_THROWS_AS(metrics_file::series(folder.path / "missing", "loss"), tokamax::error);
  CHECK_THROWS_AS(metrics_file(folder.write("file", "") / "metrics.jsonl", 0), tokamax::error);
}

TEST_CASE("a line that cannot be written is an error, and is written later") {
  const temporary_folder folder;
  const auto path = folder.path / "metrics.jsonl";
  metrics_file file(path, 0);
  file.write(1, {{"loss", 1}});
  struct rlimit limit{}, small{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  small = limit;
  small.rlim_cur = std::filesystem::file_size(path) + 5;  // half of a line fits
  const auto old = signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string message;
  for (const int step : {2, 3}) {
    try {
      file.write(step, {{"loss", 2}});
    } catch (const tokamax::error& e) {
      message += e.what();
    }
  }
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  signal(SIGXFSZ, old);
  CHECK_THAT(message, contains("File too large") && contains("metrics.jsonl"));
  CHECK(metrics_file::series(path, "loss") == points{{1, 1}});
  file.write(4, {{"loss", 2}});
  file.sync();
  CHECK(read(path) ==
        "{\"step\": 1, \"loss\": 1}\n{\"step\": 2, \"loss\": 2}\n{\"step\": 3, \"loss\": 2}\n"
        "{\"step\": 4, \"loss\": 2}\n");
}

TEST_CASE("numbers that JSON lacks are texts") {
  const temporary_folder folder;
  const auto path = folder.path / "metrics.jsonl";
  metrics_file file(path, 0);
  file.write(1, {{"loss", std::nan("")}, {"norm", HUGE_VAL}});
  CHECK(read(path) == "{\"step\": 1, \"loss\": \"nan\", \"norm\": \"inf\"}\n");
  CHECK(metrics_file::series(path, "norm") == points{{1, HUGE_VAL}});
  CHECK(std::isnan(metrics_file::series(path, "loss").at(0).second));
}
