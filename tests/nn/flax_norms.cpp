// tests/nn/flax_norms.cpp: norms, convolutions and pools give what those of Flax give: results, new statistics and gradients.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/windows/conv_transpose.hpp>
#include <tokamax/lax/windows/pool.hpp>
#include <tokamax/lax/windows/reduce_window.hpp>
#include <tokamax/linalg.hpp>
#include <tokamax/nn.hpp>
#include <tokamax/tokamax.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;

/// Sets the fields that rows of norms have in common, and the scale and offset to the arrays behind x. Returns the next array.
template <class Norm>
int set_norm(Norm& n, const arrays& x, options o) {
  n.width = static_cast<int>(o.integer("width"));
  n.epsilon = o.number("epsilon", n.epsilon);
  if constexpr (requires { n.fast_variance; }) n.fast_variance = o.flag("use_fast_variance", true);
  int next = 1;
  n.use_scale = o.flag("scale", true);
  if (n.use_scale) n.scale = x[next++];
  if constexpr (requires { n.use_offset; }) {
    n.use_offset = o.flag("offset", true);
    if (n.use_offset) n.offset = x[next++];
  }
  return next;
}
array mask_of(const arrays& x, options o) { return o.flag("masked") ? x[x.count() - 1] : array(); }

case_functions norms() {
  case_functions table;
  table["batch_norm"] = [](const arrays& x, options o) -> arrays {
    nn::batch_norm n;
    int next = set_norm(n, x, o);
    n.momentum = o.number("momentum", n.momentum);
    n.features = o.axis(-1);
    if (!o.flag("training", true)) n.use = nn::mode::evaluation;
    n.average = x[next];
    n.variance = x[next + 1];
    array y;
    if (o.flag("masked"))
      y = n(x[0], mask_of(x, o));
    else
      y = n(x[0]);
    return {y, n.average, n.variance};
  };
  table["layer_norm"] = [](const arrays& x, options o) -> arrays {
    nn::layer_norm n;
    set_norm(n, x, o);
    return n(x[0]);
  };
  table["rms_norm"] = [](const arrays& x, options o) -> arrays {
    nn::rms_norm n;
    set_norm(n, x, o);
    return n(x[0]);
  };
  const auto over = [](bool subtract_mean) -> case_function {
    return [=](const arrays& x, options o) -> arrays {
      nn::norm_over n{
          .over = axes(o.list("over")), .features = axes(o.list("features")), .subtract_mean = subtract_mean};
      if (subtract_mean) {
        set_norm(n, x, o);
      } else {
        nn::rms_norm like;
        set_norm(like, x, o);
        n.width = like.width, n.epsilon = like.epsilon, n.scale = like.scale, n.use_offset = false;
      }
      return n(x[0], mask_of(x, o));
    };
  };
  table["norm_over"] = over(true);
  table["rms_over"] = over(false);
  table["group_norm"] = [](const arrays& x, options o) -> arrays {
    nn::group_norm n{.groups = static_cast<int>(o.integer("groups")), .over = axes(o.list("reduction_axes"))};
    set_norm(n, x, o);
    return n(x[0], mask_of(x, o));
  };
  table["instance_norm"] = [](const arrays& x, options o) -> arrays {
    nn::instance_norm n;
    if (o.has("features")) n.features = axes(o.list("features"));
    set_norm(n.norm, x, o);
    n.norm.features = n.features;
    return n(x[0], mask_of(x, o));
  };
  const auto linear_of = [](const arrays& x) {
    nn::linear f{static_cast<int>(x[1].extent(0)), static_cast<int>(x[1].extent(1))};
    f.kernel = x[1], f.bias = x[2];
    return f;
  };
  table["weight_norm"] = [=](const arrays& x, options o) -> arrays {
    nn::weight_norm<nn::linear> n{
        .layer = linear_of(x), .epsilon = o.number("epsilon", 1e-12), .use_scale = x.count() > 3};
    if (o.has("features")) n.features = axes(o.list("features"));
    if (n.use_scale) n.scale = x[3];
    return n(x[0]);
  };
  table["spectral_norm"] = [=](const arrays& x, options o) -> arrays {
    nn::spectral_norm<nn::linear> n{.layer = linear_of(x),
                                    .steps = static_cast<int>(o.integer("n_steps", 1)),
                                    .epsilon = o.number("epsilon", 1e-12)};
    n.u = x[3];
    if (!o.flag("training", true)) n.use = nn::mode::evaluation;
    const array y = n(x[0]);
    return {y, n.u, n.sigma};
  };
  return table;
}

nn::conv_padding padding_of(options o) {
  if (o.has("low")) return {o.list("low"), o.list("high")};
  const std::string p = o.text("padding", "SAME");
  return p == "SAME"       ? nn::edges::same
         : p == "VALID"    ? nn::edges::valid
         : p == "CIRCULAR" ? nn::edges::circular
         : p == "REFLECT"  ? nn::edges::reflect
                           : nn::edges::causal;
}
/// Sets what rows of both convolutions have.
template <class Conv>
arrays convolved(Conv f, const arrays& x, options o) {
  for (int i = 0; i + 2 < x[1].rank(); ++i) f.window.push_back(x[1].extent(i));
  f.strides = o.list("strides");
  f.dilation = o.list("dilation");
  f.padding = padding_of(o);
  f.use_bias = o.flag("bias", true);
  f.kernel = x[1];
  if (f.use_bias) f.bias = x[2];
  return f(x[0], mask_of(x, o));
}

case_functions windows() {
  case_functions table;
  table["conv"] = [](const arrays& x, options o) -> arrays {
    return convolved(nn::conv{.window = {},
                              .groups = static_cast<int>(o.integer("groups", 1)),
                              .input_dilation = o.list("input_dilation")},
                     x, o);
  };
  table["conv_transpose"] = [](const arrays& x, options o) -> arrays {
    return convolved(nn::conv_transpose{.window = {}, .transpose_kernel = o.flag("transpose")}, x, o);
  };
  table["pool"] = [](const arrays& x, options o) -> arrays {
    const shape window = o.list("window");
    pool_options p{.strides = o.list("strides"), .low = o.list("low"), .high = o.list("high")};
    p.padding = o.text("padding") == "SAME" ? padding::same : padding::valid;
    p.count_include_pad = o.flag("count", true);
    const std::string kind = o.text("kind");
    if (kind == "max") return max_pool(x[0], window, p);
    if (kind == "min") return min_pool(x[0], window, p);
    if (kind == "avg") return avg_pool(x[0], window, p);
    const auto around = tokamax::detail::pool_attributes("pool", x[0], window, p, 1 << 14, {});
    const auto all = [](const shape& s, std::int64_t other) { return tokamax::detail::of_image(s, other); };
    return reduce_window(x[0], 1.0f, [](const array& a, const array& b) { return a * b; }, all(window, 1),
                         {.strides = all(p.strides, 1), .low = all(around.low, 0), .high = all(around.high, 0)});
  };
  return table;
}
}  // namespace

TEST_CASE("norms are those of Flax") { check_cases("flax/norms.txt", norms()); }
TEST_CASE("convolutions and pools are those of Flax") { check_cases("flax/windows.txt", windows()); }

TEST_CASE("norms of entries of a named axis are those of the whole") {
  const array x = noise({3, 4, 2}, 1);
  const auto among = [&](const auto& layer, const array& batch) {
    return vmap([&](const array& one) { return layer(one); }, {.axis_name = "batch"})(batch);
  };
  const nn::norm_over part{.width = 2, .over = {0}, .axis = "batch"}, both{.width = 2, .over = {0, 1}};
  CHECK(distance(among(part, x), both(x)) < 1e-6);
  const nn::group_norm groups{.width = 2, .groups = 1, .axis = "batch"};
  const array rows = noise({3, 1, 4, 2}, 2);
  const nn::norm_over every{.width = 2, .over = {0, 1, 2, 3}};
  CHECK(distance(among(groups, rows), every(rows)) < 1e-6);
  CHECK_THROWS_WITH(part(x[0]), contains("pmean: axis name"));
}

TEST_CASE("layers compute in the dtype that they are asked for, and have parameters of another") {
  const array x = noise({2, 4}, 1), far = x * 0.25f + 1e3f;
  const auto of = [](auto layer) {
    layer.compute_dtype = f64;
    return layer;
  };
  CHECK(of(nn::layer_norm{4})(x).dtype() == f64);
  CHECK(of(nn::rms_norm{4})(x).dtype() == f64);
  CHECK(of(nn::group_norm{.width = 4, .groups = 2})(x).dtype() == f64);
  CHECK(of(nn::norm_over{4})(x).dtype() == f64);
  nn::batch_norm wide = of(nn::batch_norm{4});
  CHECK(wide(x).dtype() == f64);
  CHECK(wide.average.dtype() == f32);
  const nn::layer_norm small{.width = 4, .compute_dtype = bf16, .param_dtype = bf16};
  CHECK(small.scale.dtype() == bf16);
  CHECK(distance(astype(small(x), f32), nn::layer_norm{4}(x)) < 2e-2);
  const nn::conv narrow = init(nn::conv{.in = 4, .out = 2, .window = {1}, .param_dtype = bf16}, random::key(1));
  CHECK(narrow.kernel.dtype() == bf16);
  CHECK(of(narrow)(expand_dims(x, 0)).dtype() == f64);
  const nn::norm_over fast{.width = 4, .fast_variance = true}, exact{.width = 4};  // x^2 has few digits left of x
  CHECK(distance(exact(far), nn::layer_norm{4}(far)) < 1e-3);
  CHECK(distance(fast(far), nn::layer_norm{4}(far)) > 1e-3);
}

TEST_CASE("weights that are normalised start from the layer, keep lengths, and change statistics in training alone") {
  const auto start = init(nn::spectral_norm<nn::linear>{{.in = 6, .out = 3}}, random::key(1));
  nn::spectral_norm<nn::linear> layer = start;
  for (int i = 0; i < 60; ++i) layer(ones({1, 6}));
  const array kernel = nn::set_mode(layer, nn::mode::evaluation).normalised().kernel;
  CHECK(std::sqrt(max(linalg::eigvalsh(matmul(transpose(kernel), kernel))).item()) == Approx(1).epsilon(1e-4));
  CHECK(distance(layer.layer.kernel, start.layer.kernel) == 0);
  const nn::spectral_norm<nn::linear> fixed = nn::set_mode(layer, nn::mode::evaluation);
  CHECK(distance(fixed(ones({1, 6})), fixed(ones({1, 6}))) == 0);
  CHECK_THROWS_WITH(start(ones({1, 6})), contains("spectral_norm: mode"));
  const auto by_length = init(nn::weight_norm<nn::conv>{{.in = 2, .out = 3}}, random::key(2));
  const array w = by_length.normalised().kernel;
  CHECK(distance(sum(w * w, {0, 1, 2}), ones({3})) < 1e-5);
  CHECK(by_length(ones({1, 4, 4, 2})).shape() == shape{1, 4, 4, 3});
}

TEST_CASE("what layers refuse") {
  const array x = ones({2, 3, 4});
  CHECK_THROWS_WITH((nn::norm_over{.width = 3}(x)),
                    contains("norm_over: width: found 4 features of f32[2,3,4], expected 3"));
  CHECK_THROWS_WITH((nn::norm_over{.width = 4, .over = {3}}(x)), contains("norm_over: axis"));
  CHECK_THROWS_WITH((nn::instance_norm{.width = 2, .features = {0}}(x)), contains("instance_norm: features"));
  CHECK_THROWS_WITH((nn::group_norm{.width = 4, .groups = 2, .over = {5}}(x)), contains("group_norm: axis"));
  nn::batch_norm other{.width = 4, .features = 1};
  CHECK_THROWS_WITH(other(x), contains("batch_norm: width: found f32[2,3,4], expected an axis of features of 4"));
  const auto conv = [](nn::conv_padding p) { return init(nn::conv{.in = 4, .out = 2, .padding = p}, random::key(1)); };
  CHECK_THROWS_WITH(conv(nn::edges::causal)(ones({1, 3, 3, 4})), contains("conv: window") && contains("causal"));
  CHECK_THROWS_WITH((conv({{1}, {1}})(ones({1, 3, 3, 4}))), contains("conv: window"));
  CHECK_THROWS_WITH(conv(1)(ones({1, 3, 3, 4}), ones({3, 3})), contains("conv: mask"));
  CHECK(conv(1)(ones({1, 3, 3, 4})).shape() == shape{1, 3, 3, 2});
  const auto grow = init(nn::conv_transpose{.in = 4, .out = 2, .padding = nn::edges::reflect}, random::key(1));
  CHECK_THROWS_WITH(grow(ones({1, 3, 3, 4})), contains("conv_transpose: window"));
  CHECK(conv(nn::edges::circular)(ones({0, 3, 3, 4})).shape() == shape{0, 3, 3, 2});
  CHECK_THROWS_WITH((max_pool(ones({1, 4, 1}), {2}, {.low = {1, 1}, .high = {0, 0}})), contains("max_pool: window"));
  CHECK_THROWS_WITH((conv_transpose(ones({1, 4, 1}), ones({2, 1, 1}), {.low = {1}})),
                    contains("conv_transpose: options"));
}
