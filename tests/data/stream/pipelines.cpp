// tests/data/stream/pipelines.cpp: random pipelines of all stages, restored at every place, by other threads and in other shards.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/json_value.hpp>
#include <tokamax/data.hpp>

#include <algorithm>
#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using namespace tokamax::data;
using numbers = std::vector<std::int32_t>;
using any = any_stream<tk::array>;

namespace {
numbers values(const tk::array& a) { return {a.values<std::int32_t>().begin(), a.values<std::int32_t>().end()}; }
tk::array changed(const tk::array& a, std::int64_t by) {
  numbers all = values(a);
  for (std::int32_t& one : all) one = static_cast<std::int32_t>((one + by) % 1000);
  return tk::array::from(all);
}
std::int64_t sum(const tk::array& a) {
  std::int64_t result = 0;
  for (const std::int32_t one : values(a)) result += one;
  return result;
}
// Sequences of 1 to 8 numbers.
auto sequences(std::int64_t count, std::int32_t first) {
  std::vector<tk::array> all;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers one(static_cast<std::size_t>((i * 5 + first) % 8 + 1));
    for (std::int32_t& value : one) value = first++;
    all.push_back(tk::array::from(one));
  }
  return list(std::move(all));
}
std::vector<tk::array> halves(const tk::array& a) {
  const numbers all = values(a);
  const auto middle = all.begin() + std::ssize(all) / 2;
  return {tk::array::from(numbers(all.begin(), middle)), tk::array::from(numbers(middle, all.end()))};
}
auto pieces(const tk::array& a) {  // a stream of an element, as that of a file
  return list(halves(a)) | repeat(1) | filter([](const tk::array& half) { return half.size() > 0; });
}
tk::array cut(const tk::array& a) {  // so that it fits into a bin
  const numbers all = values(a);
  return tk::array::from(numbers(all.begin(), all.begin() + std::min<std::ptrdiff_t>(40, std::ssize(all))));
}
constexpr auto only_values = [](packed<tk::array> p) { return p.values; };
constexpr auto flat = [](const tk::array& a) { return tk::array(a.storage(), {tk::i32, false, {a.size()}}); };

struct operation {
  const char* name;
  any (*add)(any, std::int64_t number, std::int64_t threads);
};
const operation operations[] = {
    {"map",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return s | map([=](const tk::array& a) { return changed(a, n); });
     }},
    {"map_with_index",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return s | map_with_index([=](std::int64_t i, const tk::array& a) { return changed(a, i * n); });
     }},
    {"random_map",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return s | random_map([](const tk::array& a,
                                const tk::random::key& k) { return changed(a, k.values<std::uint32_t>()[1]); },
                             {.seed = static_cast<std::uint64_t>(n)});
     }},
    {"filter",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return s | filter([=](const tk::array& a) { return sum(a) % (n % 3 + 2) != 0; });
     }},
    {"flat_map", [](any s, std::int64_t, std::int64_t) -> any { return s | flat_map(halves); }},
    {"limit", [](any s, std::int64_t n, std::int64_t) -> any { return s | limit(n + 1); }},
    {"repeat", [](any s, std::int64_t n, std::int64_t) -> any { return s | repeat(n % 3 + 1); }},
    {"window_shuffle",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return s | window_shuffle(n + 1, {.seed = static_cast<std::uint32_t>(n)});
     }},
    {"interleave",
     [](any s, std::int64_t n, std::int64_t) -> any { return s | interleave(pieces, {.cycle = n % 5 + 1}); }},
    {"mix",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return mix<any>({s, sequences(9, 300) | shuffle({.seed = 3})}, {1, 0.25 + double(n)});
     }},
    {"select",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return select<any>({s, sequences(4, 500) | repeat(2)}, [=](std::int64_t k) { return k % (n + 2) == n ? 1 : 0; });
     }},
    {"concatenate",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return concatenate<any>({sequences(n % 4 + 1, 700) | repeat(1), s, sequences(2, 800) | repeat(1)});
     }},
    {"zip",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return zip(s, sequences(n + 1, 600)) | map([](const std::tuple<tk::array, tk::array>& both) {
                return changed(std::get<0>(both), sum(std::get<1>(both)));
              });
     }},
    {"first fit",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return s | map(cut) | pack(n + 40, {.bins = n % 4 + 1}) | map(only_values);
     }},
    {"best fit",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return s | map(cut) | pack(n + 40, {.bins = n % 3 + 1, .by = fit::best, .sequences = n % 5}) | map(only_values);
     }},
    {"concat_then_split",
     [](any s, std::int64_t n, std::int64_t) -> any { return s | concat_then_split(n + 1) | map(only_values); }},
    {"rebatch", [](any s, std::int64_t n, std::int64_t) -> any { return s | rebatch(n + 1, {rest_of_batch::keep}); }},
    {"batch",
     [](any s, std::int64_t n, std::int64_t) -> any {
       return s | concat_then_split(3) | map(only_values) | batch<tk::array>(n % 4 + 1, {rest_of_batch::pad}) |
              map(flat);
     }},
    {"shard", [](any s, std::int64_t n, std::int64_t) -> any { return s | shard({n % 2, 2, true}); }},
    {"prefetch",
     [](any s, std::int64_t n, std::int64_t threads) -> any {
       return s | map([=](const tk::array& a) { return changed(a, n); }) |
              prefetch({.threads = threads, .elements = n % 5 + 1, .bytes = 8 * n + 1});
     }},
};

// The same pipeline for the same seed, but for its number of threads. The first stage after the source is `first`.
any pipeline(std::uint32_t seed, std::size_t first, std::int64_t threads, std::string* names = nullptr) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  any result = sequences(6 + below(9), 0) | shuffle({.seed = seed}) | repeat(1 + below(2));
  const std::int64_t stages = 1 + below(5);
  for (std::int64_t i = 0; i < stages; ++i) {
    const operation& next = operations[i == 0 ? first : static_cast<std::size_t>(below(std::size(operations)))];
    const std::int64_t number = below(12);
    if (names) *names += std::string(" | ") + next.name + "(" + std::to_string(number) + ")";
    result = next.add(result, number, threads);
  }
  return result;
}
constexpr std::size_t most = 20;  // elements that are looked at
std::vector<numbers> tail(auto& reader, std::size_t count) {
  std::vector<numbers> result;
  while (result.size() < count) {
    auto next = reader.next();
    if (!next) break;
    result.push_back(values(next->value));
  }
  return result;
}
}  // namespace

TEST_CASE("every pipeline goes on at every place, on a fresh reader with other threads") {
  std::size_t elements = 0, pipelines = 0;
  for (std::size_t first = 0; first < std::size(operations); ++first) {
    for (std::uint32_t seed = 0; seed < 15; ++seed, ++pipelines) {
      std::string names;
      const any one = pipeline(seed, first, 1, &names);
      const std::int64_t threads = 1 + seed % 4;
      const any other = pipeline(seed, first, threads);
      INFO("seed " << seed << names << ", " << threads << " threads");
      auto straight = one.from();
      auto moving = other.from();
      const std::vector<numbers> all = tail(straight, most);
      elements += all.size();
      for (std::size_t at = 0; at <= all.size(); ++at) {
        const auto place = moving.state();
        REQUIRE(place.step == static_cast<std::int64_t>(at));
        auto resumed = one.from(place);
        REQUIRE(tail(resumed, all.size() - at) == std::vector(all.begin() + std::ptrdiff_t(at), all.end()));
        if (at == all.size()) break;
        REQUIRE(values(moving.next()->value) == all[at]);
        straight.set_state(moving.state());  // a reader that is used goes anywhere, too
        REQUIRE(tail(straight, 1).size() == (at + 1 < all.size() ? 1 : tail(resumed, 1).size()));
      }
    }
  }
  CHECK(pipelines >= 300);
  CHECK(elements > pipelines * 6);
}

TEST_CASE("a run goes on with another number of shards, and each element comes once") {
  for (std::size_t first = 0; first < std::size(operations); ++first) {
    const std::uint32_t seed = 100 + static_cast<std::uint32_t>(first);
    std::string names;
    const any whole = pipeline(seed, first, 2, &names) | limit(60);
    auto straight = whole.from();
    const std::vector<numbers> all = tail(straight, 60);
    for (const std::int64_t before : {1, 2, 3, 8}) {
      for (const std::int64_t after : {1, 2, 3, 8}) {
        INFO(names << ", " << before << " shards, then " << after);
        const std::int64_t rounds = std::min<std::int64_t>(2, std::ssize(all) / before);
        std::vector<numbers> found(all.size());
        decltype((whole | shard({})).from().state()) place{};
        for (std::int64_t i = 0; i < before; ++i) {
          auto reader = (whole | shard({i, before, true})).from();
          for (std::int64_t round = 0; round < rounds; ++round)
            found[static_cast<std::size_t>(round * before + i)] = values(reader.next()->value);
          if (i > 0) REQUIRE(reader.state().source == place.source);
          place = reader.state();
        }
        for (std::int64_t i = 0; i < after; ++i) {
          auto reader = (whole | shard({i, after, true})).from(place);
          std::int64_t at = rounds * before + i;
          for (const numbers& one : tail(reader, 60)) {
            REQUIRE(at < std::ssize(all));
            found[static_cast<std::size_t>(at)] = one;
            at += after;
          }
        }
        REQUIRE(found == all);
      }
    }
  }
}

TEST_CASE("a state is a plain record that metadata hold") {
  const auto all = zip(mix(std::vector{sequences(5, 0) | shuffle({.seed = 1}) | repeat(2),
                                       sequences(9, 50) | shuffle({.seed = 1}) | repeat(1)},
                           {1, 2}) |
                           filter([](const tk::array& a) { return a.size() > 1; }) | flat_map(halves) |
                           interleave(pieces, {.cycle = 2}) | window_shuffle(3) | pack(5, {.bins = 2}),
                       concatenate(std::vector{sequences(3, 0) | repeat(1), sequences(2, 9) | repeat(9)}) |
                           concat_then_split(4) | prefetch({.threads = 2})) |
                   limit(7);
  auto reader = all.from();
  using state = decltype(reader.state());
  for (;;) {
    auto resumed = all.from(
        tk::checkpoint::json_value::parse(tk::checkpoint::json_value::of(reader.state()).text(), "").as<state>("data"));
    auto next = reader.next();
    auto expected = resumed.next();
    REQUIRE(next.has_value() == expected.has_value());
    if (!next) break;
    CHECK(values(std::get<0>(next->value).values) == values(std::get<0>(expected->value).values));
    CHECK(values(std::get<1>(next->value).positions) == values(std::get<1>(expected->value).positions));
  }
  CHECK(reader.state().step >= 4);
}

TEST_CASE("states that no reader had are refused") {
  const auto refused = [](const auto& pipeline, const auto& spoil) {
    auto reader = pipeline.from();
    reader.next();
    auto state = reader.state();
    spoil(state);
    CHECK_THROWS_AS(pipeline.from(state), tk::error);
  };
  const auto all = sequences(5, 0) | repeat(1);
  refused(all, [](auto& s) { s.step = -1; });
  refused(all, [](auto& s) { s.source.count = 6; });
  refused(all, [](auto& s) { s.source.source = {0, 5}; });
  refused(all, [](auto& s) { s.source.source = {-1, 0}; });
  refused(all | flat_map(halves), [](auto& s) { s.source.given = 3; });
  refused(all | repeat(2), [](auto& s) { s.source.count = 2; });
  refused(all | window_shuffle(3), [](auto& s) { s.source.given = 3; });
  refused(all | interleave(pieces, {.cycle = 2}), [](auto& s) { s.source.places.pop_back(); });
  refused(all | interleave(pieces, {.cycle = 2}), [](auto& s) { s.source.next = 2; });
  refused(all | interleave(pieces, {.cycle = 2}), [](auto& s) { s.source.places[0].source.count = 7; });
  refused(mix(std::vector{all}, {1}), [](auto& s) { s.source.sources.clear(); });
  refused(mix(std::vector{all}, {1}), [](auto& s) { s.source.count = -1; });
  refused(concatenate(std::vector{all}), [](auto& s) { s.source.count = 2; });
  refused(concatenate(std::vector{all}), [](auto& s) { s.source.count = 1; });
  refused(all | pack(9), [](auto& s) { s.source.count = 99; });
  refused(all | concat_then_split(3), [](auto& s) { s.source.count = 99; });
}
