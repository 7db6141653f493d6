// tests/ops/ragged_dot.cpp: products of groups of rows, for all sizes of groups, and their gradients.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/activations.hpp>
#include <tokamax/ops/ragged_dot.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

#include <random>

namespace tk = tokamax;
using tk::array;
using tk::ragged_dot_form;
using tk::test::noise;

namespace {

constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
constexpr ragged_dot_form forms[] = {ragged_dot_form::standard, ragged_dot_form::transposed_rhs,
                                     ragged_dot_form::ragged_contracting};

static_assert(tk::ragged_dot(array(floats({6, 4})), array(floats({3, 4, 5})), array({tk::i32, false, {3}})).type() ==
              floats({6, 5}));
static_assert(tk::ragged_dot_general(array(floats({6, 4})), array(floats({6, 5})), array({tk::i32, false, {3}}),
                                     ragged_dot_form::ragged_contracting)
                  .type() == floats({3, 4, 5}));

array sizes_of(const std::vector<std::int32_t>& sizes) {
  return array::from<std::int32_t>(sizes, {static_cast<std::int64_t>(sizes.size())});
}

/// The three forms in double, group after group. `first`: the rows before group 0.
std::vector<double> plain(ragged_dot_form form, const array& lhs, const array& rhs,
                          const std::vector<std::int32_t>& sizes, std::int64_t first = 0) {
  const bool sums = form == ragged_dot_form::ragged_contracting, turned = form == ragged_dot_form::transposed_rhs;
  const auto a = lhs.values<float>(), b = rhs.values<float>();
  const std::int64_t rows = lhs.extent(0), k = lhs.extent(1), n = sums || !turned ? rhs.extent(-1) : rhs.extent(1);
  std::vector<double> y(static_cast<std::size_t>(sums ? static_cast<std::int64_t>(sizes.size()) * k * n : rows * n));
  const auto at = [](const auto& v, std::int64_t i) { return static_cast<double>(v[static_cast<std::size_t>(i)]); };
  std::int64_t row = first;
  for (std::size_t g = 0; g < sizes.size(); ++g)
    for (std::int32_t r = 0; r < sizes[g] && row < rows; ++r, ++row)
      for (std::int64_t i = 0; i < k; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          const std::int64_t group = static_cast<std::int64_t>(g) * k * n;
          const std::int64_t to = sums ? group + i * n + j : row * n + j;
          const std::int64_t of_rhs = sums ? row * n + j : group + (turned ? j * k + i : i * n + j);
          y[static_cast<std::size_t>(to)] += at(a, row * k + i) * at(b, of_rhs);
        }
  return y;
}
double apart(const array& found, const std::vector<double>& expected) {
  const auto v = found.values<float>();
  REQUIRE(v.size() == expected.size());
  double most = 1e-30, wrong = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    most = std::fmax(most, std::fabs(expected[i]));
    const double d = std::fabs(static_cast<double>(v[i]) - expected[i]);
    wrong = d <= wrong ? wrong : d;
  }
  return most < 1e-20 ? wrong : wrong / most;
}
array right_of(ragged_dot_form form, std::int64_t rows, std::int64_t groups, std::int64_t k, std::int64_t n) {
  if (form == ragged_dot_form::ragged_contracting) return noise({rows, n}, 2);
  return noise(form == ragged_dot_form::standard ? tk::shape{groups, k, n} : tk::shape{groups, n, k}, 2);
}

}  // namespace

TEST_CASE("ragged_dot with every pattern of empty groups") {
  for (const ragged_dot_form form : forms) {
    const array lhs = noise({45, 7}, 1), rhs = right_of(form, 45, 8, 7, 5);
    for (int pattern = 0; pattern < 256; ++pattern) {
      std::vector<std::int32_t> sizes;
      for (int g = 0; g < 8; ++g) sizes.push_back(pattern >> g & 1 ? g + 1 : 0);  // 36 rows at most, 9 in no group
      CAPTURE(pattern, static_cast<int>(form));
      CHECK(apart(ragged_dot_general(lhs, rhs, sizes_of(sizes), form), plain(form, lhs, rhs, sizes)) < 2e-6);
    }
  }
}

TEST_CASE("ragged_dot of many shapes, with the same bits for every number of threads") {
  const struct {
    std::int64_t rows, k, n;
    std::vector<std::int32_t> sizes;
  } cases[] = {{0, 3, 4, {0, 0}},
               {5, 0, 4, {2, 3}},
               {5, 3, 0, {2, 3}},
               {5, 3, 4, {}},
               {1, 1, 1, {1}},
               {700, 300, 129, {600, 1, 0, 37, 13}},
               {97, 64, 33, {96, 1}},
               {64, 128, 256, {8, 8, 8, 8, 8, 8, 8, 8}},
               {10, 3, 4, {-4, 3, 100, 5}}};
  for (const ragged_dot_form form : forms)
    for (const auto& c : cases) {
      const auto groups = static_cast<std::int64_t>(c.sizes.size());
      const array lhs = noise({c.rows, c.k}, 1), rhs = right_of(form, c.rows, groups, c.k, c.n);
      CAPTURE(c.rows, c.k, c.n, groups, static_cast<int>(form));
      const array y = ragged_dot_general(lhs, rhs, sizes_of(c.sizes), form);
      CHECK(apart(y, plain(form, lhs, rhs, c.sizes)) < 2e-6);
      for (const int threads : {1, 2, 3, 5}) {
        tk::cpu_backend::set_num_threads(threads);
        CHECK(tk::test::bit_difference({y}, {ragged_dot_general(lhs, rhs, sizes_of(c.sizes), form)}) == "");
      }
      tk::cpu_backend::set_num_threads(0);
    }
}

TEST_CASE("ragged_dot of random sizes, in f32 and bf16, traced") {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::int32_t> sizes;
    for (int g = 0; g < 8; ++g) sizes.push_back(static_cast<std::int32_t>(random() % 16));
    const array lhs = noise({128, 32}, static_cast<unsigned>(round)), rhs = noise({8, 32, 24}, 99);
    const auto run = tk::jit([](const array& x, const array& w, const array& s) { return tk::ragged_dot(x, w, s); },
                             tk::cpu, tk::at_run_time);
    CHECK(apart(run(lhs, rhs, sizes_of(sizes)), plain(ragged_dot_form::standard, lhs, rhs, sizes)) < 2e-6);
    const array x = astype(lhs, tk::bf16), w = astype(rhs, tk::bf16);
    const auto rounded = plain(ragged_dot_form::standard, array(astype(x, tk::f32)), array(astype(w, tk::f32)), sizes);
    const array narrow = tk::ragged_dot(x, w, sizes_of(sizes));
    const array wide = tk::ragged_dot(x, w, sizes_of(sizes), {.preferred_element_type = tk::f32});
    CHECK(narrow.dtype() == tk::bf16);
    CHECK(wide.dtype() == tk::f32);
    CHECK(apart(astype(narrow, tk::f32), rounded) < 1e-2);
    CHECK(apart(wide, rounded) < 2e-6);
  }
}

TEST_CASE("ragged_dot of the groups that a device has") {
  const std::vector<std::int32_t> all{3, 0, 4, 2, 5, 1};
  const array lhs = noise({20, 6}, 1), rhs = noise({2, 6, 5}, 2);
  std::int32_t first = 0;
  for (std::int32_t offset = 0; offset <= 6; ++offset) {
    std::vector<std::int32_t> sizes;
    for (std::size_t g = 0; g < 2; ++g) {
      const std::size_t at = static_cast<std::size_t>(offset) + g;
      sizes.push_back(at < all.size() ? all[at] : 0);
    }
    const array found = tk::ragged_dot(lhs, rhs, sizes_of(all), {.group_offset = array::from<std::int32_t>({offset})});
    CAPTURE(offset);
    CHECK(apart(found, plain(ragged_dot_form::standard, lhs, rhs, sizes, first)) < 2e-6);
    if (offset < 6) first += all[static_cast<std::size_t>(offset)];
  }
}

TEST_CASE("ragged_dot applies a function to the sums before they are rounded") {
  const array lhs = noise({9, 6}, 1), rhs = noise({3, 6, 5}, 2), sizes = sizes_of({2, 0, 6});
  const array y = tk::ragged_dot(lhs, rhs, sizes);
  CHECK(tk::test::distance(tk::ragged_dot(lhs, rhs, sizes, {}, [](const array& x) { return tanh(x); }), tanh(y)) <
        1e-6);
  const array narrow = tk::ragged_dot(astype(lhs, tk::bf16), astype(rhs, tk::bf16), sizes, {},
                                      [](const array& x) { return x.dtype() == tk::f32 ? tk::relu(x) : x; });
  CHECK(narrow.dtype() == tk::bf16);
  CHECK(tk::min(array(astype(narrow, tk::f32))).values<float>()[0] >= 0);
}

TEST_CASE("ragged_dot does not read the matrices of empty groups, nor rows in no group") {
  array lhs = noise({5, 4}, 1), rhs = noise({3, 4, 2}, 2);
  const array sizes = sizes_of({2, 0, 2}), expected = tk::ragged_dot(lhs, rhs, sizes);
  for (int i = 0; i < 8; ++i) rhs.mutable_data<float>()[8 + i] = std::numeric_limits<float>::quiet_NaN();
  for (int i = 16; i < 20; ++i) lhs.mutable_data<float>()[i] = std::numeric_limits<float>::quiet_NaN();
  CHECK(tk::test::distance(tk::ragged_dot(lhs, rhs, sizes), expected) == 0);
}

TEST_CASE("ragged_dot and its forms are those of JAX") {
  for (const auto& [name, form] :
       {std::pair{"ragged_dot", forms[0]}, {"ragged_dot_transposed", forms[1]}, {"ragged_dot_contracting", forms[2]}})
    tk::test::check_golden(
        name, [form = form](const tk::arrays& x) -> tk::arrays { return ragged_dot_general(x[0], x[1], x[2], form); },
        3, 2e-6, "model_ops.txt");
}

TEST_CASE("ragged_dot keeps the contract of ops") {
  for (const ragged_dot_form form : forms) {
    const tk::words options = tk::pack(tk::ragged_dot_attributes{.form = form});
    for (const tk::dtype t : {tk::f32, tk::bf16}) {
      const array rhs = reshape(astype(right_of(form, 10, 6, 4, 3), t), form == forms[2]   ? tk::shape{2, 5, 3}
                                                                        : form == forms[1] ? tk::shape{2, 3, 3, 4}
                                                                                           : tk::shape{2, 3, 4, 3});
      const array sizes = array::from<std::int32_t>({2, 0, 2, 0, 4, 0}, {2, 3}),
                  first = array::from<std::int32_t>({0, 1});
      tk::test::check_op(tk::ragged_dot_p, {{{noise({2, 5, 4}, 1, t), rhs, sizes, first}, options}},
                         {.order = t == tk::f32 ? 2 : 1});
    }
  }
}

TEST_CASE("ragged_dot says what is wrong with its operands") {
  const array x(floats({6, 4})), w(floats({3, 4, 5})), sizes({tk::i32, false, {3}});
  CHECK_THROWS_WITH(tk::ragged_dot(w, w, sizes), contains("ragged_dot: lhs") && contains("floats [M,K]"));
  CHECK_THROWS_WITH(tk::ragged_dot(x, x, sizes), contains("ragged_dot: rhs") && contains("[G,K,N]"));
  CHECK_THROWS_WITH(tk::ragged_dot(x, array(floats({3, 5, 4})), sizes), contains("with the K of f32[6,4]"));
  CHECK_THROWS_WITH(tk::ragged_dot(x, w, array({tk::i32, false, {4}})), contains("one size for each group"));
  CHECK_THROWS_WITH(tk::ragged_dot(x, w, x), contains("ragged_dot: group_sizes"));
  CHECK_THROWS_WITH(tk::ragged_dot(x, w, sizes, {.group_offset = x}), contains("ragged_dot: group_offset"));
  CHECK_THROWS_WITH(tk::ragged_dot(x, w, sizes, {.preferred_element_type = tk::i32}), contains("preferred type"));
  CHECK_THROWS_WITH(tk::ragged_dot_general(x, w, sizes, forms[2]), contains("floats [M,N]"));
}
