// tests/backend/cpu/loop/interpreted.cpp: loops of programs traced at run time give the bits of those known while compiling.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include "../../../../bench/support/loops.hpp"
#include "support/catch.hpp"

#include <cstring>

namespace interpreted_loops {

namespace tk = tokamax;
using tk::array;

// Any number of rows and columns, so that one program known while compiling runs for all of them.
constexpr std::int64_t some = tk::dyn(), more = tk::dyn(1);
using operands = bench::loop_operands<some, more>;

array numbers(const tk::shape& s, std::uint32_t seed, float from = -3, float to = 3) {
  array a = array::uninitialized({tk::f32, false, s});
  for (std::int64_t i = 0; i < a.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    a.mutable_data<float>()[i] = from + (to - from) * static_cast<float>(seed >> 8) / 16777216.0f;
  }
  return a;
}
operands operands_of(std::int64_t rows, std::int64_t columns) {
  const tk::shape s{rows, columns};
  array bits = array::uninitialized({tk::u32, false, s});
  for (std::int64_t i = 0; i < bits.size(); ++i)
    bits.mutable_data<std::uint32_t>()[i] = static_cast<std::uint32_t>(i + 7) * 2654435769u;
  return {numbers(s, 1),        numbers(s, 2), numbers(s, 3), numbers(s, 4, 0.01f, 2), bits, numbers({1, columns}, 5),
          numbers({rows, 1}, 6)};
}
template <class Result>
std::vector<array> listed(const Result& r) {
  const tk::arrays all = tk::leaves(r);
  return {all.begin(), all.end()};
}
/// The number of the first result that has other bits, or -1.
int difference(const std::vector<array>& a, const std::vector<array>& b) {
  if (a.size() != b.size()) return static_cast<int>(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    array x = a[k], y = b[k];
    x.materialize(), y.materialize();
    if (!(x.dtype() == y.dtype() && x.shape() == y.shape()) ||
        std::memcmp(x.storage()->data, y.storage()->data,
                    static_cast<std::size_t>(x.size() * tk::size_of(x.dtype()))) != 0)
      return static_cast<int>(k);
  }
  return -1;
}

// Rows that are shorter than a vector, than a tile and than a block; whole tiles; several parts of threads; none.
constexpr std::pair<std::int64_t, std::int64_t> sizes[] = {
    {1, 1}, {3, 7}, {7, 61}, {5, 64}, {40, 48}, {9, 130}, {2, 515}, {33, 768}, {1, 70001}, {300, 131}, {0, 5}, {5, 0}};

template <const auto& List>
void check_loops() {
  bench::for_loops<List, some, more>([](std::string_view name, auto f) {
    const auto known = tk::jit(f, tk::cpu, tk::while_compiling);
    const auto traced = tk::jit(f, tk::cpu, tk::at_run_time);
    CAPTURE(name);
    for (const auto& [rows, columns] : sizes) {
      CAPTURE(rows, columns);
      const operands o = operands_of(rows, columns);
      tk::cpu_backend::set_num_threads(1);
      const std::vector<array> expected = listed(known(o));
      for (const int threads : {1, 2, 8}) {
        CAPTURE(threads);
        tk::cpu_backend::set_num_threads(threads);
        CHECK(difference(listed(traced(o)), expected) == -1);
      }
      tk::cpu_backend::set_num_threads(0);
      if (rows * columns < 1000) CHECK(difference(listed(f(o)), expected) == -1);  // eagerly
    }
  });
}

/// Operands as arrays, which may be views within a program.
struct views {
  array x, y, z, w, bits, row, column;
};
/// Of some arguments x and w are transposed, y is every other column of a wider array, and z is one row for all.
views seen_through(const views& a) {
  return {tk::transpose(a.x),
          tk::slice(a.y, {0, 1}, {a.y.extent(0), a.y.extent(1)}, {1, 2}),
          tk::broadcast_to(tk::slice_in_dim(a.z, 1, 2, 0), a.z.shape()),
          tk::transpose(a.w),
          a.bits,
          a.row,
          a.column};
}
template <const auto& List>
void check_views() {
  std::apply(
      [](const auto&... loop) {
        const auto check = [](const auto& l) {
          CAPTURE(l.name);
          for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{3, 7}, {70, 61}, {130, 520}}) {
            CAPTURE(rows, columns);
            const operands o = operands_of(rows, columns);
            const views given{numbers({columns, rows}, 7),
                              numbers({rows, 2 * columns}, 8),
                              o.z,
                              numbers({columns, rows}, 9, 0.01f, 2),
                              o.bits,
                              o.row,
                              o.column};
            const auto dense = tk::jit([&](const views& a) { return l.of(a); }, tk::cpu, tk::at_run_time);
            const auto strided =
                tk::jit([&](const views& a) { return l.of(seen_through(a)); }, tk::cpu, tk::at_run_time);
            const views copies = tk::tree_map([](array a) { return a.materialize(), a; }, seen_through(given));
            CHECK(difference(listed(strided(given)), listed(dense(copies))) == -1);
          }
        };
        (check(loop), ...);
      },
      List);
}

TEST_CASE("optimisers") { check_loops<bench::optimiser_loops>(), check_views<bench::optimiser_loops>(); }
TEST_CASE("activations") { check_loops<bench::activation_loops>(), check_views<bench::activation_loops>(); }
TEST_CASE("gradients of activations") { check_loops<bench::gradient_loops>(), check_views<bench::gradient_loops>(); }
TEST_CASE("norms, positions, dropout, losses and number formats") {
  check_loops<bench::other_loops>(), check_views<bench::other_loops>();
}

TEST_CASE("results over operands that later lines read") {
  // Both arguments are given away, so that the first result is written over an operand of the second.
  const auto f = [](const array& a, const array& b) {
    const array sum = a + b, scaled = sum * 2.0f;
    return std::pair{tk::exp(sum), scaled - a * b};
  };
  const auto run = tk::jit(f, tk::cpu, tk::at_run_time);
  for (const std::int64_t n : {1, 63, 64, 1000, 40000}) {
    CAPTURE(n);
    const array a = numbers({n}, 1), b = numbers({n}, 2);
    const std::vector<array> expected = listed(run(a, b));
    CHECK(difference(listed(run(numbers({n}, 1), numbers({n}, 2))), expected) == -1);
    CHECK(difference(listed(f(a, b)), expected) == -1);
  }
}

TEST_CASE("loops of many lines have enough tiles") {
  // Each value is read again at the end, so all of them are alive at once.
  const auto f = [](const array& x) {
    std::vector<array> all{x};
    for (int i = 0; i < 100; ++i) all.push_back(all.back() * 0.99f + 0.01f * static_cast<float>(i % 3));
    array sum = all[0];
    for (std::size_t i = 1; i < all.size(); ++i) sum = sum + all[all.size() - i] * all[i];
    return sum;
  };
  const array x = numbers({777}, 1);
  CHECK(difference({tk::jit(f, tk::cpu, tk::at_run_time)(x)}, {f(x)}) == -1);
}

}  // namespace interpreted_loops
