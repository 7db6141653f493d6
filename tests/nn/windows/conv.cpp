// tests/nn/windows/conv.cpp: the layer against loops, over one to three axes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/windows/conv.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

static_assert(nn::conv{3, 16}.kernel.shape() == tk::shape{3, 3, 3, 16});
static_assert(nn::conv{.in = 8, .out = 6, .window = {5}, .groups = 2, .use_bias = false}.kernel.shape() ==
              tk::shape{5, 4, 6});

namespace {
struct network {
  nn::conv layer{3, 4};
};
using images = tk::tensor<tk::f32, 2, 5, 4, 3>;
constexpr auto two = [](const network& f, const images& x) { return f.layer(x); };

// One image axis, by loops: zeros outside, as many before as behind or one fewer.
double at(const array& x, const nn::conv& f, std::int64_t place, std::int64_t o, std::int64_t step,
          std::int64_t apart) {
  const std::int64_t n = x.extent(1), in = x.extent(2), w = f.window[0], out = f.out;
  const std::int64_t places = (n + step - 1) / step, wide = (w - 1) * apart + 1;
  const std::int64_t zeros =
      f.padding == tk::padding::same ? std::max<std::int64_t>(0, (places - 1) * step + wide - n) : 0;
  double sum = f.bias.data<float>()[o];
  for (std::int64_t k = 0; k < w; ++k)
    for (std::int64_t c = 0; c < in; ++c) {
      const std::int64_t i = place * step + k * apart - zeros / 2;
      if (i >= 0 && i < n) sum += double{x.data<float>()[i * in + c]} * f.kernel.data<float>()[(k * in + c) * out + o];
    }
  return sum;
}
}  // namespace

TEST_CASE("one axis: strides, dilation and padding against loops") {
  for (const std::int64_t window : {1, 2, 3, 5})
    for (const std::int64_t step : {1, 2, 3})
      for (const std::int64_t apart : {1, 2})
        for (const tk::padding pad : {tk::padding::same, tk::padding::valid}) {
          CAPTURE(window, step, apart, static_cast<int>(pad));
          nn::conv layer{.in = 2, .out = 3, .window = {window}, .strides = {step}, .dilation = {apart}, .padding = pad};
          layer = tk::init(layer, tk::random::key(1));
          layer.bias = tk::constant({0.5f, -1.0f, 2.0f});
          const array x = tk::test::noise({1, 11, 2}, 3), y = layer(x);
          for (std::int64_t p = 0; p < y.extent(1); ++p)
            for (std::int64_t o = 0; o < 3; ++o)
              REQUIRE(y.data<float>()[p * 3 + o] == Approx(at(x, layer, p, o, step, apart)).margin(1e-5));
        }
}

TEST_CASE("two axes are conv2d, three axes a sum of these, and groups see their own channels") {
  const nn::conv flat = tk::init(nn::conv{3, 4}, tk::random::key(2));
  const array x = tk::test::noise({2, 5, 4, 3}, 4);
  CHECK(tk::test::distance(flat(x), tk::conv2d(x, flat.kernel)) == 0);
  CHECK(tk::to_string(tk::jit(two, tk::cpu, tk::while_compiling)(network{flat}, images(x))) == tk::to_string(flat(x)));
  const nn::conv solid = tk::init(nn::conv{.in = 3, .out = 4, .window = {1, 3, 3}}, tk::random::key(3));
  CHECK(tk::test::distance(tk::squeeze(solid(tk::expand_dims(x, 1)), {1}), tk::conv2d(x, solid.kernel[0])) < 1e-5);
  const nn::conv grouped = tk::init(nn::conv{.in = 4, .out = 4, .groups = 4, .use_bias = false}, tk::random::key(4));
  const array z = tk::test::noise({1, 4, 4, 4}, 5), y = grouped(z);
  const auto second = [](const array& a) { return tk::slice_in_dim(a, 1, 2, 3); };
  CHECK(tk::test::distance(second(y), tk::conv2d(second(z), second(grouped.kernel))) < 1e-6);
}

TEST_CASE("a batch of none, and what cannot be") {
  CHECK(nn::conv{3, 4, {3, 3}}(tk::zeros({0, 5, 4, 3})).shape() == tk::shape{0, 5, 4, 4});
  const nn::conv layer = tk::init(nn::conv{3, 4}, tk::random::key(2));
  CHECK_THROWS_WITH(layer(tk::ones({4, 3})), contains("conv: window") && contains("f32[4,3]"));
  CHECK_THROWS_WITH(layer(tk::ones({1, 5, 4, 2})), contains("conv: channels"));
  nn::conv odd = layer;
  odd.strides = {2};
  CHECK_THROWS_WITH(odd(tk::ones({1, 5, 4, 3})), contains("conv: window"));
}
