// tests/backend/cpu/gemm/gemm.cpp: products against double loops, every machine, any strides, same bits for any team.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/gemm/blocked.hpp>
#include <tokamax/backend/cpu/gemm/gemm.hpp>
#include <tokamax/base/bfloat16.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;
using floats = std::vector<float>;

namespace {

floats random_floats(std::int64_t n, std::uint32_t seed) {
  floats x(static_cast<std::size_t>(n));
  for (float& v : x) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
  }
  return x;
}

struct shape_case {
  std::int64_t m, n, k;
};

// Stored as [rows, cols] (gap floats between rows) or transposed.
cpu_backend::matrix_view view(const floats& x, std::int64_t rows, std::int64_t cols, bool transposed,
                              std::int64_t gap) {
  return transposed ? cpu_backend::matrix_view{x.data(), 1, rows + gap}
                    : cpu_backend::matrix_view{x.data(), cols + gap, 1};
}

float rounded(float x) { return static_cast<float>(tokamax::bfloat16(x)); }
float at(cpu_backend::matrix_view v, std::int64_t i, std::int64_t j, cpu_backend::gemm_precision precision) {
  if (v.element == cpu_backend::gemm_element::bfloat16) {
    std::uint16_t bits;
    std::memcpy(&bits, v.at(i, j), sizeof bits);
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  return precision == cpu_backend::gemm_precision::f32 ? *v.f32_at(i, j) : rounded(*v.f32_at(i, j));
}

// Largest error in units of the bound k * eps * sum |a b|.
double worst(const shape_case& s, cpu_backend::matrix_view a, cpu_backend::matrix_view b, const floats& c,
             std::int64_t ldc, const floats& old,
             cpu_backend::gemm_precision precision = cpu_backend::gemm_precision::f32) {
  double most = 0;
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = old.empty() ? 0.0 : static_cast<double>(old[static_cast<std::size_t>(i * ldc + j)]);
      double size = std::fabs(sum) + 1e-30;
      for (std::int64_t p = 0; p < s.k; ++p) {
        const double term = static_cast<double>(at(a, i, p, precision)) * static_cast<double>(at(b, p, j, precision));
        sum += term;
        size += std::fabs(term);
      }
      const double error = std::fabs(static_cast<double>(c[static_cast<std::size_t>(i * ldc + j)]) - sum);
      most = std::max(most, error / (size * 6e-8 * static_cast<double>(s.k + 2)));
    }
  }
  return most;
}

std::vector<cpu_backend::gemm_machine> machines() {
  std::vector<cpu_backend::gemm_machine> all{cpu_backend::gemm_machine::portable};
  if (cpu_backend::best_gemm_machine() != cpu_backend::gemm_machine::portable)
    all.push_back(cpu_backend::gemm_machine::avx2);
  if (cpu_backend::best_gemm_machine() == cpu_backend::gemm_machine::avx512)
    all.push_back(cpu_backend::gemm_machine::avx512);
  return all;
}

#if defined(__x86_64__) && defined(__linux__)
// What the matrix unit does with its panels, in plain loops: machines without it test the panels.
template <int Rows>
void plain_amx_tile(const cpu_backend::tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  auto half = [](const float* pair, int which) {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(*pair) >> (which * 16)) << 16);
  };
  for (int r = 0; r < Rows; ++r)
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = mode == cpu_backend::tile_mode::assign ? 0.0f : c[r * ldc + j];
      for (std::int64_t q = 0; q < k; ++q)
        for (int which : {0, 1})
          sum += half(a + q / 16 * 16 * a_step + r * a_row + q % 16, which) * half(b + q * b_step + j, which);
      c[r * ldc + j] = sum;
    }
}
const cpu_backend::microkernel_set plain_amx = [] {
  cpu_backend::microkernel_set k = cpu_backend::detail::amx_kernels(cpu_backend::microkernel_numbers::bfloat16);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((k.tile[I + 1] = plain_amx_tile<static_cast<int>(I) + 1>), ...);
  }(std::make_index_sequence<32>());
  k.begin = nullptr;
  k.end = nullptr;
  return k;
}();
#endif

const shape_case cases[] = {{1, 1, 1},       {1, 7, 3},     {2, 3, 5},     {5, 1, 9},     {13, 17, 19}, {14, 32, 8},
                            {15, 33, 385},   {16, 200, 64}, {17, 31, 1},   {29, 97, 101}, {64, 64, 64}, {61, 1, 800},
                            {100, 130, 770}, {3, 259, 500}, {211, 45, 33}, {0, 4, 4},     {4, 0, 4},    {4, 4, 0},
                            {1, 300, 1000},  {7, 100, 10},  {2, 700, 40},  {4, 611, 389}};

}  // namespace

TEST_CASE("gemm: all strides on all machines") {
  for (const auto machine : machines()) {
    const auto& kernels = cpu_backend::microkernels_for(machine);
    for (const shape_case& s : cases) {
      for (int form = 0; form < 8; ++form) {
        const std::int64_t gap = form & 4 ? 3 : 0;
        const std::int64_t ldc = s.n + gap;
        const floats a = random_floats((s.m + 3) * (s.k + 3), 1), b = random_floats((s.n + 3) * (s.k + 3), 2);
        const auto va = view(a, s.m, s.k, form & 1, gap), vb = view(b, s.k, s.n, form & 2, gap);
        for (const auto mode : {cpu_backend::gemm_mode::assign, cpu_backend::gemm_mode::accumulate}) {
          const floats old = random_floats(s.m * ldc, 3);
          const tokamax::blas::packed_matrix packed(s.k, s.n, vb, kernels);
          floats from_packed = old;
          cpu_backend::gemm(s.m, va, packed, from_packed.data(), ldc, mode);
          for (const int threads : {1, 2}) {
            floats c = old;
            cpu_backend::detail::gemm_one({s.m, s.n, s.k, va, vb, c.data(), ldc, mode, {}}, kernels, threads);
            CAPTURE(static_cast<int>(machine), s.m, s.n, s.k, form, threads);
            REQUIRE(worst(s, va, vb, c, ldc, mode == cpu_backend::gemm_mode::assign ? floats{} : old) < 1.0);
            REQUIRE((c == from_packed));
            for (std::int64_t i = 0; i < s.m; ++i)  // the gap is untouched
              for (std::int64_t j = s.n; j < ldc; ++j)
                REQUIRE(c[static_cast<std::size_t>(i * ldc + j)] == old[static_cast<std::size_t>(i * ldc + j)]);
          }
        }
      }
    }
  }
}

TEST_CASE("gemm: bfloat16 products of f32 and bf16 operands") {
  constexpr auto precision = cpu_backend::gemm_precision::bfloat16;
  std::vector<const cpu_backend::microkernel_set*> all;
  for (const auto machine : machines())
    for (const auto unit :
         {cpu_backend::bfloat16_unit::none, cpu_backend::bfloat16_unit::avx512, cpu_backend::bfloat16_unit::amx})
      if (unit <= cpu_backend::best_bfloat16_unit())
        all.push_back(&cpu_backend::microkernels_for(machine, precision, unit));
#if defined(__x86_64__)
  if (cpu_backend::best_gemm_machine() != cpu_backend::gemm_machine::portable)
    all.push_back(&cpu_backend::detail::avx2_kernels(cpu_backend::microkernel_numbers::rounded));
#endif
#if defined(__x86_64__) && defined(__linux__)
  if (cpu_backend::best_bfloat16_unit() != cpu_backend::bfloat16_unit::none) all.push_back(&plain_amx);
#endif
  for (const shape_case& s : cases) {
    const floats a = random_floats((s.m + 3) * (s.k + 3), 21), b = random_floats((s.n + 3) * (s.k + 3), 22);
    std::vector<tokamax::bfloat16> half_a(a.begin(), a.end()), half_b(b.begin(), b.end());
    for (int form = 0; form < 16; ++form) {
      auto va = view(a, s.m, s.k, form & 1, 3), vb = view(b, s.k, s.n, form & 2, 3);
      if (form & 4) va.data = half_a.data(), va.element = cpu_backend::gemm_element::bfloat16;
      if (form & 8) vb.data = half_b.data(), vb.element = cpu_backend::gemm_element::bfloat16;
      const floats old = random_floats(s.m * s.n, 23);
      for (const cpu_backend::microkernel_set* kernels : all) {
        floats one = old, two = old;
        cpu_backend::detail::gemm_one({s.m, s.n, s.k, va, vb, one.data(), s.n, cpu_backend::gemm_mode::accumulate, {}},
                                      *kernels, 1);
        cpu_backend::detail::gemm_one({s.m, s.n, s.k, va, vb, two.data(), s.n, cpu_backend::gemm_mode::accumulate, {}},
                                      *kernels, 2);
        floats packed = old;
        const tokamax::blas::packed_matrix b_packed(s.k, s.n, vb, *kernels);
        cpu_backend::gemm(s.m, va, b_packed, packed.data(), s.n, cpu_backend::gemm_mode::accumulate);
        CAPTURE(s.m, s.n, s.k, form, kernels->terms, kernels->rows);
        REQUIRE(worst(s, va, vb, one, s.n, old, precision) < 1.0);
        REQUIRE((one == two));
        REQUIRE((one == packed));
      }
    }
  }
}

TEST_CASE("gemm: NaN of an earlier product stay out of the pair that an odd number of terms leaves") {
  constexpr auto precision = cpu_backend::gemm_precision::bfloat16;
  for (const std::int64_t m : {1, 40}) {
    const floats nans(static_cast<std::size_t>(m * 64), NAN), ones(static_cast<std::size_t>(64 * 64), 1.0f);
    for (const auto machine : machines()) {
      const auto& kernels = cpu_backend::microkernels_for(machine, precision);
      floats c(static_cast<std::size_t>(m * 64));
      for (const floats* a : {&nans, &ones}) {
        const std::int64_t k = a == &nans ? 64 : 63;
        cpu_backend::detail::gemm_one({m, 64, k, {a->data(), k, 1}, {ones.data(), 64, 1}, c.data(), 64, {}, {}},
                                      kernels, 1);
      }
      CAPTURE(m, static_cast<int>(machine));
      CHECK((c == floats(c.size(), 63.0f)));
    }
  }
}

TEST_CASE("gemm: rows of A that are read where they lie give the bits of packed ones") {
  std::vector<const cpu_backend::microkernel_set*> all;
  for (const auto machine : machines()) all.push_back(&cpu_backend::microkernels_for(machine));
  if (cpu_backend::best_bfloat16_unit() != cpu_backend::bfloat16_unit::none)
    all.push_back(
        &cpu_backend::microkernels_for(cpu_backend::best_gemm_machine(), cpu_backend::gemm_precision::bfloat16));
#if defined(__x86_64__) && defined(__linux__)
  if (cpu_backend::best_bfloat16_unit() != cpu_backend::bfloat16_unit::none) all.push_back(&plain_amx);
#endif
  const std::int64_t page = 1024, near = 480;  // floats from row to row
  for (const shape_case& s : {shape_case{64, 45, 64}, shape_case{96, 70, 416}, shape_case{6, 33, 32}}) {
    const floats near_rows = random_floats(s.m * near, 41), b = random_floats(s.k * s.n, 42);
    floats far_rows(static_cast<std::size_t>(s.m * page));
    for (std::int64_t i = 0; i < s.m; ++i) std::copy_n(near_rows.begin() + i * near, near, far_rows.begin() + i * page);
    for (const cpu_backend::microkernel_set* kernels : all) {
      const bool pairs = kernels->terms == 2;
      std::vector<tokamax::bfloat16> near_halves, far_halves(static_cast<std::size_t>(2 * s.m * page));
      for (const float x : near_rows) near_halves.emplace_back(x);
      for (std::int64_t i = 0; i < s.m; ++i)
        std::copy_n(near_halves.begin() + i * near, near, far_halves.begin() + 2 * i * page);
      const auto element = pairs ? cpu_backend::gemm_element::bfloat16 : cpu_backend::gemm_element::f32;
      const void *at_near = near_rows.data(), *at_far = far_rows.data();
      if (pairs) at_near = near_halves.data(), at_far = far_halves.data();
      const auto product = [&](const void* a, std::int64_t row_stride, int threads, bool in_place) {
        floats c(static_cast<std::size_t>(s.m * s.n));
        const cpu_backend::detail::gemm_problem g{s.m,
                                                  s.n,
                                                  s.k,
                                                  {a, row_stride, 1, element},
                                                  {b.data(), s.n, 1},
                                                  c.data(),
                                                  s.n,
                                                  cpu_backend::gemm_mode::assign,
                                                  {}};
        CAPTURE(s.m, s.k, kernels->terms, kernels->rows);
        CHECK(cpu_backend::detail::reads_a_in_place(g, *kernels) ==
              (in_place && (kernels->unit == 1 || s.m % 32 == 0)));
        cpu_backend::detail::gemm_one(g, *kernels, threads);
        return c;
      };
      const floats expected = product(at_far, pairs ? 2 * page : page, 1, false);
      CHECK((product(at_near, near, 1, true) == expected));
      CHECK((product(at_near, near, 2, true) == expected));
    }
  }
}

TEST_CASE("gemm: strides that are nowhere one") {
  const shape_case s{19, 23, 29};
  const floats a = random_floats(s.m * s.k * 6, 4), b = random_floats(s.k * s.n * 6, 5);
  const cpu_backend::matrix_view va{a.data(), 2 * s.k, 2}, vb{b.data(), 3, 3 * s.k};
  floats c(static_cast<std::size_t>(s.m * s.n));
  cpu_backend::gemm(s.m, s.n, s.k, va, vb, c.data(), s.n);
  CHECK(worst(s, va, vb, c, s.n, {}) < 1.0);
  const floats row = random_floats(s.k, 6);
  cpu_backend::gemm(s.m, s.n, s.k, {row.data(), 0, 1}, vb, c.data(), s.n);  // a broadcast row
  CHECK(worst(s, {row.data(), 0, 1}, vb, c, s.n, {}) < 1.0);
  cpu_backend::gemm(s.m, s.n, s.k, va, vb, c.data(), s.n, cpu_backend::gemm_mode::assign, {},
                    cpu_backend::gemm_precision::bfloat16);
  CHECK(worst(s, va, vb, c, s.n, {}, cpu_backend::gemm_precision::bfloat16) < 1.0);
}

TEST_CASE("gemm: same bits for any team, height, and fused machine") {
  for (const shape_case& s : {shape_case{64, 384, 771}, shape_case{300, 200, 5000}, shape_case{1500, 40, 1500}}) {
    const floats a = random_floats(s.m * s.k, 7), b = random_floats(s.k * s.n, 8);
    const cpu_backend::matrix_view va{a.data(), s.k, 1}, vb{b.data(), s.n, 1};
    const auto bytes = static_cast<std::size_t>(s.m * s.n) * sizeof(float);
    floats one(static_cast<std::size_t>(s.m * s.n)), other = one;
    cpu_backend::set_num_threads(1);
    cpu_backend::gemm(s.m, s.n, s.k, va, vb, one.data(), s.n);
    for (const int threads : {2, 3, 5}) {
      cpu_backend::set_num_threads(threads);
      cpu_backend::gemm(s.m, s.n, s.k, va, vb, other.data(), s.n);
      CHECK(std::memcmp(one.data(), other.data(), bytes) == 0);
    }
    cpu_backend::set_num_threads(2);
    for (std::int64_t i = 0; i < s.m; i += 5)
      cpu_backend::gemm(std::min<std::int64_t>(5, s.m - i), s.n, s.k, {a.data() + i * s.k, s.k, 1}, vb,
                        other.data() + i * s.n, s.n);
    CHECK(std::memcmp(one.data(), other.data(), bytes) == 0);
    if (cpu_backend::best_gemm_machine() == cpu_backend::gemm_machine::avx512) {
      cpu_backend::detail::gemm_one({s.m, s.n, s.k, va, vb, other.data(), s.n, cpu_backend::gemm_mode::assign, {}},
                                    cpu_backend::microkernels_for(cpu_backend::gemm_machine::avx2), 2);
      CHECK(std::memcmp(one.data(), other.data(), bytes) == 0);
    }
    cpu_backend::set_num_threads(0);
  }
}

TEST_CASE("gemm: large products, which go past the caches, have the bits of others") {
  const shape_case s{1031, 1040, 70};
  const floats a = random_floats(s.m * s.k, 31), b = random_floats(s.k * s.n, 32);
  const cpu_backend::matrix_view va{a.data(), s.k, 1}, vb{b.data(), 1, s.k};
  floats memory(static_cast<std::size_t>(s.m * s.n + 32));
  float* aligned = memory.data();
  while (reinterpret_cast<std::uintptr_t>(aligned) % 64 != 0) ++aligned;
  const auto bytes = static_cast<std::size_t>(s.m * s.n) * sizeof(float);
  for (const auto machine : machines())
    for (const auto precision : {cpu_backend::gemm_precision::f32, cpu_backend::gemm_precision::bfloat16}) {
      const cpu_backend::microkernel_set& kernels = cpu_backend::microkernels_for(machine, precision);
      const auto product = [&](float* c, int threads) {
        const cpu_backend::detail::gemm_problem g{s.m, s.n, s.k, va, vb, c, s.n, cpu_backend::gemm_mode::assign, {}};
        cpu_backend::detail::gemm_one(g, kernels, threads);
        return cpu_backend::detail::streams(g, cpu_backend::detail::gemm_k_block(s.k, kernels));
      };
      REQUIRE(product(aligned, 2));
      floats streamed(aligned, aligned + s.m * s.n);
      REQUIRE(!product(aligned + 1, 1));
      CHECK(std::memcmp(aligned + 1, streamed.data(), bytes) == 0);
      CHECK(worst({9, s.n, s.k}, va, vb, streamed, s.n, {}, precision) < 1.0);
    }
}

TEST_CASE("gemm: the epilogue sees each element once, finished") {
  struct context {
    const float* bias;
    std::int64_t ldc;
    float* base;
  };
  for (const shape_case& s : {shape_case{5, 300, 900}, shape_case{130, 170, 5000}, shape_case{40, 50, 0}}) {
    const floats a = random_floats(s.m * s.k, 9), b = random_floats(s.k * s.n, 10), bias = random_floats(s.m * s.n, 11);
    const cpu_backend::matrix_view va{a.data(), s.k, 1}, vb{b.data(), s.n, 1};
    floats plain(static_cast<std::size_t>(s.m * s.n)), fused = plain;
    cpu_backend::gemm(s.m, s.n, s.k, va, vb, plain.data(), s.n);
    const context seen{bias.data(), s.n, fused.data()};
    const cpu_backend::gemm_epilogue add_bias{[](const void* p, float* c, std::int64_t ldc, std::int64_t row,
                                                 std::int64_t col, std::int64_t rows, std::int64_t cols) noexcept {
                                                const auto& x = *static_cast<const context*>(p);
                                                if (c != x.base + row * ldc + col) return;
                                                for (std::int64_t i = 0; i < rows; ++i)
                                                  for (std::int64_t j = 0; j < cols; ++j)
                                                    c[i * ldc + j] += x.bias[(row + i) * x.ldc + col + j];
                                              },
                                              &seen};
    cpu_backend::gemm(s.m, s.n, s.k, va, vb, fused.data(), s.n, cpu_backend::gemm_mode::assign, add_bias);
    bool same = true;
    for (std::size_t i = 0; i < plain.size(); ++i) same = same && fused[i] == plain[i] + bias[i];
    CHECK(same);
  }
}

TEST_CASE("gemm_batched: equals one product after the other") {
  for (const std::int64_t batch : {0, 1, 3, 20}) {
    for (const shape_case& s : {shape_case{9, 33, 17}, shape_case{120, 130, 300}}) {
      const floats a = random_floats(batch * s.m * s.k, 12), b = random_floats(s.k * s.n, 13);
      floats one(static_cast<std::size_t>(batch * s.m * s.n)), all = one;
      for (std::int64_t i = 0; i < batch; ++i)
        cpu_backend::gemm(s.m, s.n, s.k, {a.data() + i * s.m * s.k, s.k, 1}, {b.data(), 1, s.k},
                          one.data() + i * s.m * s.n, s.n);
      for (const int threads : {1, 2, 4}) {
        cpu_backend::set_num_threads(threads);
        cpu_backend::gemm_batched(batch, s.m, s.n, s.k, {a.data(), s.k, 1}, s.m * s.k, {b.data(), 1, s.k}, 0,
                                  all.data(), s.n, s.m * s.n);
        CHECK(one == all);
      }
      cpu_backend::set_num_threads(0);
    }
  }
}
