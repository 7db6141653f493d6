// tests/data/stream/packing.cpp: sequences in rows of one length, with the numbers of Grain's tests; batches of any size.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/list.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/data/stream/pack.hpp>
#include <tokamax/data/stream/rebatch.hpp>
#include <tokamax/data/stream/repeat.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using namespace tokamax::data;
using numbers = std::vector<std::int32_t>;

namespace {
struct example {
  tk::array tokens, image;
};
// Sequence i has lengths[i] tokens i + 1, and half as many rows of an image.
auto sequences(std::vector<std::int32_t> lengths) {
  std::vector<example> all;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto value = static_cast<std::int32_t>(i + 1);
    const auto n = static_cast<std::size_t>(lengths[i]);
    all.push_back(
        {tk::array::from(numbers(n, value)), tk::array::from(std::vector<float>(n / 2 * 3, static_cast<float>(value)),
                                                             {static_cast<std::int64_t>(n / 2), 3})});
  }
  return list(std::move(all)) | repeat(1);
}
auto tokens(std::vector<numbers> all) {
  std::vector<tk::array> arrays;
  for (const numbers& one : all) arrays.push_back(tk::array::from(one));
  return list(std::move(arrays)) | repeat(1);
}
template <class T = std::int32_t>
std::vector<T> values(const tk::array& a) {
  return {a.values<T>().begin(), a.values<T>().end()};
}
template <class Pipeline>
auto read(const Pipeline& pipeline) {
  std::vector<element_of<Pipeline>> result;
  for (auto reader = pipeline.from(); auto& [step, value] : reader) result.push_back(std::move(value));
  return result;
}
// The sequences of each bin, by their numbers.
std::vector<numbers> bins(const std::vector<std::int32_t>& lengths, std::int64_t length, pack_options options) {
  std::vector<numbers> result;
  for (const auto& row : read(sequences(lengths) | pack(length, options))) {
    numbers in;
    std::int32_t last = 0;
    const auto ids = values(row.segment_ids.tokens), found = values(row.values.tokens);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (ids[i] > last) last = ids[i], in.push_back(found[i]);
    result.push_back(in);
  }
  return result;
}
using rows = std::vector<numbers>;
}  // namespace

TEST_CASE("sequences go into the first bin with room, or the fullest") {
  struct row {
    std::vector<std::int32_t> lengths;
    std::int64_t length;
    rows first, best;
  };
  const row all[] = {{{4, 8, 2}, 10, {{1, 3}, {2}}, {{1}, {2, 3}}},
                     {{10, 15, 4}, 20, {{1, 3}, {2}}, {{1}, {2, 3}}},
                     {{50, 70, 25, 40}, 100, {{1, 3}, {2}, {4}}, {{1, 4}, {2, 3}}},
                     {{10, 15, 4, 10}, 20, {{1, 3}, {2}, {4}}, {{1, 4}, {2, 3}}},
                     {{}, 4, {}, {}}};
  for (const row& r : all) {
    CHECK(bins(r.lengths, r.length, {}) == r.first);
    CHECK(bins(r.lengths, r.length, {.by = fit::best}) == r.best);
  }
  CHECK(bins({3, 3, 3, 3, 3, 1}, 6, {.bins = 2}) == rows{{1, 2}, {3, 4}, {5, 6}});
  CHECK(bins({1, 1, 1, 1, 1}, 9, {.sequences = 2}) == rows{{1, 2}, {3, 4}, {5}});
  CHECK(bins({3, 3, 3}, 9, {.alignment = 4}) == rows{{1, 2}, {3}});
}

TEST_CASE("a packed element has segments and positions for each array") {
  const auto all = read(sequences({4, 6, 2}) | pack(8));
  REQUIRE(all.size() == 2);
  CHECK(values(all[0].values.tokens) == numbers{1, 1, 1, 1, 3, 3, 0, 0});
  CHECK(values(all[0].segment_ids.tokens) == numbers{1, 1, 1, 1, 2, 2, 0, 0});
  CHECK(values(all[0].positions.tokens) == numbers{0, 1, 2, 3, 0, 1, 0, 0});
  CHECK(all[0].values.image.shape() == tk::shape{8, 3});
  CHECK(values<float>(all[0].values.image)[2 * 3 + 1] == 3);
  CHECK(values(all[0].segment_ids.image) == numbers{1, 1, 2, 0, 0, 0, 0, 0});
  const auto narrow = read(sequences({4, 6, 2}) | pack(1, {.lengths = {12, 4}}));
  REQUIRE(narrow.size() == 2);
  CHECK(values(narrow[0].values.tokens) == numbers{1, 1, 1, 1, 3, 3, 0, 0, 0, 0, 0, 0});
  CHECK(narrow[0].values.image.shape() == tk::shape{4, 3});
  const auto apart = read(sequences({3, 3}) | pack(8, {.alignment = 4}));
  CHECK(values(apart[0].values.tokens) == numbers{1, 1, 1, 0, 2, 2, 2, 0});
}

TEST_CASE("sequences that cannot be packed are refused") {
  CHECK_THROWS_WITH(read(sequences({4, 9}) | pack(8)), contains("found 9, expected at most 8"));
  CHECK_THROWS_WITH(read(sequences({4}) | pack(8, {.lengths = {8}})), contains("2, one for each array"));
  CHECK_THROWS_WITH(read(list(std::vector{tk::array(1.0f)}) | repeat(1) | pack(8)), contains("arrays [n, ...]"));
  const std::vector mixed{tk::array::from<std::int32_t>({1}), tk::array::from<float>({1})};
  CHECK_THROWS_WITH(read(list(mixed) | repeat(1) | pack(8)), contains("found f32[1], expected i32[1]"));
  CHECK_THROWS_WITH(pack(0), contains("length"));
  CHECK_THROWS_WITH(pack(1, {.bins = 0}), contains("bins"));
  CHECK_THROWS_WITH(pack(1, {.alignment = 0}), contains("alignment"));
}

TEST_CASE("sequences are put behind each other and cut") {
  const auto all = tokens(
      {{1}, {2, 2}, {3, 3, 3}, {4, 4, 4, 4}, {5, 5, 5, 5, 5}, {6, 6, 6, 6, 6, 6}, {7, 7, 7, 7, 7, 7, 7}, {1}, {2, 2}});
  struct row {
    numbers values, ids, positions;
  };
  const row expected[] = {{{1, 2, 2, 3, 3, 3}, {1, 2, 2, 3, 3, 3}, {0, 0, 1, 0, 1, 2}},
                          {{4, 4, 4, 4, 5, 5}, {1, 1, 1, 1, 2, 2}, {0, 1, 2, 3, 0, 1}},
                          {{5, 5, 5, 6, 6, 6}, {1, 1, 1, 2, 2, 2}, {0, 1, 2, 0, 1, 2}},
                          {{6, 6, 6, 7, 7, 7}, {1, 1, 1, 2, 2, 2}, {0, 1, 2, 0, 1, 2}},
                          {{7, 7, 7, 7, 1, 2}, {1, 1, 1, 1, 2, 3}, {0, 1, 2, 3, 0, 0}},
                          {{2, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}}};
  const auto found = read(all | concat_then_split(6));
  REQUIRE(found.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(values(found[i].values) == expected[i].values);
    CHECK(values(found[i].segment_ids) == expected[i].ids);
    CHECK(values(found[i].positions) == expected[i].positions);
  }
  const auto marked = read(all | concat_then_split(6, {.bos = 1000}));
  CHECK(values(marked[1].values) == numbers{1000, 4, 4, 4, 1000, 5});
  CHECK(values(marked[2].values) == numbers{1000, 5, 5, 1000, 6, 6});
  CHECK(read(tokens({{}, {1}, {}}) | concat_then_split(2)).size() == 1);
  CHECK(read(tokens({}) | concat_then_split(2)).empty());
  CHECK_THROWS_WITH(concat_then_split(0), contains("length"));
  CHECK_THROWS_WITH(read(sequences({4}) | concat_then_split(2)), contains("4 and 2 rows"));
}

TEST_CASE("batches get another size") {
  const auto all = tokens({{1, 2, 3}, {4}, {}, {5, 6, 7, 8}});
  const auto rows_of = [&](std::int64_t count, batch_options options) {
    rows result;
    for (const tk::array& a : read(all | rebatch(count, options))) result.push_back(values(a));
    return result;
  };
  CHECK(rows_of(3, {}) == rows{{1, 2, 3}, {4, 5, 6}});
  CHECK(rows_of(3, {rest_of_batch::keep}) == rows{{1, 2, 3}, {4, 5, 6}, {7, 8}});
  CHECK(rows_of(3, {rest_of_batch::pad}) == rows{{1, 2, 3}, {4, 5, 6}, {7, 8, 0}});
  CHECK(rows_of(100, {}).empty());
  CHECK_THROWS_WITH(rebatch(0), contains("rows"));
}

TEST_CASE("the last batch is left out, smaller, or filled with zeros") {
  const auto all =
      list(std::vector{tk::array::from<float>({1, 2}), tk::array::from<float>({3, 4}), tk::array::from<float>({5, 6})});
  const std::pair<rest_of_batch, std::vector<float>> expected[] = {
      {rest_of_batch::drop, {}}, {rest_of_batch::keep, {5, 6}}, {rest_of_batch::pad, {5, 6, 0, 0}}};
  for (const auto& [rest, last] : expected) {
    const auto index = all | batch<tk::array>(2, {rest});
    const auto stream = read(all | repeat(1) | batch<tk::array>(2, {rest}));
    CHECK(index.size() == (last.empty() ? 1 : 2));
    REQUIRE(stream.size() == static_cast<std::size_t>(index.size()));
    for (std::int64_t i = 0; i < index.size(); ++i)
      CHECK(values<float>(index[i]) == values<float>(stream[static_cast<std::size_t>(i)]));
    if (!last.empty()) CHECK(values<float>(index[3]) == last);  // of the second epoch too
  }
  CHECK_THROWS_WITH(all | batch<tk::array>(4), contains("1 to 3"));
  CHECK((all | batch<tk::array>(4, {rest_of_batch::pad}))[0].shape() == tk::shape{4, 2});
}
