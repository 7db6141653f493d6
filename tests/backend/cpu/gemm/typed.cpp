// tests/backend/cpu/gemm/typed.cpp: products of integers are exact modulo 2^n, and those of f64 are near sums in long double.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/gemm/typed.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;

namespace {

// Integers of all bits, and doubles in [-1, 1).
template <class T>
std::vector<T> values(std::int64_t n, std::uint64_t seed) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& v : x) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    if constexpr (std::is_same_v<T, double>)
      v = static_cast<double>(static_cast<std::int64_t>(seed)) * 0x1p-63;
    else
      v = static_cast<T>(seed >> (64 - 8 * sizeof(T)));
  }
  return x;
}

// Contiguous rows, contiguous columns, and neither; each with gaps.
template <class T>
cpu_backend::typed_matrices<T> view(const std::vector<T>& x, std::int64_t rows, std::int64_t columns, int form) {
  const std::int64_t apart = 2 * (rows + 3) * (columns + 3);
  if (form == 0) return {x.data(), apart, columns + 3, 1};
  if (form == 1) return {x.data(), apart, 1, rows + 3};
  return {x.data(), apart, 2 * columns, 2};
}

template <class T>
void check(std::int64_t batches, std::int64_t m, std::int64_t n, std::int64_t k, int form_a, int form_b) {
  CAPTURE(sizeof(T), batches, m, n, k, form_a, form_b);
  const auto a = values<T>(2 * batches * (m + 3) * (k + 3), 1), b = values<T>(2 * batches * (k + 3) * (n + 3), 2);
  const auto va = view(a, m, k, form_a), vb = view(b, k, n, form_b);
  std::vector<T> c(static_cast<std::size_t>(batches * m * n) + 1, T{77}), other = c;
  for (std::vector<T>* const to : {&c, &other}) {
    cpu_backend::set_num_threads(to == &c ? 1 : 3);
    cpu_backend::typed_gemm<T>({batches, m, n, k, va, vb, to->data()});
  }
  cpu_backend::set_num_threads(0);
  REQUIRE(std::memcmp(c.data(), other.data(), c.size() * sizeof(T)) == 0);
  REQUIRE(c.back() == T{77});
  bool right = true;
  for (std::int64_t at = 0; at < batches * m * n; ++at) {
    const std::int64_t s = at / (m * n), i = at / n % m, j = at % n;
    const T found = c[static_cast<std::size_t>(at)];
    if constexpr (std::is_same_v<T, double>) {
      long double sum = 0, size = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const long double term = static_cast<long double>(*va.at(s, i, p)) * *vb.at(s, p, j);
        sum += term;
        size += std::abs(term);
      }
      const auto allowed = static_cast<long double>(k + 1) * std::numeric_limits<double>::epsilon() / 2 * size;
      right = right && std::abs(found - sum) <= allowed;
    } else {
      std::uint64_t sum = 0;
      for (std::int64_t p = 0; p < k; ++p) sum += std::uint64_t{*va.at(s, i, p)} * *vb.at(s, p, j);
      right = right && found == static_cast<T>(sum);
    }
  }
  REQUIRE(right);
}

}  // namespace

TEMPLATE_TEST_CASE("typed products are right for any shape, strides and team", "", double, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  for (const std::int64_t m : {0, 1, 2, 7, 33})
    for (const std::int64_t n : {0, 1, 7, 33})
      for (const std::int64_t k : {0, 1, 7, 33})
        for (int form = 0; form < 9; ++form) check<TestType>(1, m, n, k, form / 3, form % 3);
  for (const auto& [batches, m, n, k] :
       {std::array{1, 70, 256, 256}, std::array{1, 1, 700, 300}, std::array{1, 700, 1, 300}, std::array{2, 61, 130, 70},
        std::array{19, 5, 9, 33}, std::array{3, 1, 37, 2000}, std::array{0, 3, 3, 3}, std::array{1, 2, 2, 40000}})
    for (int form = 0; form < 9; ++form) check<TestType>(batches, m, n, k, form / 3, form % 3);
}

TEST_CASE("a product of f64 has the same bits for any number of rows, and keeps signs, infinities and NaN") {
  const std::int64_t k = 300, n = 21;
  const auto a = values<double>(9 * k, 1), b = values<double>(k * n, 2);
  std::vector<double> all(static_cast<std::size_t>(9 * n)), row(static_cast<std::size_t>(n));
  cpu_backend::typed_gemm<double>({1, 9, n, k, {a.data(), 0, k, 1}, {b.data(), 0, n, 1}, all.data()});
  cpu_backend::typed_gemm<double>({1, 1, n, k, {a.data() + 4 * k, 0, k, 1}, {b.data(), 0, n, 1}, row.data()});
  CHECK(std::memcmp(all.data() + 4 * n, row.data(), sizeof(double) * n) == 0);
  const double inf = std::numeric_limits<double>::infinity(), one[] = {1, inf, 0, -1}, two[] = {inf, 1, 1, inf};
  double to[4];
  cpu_backend::typed_gemm<double>({1, 2, 2, 2, {one, 0, 2, 1}, {two, 0, 2, 1}, to});
  CHECK(to[0] == inf);
  CHECK(to[1] == inf);
  CHECK(std::isnan(to[2]));
  CHECK(to[3] == -inf);
}
