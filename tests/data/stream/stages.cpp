// tests/data/stream/stages.cpp: what each stage of a stream gives; the numbers are those of Grain's own tests.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/cache.hpp>
#include <tokamax/data/list.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/data/prefetch.hpp>
#include <tokamax/data/shuffle.hpp>
#include <tokamax/data/slice.hpp>
#include <tokamax/data/stream/any_stream.hpp>
#include <tokamax/data/stream/concatenate.hpp>
#include <tokamax/data/stream/filter.hpp>
#include <tokamax/data/stream/flat_map.hpp>
#include <tokamax/data/stream/interleave.hpp>
#include <tokamax/data/stream/limit.hpp>
#include <tokamax/data/stream/repeat.hpp>
#include <tokamax/data/stream/select.hpp>
#include <tokamax/data/stream/shard.hpp>
#include <tokamax/data/stream/window_shuffle.hpp>
#include <tokamax/data/stream/zip.hpp>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using namespace tokamax::data;
using numbers = std::vector<std::int64_t>;

namespace {
// The first elements of a pipeline, at most `most` of them.
template <class Pipeline>
auto read(const Pipeline& pipeline, std::size_t most = 100) {
  std::vector<element_of<Pipeline>> result;
  auto cursor = detail::cursor_of(pipeline);
  while (result.size() < most) {
    auto ticket = cursor.take();
    if (!ticket) break;
    result.push_back(cursor.make(std::move(*ticket)));
  }
  return result;
}
const auto once = repeat(1);
bool is_even(std::int64_t i) { return i % 2 == 0; }
}  // namespace

TEST_CASE("datasets with an index are read without end, or for so many epochs") {
  CHECK(read(range(3), 7) == numbers{0, 1, 2, 0, 1, 2, 0});
  CHECK(read(range(3) | once) == numbers{0, 1, 2});
  CHECK(read(range(2, 9, 3) | repeat(2)) == numbers{2, 5, 8, 2, 5, 8});
  CHECK(read(range(5) | shuffle({.seed = 32}) | repeat(2)) == numbers{2, 4, 3, 0, 1, 0, 2, 4, 1, 3});
  CHECK(read(range(5) | shuffle({.seed = 32}) | repeat(2, {.reseed = false})) == numbers{2, 4, 3, 0, 1, 2, 4, 3, 0, 1});
  CHECK(read(range(3) | repeat(0), 5).size() == 5);
  CHECK(read(range(3) | once | repeat(3)) == numbers{0, 1, 2, 0, 1, 2, 0, 1, 2});
  CHECK(read(range(3) | once | repeat(0), 8) == numbers{0, 1, 2, 0, 1, 2, 0, 1});
  CHECK(read(range(3) | limit(0) | repeat(0)).empty());
  CHECK(read(list(numbers{7, 5}) | limit(3)) == numbers{7, 5, 7});
  CHECK(read(list(numbers{}) | once).empty());
  CHECK(read(list(numbers{}) | repeat(0)).empty());
  CHECK_THROWS_WITH(repeat(-1), contains("found -1"));
  CHECK_THROWS_WITH(limit(-1), contains("found -1"));
  CHECK_THROWS_WITH(range(0, 3, 0), contains("stride"));
}

TEST_CASE("repeat behind a prefetch is repeat before it") {
  std::atomic<int> made = 0;
  const auto source = range(5) | shuffle({.seed = 32}) | map([&](std::int64_t i) {
                        ++made;
                        return i;
                      });
  const auto ahead = source | prefetch({.threads = 2, .elements = 3});
  for (const bool reseed : {true, false}) {
    made = 0;
    CHECK(read(ahead | repeat(2, {reseed})) == read(source | repeat(2, {reseed})));
    CHECK(made == 20);  // and no element of a third epoch
  }
  CHECK(read(ahead | repeat(0), 12) == read(source, 12));
  auto reader = (ahead | repeat(2)).from();
  for (int i = 0; i < 7; ++i) reader.next();
  auto resumed = (source | repeat(2) | prefetch(1)).from(reader.state());
  CHECK(resumed.next()->value == reader.next()->value);
  int left = 0;
  while (resumed.next()) ++left;
  CHECK(left == 2);
}

TEST_CASE("parts of datasets") {
  CHECK(read(range(10) | slice(2, 7) | once) == numbers{2, 3, 4, 5, 6});
  CHECK(read(range(10) | slice(1, 100, 4), 5) == numbers{1, 5, 9, 1, 5});
  CHECK((range(10) | slice(20, 30)).size() == 0);
  CHECK((range(10) | slice(5, 3)).size() == 0);
  // IndexSampler's shards: 8 records in 3 ranges, shuffled by one seed
  const std::pair<std::int64_t, std::int64_t> ranges[] = {{0, 3}, {3, 6}, {6, 8}};
  const numbers expected[] = {{2, 1, 0}, {5, 4, 3}, {6, 7}};
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(read(range(8) | slice(ranges[i].first, ranges[i].second) | shuffle({.seed = 32}) | once) == expected[i]);
  CHECK_THROWS_WITH(slice(-1, 3), contains("-1, 3, 1"));
  CHECK_THROWS_WITH(slice(0, 3, 0), contains("stride from 1"));
}

TEST_CASE("elements are changed, dropped and multiplied") {
  const auto twice = map([](std::int64_t i) { return 2 * i; });
  CHECK(read(range(4) | twice | once) == numbers{0, 2, 4, 6});
  CHECK(read(range(4) | once | twice) == numbers{0, 2, 4, 6});
  const auto with_index = map_with_index([](std::int64_t index, std::int64_t i) { return 10 * index + i; });
  CHECK(read(range(3) | with_index, 5) == numbers{0, 11, 22, 30, 41});
  CHECK(read(range(3) | filter([](std::int64_t i) { return i != 1; }) | with_index, 4) == numbers{0, 12, 20, 32});
  CHECK(read(range(7) | once | filter(is_even)) == numbers{0, 2, 4, 6});
  CHECK(read(range(7) | once | filter([](std::int64_t) { return false; })).empty());
  CHECK_THROWS_WITH(read(range(7) | filter([](std::int64_t) { return false; }, {.longest_gap = 50})),
                    contains("none of 50 in a row"));
  CHECK_THROWS_WITH(filter(is_even, {.longest_gap = 0}), contains("longest_gap"));
  const auto copies = flat_map([](std::int64_t i) { return numbers(static_cast<std::size_t>(i), i); });
  CHECK(read(range(4) | once | copies) == numbers{1, 2, 2, 3, 3, 3});
  CHECK(read(range(4) | copies, 8) == numbers{1, 2, 2, 3, 3, 3, 1, 2});
}

TEST_CASE("a key belongs to the number of an element") {
  const auto words = random_map([](std::int64_t, const tk::random::key& key) {
    return std::int64_t{key.values<std::uint32_t>()[0]} << 32 | key.values<std::uint32_t>()[1];
  });
  const numbers all = read(range(5) | words, 15);
  CHECK(all == read(range(5) | words | prefetch({.threads = 3, .elements = 4}), 15));
  CHECK(all == read(range(5) | once | repeat(0) | words, 15));
  numbers sorted = all;
  std::ranges::sort(sorted);
  CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
  CHECK(all != read(range(5) | random_map(
                                   [](std::int64_t, const tk::random::key& key) {
                                     return std::int64_t{key.values<std::uint32_t>()[0]};
                                   },
                                   {.seed = 1}),
                    15));
}

TEST_CASE("streams are mixed by weights") {
  const auto evens = range(0, 10, 2), odds = range(1, 10, 2);
  struct row {
    std::vector<double> weights;
    numbers expected;
    std::size_t epoch;
  };
  const row rows[] = {{{1, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 10},
                      {{.75, .25}, {0, 2, 4, 1, 6, 8, 0, 3, 2, 4, 6, 5}, 6},
                      {{1, 2}, {0, 1, 3, 2, 5, 7, 4, 9, 1, 6, 3, 5, 8, 7}, 8}};
  for (const row& r : rows) {
    CHECK(read(mix<range>({evens, odds}, r.weights), r.expected.size()) == r.expected);
    const auto epoch = read(mix(std::vector{evens | once, odds | once}, r.weights));
    CHECK(epoch == numbers(r.expected.begin(), r.expected.begin() + std::ptrdiff_t(r.epoch)));
  }
  CHECK_THROWS_WITH(mix<range>({evens, odds}, {1, 0}), contains("not above 0"));
  CHECK_THROWS_WITH(mix<range>({evens, odds}, {1}), contains("found 1, expected 2"));
  CHECK_THROWS_WITH(mix<range>({}, {}), contains("none"));
  CHECK_THROWS_WITH(mix<range>({evens, odds}, {1e-9, 1}), contains("ten million"));
  CHECK(read(select(std::vector{evens, odds}, [](std::int64_t k) { return k % 3 == 0 ? 1 : 0; }), 6) ==
        numbers{1, 0, 2, 3, 4, 6});
  CHECK_THROWS_WITH(read(select(std::vector{evens}, [](std::int64_t k) { return k; })), contains("number of a stream"));
}

TEST_CASE("streams are put behind and beside each other") {
  CHECK(read(concatenate(std::vector{range(2), range(5, 8)}), 7) == numbers{0, 1, 5, 6, 7, 0, 1});
  CHECK(concatenate(std::vector{range(2), range(5, 8)}).size() == 5);
  CHECK(read(concatenate(std::vector{range(2) | shuffle({.seed = 1}) | once, range(9) | shuffle({.seed = 2}) | once}))
            .size() == 11);
  CHECK(read(concatenate(std::vector{range(2) | limit(2), range(7) | limit(0), range(7) | limit(1)})) ==
        numbers{0, 1, 0});
  CHECK(read(concatenate(std::vector<any_stream<std::int64_t>>{})).empty());
  const auto pairs = read(zip(range(3), range(5) | once | map([](std::int64_t i) { return 0.5 * double(i); })));
  REQUIRE(pairs.size() == 5);
  CHECK(pairs[4] == std::tuple<std::int64_t, double>{1, 2});
}

TEST_CASE("streams take turns") {
  const auto lists = [](std::vector<numbers> all) { return list(std::move(all)) | once; };
  const auto each = [](const numbers& one) { return list(one) | limit(std::ssize(one)); };
  const auto growing = lists({{1}, {2, 2}, {3, 3, 3}, {4, 4, 4, 4}, {5, 5, 5, 5, 5}});
  CHECK(read(growing | interleave(each, {.cycle = 2})) == numbers{1, 2, 2, 3, 3, 4, 3, 4, 4, 5, 4, 5, 5, 5, 5});
  CHECK(read(growing | interleave(each, {.cycle = 3})) == numbers{1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 4, 5, 5, 5});
  CHECK(read(growing | interleave(each, {.cycle = 9})).size() == 15);
  // Grain's test has empty ones
  const auto some = lists({{1, 1, 1}, {7}, {3, 3, 3, 3}, {4, 4}, {7}}) |
                    map([](numbers one) { return one == numbers{7} ? numbers{} : one; });
  const auto each_or_none = [](const numbers& one) {
    return (one.empty() ? list(numbers{0}) : list(one)) | limit(std::ssize(one));
  };
  CHECK(read(some | interleave(each_or_none, {.cycle = 3})) == numbers{1, 3, 1, 4, 3, 1, 4, 3, 3});
  CHECK_THROWS_WITH(interleave(each, {.cycle = 0}), contains("cycle"));
}

TEST_CASE("windows are shuffled as Grain does it") {
  CHECK(read(range(10) | once | window_shuffle(3, {.seed = 42})) == numbers{2, 1, 0, 4, 3, 5, 8, 7, 6, 9});
  CHECK(read(range(10) | once | window_shuffle(4, {.seed = 5})) == numbers{3, 2, 0, 1, 7, 4, 5, 6, 8, 9});
  for (const std::int64_t size : {1, 2, 3, 7, 10, 64}) {
    numbers all = read(range(10) | once | window_shuffle(size, {.seed = 7}));
    for (std::size_t first = 0; first < all.size(); first += static_cast<std::size_t>(size))
      std::sort(all.begin() + std::ptrdiff_t(first),
                all.begin() + std::min<std::ptrdiff_t>(std::ptrdiff_t(first) + size, std::ssize(all)));
    CHECK(all == read(range(10) | once));
  }
  CHECK_THROWS_WITH(window_shuffle(0), contains("found 0"));
}

TEST_CASE("shards take turns, and leave out or keep the rest") {
  const auto shard_of = [](std::int64_t size, std::int64_t index, std::int64_t count, bool keep) {
    return read(range(size) | once | shard({index, count, keep}));
  };
  CHECK(shard_of(4, 0, 2, false) == numbers{0, 2});
  CHECK(shard_of(8, 0, 3, true) == numbers{0, 3, 6});
  CHECK(shard_of(8, 2, 3, true) == numbers{2, 5});
  CHECK(shard_of(8, 0, 3, false) == numbers{0, 3});
  CHECK(shard_of(8, 0, 1, false).size() == 8);
  CHECK_THROWS_WITH(shard({3, 3}), contains("3 of 3"));
  std::atomic<int> made = 0;
  const auto counted = range(30) | once | map([&](std::int64_t i) {
                         ++made;
                         return i;
                       });
  CHECK(read(counted | shard({1, 3})).size() == 10);
  CHECK(made == 10);  // elements of other shards are not made
}

TEST_CASE("elements are made once and kept") {
  std::atomic<int> made = 0;
  const auto all = range(4) | map([&](std::int64_t i) { return i * i + 0 * ++made; }) | cache();
  CHECK(read(all | shuffle({.seed = 1}), 20).size() == 20);
  CHECK(read(all, 8) == numbers{0, 1, 4, 9, 0, 1, 4, 9});
  CHECK(made == 4);
}

TEST_CASE("a stream of any type") {
  using any = any_stream<std::int64_t>;
  const std::vector<any> both{any(range(3) | once | filter(is_even)), any(range(5, 8))};
  CHECK(read(concatenate(both), 4) == numbers{0, 2, 5, 6});
  auto reader = both[1].from();
  reader.next();
  auto state = reader.state();
  CHECK(state.source == numbers{0, 1});
  CHECK(both[1].from(state).next()->value == 6);
  for (const numbers& wrong : {numbers{}, numbers{0}, numbers{0, 1, 2}, numbers{0, 3}, numbers{-1, 0}}) {
    state.source = wrong;
    CHECK_THROWS_AS(both[1].from(state), tk::error);
  }
}

TEST_CASE("a reader is a range with an end, and its place stays before an element that fails") {
  numbers steps;
  auto reader = (range(9) | once | filter(is_even)).from();
  for (const auto& [step, value] : reader) {
    CHECK(value == 2 * step);
    steps.push_back(step);
  }
  CHECK(steps == numbers{0, 1, 2, 3, 4});
  CHECK_FALSE(reader.next());
  CHECK(reader.state().step == 5);
  int failures = 2;
  const auto failing = range(6) | once | filter(is_even) | map([&](std::int64_t i) {
                         if (i == 2 && failures-- > 0) throw std::runtime_error("no 2");
                         return i;
                       });
  auto unlucky = failing.from();
  CHECK(unlucky.next()->value == 0);
  CHECK_THROWS_WITH(unlucky.next(), contains("no 2"));
  CHECK(unlucky.state().step == 1);
  CHECK_THROWS_WITH(unlucky.next(), contains("no 2"));
  CHECK(unlucky.next()->value == 2);
  CHECK(unlucky.next()->value == 4);
  CHECK_FALSE(unlucky.next());
}

TEST_CASE("a reader can be closed before its life ends") {
  const auto live = std::make_shared<int>(0);
  auto reader =
      (range(5) | map([live](std::int64_t x) { return x; }) | repeat(0) | prefetch({.threads = 2, .elements = 3}))
          .from();
  CHECK(reader.next()->value == 0);
  const auto place = reader.state();
  CHECK(live.use_count() > 1);
  reader.close();
  CHECK(live.use_count() == 1);
  CHECK_THROWS_WITH(reader.next(), contains("reader: found one that is closed"));
  CHECK_THROWS_WITH(reader.state(), contains("closed"));
  CHECK_THROWS_WITH(reader.set_state(place), contains("closed"));
}

TEST_CASE("stages show what they are made of") {  // what Grain calls parents
  const auto pipeline =
      range(9) | shuffle({.seed = 1}) | slice(2, 6) | map([](std::int64_t x) { return 2 * x; }) | cache();
  CHECK(pipeline.source().source().source().source().size() == 9);
  CHECK(pipeline.source().source()[1] * 2 == pipeline[1]);
  const auto chosen = pipeline | repeat(1) | filter([](std::int64_t x) { return x > 4; });
  CHECK(chosen.source().source().source().size() == 4);
}
