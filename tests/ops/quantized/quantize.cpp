// tests/ops/quantized/quantize.cpp: values, scales and errors of quantised arrays, against Qwix's figures and rules.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/quantized/quantize.hpp>
#include <tokamax/ops/quantized/quantized_array.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {

std::vector<std::int32_t> integers(const array& x) {
  const array wide = astype(x, tk::i32);
  return {wide.data<std::int32_t>(), wide.data<std::int32_t>() + wide.size()};
}

/// The mean error over the mean magnitude.
double relative_error(const array& x, const array& y) {
  return array(tk::sum(tk::abs(x - y)) / tk::sum(tk::abs(x))).item<float>();
}
/// Samples of the normal distribution.
array normal(const tk::shape& s) {
  std::mt19937 random(42);
  std::normal_distribution<float> sample;
  array x = array::uninitialized({tk::f32, false, s});
  for (std::int64_t i = 0; i < x.size(); ++i) x.mutable_data<float>()[i] = sample(random);
  return x;
}

}  // namespace

TEST_CASE("quantize rounds to the nearest value and saturates") {
  const auto values = [](std::vector<float> v, tk::dtype type, float scale = 1) {
    array x = array::from<float>(v, {static_cast<std::int64_t>(v.size())}), s = array::from<float>({scale}, {1});
    const tk::detail::quantized_range range(type);
    return integers(astype(tk::clip(tk::round(x / s), array(range.least), array(range.greatest)), type));
  };
  CHECK(values({1.2f, 3.5f, -127.5f, 129, -1300}, tk::i8) == std::vector<std::int32_t>{1, 4, -128, 127, -128});
  CHECK(values({1.2f, 3.5f, 8, -1300}, tk::i4) == std::vector<std::int32_t>{1, 4, 7, -8});
  const auto q = tk::quantize(array{-2.0f, -1.0f, 0.0f, 1.0f, 2.0f});
  CHECK(integers(q.qvalue) == std::vector<std::int32_t>{-127, -64, 0, 64, 127});  // 127.5 less a rounding
  CHECK(q.scale.item<float>() == 2.0f / 127.5f);
}

TEST_CASE("quantize with a zero point represents its steps exactly") {
  array x = array::uninitialized({tk::f32, false, {256}});
  for (int k = 0; k < 256; ++k) x.mutable_data<float>()[k] = static_cast<float>(k) / 255.0f;
  const auto q = tk::quantize(x, {.asymmetric = true});
  const auto v = integers(q.qvalue);
  for (int k = 0; k < 256; ++k) CHECK(v[static_cast<std::size_t>(k)] == k - 128);
  CHECK(q.zero_point.item<float>() == -128);
  CHECK(tk::test::distance(dequantize(q), x) < 1e-7);
}

TEST_CASE("quantize is at most half a step away, and a quarter on average") {
  const array x = normal({10, 256, 16});
  const auto check = [&](const tk::quantize_options& o) {
    const auto q = tk::quantize(x, o);
    const array steps = tk::abs(dequantize(q) - x) / tk::detail::repeated_in_tiles(q.scale, x.shape(), {});
    CHECK(array(tk::max(steps)).item<float>() < 0.5001f);
    CHECK(array(tk::mean(steps)).item<float>() == Approx(0.25).epsilon(0.02));
  };
  check({.tiles = {1, 0, 0}});
  check({.type = tk::i4, .tiles = {1, 0, 0}});
  check({.type = tk::i4, .tiles = {1, 32, 0}});
  check({.type = tk::u8, .tiles = {1, 0, 1}, .asymmetric = true});
  // bounds of Qwix's tests, on other samples
  const auto error = [&](const tk::quantize_options& o) { return relative_error(x, dequantize(tk::quantize(x, o))); };
  CHECK(error({.type = tk::f8e4m3fn, .tiles = {1, 0, 0}}) == Approx(0.0225).epsilon(0.1));
  CHECK(error({.type = tk::i4, .tiles = {1, 32, 1}}) < 0.12256);
}

TEST_CASE("the scales of quantised arrays have an entry for each tile") {
  const array x = normal({4, 6});
  const auto scale = [&](const tk::shape& tiles) { return tk::quantize(x, {.tiles = tiles}).scale.shape(); };
  CHECK(scale({}) == tk::shape{1, 1});
  CHECK(scale({0, 1}) == tk::shape{1, 6});
  CHECK(scale({2, 1}) == tk::shape{2, 6});
  CHECK(scale({1, 3}) == tk::shape{4, 2});
  const auto q = tk::quantize(x, {.tiles = {2, 3}});
  CHECK(q.scale.extent(0) == 2);
  float most = 0;  // of the second tile
  for (int i = 0; i < 2; ++i)
    for (int j = 3; j < 6; ++j) most = std::fmax(most, std::fabs(x.data<float>()[6 * i + j]));
  CHECK(q.scale.data<float>()[1] == most / 127.5f);
  const auto t = transpose(q, {1, 0});
  CHECK(tk::test::distance(dequantize(t), transpose(dequantize(q), tk::axes{1, 0})) == 0);
}

TEST_CASE("a tile of zeros and narrow dtypes keep their values") {
  const array zeros = tk::zeros({3, 4});
  CHECK(tk::test::distance(dequantize(tk::quantize(zeros)), zeros) == 0);
  CHECK(tk::quantize(tk::zeros({0, 4}), {.tiles = {1, 0}}).scale.shape() == tk::shape{0, 1});
  const array narrow = astype(normal({8, 8}), tk::bf16);
  CHECK(tk::quantize(narrow).scale.dtype() == tk::f32);
  CHECK(tk::quantize(astype(narrow, tk::f64)).scale.dtype() == tk::f64);
}

TEST_CASE("quantised arrays are trees, and vmap and jit take them") {
  const array x = normal({3, 4, 6});
  const auto both = [](const array& v) { return dequantize(tk::quantize(v, {.tiles = {1, 3}})); };
  const array expected = dequantize(tk::quantize(x, {.tiles = {1, 1, 3}}));
  CHECK(tk::test::distance(array(tk::vmap(both)(x)), expected) == 0);
  const auto make =
      tk::jit([](const array& v) { return tk::quantize(v, {.tiles = {1, 1, 3}}); }, tk::cpu, tk::at_run_time);
  const auto use = tk::jit([](const tk::quantized_array& q) { return dequantize(q); }, tk::cpu, tk::at_run_time);
  CHECK(tk::test::distance(array(use(make(x))), expected) == 0);
}

TEST_CASE("gradients pass fake_quantize, and are refused by quantize") {
  const array x = normal({4, 6});
  const auto squares = [](const array& v) { return tk::sum(tk::fake_quantize(v) * tk::fake_quantize(v)); };
  const array y = dequantize(tk::quantize(x));
  CHECK(tk::test::distance(tk::fake_quantize(x), y) == 0);
  CHECK(tk::test::distance(array(tk::grad(squares)(x)), y * 2.0f) < 1e-6);
  const auto through = [](const array& v) { return tk::sum(dequantize(tk::quantize(v))); };
  CHECK_THROWS_WITH(tk::grad(through)(x), contains("quantize: gradient") && contains("fake_quantize"));
}

TEST_CASE("quantized_scale changes no value") {
  tk::test::check_adversarial(
      [](const tk::arrays& x) -> tk::arrays {
        return bind(tk::quantized_scale_p, {x[0]}, tk::words{}, tk::location{});
      },
      {tk::test::adversarial({37}, 1, tk::f32)});
}

TEST_CASE("quantize says what is wrong") {
  const array x = normal({4, 6});
  CHECK_THROWS_WITH(tk::quantize(astype(x, tk::i32)), contains("quantize: x"));
  CHECK_THROWS_WITH(tk::quantize(x, {.type = tk::i32}), contains("quantize: type"));
  CHECK_THROWS_WITH(tk::quantize(x, {.type = tk::f8e5m2, .asymmetric = true}), contains("integers for a zero point"));
  CHECK_THROWS_WITH(tk::quantize(x, {.tiles = {3, 1}}), contains("quantize: tiles"));
  CHECK_THROWS_WITH(tk::dequantize({astype(x, tk::i8), tk::ones({3, 1})}), contains("quantized_array: scale"));
  CHECK_THROWS_WITH(tk::dequantize({x, tk::ones({1, 1})}), contains("quantized_array: qvalue"));
  CHECK_THROWS_WITH(tk::dequantize({astype(x, tk::i8), tk::ones({1, 1}), tk::ones({4, 1})}), contains("zero_point"));
}
