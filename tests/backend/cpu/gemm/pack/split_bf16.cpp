// tests/backend/cpu/gemm/pack/split_bf16.cpp: f32 products by three and six bfloat16 ones: error bounds, infinities, any team.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/gemm/gemm.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;

namespace {

using floats = std::vector<float>;
using limits = std::numeric_limits<float>;

floats random_floats(std::int64_t n, std::uint32_t seed) {
  floats x(static_cast<std::size_t>(n));
  for (float& v : x) {
    seed = seed * 1664525u + 1013904223u;
    v = std::ldexp(static_cast<float>(seed >> 8) / 8388608.0f - 1.0f, static_cast<int>(seed >> 3 & 15) - 8);
  }
  return x;
}

cpu_backend::matrix_view view(const floats& x, std::int64_t rows, std::int64_t columns, int form) {
  if (form == 0) return {x.data(), columns + 3, 1};
  if (form == 1) return {x.data(), 1, rows + 2};
  return {x.data(), 2 * columns, 2};
}

#if defined(__x86_64__) && defined(__linux__)
// What the matrix unit does with its panels, in plain loops and in double: machines without it test the panels. Where the
// sums are not finite, those of the first parts count.
template <int Rows, int Parts>
void plain_parts_tile(const cpu_backend::tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  const auto half = [](const float* pair, std::int64_t which) {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(*pair) >> (which * 16)) << 16);
  };
  for (int r = 0; r < Rows; ++r)
    for (std::int64_t j = 0; j < columns; ++j) {
      double first = mode == cpu_backend::tile_mode::assign ? 0.0 : static_cast<double>(c[r * ldc + j]), others = 0;
      for (std::int64_t p = 0; p < 2 * k; ++p)
        for (std::int64_t i = 0; i < Parts; ++i)
          for (std::int64_t l = 0; i + l < Parts; ++l) {
            const std::int64_t q = p / 2;
            const float x = half(a + q / 16 * 16 * a_step + r * a_row + i * 16 + q % 16, p % 2);
            const float y = half(b + (q * Parts + l) * b_step + j, p % 2);
            (i + l == 0 ? first : others) += static_cast<double>(x) * static_cast<double>(y);
          }
      c[r * ldc + j] = static_cast<float>(first + (std::isfinite(first) && std::isfinite(others) ? others : 0));
    }
}
template <int Parts>
const cpu_backend::microkernel_set plain_parts = [] {
  cpu_backend::microkernel_set k = cpu_backend::detail::amx_kernels(
      Parts == 2 ? cpu_backend::microkernel_numbers::split_2 : cpu_backend::microkernel_numbers::split_3);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((k.tile[I + 1] = plain_parts_tile<static_cast<int>(I) + 1, Parts>), ...);
  }(std::make_index_sequence<32>());
  k.begin = nullptr;
  k.end = nullptr;
  return k;
}();
#endif

struct parts_case {
  const cpu_backend::microkernel_set* kernels;
  double first, each;  ///< bound of an error, in units of sum |a b|: once, and for each term
};

// Two parts leave three terms of 2^-16, three parts about two of 2^-24.
std::vector<parts_case> parts_cases() {
  std::vector<parts_case> all;
  const double one = 0x1p-24;
#if defined(__x86_64__) && defined(__linux__)
  if (cpu_backend::best_bfloat16_unit() != cpu_backend::bfloat16_unit::none)
    all.push_back({&plain_parts<2>, 0x3p-16, one}), all.push_back({&plain_parts<3>, 3 * one, one});
#endif
  const auto kernels = [](cpu_backend::gemm_precision p) {
    return &cpu_backend::microkernels_for(cpu_backend::best_gemm_machine(), p);
  };
  all.push_back({kernels(cpu_backend::gemm_precision::bfloat16_x3), 0x3p-16, one});
  all.push_back({kernels(cpu_backend::gemm_precision::bfloat16_x6), 3 * one, one});
  return all;
}

}  // namespace

TEST_CASE("gemm: products of parts, any strides, within the bounds of three and of six products") {
  struct extents {
    std::int64_t m, n, k;
  };
  for (const auto [m, n, k] : {extents{1, 1, 1}, {2, 3, 5}, {17, 31, 33}, {33, 47, 129}, {64, 64, 64}, {100, 130, 770}})
    for (int form = 0; form < 18; ++form) {
      const floats a = random_floats((m + 3) * (k + 3) * 2, 1), b = random_floats((k + 3) * (n + 3) * 2, 2);
      const auto va = view(a, m, k, form % 3), vb = view(b, k, n, form / 3 % 3);
      const auto mode = form < 9 ? cpu_backend::gemm_mode::assign : cpu_backend::gemm_mode::accumulate;
      const floats old = random_floats(m * n, 3);
      for (const auto& [kernels, first, each] : parts_cases()) {
        floats one = old, two = old, packed = old;
        cpu_backend::detail::gemm_one({m, n, k, va, vb, one.data(), n, mode, {}}, *kernels, 1);
        cpu_backend::detail::gemm_one({m, n, k, va, vb, two.data(), n, mode, {}}, *kernels, 2);
        cpu_backend::gemm(m, va, tokamax::blas::packed_matrix(k, n, vb, *kernels), packed.data(), n, mode);
        CAPTURE(m, n, k, form, kernels->a_words);
        REQUIRE((one == two));
        REQUIRE((one == packed));
        double worst = 0;
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            const auto at = static_cast<std::size_t>(i * n + j);
            double sum = form < 9 ? 0.0 : static_cast<double>(old[at]), size = std::fabs(sum);
            for (std::int64_t p = 0; p < k; ++p) {
              const double term = static_cast<double>(*va.f32_at(i, p)) * static_cast<double>(*vb.f32_at(p, j));
              sum += term;
              size += std::fabs(term);
            }
            const double bound = size * (first + each * static_cast<double>(k + 2));
            worst = std::max(worst, std::fabs(static_cast<double>(one[at]) - sum) / bound);
          }
        REQUIRE(worst < 1.0);
      }
    }
}

TEST_CASE("gemm: products of parts of infinite, huge and tiny numbers are those of the numbers") {
  const float infinity = limits::infinity(), nan = limits::quiet_NaN(), huge = 3.4e38f;  // rounds to infinity
  const float hidden_nan = std::bit_cast<float>(0x7f800001u);  // its bits are all in the second part
  constexpr std::int64_t m = 40, n = 36, k = 70;
  struct operands {
    float a, b, expected;  ///< the product of a and b, which all others leave alone
  };
  for (const operands& o : {operands{infinity, 0.3f, infinity},
                            {infinity, -0.3f, -infinity},
                            {0.7f, infinity, infinity},
                            {infinity, infinity, infinity},
                            {infinity, 0.0f, nan},
                            {nan, 1.0f, nan},
                            {1.0f, hidden_nan, nan},
                            {huge, 1.0f, huge},
                            {-huge, 0.5f, -huge / 2},
                            {huge, 1.1f, infinity},
                            {huge, huge, infinity},
                            {3.4e38f, 1e-30f, 3.4e8f},
                            {1e-20f, 1e-10f, 1e-30f},
                            {1.2345678e-30f, 1e30f, 1.2345678f}})
    for (const auto& [kernels, first, each] : parts_cases())
      for (const auto mode : {cpu_backend::gemm_mode::assign, cpu_backend::gemm_mode::accumulate}) {
        floats a(m * k), b(k * n), c(m * n, 0.0f), plain(m * n, 0.0f);
        for (std::int64_t i = 0; i < m * k; ++i) a[static_cast<std::size_t>(i)] = i % k == 68 ? 0.25f : 0.0f;
        b.assign(static_cast<std::size_t>(k * n), 0.0f);
        a[33 * k + 5] = o.a;
        b[5 * n + 34] = o.b;
        cpu_backend::detail::gemm_one({m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data(), n, mode, {}}, *kernels,
                                      2);
        cpu_backend::detail::gemm_one({m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, plain.data(), n, mode, {}},
                                      cpu_backend::microkernels_for(cpu_backend::gemm_machine::portable), 1);
        CAPTURE(o.a, o.b, kernels->a_words);
        const float found = c[33 * n + 34];
        if (std::isnan(o.expected))
          CHECK(std::isnan(found));
        else if (std::isinf(o.expected))
          CHECK(found == o.expected);
        else
          CHECK(std::fabs(static_cast<double>(found) / static_cast<double>(o.expected) - 1) < first + 3 * each);
        for (std::size_t i = 0; i < c.size(); ++i)
          if (i != 33 * n + 34) REQUIRE((c[i] == plain[i] || (std::isnan(c[i]) && std::isnan(plain[i]))));
      }
}

TEST_CASE("gemm: products of parts are f32 where no unit multiplies parts") {
  if (cpu_backend::best_bfloat16_unit() == cpu_backend::bfloat16_unit::amx) return;
  constexpr std::int64_t m = 20, n = 30, k = 40;
  const floats a = random_floats(m * k, 5), b = random_floats(k * n, 6);
  floats exact(m * n), parts(m * n);
  cpu_backend::gemm(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, exact.data(), n);
  for (const auto p : {cpu_backend::gemm_precision::bfloat16_x3, cpu_backend::gemm_precision::bfloat16_x6}) {
    cpu_backend::gemm(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, parts.data(), n, cpu_backend::gemm_mode::assign, {},
                      p);
    CHECK((exact == parts));
  }
}
