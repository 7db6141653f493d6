// tests/ops/quantized/dot_general.cpp: products of quantised arrays are those of the numbers that they stand for.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/quantized/dot_general.hpp>
#include <tokamax/ops/quantized/quantize.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {

/// The product of the numbers that the operands stand for, in f64.
array plain(const tk::quantized_array& a, const tk::quantized_array& b, tk::dot_dimensions d) {
  d.preferred_element_type = tk::dtype::none;
  return dot_general(astype(dequantize(a), tk::f64), astype(dequantize(b), tk::f64), d);
}
double apart(const array& found, const array& expected) {
  return tk::test::distance(astype(found, tk::f32), astype(expected, tk::f32));
}

}  // namespace

TEST_CASE("products of integers with scales of tensors, channels and tiles") {
  struct {
    tk::shape a, b, tiles_a, tiles_b;
    tk::dot_dimensions d;
  } const cases[] = {{{5, 64}, {64, 7}, {}, {}, {{1}, {0}}},
                     {{5, 64}, {64, 7}, {1, 0}, {0, 1}, {{1}, {0}}},
                     {{130, 64}, {64, 33}, {1, 16}, {16, 1}, {{1}, {0}}},
                     {{600, 64}, {64, 33}, {1, 0}, {32, 1}, {{1}, {0}}},
                     {{5, 64}, {64, 32}, {1, 16}, {32, 16}, {{1}, {0}}},
                     {{64, 5}, {7, 64}, {0, 1}, {1, 16}, {{0}, {1}}},
                     {{3, 5, 32}, {3, 32, 7}, {1, 1, 8}, {1, 16, 1}, {{2}, {1}, {0}, {0}}},
                     {{4, 2, 3, 16}, {16, 4, 6}, {0, 1, 1, 8}, {8, 0, 1}, {{3, 0}, {0, 1}}},
                     {{5, 64}, {64, 7}, {1, 1}, {1, 0}, {{1}, {0}}},    // scales of elements: dequantised
                     {{5, 48}, {48, 7}, {1, 16}, {24, 1}, {{1}, {0}}},  // tiles that do not fit: dequantised
                     {{0, 64}, {64, 7}, {}, {}, {{1}, {0}}},
                     {{5, 0}, {0, 7}, {}, {}, {{1}, {0}}}};
  for (const auto& c : cases)
    for (const tk::dtype right : {tk::i8, tk::i4}) {
      const auto a = tk::quantize(noise(c.a, 1), {.tiles = c.tiles_a}),
                 b = tk::quantize(noise(c.b, 2), {.type = right, .tiles = c.tiles_b});
      CAPTURE(c.a, c.b, c.tiles_a, c.tiles_b, static_cast<int>(right));
      const array y = dot_general(a, b, c.d), expected = plain(a, b, c.d);
      CHECK(y.dtype() == tk::f32);
      REQUIRE(y.shape() == expected.shape());
      if (y.size() > 0) CHECK(apart(y, expected) < 2e-6);
      const auto run =
          tk::jit([&](const tk::quantized_array& p, const tk::quantized_array& q) { return dot_general(p, q, c.d); },
                  tk::cpu, tk::at_run_time);
      CHECK(tk::test::bit_difference({run(a, b)}, {y}) == "");
      for (const int threads : {1, 3}) {
        tk::cpu_backend::set_num_threads(threads);
        CHECK(tk::test::bit_difference({dot_general(a, b, c.d)}, {y}) == "");
      }
      tk::cpu_backend::set_num_threads(0);
    }
}

TEST_CASE("quantised arrays meet floats, zero points and other dtypes of 8 bits") {
  const array x = noise({6, 64}, 1), w = noise({64, 9}, 2);
  const tk::dot_dimensions d{{1}, {0}};
  for (const tk::dtype type : {tk::i8, tk::u8, tk::i4, tk::f8e4m3fn, tk::f8e5m2})
    for (const tk::shape& tiles : {tk::shape{}, tk::shape{0, 1}, tk::shape{16, 1}})
      for (const bool shifted : {false, true}) {
        if (shifted && tk::is_floating(type)) continue;
        const array positive = type == tk::u8 && !shifted ? tk::abs(w) : w;
        const auto q = tk::quantize(positive, {.type = type, .tiles = tiles, .asymmetric = shifted});
        const tk::quantized_array left{x, array(1.0f)};
        const array exact = dot_general(astype(x, tk::f64), astype(dequantize(q), tk::f64), d);
        CAPTURE(static_cast<int>(type), tiles, shifted);
        CHECK(apart(dot_general(x, q, d), exact) < 2e-6);
        CHECK(apart(matmul(x, q), exact) < 2e-6);
        CHECK(apart(transpose(dot_general(transpose(q, {1, 0}), x, {{1}, {1}}), tk::axes{1, 0}), exact) < 2e-6);
        const auto other = tk::quantize(x, {.type = type == tk::u8 ? tk::i8 : type, .tiles = {1, 0}});
        CHECK(apart(dot_general(other, q, d), plain(other, q, d)) < 2e-6);
        const array narrow = astype(x, tk::bf16);
        CHECK(dot_general(narrow, q, d).dtype() == tk::f32);
        CHECK(apart(dot_general(narrow, q, d),
                    dot_general(astype(narrow, tk::f64), astype(dequantize(q), tk::f64), d)) < 2e-6);
      }
  const auto q = tk::quantize(w);
  CHECK(matmul(x, q, {.preferred_element_type = tk::bf16}).dtype() == tk::bf16);
}

TEST_CASE("products of quantised arrays stay within Qwix's budgets") {
  const array x = noise({128, 512}, 1), w = noise({512, 256}, 2), exact = matmul(x, w);
  const auto error = [&](const array& y) {
    return static_cast<double>(array(tk::sum(tk::abs(y - exact)) / tk::sum(tk::abs(exact))).item<float>());
  };
  const auto by = [&](tk::dtype act, tk::dtype weight, const tk::shape& tiles) {
    return error(matmul(tk::quantize(x, {.type = act, .tiles = {1, tiles.rank() ? tiles[0] : 0}}),
                        tk::quantize(w, {.type = weight, .tiles = tiles.rank() ? tiles : tk::shape{0, 1}})));
  };
  CHECK(by(tk::i8, tk::i8, {}) < 0.02);
  CHECK(by(tk::i8, tk::i4, {}) < 0.12);
  CHECK(by(tk::i8, tk::i4, {128, 1}) < 0.11);
  CHECK(by(tk::i4, tk::i4, {}) < 0.17);
  CHECK(by(tk::f8e4m3fn, tk::f8e4m3fn, {}) < 0.038);
  CHECK(error(matmul(x, tk::quantize(w, {.tiles = {0, 1}}))) < 0.009);
}

TEST_CASE("gradients of products with quantised weights reach the floats and the scales") {
  const array x = noise({5, 32}, 1), ct = noise({5, 7}, 3);
  const auto q = tk::quantize(noise({32, 7}, 2), {.tiles = {0, 1}});
  const auto loss = [&](const array& v) { return tk::sum(matmul(v, q) * ct); };
  CHECK(tk::test::distance(array(tk::grad(loss)(x)), matmul(ct, transpose(dequantize(q), tk::axes{1, 0}))) < 2e-5);
  const auto other = tk::quantize(x, {.tiles = {1, 0}});
  const auto of_scale = [&](const array& s) { return tk::sum(matmul(other, tk::quantized_array{q.qvalue, s}) * ct); };
  const auto in_floats = [&](const array& s) {
    return tk::sum(matmul(dequantize(other), tk::dequantize({q.qvalue, s})) * ct);
  };
  CHECK(tk::test::distance(array(tk::grad(of_scale)(q.scale)), array(tk::grad(in_floats)(q.scale))) < 2e-3);
}

TEST_CASE("scaled_dot keeps the contract of ops") {
  const auto integers = [](const tk::shape& s, unsigned seed) { return array(astype(noise(s, seed) * 40.0f, tk::i8)); };
  for (const std::int64_t tiles : {1, 2}) {
    tk::test::check_op(
        tk::scaled_dot_p,
        {{{integers({2, 3, 8}, 1), integers({2, 8, 5}, 2), noise({2, 3, tiles}, 3), noise({2, tiles, 5}, 4)}}});
  }
}

TEST_CASE("products of quantised arrays say what is wrong") {
  const array x = noise({5, 32}, 1);
  const auto q = tk::quantize(noise({30, 7}, 2));
  CHECK_THROWS_WITH(matmul(x, q), contains("matmul: inner extents"));
  CHECK_THROWS_WITH(matmul(array(1.0f), q), contains("matmul: operand"));
  CHECK_THROWS_WITH(dot_general(x, q, {{2}, {0}}), contains("dot_general: axes"));
  CHECK_THROWS_WITH(matmul(x, tk::quantized_array{q.qvalue, tk::ones({7, 1})}), contains("quantized_array: scale"));
  CHECK_THROWS_WITH(bind(tk::scaled_dot_p, {x, x, x, x}, tk::words{}, tk::location{}),
                    contains("scaled_dot: operands"));
}
