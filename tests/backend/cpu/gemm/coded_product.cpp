// tests/backend/cpu/gemm/coded_product.cpp: rows times packed weights have the same bits in all instruction sets.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/backend/cpu/gemm/coded_product.hpp>

#include <cmath>
#include <random>
#include <vector>

#include "support/catch.hpp"

namespace tk = tokamax;
using namespace tokamax::cpu_backend;
using tk::packed_format;

namespace {

/// Random codes with scales, and maybe offsets, from -1/2 to 1/2.
struct weights {
  std::vector<std::uint32_t> codes;
  std::vector<float> scale, offset;
  std::vector<tk::float16> half_scale, half_offset;
  coded_matrix matrix;

  weights(packed_format f, std::int64_t k, std::int64_t n, std::int64_t groups, bool half, bool with_offset) {
    std::mt19937 draw(7);
    const std::int64_t panels = tk::detail::packed_panels(n), bits = tk::detail::bits_of(f);
    codes.resize(static_cast<std::size_t>(panels * tk::detail::packed_steps(f, k) * 64 * (bits == 8 ? 1 : 4) / 4));
    for (std::uint32_t& word : codes) word = static_cast<std::uint32_t>(draw());
    for (std::int64_t i = 0; i < panels * groups * 64; ++i)
      for (auto* to : {&scale, &offset}) to->push_back(static_cast<float>(draw() % 1024) / 1024.0f - 0.5f);
    for (const float v : scale) half_scale.push_back(tk::float16(v));
    for (const float v : offset) half_offset.push_back(tk::float16(v));
    const auto bytes = [&](const std::vector<float>& wide, const std::vector<tk::float16>& small) {
      return half ? reinterpret_cast<const std::byte*>(small.data()) : reinterpret_cast<const std::byte*>(wide.data());
    };
    matrix = {f,
              k,
              n,
              groups,
              half,
              codes.data(),
              bytes(scale, half_scale),
              with_offset ? bytes(offset, half_offset) : nullptr};
  }
};

}  // namespace

TEST_CASE("rows times packed weights have the same bits in all instruction sets, and for any number of rows") {
  const struct {
    std::int64_t k, n, groups;
  } shapes[] = {{1056, 70, 33}, {600, 64, 1}, {13, 130, 1}, {16, 3, 2}};
  std::vector<gemm_machine> machines{gemm_machine::avx2};
  if (best_gemm_machine() == gemm_machine::portable) machines = {gemm_machine::portable};
  if (best_gemm_machine() == gemm_machine::avx512) machines.push_back(gemm_machine::avx512);
  for (const auto f : {packed_format::int_8, packed_format::int_4, packed_format::uint_4, packed_format::nf4})
    for (const auto& s : shapes)
      for (const bool half : {false, true})
        for (const bool with_offset : {false, true}) {
          if (with_offset && f != packed_format::int_8 && f != packed_format::uint_4) continue;
          const weights w(f, s.k, s.n, s.groups, half, with_offset);
          std::vector<float> x, first;
          for (std::int64_t i = 0; i < 5 * s.k; ++i) x.push_back(std::sin(static_cast<float>(i)));
          for (const gemm_machine machine : machines)
            for (std::int64_t m = 5; m > 0; --m) {
              CAPTURE(static_cast<int>(f), s.k, half, with_offset, static_cast<int>(machine), m);
              std::vector<float> y(static_cast<std::size_t>(m * s.n), 99.0f);
              coded_product(m, x.data(), w.matrix, y.data(), machine);
              if (first.empty()) first = y;
              CHECK(y == std::vector<float>(first.begin(), first.begin() + m * s.n));
            }
        }
}
