// tests/core/array.cpp: abstract, traced, literal and concrete arrays.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/array.hpp>
#include <tokamax/lax/elementwise/arithmetic.hpp>

#include "support/contains.hpp"

#include <atomic>  // atomic
#include <limits>  // numeric_limits
#include <thread>  // thread
#include <vector>  // vector

using namespace tokamax;

namespace {
static_assert(!array().exists());
static_assert(array(array_type{f32, false, {2}}).is_abstract());
static_assert(array(2.5f).is_literal() && array(2.5f).type().weak && array(2.5f).dtype() == f32);
static_assert(array(2).dtype() == i32 && array(2).type().weak);
static_assert(array(true).dtype() == bool_ && !array(true).type().weak);
static_assert(array(array_type{f32, false, {2, 3}}).extent(-1) == 3);
static_assert(std::is_copy_assignable_v<array> && std::is_nothrow_move_constructible_v<array>);
// In memory that nobody can write.
constexpr array half = 0.5f;
constexpr array nought(0.0, {f32, false, {3}}), three(3.0, {i32, false, {2, 2}}), longer(0.0, {f32, false, {7000}});
}  // namespace

TEST_CASE("an array holds a copy of the values it is made from") {
  const array a = array::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(a.is_concrete());
  CHECK(a.size() == 6);
  CHECK(a.values<float>()[4] == 5);
  CHECK(array::from<std::int32_t>({7}, {}).item<int>() == 7);
  CHECK(array::from<bool>({true}).item<bool>());
  CHECK(array::from<std::int8_t>({-128}).item<int>() == -128);
  CHECK(astype(array::from<float>({1.5f}), bf16).item() == 1.5f);
  CHECK(array::from<float>({}, {0, 3}).values<float>().empty());
}

TEST_CASE("copies share data, and operations make new arrays") {
  const array a = array::from<float>({1, 2});
  const array b = a;  // NOLINT: the copy is what is tested
  CHECK(a.storage().get() == b.storage().get());
  const array c = a + 1.0f;
  CHECK(a.values<float>()[0] == 1);
  CHECK(c.values<float>()[0] == 2);
}

TEST_CASE("a literal gets data when it is asked for") {
  for (const dtype t : {bool_, i8, i32, u32, bf16, f32}) {
    array a(1.0, {t, false, {3}});
    CHECK(a.is_literal());
    a.materialize();
    CHECK(!a.is_literal());
    CHECK(a.is_concrete());
  }
  CHECK(array(0.25, {f32, false, {2}}).values<float>()[1] == 0.25f);
  CHECK(array(4294967295.0, {u32, false, {}}).item<std::uint32_t>() == 4294967295u);
}

TEST_CASE("a list of numbers is an array of one axis, one number is a scalar") {
  const array a{1, 2, 3}, b = {1.5f, 2.0f}, c{true, false}, d{1, 2.5}, e{1u, 2u}, f{1L, 2L};
  CHECK(a.type() == array_type{i32, false, {3}});
  CHECK(!a.type().weak);
  CHECK(a.values<std::int32_t>()[2] == 3);
  CHECK(b.values<float>()[0] == 1.5f);
  CHECK(c.values<bool>()[0]);
  CHECK(d.values<float>()[1] == 2.5f);
  CHECK(e.dtype() == u32);
  CHECK(f.dtype() == i32);
  CHECK(array{1}.rank() == 0);
  CHECK(array{1}.type().weak);
  CHECK_THROWS_WITH((array{1L, 3000000000L}), contains("array: number: found 3000000000, expected a number of i32"));
}

TEST_CASE("an array is changed by another one in place of its name") {
  array a{1.0f, 2.0f};
  const array b = a;
  a += 1.0f;
  a *= b;
  a -= 1;
  a /= 2.0f;
  CHECK(a.values<float>()[0] == 0.5f);
  CHECK(a.values<float>()[1] == 2.5f);
  CHECK(b.values<float>()[1] == 2);
}

TEST_CASE("reading a constant writes nothing, and its elements stay") {
  CHECK(half.item() == 0.5f);
  CHECK(half.values<float>()[0] == 0.5f);
  const auto zeros = nought.values<float>();
  CHECK(longer.values<float>()[6999] == 0);
  CHECK(nought.values<float>()[2] == 0);
  CHECK(zeros[2] == 0);
  CHECK(three.values<std::int32_t>()[3] == 3);
  CHECK(three.is_literal());
  const array copy = three;  // NOLINT: the copy is what is tested
  CHECK(copy.values<std::int32_t>()[3] == 3);
}

TEST_CASE("threads may read one literal at once") {
  std::atomic<int> wrong{0};
  for (int round = 0; round < 30; ++round) {
    const array shared(1.0, {f32, false, {2000}});
    std::vector<std::thread> readers;
    for (int k = 0; k < 4; ++k)
      readers.emplace_back([&] {
        const array mine = shared;  // NOLINT: copies share what is read
        for (const array* a : {&shared, &mine, &longer}) {
          const auto values = a->values<float>();
          (void)array(7.0, {f32, false, {2000}}).values<float>();
          for (float v : values) wrong += v != (a == &longer ? 0 : 1);
        }
      });
    for (std::thread& t : readers) t.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("a literal made at run time gives its elements back with its last copy") {
  const auto read = [] { return array(2.0, {f32, false, {100000}}).values<float>()[99999]; };
  CHECK(read() == 2);
  const std::size_t blocks = buffer_pool::instance().from_system();
  for (int i = 0; i < 10; ++i) CHECK(array(i, {f32, false, {100000}}).values<float>()[99999] == static_cast<float>(i));
  CHECK(buffer_pool::instance().from_system() == blocks);
}

TEST_CASE("what is written into one array shows in no other") {
  array a = array::from<float>({1, 2});
  const float* const before = a.data<float>();
  a.mutable_data<float>()[0] = 3;
  CHECK(a.data<float>() == before);  // its own already
  array b = a;
  b.mutable_data<float>()[0] = 5;
  CHECK(a.values<float>()[0] == 3);
  CHECK(b.values<float>()[0] == 5);
  CHECK(b.values<float>()[1] == 2);
  array c(1.0, {f32, false, {3}});
  const array d = c;
  c.mutable_data<float>()[1] = 4;
  CHECK(c.values<float>()[1] == 4);
  CHECK(d.values<float>()[1] == 1);
}

TEST_CASE("an array that was moved from is empty and says so") {
  array a = array::from<float>({1, 2});
  const array b = std::move(a);
  CHECK(b.values<float>()[1] == 2);
  CHECK(a.is_moved_from());
  CHECK(!a.is_concrete());
  CHECK_THROWS_WITH(a.values<float>(), contains("data: array without data: found f32[2] (moved from)"));
  CHECK_THROWS_WITH(a.item(), contains("item"));
  CHECK_THROWS_WITH(a + 1.0f, contains("add: operand: found f32[2] that was moved from"));
  a = b;
  CHECK(a.values<float>()[1] == 2);
}

TEST_CASE("wrong uses are refused with what was found and expected") {
  CHECK_THROWS_WITH(array::from<float>({1, 2, 3}, {2, 2}),
                    contains("array::from: number of values: found 3, expected f32[2,2]"));
  CHECK_THROWS_WITH(array::from<float>({1, 2}).item(), contains("item: number of elements: found f32[2]"));
  CHECK_THROWS_WITH(array::from<float>({1}).values<std::int32_t>(),
                    contains("data: element type: found f32[1], expected elements of i32 (") && contains("array.cpp:"));
  CHECK_THROWS_WITH(array(array_type{f32, false, {2}}).values<float>(),
                    contains("data: array without data: found f32[2] (abstract)"));
  graph g;
  const array traced(&g, g.input({f32, false, {2}}), {f32, false, {2}});
  CHECK_THROWS_WITH(traced.values<float>(), contains("(traced)") && contains("debug_print") && contains("array.cpp:"));
  CHECK_THROWS_WITH(traced.item(), contains("item: number of elements: found f32[2]") && contains("array.cpp:"));
}

TEST_CASE("a vector of any numbers is an array of the dtype of their bits") {
  const std::vector<float> floats{1, 2, 3, 4};
  CHECK(array::from(floats).type() == array_type{f32, false, {4}});
  CHECK(array::from(floats, {2, 2}).shape() == shape{2, 2});
  CHECK(array::from(std::vector<double>{0.1}).item<double>() == 0.1);
  CHECK(array::from(std::vector<std::size_t>{std::size_t{1} << 40}).item<std::size_t>() == std::size_t{1} << 40);
  CHECK(array::from(std::vector<long long>{-5, 1LL << 40}).values<std::int64_t>()[1] == 1LL << 40);
  CHECK(array::from(std::vector<bool>{true, false}).type() == array_type{bool_, false, {2}});
  CHECK(array::from(std::vector<bool>{false, true}).values<bool>()[1]);
  CHECK(array::from(std::vector<long double>{2.5L}).item<double>() == 2.5);
  CHECK(array::from(std::vector<char>{'a'}).item<int>() == 'a');
  CHECK(array::from(std::array<std::int16_t, 2>{1, -2}).values<std::int16_t>()[1] == -2);
  CHECK(array::from(std::vector<float>{}).shape() == shape{0});
  CHECK_THROWS_WITH(array::from(floats, {3}), contains("array::from: number of values: found 4, expected f32[3]"));
}

TEST_CASE("data and a model that has none yet do not meet") {
  const array weight(array_type{f32, false, {2}}), x = array::from<float>({1, 2});
  CHECK_THROWS_WITH(x * weight, contains("mul: operand 1: found f32[2] without data") && contains("init or restore") &&
                                    contains("array.cpp:"));
  CHECK((weight * 2.0f).is_abstract());
}

TEST_CASE("literals are what their dtypes keep") {
  CHECK(array(0.1).item() == 0.1f);
  CHECK(array(0.1).literal() == static_cast<double>(0.1f));
  CHECK(array(std::int64_t{-2147483648}).item<int>() == std::numeric_limits<int>::lowest());
  CHECK(array(3000000000u).dtype() == u32);
  CHECK(array(300, {i8, false, {2}}).values<std::int8_t>()[1] == 44);
  CHECK(array(1e300, {i32, false, {}}).item<int>() == std::numeric_limits<int>::max());
  CHECK(array(-1, {u32, false, {}}).item<std::uint32_t>() == 4294967295u);
  CHECK_THROWS_WITH(array(std::int64_t{3000000000}),
                    contains("array: literal: found 3000000000, expected an integer of 32 bits"));
  CHECK_THROWS_WITH(array(std::uint64_t{1} << 40), contains("array: literal: found 1099511627776"));
}
