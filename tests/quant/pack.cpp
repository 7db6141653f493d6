// tests/quant/pack.cpp: packed weights stand for the numbers of the quantised array of which they are made.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/quant/pack.hpp>

#include <tokamax/tokamax.hpp>

#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array, tk::packed_format;
using tk::test::noise;

namespace {
std::vector<float> values(array a) {
  const auto v = a.values<float>();
  return {v.begin(), v.end()};
}
}  // namespace

TEST_CASE("integers with scales of tensors, columns and groups keep their numbers") {
  const array w = noise({2, 48, 70}, 1);
  for (const tk::dtype type : {tk::i8, tk::i4, tk::u4})
    for (const tk::shape& tiles : {tk::shape{1, 16, 1}, {1, 0, 1}, {1, 0, 0}, {0, 0, 0}, {1, 24, 0}})
      for (const bool asymmetric : {false, true}) {
        CAPTURE(static_cast<int>(type), tiles[1], tiles[2], asymmetric);
        const auto q = tk::quantize(w, {.type = type, .tiles = tiles, .asymmetric = asymmetric});
        const tk::packed_weights p = tk::quant::pack(q);
        CHECK(p.has_offset() == asymmetric);
        CHECK(tk::test::distance(unpack(p), dequantize(q)) < 1e-6);
        if (!asymmetric) CHECK(values(unpack(p)) == values(dequantize(q)));
      }
}

TEST_CASE("four bits take four bits") {
  const array w = noise({256, 128}, 1);
  const auto of = [&](packed_format f) { return tk::quant::pack(w, {f, 32}); };
  CHECK(of(packed_format::int_8).codes.shape() == tk::shape{1, 2, 256, 64});
  for (const packed_format f : {packed_format::int_4, packed_format::uint_4, packed_format::nf4}) {
    CHECK(of(f).codes.shape() == tk::shape{1, 2, 32, 64});
    CHECK(of(f).codes.dtype() == tk::u32);
    CHECK(of(f).scale.shape() == tk::shape{1, 2, 8, 64});
  }
}

TEST_CASE("floats are rounded to the nearest number of a format") {
  const array w = noise({64, 70}, 1);
  const struct {
    packed_format format;
    double most;  // of the error, relative to the greatest number of a group
  } bounds[] = {{packed_format::int_8, 0.0040}, {packed_format::int_4, 0.0668}, {packed_format::uint_4, 0.0668},
                {packed_format::nf4, 0.1520},   {packed_format::fp8, 0.0359},   {packed_format::fp4, 0.1668}};
  for (const auto& b : bounds)
    for (const std::int64_t group : {0, 16}) {
      CAPTURE(static_cast<int>(b.format), group);
      const array y = reshape(unpack(tk::quant::pack(w, {b.format, group})), w.shape());
      const array error = tk::abs(y - w), greatest = tk::max(tk::abs(w), {0, true});
      CHECK(tk::max(error / greatest).item<float>() < b.most);
    }
  // every level of nf4 is kept, and a number between two goes to the nearer one
  std::vector<float> levels(tk::detail::nf4_levels, tk::detail::nf4_levels + 16);
  const array column = array::from<float>(levels, {16, 1});
  CHECK(values(unpack(tk::quant::pack(column, {packed_format::nf4, 0}))) == levels);
  const array between = array::from<float>({1.0f, 0.85f, 0.87f, -0.6f, -0.62f, 0.03f, 0.05f, 0.0f}, {8, 1});
  CHECK(values(unpack(tk::quant::pack(between, {packed_format::nf4, 0}))) ==
        std::vector<float>{1.0f, levels[14], 1.0f, levels[2], levels[1], 0.0f, levels[8], 0.0f});
  // so are the numbers of fp4, and of two equally near ones it is the one whose code is even
  const std::vector<float> all(tk::detail::fp4_levels, tk::detail::fp4_levels + 16);
  CHECK(values(unpack(tk::quant::pack(array::from<float>(all, {16, 1}), {packed_format::fp4, 0}))) == all);
  const array halves = array::from<float>({6, 0.25f, 0.75f, -1.25f, 1.75f, -2.5f, 3.5f, 5}, {8, 1});
  CHECK(values(unpack(tk::quant::pack(halves, {packed_format::fp4, 0}))) ==
        std::vector<float>{6, 0, 1, -1, 2, -2, 4, 4});
  // groups of zeros stay zeros
  for (const auto& b : bounds)
    CHECK(tk::max(tk::abs(unpack(tk::quant::pack(tk::zeros({16, 3}), {b.format, 8})))).item<float>() == 0);
}

TEST_CASE("scales of f16 are the rounded ones of f32") {
  const array w = noise({64, 70}, 1);
  for (const auto f : {packed_format::int_8, packed_format::int_4, packed_format::uint_4, packed_format::nf4,
                       packed_format::fp8, packed_format::fp4}) {
    const auto wide = tk::quant::pack(w, {f, 32}), small = tk::quant::pack(w, {f, 32, tk::f16});
    CHECK(small.scale.dtype() == tk::f16);
    CHECK(values(astype(small.scale, tk::f32)) == values(astype(astype(wide.scale, tk::f16), tk::f32)));
    CHECK(small.has_offset() == wide.has_offset());
    if (wide.has_offset()) CHECK(small.offset.dtype() == tk::f16);
    CHECK(tk::test::distance(unpack(small), unpack(wide)) < 2e-3);
  }
}

TEST_CASE("pack says what is wrong") {
  const array w = noise({48, 6}, 1);
  CHECK_THROWS_WITH(tk::quant::pack(w, {packed_format::int_4, 0, tk::bf16}), contains("pack: scale_dtype: found bf16"));
  CHECK_THROWS_WITH(tk::quant::pack(w, {packed_format::int_4, 7}), contains("pack: group"));
  CHECK_THROWS_WITH(tk::quant::pack(w, {packed_format::int_4, 12}), contains("pack: group"));
  CHECK_THROWS_WITH(tk::quant::pack(w, {packed_format::int_4, -16}), contains("pack: group"));
  CHECK_THROWS_WITH(tk::quant::pack(w[0]), contains("pack: matrix"));
  CHECK_THROWS_WITH(tk::quant::pack(astype(w, tk::i32)), contains("pack: matrix"));
  CHECK_THROWS_WITH(tk::quant::pack(tk::quantize(w, {.type = tk::u8})), contains("pack: dtype"));
  CHECK_THROWS_WITH(tk::quant::pack(tk::quantize(w, {.tiles = {1, 2}})), contains("pack: group"));
  CHECK_THROWS_WITH(tk::quant::pack(tk::quantize(w, {.tiles = {4, 1}})), contains("pack: group"));
}
