// tests/lax/windows/patches.cpp: patches, local convolutions, shapes of windows, and functions of integers are those of jax.lax.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/mulhi.hpp>
#include <tokamax/lax/elementwise/rounding.hpp>
#include <tokamax/lax/indexing/top_k.hpp>
#include <tokamax/lax/windows/patches.hpp>
#include <tokamax/lax/windows/reduce_window.hpp>
#include <tokamax/lax/windows/window_shapes.hpp>

#include "support/check_op.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;

conv_options window_of(options o) {
  return {.strides = o.list("strides"),
          .low = o.list("low"),
          .high = o.list("high"),
          .lhs_dilation = o.list("lhs_dilation"),
          .rhs_dilation = o.list("rhs_dilation")};
}
window_padding pads_of(options o) { return {o.list("low"), o.list("high")}; }
arrays numbers(const shape& s) {
  std::vector<std::int32_t> v;
  for (std::int64_t n : s) v.push_back(static_cast<std::int32_t>(n));
  return array::from<std::int32_t>(v, {s.rank()});
}
arrays rows(const std::vector<shape>& all, bool transposed = false) {
  std::vector<std::int32_t> v;
  const int n = static_cast<int>(all.size()), m = all[0].rank();
  for (int i = 0; i < (transposed ? m : n); ++i)
    for (int k = 0; k < (transposed ? n : m); ++k)
      v.push_back(static_cast<std::int32_t>(transposed ? all[static_cast<std::size_t>(k)][i]
                                                       : all[static_cast<std::size_t>(i)][k]));
  return array::from<std::int32_t>(v, transposed ? shape{m, n} : shape{n, m});
}
conv_layout layout_of(const std::string& text) {
  const std::string_view all = text;
  const std::size_t first = all.find('.'), second = all.find('.', first + 1);
  return {all.substr(0, first), all.substr(first + 1, second - first - 1), all.substr(second + 1)};
}

case_functions functions() {
  return {
      {"conv_general_dilated_patches",
       [](const arrays& x, options o) -> arrays {
         return conv_general_dilated_patches(x[0], o.list("window"), window_of(o));
       }},
      {"conv_general_dilated_local",
       [](const arrays& x, options o) -> arrays {
         return conv_general_dilated_local(x[0], x[1], o.list("window"), window_of(o));
       }},
      {"padtype_to_pads",
       [](const arrays&, options o) -> arrays {
         const auto p = padtype_to_pads(o.list("extents"), o.list("window"), o.list("strides"),
                                        o.text("padding") == "SAME" ? padding::same : padding::valid);
         return rows({p.low, p.high}, true);
       }},
      {"reduce_window_shape_tuple",
       [](const arrays&, options o) -> arrays {
         return numbers(reduce_window_shape_tuple(o.list("extents"), o.list("window"), o.list("strides"), pads_of(o),
                                                  o.list("base"), o.list("by")));
       }},
      {"conv_shape_tuple",
       [](const arrays&, options o) -> arrays {
         return numbers(
             conv_shape_tuple(o.list("lhs"), o.list("rhs"), o.list("strides"), pads_of(o), o.integer("groups", 1)));
       }},
      {"conv_general_permutations",
       [](const arrays&, options o) -> arrays {
         const std::string text = o.text("layouts");
         const auto p = conv_general_permutations(layout_of(text));
         return rows({p.lhs, p.rhs, p.out});
       }},
      {"conv_general_shape_tuple",
       [](const arrays&, options o) -> arrays {
         const std::string text = o.text("layouts");
         return numbers(
             conv_general_shape_tuple(o.list("lhs"), o.list("rhs"), o.list("strides"), pads_of(o), layout_of(text)));
       }},
      {"conv_transpose_shape_tuple",
       [](const arrays&, options o) -> arrays {
         const std::string text = o.text("layouts");
         return numbers(
             conv_transpose_shape_tuple(o.list("lhs"), o.list("rhs"), o.list("strides"), pads_of(o), layout_of(text)));
       }},
      {"mulhi", [](const arrays& x, options) -> arrays { return mulhi(x[0], x[1]); }},
      {"reduce_xor", [](const arrays& x, options o) -> arrays { return reduce_xor(x[0], o.list("axes")); }},
      {"round",
       [](const arrays& x, options o) -> arrays {
         return round(x[0],
                      o.text("method") == "even" ? rounding_method::to_nearest_even : rounding_method::away_from_zero);
       }},
      {"approx_min_k",
       [](const arrays& x, options o) -> arrays {
         const auto r = approx_min_k(x[0], o.integer("k"));
         return {r.values, r.indices};
       }},
  };
}
}  // namespace

TEST_CASE("patches, shapes of windows and functions of integers are those of jax.lax") {
  check_cases("lax.txt", functions());
}

TEST_CASE("patches are a convolution with the identity, and a local convolution with equal weights is a convolution") {
  const array x = noise({2, 6, 5, 3}, 1), w = noise({3, 2, 3, 4}, 2);
  const conv_options o{
      .strides = {2, 1}, .low = {1, 0}, .high = {0, 1}, .lhs_dilation = {1, 1}, .rhs_dilation = {1, 2}};
  const array expected = conv_general_dilated(x, w, o);
  // [h, w, C, O] -> [C h w, O] at each place
  const array flat = reshape(transpose(w, {2, 0, 1, 3}), {18, 4});
  const array everywhere = broadcast_to(flat, {expected.extent(1), expected.extent(2), 18, 4});
  const array found = conv_general_dilated_local(x, everywhere, {3, 2}, o);
  CHECK(found.shape() == expected.shape());
  const value a = to_value(found), b = to_value(expected);
  for (std::size_t i = 0; i < b.data.size(); ++i) CHECK(std::fabs(a.data[i] - b.data[i]) < 1e-5);
  check_function([&](const arrays& v) -> arrays { return conv_general_dilated_local(v[0], v[1], {3, 2}, o); },
                 {x, everywhere}, {.tolerance = 1e-5, .order = 1});
}

TEST_CASE("high halves of products of 64 bits") {
  const std::vector<std::int64_t> v{0, 1, -1, INT64_MAX, INT64_MIN, 0x123456789abcdef, -0x7edcba987654321, 1LL << 32};
  const array x = array::from<std::int64_t>(v, {8}), words = astype(x, u64);
  for (std::size_t k = 0; k < 8; ++k) {
    const array y = full({8}, 0, i64) + array(v[k], {i64, false, {}});
    const array found = mulhi(x, y), of_words = mulhi(words, astype(y, u64));
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(found.values<std::int64_t>()[i] == static_cast<std::int64_t>(static_cast<__int128>(v[i]) * v[k] >> 64));
      const auto product =
          static_cast<unsigned __int128>(static_cast<std::uint64_t>(v[i])) * static_cast<std::uint64_t>(v[k]);
      CHECK(of_words.values<std::uint64_t>()[i] == static_cast<std::uint64_t>(product >> 64));
    }
  }
}

TEST_CASE("shapes are known while compiling, and arguments that do not fit are rejected") {
  static_assert(conv_general_shape_tuple({4, 10, 7, 6}, {3, 2, 6, 8}, {1, 1}, {{0, 0}, {0, 0}},
                                         {"NHWC", "HWIO", "NHWC"}) == shape{4, 8, 6, 8});
  const array extents = shape_as_value({7, 0, 3});
  CHECK(extents.shape() == shape{3});
  CHECK((extents.values<std::int32_t>()[0] == 7 && extents.values<std::int32_t>()[1] == 0));
  CHECK(shape_as_value({}).shape() == shape{0});
  CHECK_THROWS_WITH(shape_as_value({1LL << 40}), contains("shape_as_value: extent"));
  const array x = zeros({2, 6, 5, 3});
  const conv_options o{
      .strides = {1, 1}, .low = {0, 0}, .high = {0, 0}, .lhs_dilation = {1, 1}, .rhs_dilation = {1, 1}};
  CHECK_THROWS_WITH(conv_general_dilated_patches(x, {0, 2}, o), contains("conv_general_dilated_patches: window"));
  CHECK_THROWS_WITH(conv_general_dilated_patches(x, {200, 200}, o), contains("conv_general_dilated_patches: window"));
  CHECK_THROWS_WITH(conv_general_dilated_local(x, zeros({5, 4, 11, 2}), {2, 2}, o),
                    contains("conv_general_dilated_local: weights"));
  CHECK_THROWS_WITH(padtype_to_pads({4, 4}, {2}, {1, 1}, padding::same), contains("padtype_to_pads: ranks"));
  CHECK_THROWS_WITH(reduce_window_shape_tuple({4}, {2}, {0}, {{0}, {0}}), contains("reduce_window_shape_tuple: ranks"));
  CHECK_THROWS_WITH(mulhi(zeros({2}), zeros({2})), contains("mulhi: dtype"));
  CHECK_THROWS_WITH(reduce_xor(zeros({2}), {0}), contains("bitwise_xor: dtype"));
  CHECK_THROWS_WITH(approx_min_k(zeros({2}, i32), 1), contains("approx_min_k: dtype"));
}
