// tests/core/memory/foreign_memory.cpp: arrays over memory of others are read, never written, and let go of once.
#include <tokamax/core/memory/foreign_memory.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

#include <fstream>

namespace tk = tokamax;
using tk::array;

TEST_CASE("an array over foreign memory is released with its last copy, and nobody writes there") {
  const std::vector<float> numbers{1, 2, 3};
  const auto* const bytes = reinterpret_cast<const std::byte*>(numbers.data());
  const auto next = tk::jit([](const tk::tensor<tk::f32, 3>& x) { return x + 1.0f; }, tk::cpu);
  int released = 0;
  {
    array x = tk::array_over(bytes, {tk::f32, false, {3}}, [&] { ++released; });
    const array same = x;
    CHECK(x.data<float>() == numbers.data());
    CHECK((x * 2.0f).values<float>()[2] == 6);
    x = next(tk::tensor<tk::f32, 3>(std::move(x)));  // gives nothing away
    CHECK(x.values<float>()[0] == 2);
    array written = same;
    written.mutable_data<float>()[0] = 9;
    CHECK(released == 0);
  }
  CHECK(released == 1);
  CHECK(numbers == std::vector<float>{1, 2, 3});
  CHECK(tk::array_over(bytes, {tk::f32, false, {0}}).values<float>().empty());
  CHECK_THROWS_WITH(tk::array_over(bytes + 2, {tk::f32, false, {2}}), contains("found 2 bytes beyond a multiple of 4"));
}

TEST_CASE("an array in a file") {
  const temporary_folder folder;
  const auto path = folder.path / "numbers";
  std::vector<float> numbers(3000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(4 * numbers.size()));
  const array x = tk::map_file(path, 8000, {tk::f32, false, {10, 100}});
  CHECK(x.values<float>()[0] == 2000);
  CHECK(tk::sum(x).item() == 2499500);
  CHECK(tk::map_file(path, 12000, {tk::f32, false, {0}}).size() == 0);
  CHECK_THROWS_WITH(tk::map_file(path, 8004, {tk::f32, false, {1000}}), contains("12000 bytes, expected 8004 + 4000"));
  CHECK_THROWS_WITH(tk::map_file(path, ~std::size_t{3}, {tk::f32, false, {1}}), contains("12000 bytes"));
  CHECK_THROWS_WITH(tk::map_file(path, 8002, {tk::f32, false, {10}}),
                    contains("offset 8002, expected a multiple of 4"));
  CHECK(tk::map_file(path, 8002, {tk::bf16, false, {10}}).size() == 10);
  CHECK_THROWS_WITH(tk::map_file(folder.path / "none", 0, {tk::f32, false, {1}}), contains("none"));
}
