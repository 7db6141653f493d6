// tests/ops/quantized/packed_rows.cpp: rows of a table of packed numbers are those of the table of floats.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/ops/quantized/packed_rows.hpp>

#include <tokamax/quant/pack.hpp>
#include <tokamax/tokamax.hpp>

#include <cmath>

#include "support/contains.hpp"
#include "support/functions.hpp"

namespace tk = tokamax;
using tk::array, tk::packed_format;
using tk::test::noise;

TEST_CASE("rows of packed tables are those of the tables of floats, in any order and in programs") {
  const struct {
    std::int64_t k, n, group;
    tk::dtype scales;
  } tables[] = {{64, 130, 32, tk::f16}, {21, 64, 0, tk::f32}, {16, 1, 8, tk::f32}};
  for (const auto f : {packed_format::int_8, packed_format::int_4, packed_format::uint_4, packed_format::nf4})
    for (const auto& t : tables) {
      CAPTURE(static_cast<int>(f), t.k);
      const tk::packed_weights w = tk::quant::pack(noise({t.k, t.n}, 1), {f, t.group, t.scales});
      const array table = tk::transpose(tk::reshape(unpack(w), {t.k, t.n}));
      const auto last = static_cast<std::int32_t>(t.n - 1);
      for (const array& ids : {array::from<std::int32_t>({0, last, last / 2, 0}, {2, 2}),
                               array::from<std::int32_t>({last}, {1}), array::from<std::int32_t>({}, {0, 3})}) {
        const array rows = packed_rows(w, ids), expected = tk::gather(table, ids);
        REQUIRE(rows.shape() == expected.shape());
        CHECK(std::ranges::equal(rows.values<float>(), expected.values<float>()));
        const array in_program = tk::jit([&](const array& i) { return packed_rows(w, i); }, tk::cpu)(ids);
        CHECK(std::ranges::equal(in_program.values<float>(), expected.values<float>()));
      }
    }
}

TEST_CASE("ids that are no columns give NaN, and what is no table is refused") {
  const tk::packed_weights w = tk::quant::pack(noise({8, 70}, 1), {packed_format::int_4, 0});
  const array ids = array::from<std::int32_t>({-1, 70, 127, 128, 2147483647, -2147483647 - 1, 69});
  const array rows = packed_rows(w, ids);
  for (std::size_t i = 0; i < 56; ++i) CHECK(std::isnan(rows.values<float>()[i]) == (i < 48));
  CHECK_THROWS_WITH(packed_rows(w, tk::astype(ids, tk::f32)), contains("packed_rows: ids"));
  CHECK_THROWS_WITH(packed_rows(tk::quant::pack(noise({2, 8, 8}, 1), {packed_format::int_4, 0}), ids),
                    contains("packed_rows: weights"));
}
