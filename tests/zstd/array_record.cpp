// tests/zstd/array_record.cpp: compressed files of records, those of array_record and ours.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/sources/array_record.hpp>
#include <tokamax/data/sources/array_record_writer.hpp>
#include <tokamax/zstd.hpp>

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/data_files.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using namespace tokamax::data;

TEST_CASE("compressed records") {
  const temporary_folder folder;
  const std::string theirs = folder.write("theirs", golden_files().at("array_record_zstd")).string();
  const array_record records(theirs);
  REQUIRE(records.size() == 10);
  std::vector<std::string> all;
  for (int i = 0; i < 10; ++i) {
    all.emplace_back();
    for (int k = 0; k <= i; ++k) all.back() += "record " + std::to_string(i) + " ";
    CHECK(records[i] == all.back());
  }
  all.insert(all.end(), 5000, "");  // more records than bytes
  for (const std::int64_t group : {1, 3, 100000}) {
    const std::string ours = (folder.path / "ours").string();
    array_record_writer out(ours, {.group_size = group, .zstd = true});
    for (const std::string& one : all) out.write(one);
    out.finish();
    const array_record back(ours);
    REQUIRE(back.size() == 5010);
    for (std::int64_t i = 0; i < 5010; i += i < 20 ? 1 : 499) CHECK(back[i] == all[static_cast<std::size_t>(i)]);
  }
  std::mt19937 random(1);
  const std::string good = tk::read_file(theirs);
  for (std::size_t i = 0; i < 700; ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1u << random() % 8));
    folder.write("bad", bad);
    try {
      const array_record damaged((folder.path / "bad").string());
      for (std::int64_t k = 0; k < damaged.size(); ++k) damaged[k];
    } catch (const tk::error&) {}
  }
}
