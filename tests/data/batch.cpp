// tests/data/batch.cpp: elements stacked into arrays.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/batch.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/data/tokens.hpp>
#include <tokamax/data/windows.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
namespace data = tokamax::data;

namespace {
struct pair_of_tokens {
  tk::array inputs, targets;
};
struct rows {
  tk::array ids;
};
struct example {
  tk::array features, label;
};
std::string read(const tk::array& a) {
  std::string result;
  for (const std::int32_t token : a.values<std::int32_t>()) result += static_cast<char>(token);
  return result;
}
}  // namespace

TEST_CASE("targets are the inputs one token later") {
  const auto batches = data::tokens("abcdefg") | data::windows(4) | data::batch<pair_of_tokens>(2);
  REQUIRE(batches.size() == 2);
  const pair_of_tokens batch = batches[1];  // [2, 3]
  CHECK(batch.inputs.shape() == tk::shape{2, 3});
  CHECK(batch.inputs.dtype() == tk::i32);
  CHECK(read(batch.inputs) == "cdedef");
  CHECK(read(batch.targets) == "defefg");
}

TEST_CASE("one array takes whole windows") {
  const auto batches = data::tokens("abcdef") | data::windows(3) | data::batch<rows>(4);
  CHECK(batches[0].ids.shape() == tk::shape{4, 3});
  CHECK(read(batches[0].ids) == "abcbcdcdedef");
}

TEST_CASE("an epoch's remainder is left out") {
  const auto batches = data::tokens("abcdefg") | data::windows(3) | data::batch<rows>(2);  // 5 windows
  REQUIRE(batches.size() == 2);
  CHECK(read(batches[1].ids) == "cdedef");
  CHECK(read(batches[2].ids) == "abcbcd");
}

TEST_CASE("records are stacked leaf by leaf") {
  const auto to_example = [](std::int32_t token) {
    return example{tk::array::from<float>({0.5f * static_cast<float>(token), 1}, {2}), token % 2 == 1};
  };
  const auto batches = data::tokens("abc") | data::map(to_example) | data::batch<example>(3);
  const example batch = batches[0];
  CHECK(batch.features.shape() == tk::shape{3, 2});
  CHECK(batch.features.values<float>()[4] == 49.5f);
  CHECK(batch.label.shape() == tk::shape{3});
  CHECK(batch.label.dtype() == tk::bool_);
  CHECK(batch.label.values<bool>()[0]);
  CHECK_FALSE(batch.label.values<bool>()[1]);
}

TEST_CASE("a batch whose elements cannot be counted is refused") {
  const auto batches = data::tokens("abcdefgh") | data::windows(3) | data::batch<rows>(5);  // 1 a epoch, of 6 windows
  CHECK_THROWS_WITH(batches[std::int64_t{1} << 62], contains("data position"));
}

TEST_CASE("batches that cannot be are refused") {
  CHECK_THROWS_WITH(data::tokens("abc") | data::windows(3) | data::batch<rows>(2),
                    contains("found 2") && contains("1 to 1"));
  const auto growing =
      data::tokens("ab") |
      data::map([](std::int32_t token) { return rows{tk::array::uninitialized({tk::f32, false, {token}})}; }) |
      data::batch<rows>(2);
  CHECK_THROWS_WITH(growing[0], contains("f32[98]") && contains("f32[97]"));
  const auto abstract = data::tokens("ab") |
                        data::map([](std::int32_t) { return rows{tk::array({tk::f32, false, {2}})}; }) |
                        data::batch<rows>(2);
  CHECK_THROWS_WITH(abstract[0], contains("with data"));
}
