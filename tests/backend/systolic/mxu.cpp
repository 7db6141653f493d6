// tests/backend/systolic/mxu.cpp: the closed form of the array's cycles, against the array that does the work.
#include <tokamax/backend/systolic/mxu.hpp>

#include <tokamax/backend/systolic/pe_array.hpp>

#include <array>
#include <cstdint>
#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

// 512^3 and 1024^3 on 128 x 128: 95.5 % and 99.4 % of the array, where one that loads weights apart has 57.3 % and 72.8 %.
static_assert(sys::pipelined_cycles({128, 128}, {512, 512, 512}).total() == 128 + 15 * 512 + 512 + 128 + 128 - 2);
static_assert(sys::pipelined_cycles({8, 8}, {1, 8, 8}).total() == 8 + 1 + 8 + 8 - 2);

TEST_CASE("the array's cycles and values are those of the closed form, on 10,000 shapes", "[systolic]") {
  std::mt19937 random(20);
  const auto size = [&](unsigned most) { return static_cast<long long>(random() % most + 1); };
  std::array<std::int64_t, 16 * 16> a{}, b{}, expected{};
  long long wrong = 0, ragged = 0;
  for (int i = 0; i < 10000; ++i) {
    const sys::array_shape shape{size(6), size(6)};
    const sys::product_shape p{size(14), size(14), size(14)};
    for (auto* x : {&a, &b})
      for (auto& value : *x) value = static_cast<std::int64_t>(random()) - (std::int64_t{1} << 31);
    for (long long m = 0; m < p.m; ++m)
      for (long long n = 0; n < p.n; ++n) {
        std::uint64_t sum = 0;  // modulo 2^64, as the cells add
        for (long long k = 0; k < p.k; ++k)
          sum += static_cast<std::uint64_t>(a[static_cast<std::size_t>(m * p.k + k)]) *
                 static_cast<std::uint64_t>(b[static_cast<std::size_t>(k * p.n + n)]);
        expected[static_cast<std::size_t>(m * p.n + n)] = static_cast<std::int64_t>(sum);
      }
    std::array<std::uint64_t, 16 * 16> ua{}, ub{};
    for (std::size_t j = 0; j < a.size(); ++j)
      ua[j] = static_cast<std::uint64_t>(a[j]), ub[j] = static_cast<std::uint64_t>(b[j]);
    const auto run = sys::pe_array<std::uint64_t>(shape).run(ua.data(), ub.data(), p);
    bool same = run.cycles == sys::pipelined_cycles(shape, p).total() && run.macs == p.m * p.k * p.n &&
                run.b_reads == p.k * p.n;
    for (std::size_t j = 0; j < run.values.size(); ++j)
      same = same && static_cast<std::int64_t>(run.values[j]) == expected[j];
    if (!same) ++wrong;
    if (p.k % shape.rows != 0 && p.n % shape.columns != 0) ++ragged;
  }
  CHECK(wrong == 0);
  CHECK(ragged > 3000);
}

TEST_CASE("products of one cell, one row and one column", "[systolic]") {
  const double a[] = {2, 3}, b[] = {5, 7};
  CHECK(sys::pe_array<double>({1, 1}).run(a, b, {1, 1, 1}).cycles == 2);  // a cycle for the weight, and one to multiply
  const auto dot = sys::pe_array<double>({1, 1}).run(a, b, {1, 2, 1});    // two tiles
  CHECK(dot.values == std::vector{31.0});
  CHECK(dot.cycles == sys::pipelined_cycles({1, 1}, {1, 2, 1}).total());
  CHECK(sys::pe_array<double>({4, 1}).run(a, b, {2, 1, 2}).values == std::vector{10.0, 14.0, 15.0, 21.0});
}

TEST_CASE("cycles by what the array does", "[systolic]") {
  constexpr auto few_rows = sys::pipelined_cycles({128, 128}, {16, 256, 256});
  static_assert(few_rows.load == 128 && few_rows.rows == 64 && few_rows.wait == 3 * 112 && few_rows.drain == 254);
  static_assert(sys::pipelined_cycles({128, 128}, {128, 256, 256}).wait == 0);
  CHECK(sys::utilisation({128, 128}, {512, 512, 512}, sys::pipelined_cycles({128, 128}, {512, 512, 512}).total()) ==
        Approx(0.955).epsilon(0.001));
  CHECK(
      sys::utilisation({128, 128}, {1024, 1024, 1024}, sys::pipelined_cycles({128, 128}, {1024, 1024, 1024}).total()) ==
      Approx(0.994).epsilon(0.001));
}

TEST_CASE("sizes below 1 are rejected", "[systolic]") {
  CHECK_THROWS_WITH(sys::pipelined_cycles({0, 8}, {1, 1, 1}), contains("cells: found 0 x 8, expected at least 1 x 1"));
  CHECK_THROWS_WITH(sys::pipelined_cycles({8, 8}, {1, -1, 1}), contains("found 1 x -1 x 1"));
  const double one = 1;
  CHECK_THROWS_AS(sys::pe_array<double>({8, 8}).run(&one, &one, {0, 1, 1}), tokamax::error);
}
