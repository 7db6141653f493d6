// tests/lax/windows/conv.cpp: convolutions and their gradients against JAX, under vmap, and padding rules.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/backend/cpu/kernels/conv.hpp>
#include <tokamax/backend/cpu/kernels/reverse.hpp>
#include <tokamax/lax/windows/conv.hpp>
#include <tokamax/random/samplers.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

array row(const std::string& name) { return tk::test::golden("ops.txt", name); }
tk::shape list(const std::string& name) {
  tk::shape s;
  const array a = row(name);
  for (std::int32_t v : a.values<std::int32_t>()) s.push_back(v);
  return s;
}
constexpr array floats(const tk::shape& s) { return array(tk::array_type{tk::f32, false, s}); }
static_assert(tk::conv2d(floats({8, 28, 28, 3}), floats({3, 3, 3, 16})).shape() == tk::shape{8, 28, 28, 16});
static_assert(tk::conv2d(floats({8, 28, 28, 3}), floats({5, 5, 3, 16}), {.strides = {2, 2}}).shape() ==
              tk::shape{8, 14, 14, 16});
static_assert(tk::conv2d(floats({8, 28, 28, 3}), floats({5, 5, 3, 16}), {.padding = tk::padding::valid}).shape() ==
              tk::shape{8, 24, 24, 16});

void check_case(const std::string& name, const tk::conv_options& o) {
  CAPTURE(name);
  const array x = row(name + ".in0"), w = row(name + ".in1");
  const auto f = [o](array a, array b) { return tk::conv_general_dilated(a, b, o); };
  CHECK(tk::test::distance(f(x, w), row(name + ".out")) < 1e-6);
  const auto ct = row(name + ".ct");
  CHECK(tk::test::distance(tk::vjp([=](array a) { return f(a, w); }, x).second(ct), row(name + ".grad0")) < 1e-6);
  CHECK(tk::test::distance(tk::vjp([=](array b) { return f(x, b); }, w).second(ct), row(name + ".grad1")) < 1e-6);
}

array noise(int seed, const tk::shape& s) { return tk::random::normal(tk::random::key(seed), s); }

/// vmap over either or both operands is the loop over entries.
void check_vmap(const tk::conv_options& o, const tk::shape& xs, const tk::shape& ws) {
  const auto f = [o](array a, array b) { return tk::conv_general_dilated(a, b, o); };
  const auto lead = [](const tk::shape& s) {
    tk::shape t{3};
    for (std::int64_t e : s) t.push_back(e);
    return t;
  };
  const array x = noise(1, lead(xs)), w = noise(2, lead(ws));
  const auto entry = [](const array& a, int i) { return tk::squeeze(tk::slice_in_dim(a, i, i + 1, 0), 0); };
  const array both = tk::vmap(f)(x, w);
  const array left = tk::vmap(f, {.in_axes = {0, tk::not_mapped}})(x, entry(w, 0));
  const array right = tk::vmap(f, {.in_axes = {tk::not_mapped, 0}})(entry(x, 0), w);
  for (int i = 0; i < 3; ++i) {
    CHECK(tk::test::distance(entry(both, i), f(entry(x, i), entry(w, i))) < 1e-6);
    CHECK(tk::test::distance(entry(left, i), f(entry(x, i), entry(w, 0))) < 1e-6);
    CHECK(tk::test::distance(entry(right, i), f(entry(x, 0), entry(w, i))) < 1e-6);
  }
}

tk::conv_options plain() {
  return {.strides = {1, 1}, .low = {0, 0}, .high = {0, 0}, .lhs_dilation = {1, 1}, .rhs_dilation = {1, 1}};
}

}  // namespace

TEST_CASE("convolutions and their gradients agree with JAX") {
  for (const char* name : {"plain", "same", "stride2_valid", "stride2_same", "dilated", "lhs_dilated", "mixed",
                           "negative_padding", "grouped", "depthwise"}) {
    const std::string n = std::string("conv_") + name;
    const tk::shape p = [&] {
      tk::shape s;
      const array a = row(n + ".padding");
      for (std::int32_t v : a.values<std::int32_t>()) s.push_back(v);
      return s;
    }();
    check_case(n, {.strides = list(n + ".strides"),
                   .low = {p[0], p[2]},
                   .high = {p[1], p[3]},
                   .lhs_dilation = list(n + ".lhs_dilation"),
                   .rhs_dilation = list(n + ".rhs_dilation"),
                   .feature_groups = row(n + ".groups").item<int>()});
  }
  check_case("conv_1d_same", {.strides = {1}, .low = {1}, .high = {1}, .lhs_dilation = {1}, .rhs_dilation = {1}});
}

TEST_CASE("other layouts are transposes") {
  const auto f = [](array x, array w) {
    return tk::transpose(
        tk::conv2d(tk::transpose(x, {0, 2, 3, 1}), tk::transpose(w, {2, 3, 1, 0}), {.padding = tk::padding::valid}),
        {0, 3, 1, 2});
  };
  const std::string n = "conv_nchw_oihw";
  const array x = row(n + ".in0"), w = row(n + ".in1");
  CHECK(tk::test::distance(f(x, w), row(n + ".out")) < 1e-6);
  CHECK(tk::test::distance(tk::vjp([&](array a) { return f(a, w); }, x).second(row(n + ".ct")), row(n + ".grad0")) <
        1e-6);
}

TEST_CASE("vmap of a convolution is the loop over entries") {
  check_vmap(plain(), {2, 5, 4, 3}, {2, 2, 3, 4});
  auto grouped = plain();
  grouped.feature_groups = 2;
  check_vmap(grouped, {2, 5, 4, 4}, {2, 2, 2, 6});
  auto batched = plain();
  batched.batch_groups = 2;
  check_vmap(batched, {4, 5, 4, 3}, {2, 2, 3, 6});
}

TEST_CASE("a large convolution runs in blocks") {
  const array x = noise(3, {3, 30, 31, 5}), w = noise(4, {3, 3, 5, 7});
  const array y = tk::conv2d(x, w);
  const float *px = x.data<float>(), *pw = w.data<float>(), *py = y.data<float>();
  double worst = 0;
  for (int n = 0; n < 3; ++n)
    for (int i = 0; i < 30; i += 7)
      for (int j = 0; j < 31; j += 6)
        for (int o = 0; o < 7; ++o) {
          double sum = 0;
          for (int a = -1; a <= 1; ++a)
            for (int b = -1; b <= 1; ++b)
              for (int c = 0; c < 5; ++c)
                if (i + a >= 0 && i + a < 30 && j + b >= 0 && j + b < 31)
                  sum += static_cast<double>(px[((n * 30 + i + a) * 31 + j + b) * 5 + c]) *
                         static_cast<double>(pw[(((a + 1) * 3 + b + 1) * 5 + c) * 7 + o]);
          worst = std::max(worst, std::fabs(sum - static_cast<double>(py[((n * 30 + i) * 31 + j) * 7 + o])));
        }
  CHECK(worst < 2e-5);
}

TEST_CASE("convolutions and the gradient of the window keep the contract of ops") {
  using tk::test::noise;
  tk::conv_options o{.strides = {2, 1}, .low = {1, 0}, .high = {0, 1}, .lhs_dilation = {1, 1}, .rhs_dilation = {1, 2}};
  const array x = noise({2, 5, 4, 2}, 1), w = noise({2, 2, 2, 3}, 2);
  tk::test::check_op(tk::conv_general_dilated_p, {{{x, w}, tk::pack(o)}});
  const array ct = noise(tk::conv_general_dilated(x, w, o).shape(), 3);
  tk::test::check_op(
      tk::conv_rhs_vjp_p,
      {{{x, ct},
        tk::pack(tk::conv_rhs_vjp_options{{2, 2}, o.strides, o.low, o.high, o.lhs_dilation, o.rhs_dilation})}});
}

TEST_CASE("wrong convolutions are rejected") {
  CHECK_THROWS_WITH(tk::conv2d(noise(1, {1, 4, 4, 3}), noise(2, {3, 3, 2, 4})), contains("conv: channels"));
  CHECK_THROWS_WITH(tk::conv_general_dilated(noise(1, {1, 4, 3}), noise(2, {3, 3, 2, 4}), plain()),
                    contains("conv: ranks"));
}
