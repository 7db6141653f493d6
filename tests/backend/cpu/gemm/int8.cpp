// tests/backend/cpu/gemm/int8.cpp: products of int8 are exact, on every machine, for any strides and team.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/gemm/gemm.hpp>

#include <bit>
#include <cstring>
#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;

namespace {

using bytes = std::vector<std::int8_t>;
using integers = std::vector<std::int32_t>;

// Every value from -128 to 127, the extremes often.
bytes values(std::int64_t n, std::uint32_t seed) {
  bytes x(static_cast<std::size_t>(n));
  for (auto& v : x) {
    seed = seed * 1664525u + 1013904223u;
    v = (seed & 0x3000u) == 0 ? std::int8_t{-128} : static_cast<std::int8_t>(seed >> 24);
  }
  return x;
}

cpu_backend::matrix_view view(const bytes& x, std::int64_t rows, std::int64_t cols, int form) {
  constexpr auto int8 = cpu_backend::gemm_element::int8;
  if (form == 0) return {x.data(), cols + 4, 1, int8};
  if (form == 1) return {x.data(), 1, rows + 3, int8};
  return {x.data(), 2 * cols, 2, int8};
}

#if defined(__x86_64__) && defined(__linux__)
// What the matrix unit does with its panels, in plain loops: machines without it test the panels.
template <int Rows>
void plain_amx_tile(const cpu_backend::tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  auto term = [](const float* quad, int which) {
    return static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(*quad) >> (which * 8));
  };
  for (int r = 0; r < Rows; ++r)
    for (std::int64_t j = 0; j < columns; ++j) {
      std::int32_t sum = 0;
      if (mode == cpu_backend::tile_mode::add) std::memcpy(&sum, c + r * ldc + j, sizeof sum);
      for (std::int64_t q = 0; q < k; ++q)
        for (int which = 0; which < 4; ++which)
          sum += term(a + q / 16 * 16 * a_step + r * a_row + q % 16, which) * term(b + q * b_step + j, which);
      std::memcpy(c + r * ldc + j, &sum, sizeof sum);
    }
}
const cpu_backend::microkernel_set plain_amx = [] {
  cpu_backend::microkernel_set k = cpu_backend::detail::amx_kernels(cpu_backend::microkernel_numbers::int8);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((k.tile[I + 1] = plain_amx_tile<static_cast<int>(I) + 1>), ...);
  }(std::make_index_sequence<32>());
  k.begin = nullptr;
  k.end = nullptr;
  return k;
}();
#endif

std::vector<const cpu_backend::microkernel_set*> all_kernels() {
  using cpu_backend::gemm_machine;
  using cpu_backend::int8_unit;
  std::vector<const cpu_backend::microkernel_set*> all{&cpu_backend::int8_microkernels(gemm_machine::portable)};
  if (cpu_backend::best_gemm_machine() != gemm_machine::portable)
    all.push_back(&cpu_backend::int8_microkernels(gemm_machine::avx2));
  if (cpu_backend::best_gemm_machine() == gemm_machine::avx512)
    for (const auto unit : {int8_unit::none, int8_unit::avx512, int8_unit::amx})
      if (unit <= cpu_backend::best_int8_unit())
        all.push_back(&cpu_backend::int8_microkernels(gemm_machine::avx512, unit));
#if defined(__x86_64__) && defined(__linux__)
  if (cpu_backend::best_int8_unit() != int8_unit::none) all.push_back(&plain_amx);
#endif
  return all;
}

struct shape_case {
  std::int64_t m, n, k;
};
const shape_case cases[] = {{1, 1, 1},   {1, 70, 3},     {2, 3, 5},      {5, 1, 9},     {13, 17, 19},   {14, 32, 64},
                            {16, 97, 3}, {17, 31, 1},    {29, 97, 1601}, {1, 300, 130}, {4, 1100, 259}, {64, 64, 64},
                            {0, 4, 4},   {100, 130, 77}, {4, 0, 4},      {4, 4, 0},     {3, 33, 3333}};

}  // namespace

TEST_CASE("gemm: products of int8 are exact") {
  for (const shape_case& s : cases) {
    const bytes a = values((s.m + 4) * (s.k + 4) * 2, 1), b = values((s.k + 4) * (s.n + 4) * 2, 2);
    for (int form = 0; form < 9; ++form) {
      const auto va = view(a, s.m, s.k, form % 3), vb = view(b, s.k, s.n, form / 3);
      for (const auto mode : {cpu_backend::gemm_mode::assign, cpu_backend::gemm_mode::accumulate}) {
        const std::int64_t ldc = s.n + 2;
        const integers old(static_cast<std::size_t>(s.m * ldc), 2'000'000'000);
        integers wanted = old;
        for (std::int64_t i = 0; i < s.m; ++i)
          for (std::int64_t j = 0; j < s.n; ++j) {
            auto& to = wanted[static_cast<std::size_t>(i * ldc + j)];
            auto sum = static_cast<std::uint32_t>(mode == cpu_backend::gemm_mode::assign ? 0 : to);
            for (std::int64_t p = 0; p < s.k; ++p)
              sum += static_cast<std::uint32_t>(static_cast<int>(*reinterpret_cast<const std::int8_t*>(va.at(i, p))) *
                                                *reinterpret_cast<const std::int8_t*>(vb.at(p, j)));
            to = static_cast<std::int32_t>(sum);
          }
        for (const cpu_backend::microkernel_set* kernels : all_kernels()) {
          CAPTURE(s.m, s.n, s.k, form, kernels->terms, kernels->rows);
          for (const int threads : {1, 2}) {
            integers c = old;
            cpu_backend::detail::gemm_one({s.m, s.n, s.k, va, vb, reinterpret_cast<float*>(c.data()), ldc, mode, {}},
                                          *kernels, threads);
            REQUIRE((c == wanted));
          }
          integers c = old;
          cpu_backend::gemm(s.m, va, tokamax::blas::packed_matrix(s.k, s.n, vb, *kernels), c.data(), ldc, mode);
          REQUIRE((c == wanted));
        }
      }
    }
  }
}

TEST_CASE("gemm: large products of int8") {
  const shape_case s{520, 2100, 1700};
  const bytes a = values(s.m * s.k, 3), b = values(s.k * s.n, 4);
  constexpr auto int8 = cpu_backend::gemm_element::int8;
  integers c(static_cast<std::size_t>(s.m * s.n));
  cpu_backend::gemm(s.m, s.n, s.k, {a.data(), s.k, 1, int8}, {b.data(), s.n, 1, int8}, c.data(), s.n);
  for (std::int64_t i = 0; i < s.m; i += 37)
    for (std::int64_t j = 0; j < s.n; j += 41) {
      std::int32_t sum = 0;
      for (std::int64_t p = 0; p < s.k; ++p)
        sum += a[static_cast<std::size_t>(i * s.k + p)] * b[static_cast<std::size_t>(p * s.n + j)];
      REQUIRE(c[static_cast<std::size_t>(i * s.n + j)] == sum);
    }
}
