// tests/ops/quantized/packed_ragged_dot.cpp: rows of groups times the packed weights of their group.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/ops/quantized/packed_ragged_dot.hpp>

#include <tokamax/quant/pack.hpp>
#include <tokamax/tokamax.hpp>

#include "support/adversarial.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array, tk::packed_format;
using tk::test::noise;

namespace {

array sizes_of(const std::vector<std::int32_t>& sizes) {
  return array::from<std::int32_t>(sizes, {static_cast<std::int64_t>(sizes.size())});
}
tk::arrays operands(const array& x, const tk::packed_weights& w, const array& sizes) {
  tk::arrays in{x, sizes, w.codes, w.scale};
  if (w.has_offset()) in.push_back(w.offset);
  return in;
}
tk::words attributes(const tk::packed_weights& w) { return tk::pack(tk::packed_dot_options{w.format, w.columns}); }
std::vector<float> values(array a) {
  const auto v = a.values<float>();
  return {v.begin(), v.end()};
}

}  // namespace

TEST_CASE("packed_ragged_dot keeps the contract of ops, on special values and odd and empty extents") {
  for (const packed_format f : {packed_format::int_8, packed_format::uint_4, packed_format::fp4}) {
    const tk::packed_weights w = tk::quant::pack(noise({2, 8, 3}, 2), {f, 8});  // 128 scales, each of which is moved
    const tk::arrays in = operands(noise({4, 8}, 1), w, sizes_of({2, 1}));
    tk::test::check_op(tk::packed_ragged_dot_p, {{{in.begin(), in.end()}, attributes(w)}});
    const struct {
      std::int64_t m, k, n;
    } extents[] = {{4, 257, 61}, {11, 64, 129}, {3, 1, 7}, {0, 8, 3}, {3, 0, 8}, {3, 8, 0}};
    for (const auto& e : extents) {
      const tk::packed_weights any = tk::quant::pack(noise({2, e.k, e.n}, 2), {f, 0});
      const tk::arrays all = operands(tk::test::sprinkled({e.m, e.k}, 1, tk::f32, 1e4), any, sizes_of({1, 2}));
      tk::test::check_adversarial(
          [&](const tk::arrays& x) {
            return bind_all(tk::packed_ragged_dot_p, x.data(), x.count(), attributes(any), {});
          },
          {all.begin(), all.end()}, {.tolerance = 5e-6, .floor = 1e5});
    }
  }
}

TEST_CASE("each row is multiplied with the matrix of its group, with the bits that it has alone") {
  const tk::packed_weights w = tk::quant::pack(noise({4, 96, 70}, 2), {packed_format::int_4, 32});
  const array x = noise({9, 96}, 1), plain = unpack(w);
  const struct {
    std::vector<std::int32_t> sizes;
    std::vector<int> group;  // of each row; -1: none
  } cases[] = {{{3, 0, 5, 1}, {0, 0, 0, 2, 2, 2, 2, 2, 3}},
               {{0, 2, -7, 3}, {1, 1, 3, 3, 3, -1, -1, -1, -1}},
               {{0, 0, 0, 0}, {-1, -1, -1, -1, -1, -1, -1, -1, -1}},
               {{100, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 0}}};
  for (const auto& c : cases)
    for (const int threads : {1, 3}) {
      const tk::cpu_backend::thread_team team(threads);
      const std::vector<float> y = values(packed_ragged_dot(x, w, sizes_of(c.sizes)));
      for (int i = 0; i < 9; ++i) {
        CAPTURE(i, threads);
        const std::vector<float> row(y.begin() + i * 70, y.begin() + (i + 1) * 70);
        const int group = c.group[static_cast<std::size_t>(i)];
        CHECK(row == (group < 0 ? std::vector<float>(70) : values(matmul(x[i], plain[group]))));
      }
    }
  CHECK(packed_ragged_dot(astype(x, tk::bf16), w, sizes_of({9, 0, 0, 0})).dtype() == tk::bf16);
}

TEST_CASE("packed_ragged_dot says what is wrong") {
  const tk::packed_weights w = tk::quant::pack(noise({2, 16, 5}, 2), {packed_format::int_4, 8});
  CHECK_THROWS_WITH(packed_ragged_dot(noise({3, 15}, 1), w, sizes_of({1, 2})), contains("packed_ragged_dot: x"));
  CHECK_THROWS_WITH(packed_ragged_dot(noise({3, 16}, 1), w, noise({2}, 1)), contains("packed_ragged_dot: operands"));
  CHECK_THROWS_WITH(packed_ragged_dot(noise({3, 16}, 1), w, sizes_of({1, 1, 1})), contains("packed_dot: operands"));
}
