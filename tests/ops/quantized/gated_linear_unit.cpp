// tests/ops/quantized/gated_linear_unit.cpp: gated linear units of quantised operands are those of the numbers they stand for.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/quantized/gated_linear_unit.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/check_op.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {
constexpr auto silu = [](const array& x) { return tk::silu(x); };
array half(const array& w, int i) { return tk::squeeze(tk::slice_in_dim(w, i, i + 1, 1), 1); }
}  // namespace

TEST_CASE("gated_linear_unit of quantised input and weights") {
  for (const tk::dtype type : {tk::i8, tk::i4})
    for (const tk::shape& x_tiles : {tk::shape{}, tk::shape{1, 1, 16}, tk::shape{1, 1, 0}})
      for (const std::int64_t k_tile : {std::int64_t{0}, std::int64_t{16}, std::int64_t{1}}) {
        const array x = noise({2, 5, 32}, 1), w = noise({32, 2, 7}, 2);
        const auto a = tk::quantize(x, {.type = type, .tiles = x_tiles});
        const auto b = tk::quantize(w, {.type = type, .tiles = {k_tile, 1, 1}});
        const auto gate = tk::quantize(half(w, 0), {.type = type, .tiles = {k_tile, 1}}),
                   up = tk::quantize(half(w, 1), {.type = type, .tiles = {k_tile, 1}});
        const array dense = dequantize(a), weights = dequantize(b);
        CAPTURE(static_cast<int>(type), x_tiles, k_tile);
        const array expected = tk::gated_linear_unit(dense, weights, silu);
        CHECK(tk::test::distance(tk::gated_linear_unit(a, b, silu), expected) < 1e-5);
        CHECK(tk::test::distance(tk::gated_linear_unit(a, std::pair{gate, up}, silu), expected) < 1e-5);
        CHECK(tk::test::distance(tk::gated_linear_unit(a, weights, silu), expected) < 1e-5);
        const tk::as_quantized on_entry{x, {.type = type, .tiles = x_tiles}};
        CHECK(tk::test::bit_difference({tk::gated_linear_unit(on_entry, b, silu)},
                                       {tk::gated_linear_unit(a, b, silu)}) == "");
        CHECK(tk::test::distance(tk::gated_linear_unit(x, b, silu), tk::gated_linear_unit(x, weights, silu)) < 1e-5);
      }
}

TEST_CASE("gated_linear_unit of quantised weights has the gradient of its floats, and says what is wrong") {
  const array x = noise({5, 32}, 1), ct = noise({5, 7}, 3);
  const auto b = tk::quantize(noise({32, 2, 7}, 2), {.tiles = {0, 1, 1}});
  const array weights = dequantize(b);
  const array found = tk::grad([&](const array& v) { return tk::sum(tk::gated_linear_unit(v, b, silu) * ct); })(x);
  const array expected =
      tk::grad([&](const array& v) { return tk::sum(tk::gated_linear_unit(v, weights, silu) * ct); })(x);
  CHECK(tk::test::distance(found, expected) < 1e-5);
  const tk::quantize_options rows{.tiles = {1, 16}};
  const array on_entry = tk::grad(
      [&](const array& v) { return tk::sum(tk::gated_linear_unit(tk::as_quantized{v, rows}, b, silu) * ct); })(x);
  const array rounded = tk::grad([&](const array& v) {
    return tk::sum(tk::gated_linear_unit(tk::fake_quantize(v, rows), weights, silu) * ct);
  })(x);
  CHECK(tk::test::distance(on_entry, rounded) < 1e-5);
  const auto flat = tk::quantize(noise({32, 7}, 2));
  CHECK_THROWS_WITH(tk::gated_linear_unit(x, flat, silu),
                    contains("gated_linear_unit: weights") && contains("[K,2,N]"));
  CHECK_THROWS_WITH(tk::gated_linear_unit(array(astype(x, tk::bf16)), b, silu), contains("gated_linear_unit: weights"));
  CHECK_THROWS_WITH(tk::gated_linear_unit(array(1.0f), b, silu), contains("gated_linear_unit: x"));
  CHECK_THROWS_WITH(tk::gated_linear_unit(x, std::pair{flat, tk::quantize(noise({32, 6}, 2))}, silu),
                    contains("gated_linear_unit: weights") && contains("i8[32,6]"));
}
