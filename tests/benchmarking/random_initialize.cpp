// tests/benchmarking/random_initialize.cpp: abstract arrays get JAX's random values, and data stays.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/benchmarking/random_initialize.hpp>

#include <tokamax/benchmarking/elements_as_doubles.hpp>
#include <tokamax/benchmarking/numeric_summary.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace {
namespace tk = tokamax;
tk::array abstract(tk::dtype type, const tk::shape& s) { return tk::array(tk::array_type{type, false, s}); }
}  // namespace

TEST_CASE("each leaf takes the next key, with the values that JAX draws for it") {
  // key = PRNGKey(0); for each leaf: now, key = split(key); then normal, randint or bernoulli of `now`
  const std::vector<tk::array> drawn =
      tk::random_initialize(std::vector{abstract(tk::f32, {4}), abstract(tk::bf16, {4}), abstract(tk::i8, {4}),
                                        abstract(tk::u8, {4}), abstract(tk::i32, {4}), abstract(tk::bool_, {8})});
  const std::vector<std::vector<double>> expected{
      {1.004014253616333, -0.9063372015953064, -0.7481722235679626, -1.1713669300079346},
      {0.65625, -0.76953125, 0.515625, -1.03125},
      {-38, 119, -8, 6},
      {65, 92, 57, 102},
      {42, -52, 20, -17},
      {0, 1, 0, 1, 0, 0, 0, 0}};
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    INFO("leaf " << i);
    const std::vector<double> found = tk::elements_as_doubles(drawn[i]);
    REQUIRE(found.size() == expected[i].size());
    for (std::size_t k = 0; k < found.size(); ++k) CHECK(found[k] == Approx(expected[i][k]).epsilon(i == 0 ? 1e-6 : 0));
  }
}

TEST_CASE("every dtype gets values in its range, and another seed other ones") {
  for (int d = 1; d < tk::dtype_count; ++d) {
    const auto type = static_cast<tk::dtype>(d);
    INFO(tk::name(type));
    const tk::array a = tk::random_initialize(abstract(type, {1000}));
    const tk::array same = tk::random_initialize(abstract(type, {1000}), 0),
                    other = tk::random_initialize(abstract(type, {1000}), 1);
    REQUIRE(a.dtype() == type);
    CHECK(tk::elements_as_doubles(a) == tk::elements_as_doubles(same));
    CHECK(tk::elements_as_doubles(a) != tk::elements_as_doubles(other));
    const tk::numeric_summary s = tk::array_numeric_summary(a);
    CHECK(!s.has_nan);
    CHECK(!s.has_inf);
    if (tk::is_floating(type)) {
      CHECK(s.mean == Approx(0).margin(0.15));
      CHECK(s.mean_abs == Approx(0.798).margin(0.1));
    } else {
      const double end = type == tk::bool_ ? 2 : std::min(tk::highest_of(type) + 1, 128.0);
      CHECK(s.max == end - 1);
      CHECK(s.min == (tk::is_signed(type) ? -end : 0));
    }
  }
}

TEST_CASE("data stays, sizes may be 0, and what has no type is refused") {
  const auto [kept, made, none] =
      tk::random_initialize(std::tuple{tk::array{1, 2}, abstract(tk::f32, {}), abstract(tk::f32, {0, 3})});
  CHECK(kept.values<std::int32_t>()[1] == 2);
  CHECK(made.item() == Approx(1.0).margin(4));
  CHECK(none.size() == 0);
  CHECK_THROWS_WITH(tk::random_initialize(tk::array()), contains("random_initialize: array: found"));
  CHECK_THROWS_WITH(tk::random_initialize(tk::tensor<tk::f32, tk::dyn(), 2>()), contains("known extents"));
}
