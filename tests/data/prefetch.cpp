// tests/data/prefetch.cpp: reading ahead changes nothing but the time it takes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/scope/use_implementation.hpp>
#include <tokamax/data/batch.hpp>
#include <tokamax/data/list.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/data/prefetch.hpp>
#include <tokamax/data/shuffle.hpp>
#include <tokamax/data/tokens.hpp>
#include <tokamax/data/windows.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
namespace data = tokamax::data;

namespace {
struct example {
  tk::array inputs, targets;
};
auto pipeline() {
  return data::tokens("a text that is long enough for some batches") | data::windows(9) | data::shuffle({.seed = 1}) |
         data::batch<example>(4);
}
bool same(const tk::array& a, const tk::array& b) {
  return a.type() == b.type() && std::ranges::equal(a.values<std::int32_t>(), b.values<std::int32_t>());
}
}  // namespace

TEST_CASE("prefetch gives what the pipeline gives, from every position") {
  const auto plain = pipeline();
  const auto ahead = plain | data::prefetch(3);
  CHECK(ahead.size() == plain.size());
  CHECK(same(ahead[5].targets, plain[5].targets));
  for (std::int64_t start = 0; start < 2 * plain.size(); start += 3) {
    const data::position at{start / plain.size(), start % plain.size()};
    auto a = plain.from(at);
    auto b = ahead.from(at);
    for (int i = 0; i < 20; ++i) {
      CHECK(a.position() == b.position());
      const auto x = a.next();
      const auto y = b.next();
      REQUIRE(x.step == y.step);
      REQUIRE(same(x.value.inputs, y.value.inputs));
      REQUIRE(same(x.value.targets, y.value.targets));
    }
  }
}

TEST_CASE("prefetch makes at most so many elements ahead") {
  std::atomic<int> made = 0;
  const auto counted = data::tokens("abc") | data::map([&](int token) {
                         ++made;
                         return token;
                       }) |
                       data::prefetch(2);
  {
    auto reader = counted.from();
    for (int i = 0; i < 3; ++i) reader.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(made <= 3 + 2 + 1);  // taken, ready, and one in the thread's hand
  }
}

TEST_CASE("an exception arrives where its element was asked for") {
  const auto failing = data::tokens("abcdef") | data::map([](int token) {
                         if (token == 'd') throw std::runtime_error("no letter d");
                         return token;
                       }) |
                       data::prefetch(2);
  auto reader = failing.from();
  for (const int token : {'a', 'b', 'c'}) CHECK(reader.next().value == token);
  CHECK_THROWS_WITH(reader.next(), contains("no letter d"));
  CHECK_THROWS_WITH(reader.next(), contains("no letter d"));
  CHECK(reader.position() == data::position{0, 3});
}

TEST_CASE("readers end at any moment, and move") {
  const auto ahead = pipeline() | data::prefetch(1);
  for (int i = 0; i < 50; ++i) {
    auto reader = ahead.from();
    for (int k = 0; k < i % 3; ++k) reader.next();
    auto moved = std::move(reader);
    CHECK(moved.next().step == i % 3);
  }
  for (const auto& [step, batch] : ahead.from({1, 0})) {
    CHECK(step >= ahead.size());
    CHECK(batch.inputs.shape() == tk::shape{4, 8});
    if (step == ahead.size() + 5) break;
  }
}

TEST_CASE("prefetch needs room for one element") {
  CHECK_THROWS_WITH(pipeline() | data::prefetch(0), contains("found 0"));
}

TEST_CASE("stages that prefetch runs on its thread have the context of the thread that reads") {
  const auto asked = [](auto e) {
    const tk::vec<char>* const names = tk::current_context.implementations;
    return std::pair{std::move(e), names ? std::string(names->begin(), names->end()) : std::string()};
  };
  const auto all = pipeline() | data::map(asked) | data::prefetch(2);
  auto plain = all.from();
  auto scoped = [&] {
    const tk::use_implementation compose("softmax", "compose");
    return all.from();
  }();
  for (int i = 0; i < 5; ++i) {
    CHECK(plain.next().value.second == "");
    CHECK(scoped.next().value.second == "softmax=compose");
  }
}

TEST_CASE("arrays come from other threads without a copy") {
  const auto made = std::make_shared<std::array<std::atomic<const std::byte*>, 6>>();
  const auto arrays = data::range(6) | data::map([made](std::int64_t i) {
                        tk::array a = tk::array::from(std::vector<float>(1000, float(i)));
                        const std::byte* none = nullptr;  // the threads may already be in the next round
                        (*made)[static_cast<std::size_t>(i)].compare_exchange_strong(none, a.bytes());
                        return a;
                      });
  auto reader = (arrays | data::prefetch({.threads = 3, .elements = 6})).from();
  for (std::size_t i = 0; i < 6; ++i) {
    const tk::array a = reader.next().value;
    CHECK(a.bytes() == (*made)[i]);
    CHECK(a.values<float>()[999] == float(i));
  }
}
