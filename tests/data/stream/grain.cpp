// tests/data/stream/grain.cpp: for random options the operations give what Grain's give (tests/golden/make_grain.py).
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/list.hpp>
#include <tokamax/data/loader.hpp>
#include <tokamax/data/shuffle.hpp>
#include <tokamax/data/stream/interleave.hpp>
#include <tokamax/data/stream/pack.hpp>
#include <tokamax/data/stream/repeat.hpp>
#include <tokamax/data/stream/select.hpp>
#include <tokamax/data/stream/window_shuffle.hpp>

#include <fstream>
#include <map>
#include <sstream>

#include "support/catch.hpp"

namespace tk = tokamax;
using namespace tokamax::data;
using numbers = std::vector<std::int64_t>;

namespace {
numbers read(const auto& pipeline) {
  numbers result;
  for (auto reader = pipeline.from(); const auto& [step, value] : reader) result.push_back(value);
  return result;
}
numbers rows(const auto& pipeline) {
  numbers result;
  for (auto reader = pipeline.from(); const auto& [step, row] : reader)
    for (const tk::array& a : {row.values, row.segment_ids, row.positions})
      for (const std::int32_t one : a.template values<std::int32_t>()) result.push_back(one);
  return result;
}
auto sequences(const numbers& options, std::size_t first) {
  std::vector<tk::array> all;
  for (std::size_t i = first; i < options.size(); ++i)
    all.push_back(tk::array::from(
        std::vector<std::int32_t>(static_cast<std::size_t>(options[i]), static_cast<std::int32_t>(i - first + 1))));
  return list(std::move(all)) | repeat(1);
}
numbers packed_by(fit by, const numbers& o) {
  return rows(sequences(o, 4) | pack(o[0], {.bins = o[1], .by = by, .sequences = o[2], .alignment = o[3]}));
}
std::uint32_t seed_of(std::int64_t number) { return static_cast<std::uint32_t>(number); }

using operation = numbers (*)(const numbers&);
const std::map<std::string, operation> operations = {
    {"shuffle", [](const numbers& o) { return read(range(o[0]) | shuffle({.seed = seed_of(o[1])}) | repeat(o[2])); }},
    {"windows",
     [](const numbers& o) { return read(range(o[0]) | repeat(1) | window_shuffle(o[1], {.seed = seed_of(o[2])})); }},
    {"mix",
     [](const numbers& o) {
       return read(mix(std::vector{range(o[0]) | repeat(1), range(1000, 1000 + o[1]) | repeat(1)},
                       {static_cast<double>(o[2]), static_cast<double>(o[3])}));
     }},
    {"first", [](const numbers& o) { return packed_by(fit::first, o); }},
    {"best", [](const numbers& o) { return packed_by(fit::best, o); }},
    {"cut", [](const numbers& o) { return rows(sequences(o, 1) | concat_then_split(o[0])); }},
    {"interleave",
     [](const numbers& o) {
       std::vector<numbers> sources;
       for (std::int64_t i = 0; i + 1 < std::ssize(o); ++i)
         sources.push_back(numbers{100 * i, 100 * i + o[static_cast<std::size_t>(i) + 1]});
       return read(
           list(sources) | repeat(1) |
           interleave([](const numbers& ends) { return range(ends[0], ends[1]) | repeat(1); }, {.cycle = o[0]}));
     }},
    {"sampler",
     [](const numbers& o) {
       const index_sampler sampler(o[0], {.shuffle = o[3] != 0, .seed = seed_of(o[4]), .shard = {o[1], o[2], false}});
       return read(sampler | repeat(o[5]));
     }},
};
}  // namespace

TEST_CASE("operations give for random options what Grain's give") {
  std::ifstream file(std::string(TOKAMAX_ROOT) + "/tests/golden/grain.txt");
  std::map<std::string, int> count;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name;
    words >> name;
    numbers options, expected;
    for (std::string word; words >> word && word != ":";) options.push_back(std::stoll(word));
    for (std::int64_t number = 0; words >> number;) expected.push_back(number);
    INFO(line.substr(0, line.find(':')));
    CHECK(operations.at(name)(options) == expected);
    ++count[name];
  }
  CHECK(count.size() == operations.size());
  for (const auto& [name, rows] : count) CHECK(rows >= 10);
}
