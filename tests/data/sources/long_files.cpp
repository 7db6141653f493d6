// tests/data/sources/long_files.cpp: more data than memory should hold, and what a reader that ends early leaves.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
namespace fs = std::filesystem;
using namespace tokamax::data;

namespace {
struct document {
  std::vector<std::int32_t> ids;
};
// Memory of this process without mapped files, in MiB.
double memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) / 1024;
  return 0;
}
std::ptrdiff_t names_in(const char* folder) { return std::distance(fs::directory_iterator(folder), {}); }
std::string json(std::int64_t number) {
  std::string text = "{\"ids\": [" + std::to_string(number);
  for (std::int64_t i = 0; i < 100 + number * 7919 % 900; ++i) text += ", " + std::to_string((number + i) % 50000);
  return text + "]}";
}
auto batches(const auto& source) {
  return source | shuffle({.seed = 1}) | map([](const document& d) { return tk::array::from(d.ids); }) | repeat(1) |
         pack(1024) | batch<packed<tk::array>>(8, {rest_of_batch::pad}) | prefetch({.threads = 2, .elements = 4});
}
}  // namespace

TEST_CASE("long files pass through little memory, and a reader that ends early leaves nothing") {
  const temporary_folder folder;
  const std::string lines_path = (folder.path / "a.jsonl").string(),
                    records_path = (folder.path / "a.records").string();
  std::int64_t tokens = 0;
  {
    std::ofstream text(lines_path);
    array_record_writer records(records_path, {.group_size = 8});
    for (std::int64_t i = 0; i < 2500; ++i) {  // 9 MB each
      text << json(i) << '\n';
      records.write(json(i));
      tokens += 101 + i * 7919 % 900;
    }
    records.finish();
  }
  REQUIRE(fs::file_size(lines_path) > 7'000'000);
  const auto parsed = array_record(records_path) | map([](const std::string& text) {
                        return tk::checkpoint::parse_json_as<document>(text, "record", "record");
                      });
  const auto check = [&](const auto& pipeline) {
    const std::ptrdiff_t threads = names_in("/proc/self/task"), files = names_in("/proc/self/fd");
    {
      auto reader = pipeline.from();
      for (int i = 0; i < 3; ++i) reader.next();
    }
    CHECK(names_in("/proc/self/task") == threads);
    CHECK(names_in("/proc/self/fd") == files);
    const double before = memory();
    double most = 0;
    std::int64_t found = 0;
    for (auto reader = pipeline.from(); auto batch = reader.next();) {
      for (const std::int32_t id : batch->value.segment_ids.template values<std::int32_t>()) found += id != 0;
      most = std::max(most, memory());
    }
    CHECK(found == tokens);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    CHECK(most - before < 6);
#endif
  };
  check(batches(jsonl<document>(lines_path)));
  check(batches(parsed));
}
