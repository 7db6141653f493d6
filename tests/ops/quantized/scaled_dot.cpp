// tests/ops/quantized/scaled_dot.cpp: integers from end to end, special values among the scales of their sums, and products
// of floats that are rounded block by block.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/quantized/scaled_dot.hpp>
#include <tokamax/ops/quantized/scaled_dot_general.hpp>
#include <tokamax/transforms/checks/node_values.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/error_of.hpp"

#include <cmath>

namespace tk = tokamax;
using tk::array;

namespace {
using numbers = std::vector<double>;
constexpr auto mxfp8 = tk::block_scaling::mxfp8, nvfp4 = tk::block_scaling::nvfp4;

/// The nearest float of `fraction` bits after the leading one whose steps are at least 2^lowest; halves to the even one.
double nearest_float(double x, int fraction, int lowest) {
  if (x == 0) return x;
  const int step = std::max(std::ilogb(x) - fraction, lowest);
  return std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
}
/// What rows of k numbers stand for after they were rounded, and their scales.
std::pair<numbers, numbers> in_blocks(const numbers& x, tk::block_scaling mode, double factor = 1) {
  const std::size_t block = mode == mxfp8 ? 32 : 16;
  std::pair<numbers, numbers> y{x, {}};
  for (std::size_t at = 0; at < x.size(); at += block) {
    double most = 0;
    for (std::size_t i = at; i < at + block; ++i) most = std::fmax(most, std::fabs(x[i] / factor));
    double scale = std::exp2(std::fmax(-127, std::ceil(std::log2(most / 448))));
    if (mode == nvfp4) scale = nearest_float(std::fmin(most / 6, 448), 3, -9);
    y.second.push_back(scale);
    for (std::size_t i = at; i < at + block; ++i) {
      const double limit = mode == mxfp8 ? 448 : 6, v = scale == 0 ? 0 : x[i] / factor / scale;
      const double held = std::fmax(-limit, std::fmin(limit, v));
      y.first[i] = (mode == mxfp8 ? nearest_float(held, 3, -9) : nearest_float(held, 1, -1)) * scale * factor;
    }
  }
  return y;
}
/// [m, k] x [n, k] -> [m, n]
numbers product(const numbers& a, const numbers& b, std::size_t k) {
  numbers y;
  for (std::size_t i = 0; i < a.size(); i += k)
    for (std::size_t j = 0; j < b.size(); j += k) {
      double total = 0;
      for (std::size_t l = 0; l < k; ++l) total += a[i + l] * b[j + l];
      y.push_back(total);
    }
  return y;
}
numbers list(const array& x) { return tk::detail::numbers_of(x); }
array matrix(const numbers& x, const tk::shape& s) { return astype(array::from<double>(x, s), tk::f32); }
bool near(const array& found, const numbers& expected, double tolerance = 2e-6) {
  return tk::test::difference({tk::test::to_value(astype(found, tk::f32))},
                              {tk::test::to_value(matrix(expected, found.shape()))}, tolerance) == "";
}
}  // namespace

TEST_CASE("scaled_dot carries special values of scales, on odd and empty extents") {
  const struct {
    std::int64_t m, k, n, tiles;
  } sizes[] = {{83, 38, 29, 1}, {83, 38, 29, 2}, {1, 257, 61, 1}, {300, 64, 17, 4}, {0, 8, 3, 2}, {3, 8, 0, 1}};
  for (const auto& s : sizes)
    tk::test::check_adversarial(
        [](const tk::arrays& x) -> tk::arrays {
          return bind(tk::scaled_dot_p, {x[0], x[1], x[2], x[3]}, tk::words{}, tk::location{});
        },
        {tk::test::adversarial({2, s.m, s.k}, 1, tk::i8), tk::test::adversarial({2, s.k, s.n}, 2, tk::i8),
         tk::test::sprinkled({2, s.m, s.tiles}, 3, tk::f32, 1e4), tk::test::noise({2, s.tiles, s.n}, 4)},
        {.tolerance = 5e-6, .floor = 1000});  // tiles of sums to 2.6e5 may cancel
}

TEST_CASE("blocks of 32 floats share a power of two, and blocks of 16 of 4 bits a float of 8") {
  numbers x(128);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double n = static_cast<double>(i % 32);
    const double size = i < 32 ? 1 : i < 64 ? 0 : i < 96 ? 1e-30 : 7.25e5;
    x[i] = static_cast<float>((i % 2 ? -1 : 1) * (n * n * 0.37 + 0.01) / (1 + n) * size);
  }
  const auto q = tk::detail::in_blocks(matrix(x, {4, 32}), {}, {});
  CHECK(q.qvalue.dtype() == tk::f8e4m3fn);
  // the figures of jax.nn.scaled_dot_general's own rounding
  CHECK(list(q.scale) == numbers{0x1p-5, 0x1p-127, 0x1p-104, 0x1p15});
  CHECK(list(astype(q.qvalue, tk::f32)[0])[1] == -6);
  CHECK(list(astype(q.qvalue, tk::f32)[0])[31] == -352);
  CHECK(list(q.scale) == in_blocks(x, mxfp8).second);
  CHECK(near(dequantize(q), in_blocks(x, mxfp8).first, 1e-30));
  const auto config = tk::scaled_dot_general_config(nvfp4, array::from<float>({0.25f}));
  CHECK((config.block_size == 16 && config.scale_type == tk::f8e4m3fn));
  const auto p = tk::detail::in_blocks(matrix(x, {8, 16}), config, {});
  CHECK(list(p.scale)[0] == 3.5);
  CHECK(list(astype(p.qvalue, tk::f32)[0]) == numbers{0, 0, 0.5, -1, 1.5, -2, 2, -3, 3, -3, 4, -4, 4, -6, 6, -6});
  CHECK(list(p.scale) == in_blocks(x, nvfp4, 0.25).second);
  CHECK(near(dequantize(p) * 0.25f, in_blocks(x, nvfp4, 0.25).first, 1e-30));
}

TEST_CASE("scaled_dot_general rounds both operands and what its gradients are products of") {
  const std::size_t m = 32, n = 64, k = 96;
  const array a = tk::test::noise({32, 96}, 1) * 3.0f, b = tk::test::noise({96, 64}, 2),
              ct = tk::test::noise({32, 64}, 3);
  const array at = transpose(a, {1, 0}), bt = transpose(b, {1, 0}), ctt = transpose(ct, {1, 0});
  const auto eight = tk::scaled_dot_general_config(mxfp8), four = tk::scaled_dot_general_config(nvfp4, array(0.01f));
  const auto rounded = [](const array& x) { return in_blocks(list(x), mxfp8).first; };
  const auto slopes = [&](const tk::block_scale_configs& o) {
    return tk::grad<0, 1>(
        [&](const array& x, const array& y) { return sum(scaled_dot_general(x, y, {{1}, {0}}, o) * ct); })(a, b);
  };
  CHECK(near(scaled_dot_general(a, b, {{1}, {0}}), product(rounded(a), rounded(bt), k)));
  const auto [da, db] = slopes({eight, eight, eight});
  CHECK(near(da, product(rounded(ct), rounded(b), n)));
  CHECK(near(db, product(rounded(at), rounded(ctt), m)));
  const tk::block_scale_configs fours{four, four, four};
  CHECK(near(scaled_dot_general(a, b, {{1}, {0}}, fours),
             product(in_blocks(list(a), nvfp4, 0.01f).first, in_blocks(list(bt), nvfp4, 0.01f).first, k)));
  const auto [fa, fb] = slopes(fours);
  CHECK(near(fa, product(list(ct), list(b), n)));
  CHECK(near(fb, product(list(at), list(ctt), m)));
  // what is beyond the format has no gradient: 0.001 * 6 * 448 is 2.688
  tk::block_scale_configs narrow = fours;
  narrow.lhs.global_scale = array(0.001f);
  numbers some = list(fa);
  int beyond = 0;
  for (std::size_t i = 0; i < some.size(); ++i)
    if (std::fabs(list(a)[i]) > 2.688) {
      some[i] = 0;
      ++beyond;
    }
  CHECK(beyond > 0);
  CHECK(near(std::get<0>(slopes(narrow)), some));
}

TEST_CASE("scaled_dot_general has the axes of dot_general, and scaled_matmul takes blocks") {
  const array a = tk::test::noise({8, 2, 3, 4}, 1), b = tk::test::noise({5, 4, 2, 8}, 2);
  const tk::dot_dimensions d{{0, 3}, {3, 1}, {1}, {2}, tk::bf16};
  const array y = scaled_dot_general(a, b, d);
  CHECK((y.shape() == tk::shape{2, 3, 5} && y.dtype() == tk::bf16));
  CHECK(near(y, list(dot_general(a, b, {{0, 3}, {3, 1}, {1}, {2}})), 0.1));
  const array c = tk::test::noise({3, 4, 32}, 3), w = tk::test::noise({32, 5}, 4);
  CHECK(near(tk::vmap([&](const array& x) { return scaled_dot_general(x, w, {{1}, {0}}); })(c),
             list(scaled_dot_general(c, w, {{2}, {0}}))));
  CHECK_THAT(tk::test::error_of([&] { return scaled_dot_general(a, b, {{1}, {2}}); }),
             contains("scaled_dot_general: blocks"));
  CHECK_THAT(tk::test::error_of([&] { return scaled_dot_general(a, b, {{0}, {0}}); }), contains("inner extents"));

  const array i = array::from<std::int8_t>({1, 2, 3}, {1, 1, 3}), j = array::from<std::int8_t>({4, 5, 6}, {1, 1, 3});
  const array half(0.5, {tk::f32, false, {1, 1, 1}});
  CHECK(list(scaled_matmul(i, j, half, half)) == numbers{8});  // the example of jax.nn.scaled_matmul
  const auto q = quantize(c, {.type = tk::f8e5m2, .tiles = {1, 1, 16}}), r = quantize(c, {.tiles = {1, 1, 8}});
  CHECK(near(scaled_matmul(q.qvalue, r.qvalue, q.scale, r.scale),
             list(dot_general(dequantize(q), dequantize(r), {{2}, {2}, {0}, {0}}))));
  CHECK_THAT(tk::test::error_of([&] { return scaled_matmul(w, i, half, half); }), contains("scaled_matmul: operands"));
}
