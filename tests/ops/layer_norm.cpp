// tests/ops/layer_norm.cpp: types, values, gradients and batches of layer_norm.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/ops/layer_norm.hpp>
#include <tokamax/ops/standardize.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

struct norm_arguments {
  array x, scale, offset;
};
constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
constexpr norm_arguments abstract(const tk::shape& x, const tk::shape& parameter) {
  return {array(floats(x)), array(floats(parameter)), array(floats(parameter))};
}
constexpr bool has_types(const norm_arguments& a, const tk::shape& x, const tk::shape& parameter) {
  return a.x.type() == floats(x) && a.scale.type() == floats(parameter) && a.offset.type() == floats(parameter);
}

constexpr auto norm = [](const norm_arguments& a) { return tk::layer_norm(a.x, a.scale, a.offset, {.epsilon = 1e-5}); };
constexpr auto total = [](const norm_arguments& a) { return sum(norm(a)); };
constexpr auto squared_gradient = [](const norm_arguments& a) {
  const norm_arguments g = tk::grad(total)(a);
  return sum(g.x * g.x) + sum(g.scale * g.scale);
};

static_assert(tk::layer_norm(array(floats({2, 5})), array(floats({5})), array(floats({5}))).type() == floats({2, 5}));
static_assert(has_types(tk::grad(total)(abstract({2, 3, 5}, {5})), {2, 3, 5}, {5}));
static_assert(has_types(tk::grad(squared_gradient)(abstract({3, 5}, {5})), {3, 5}, {5}));
static_assert(has_types(tk::vmap(tk::grad(total))(abstract({7, 3, 5}, {7, 5})), {7, 3, 5}, {7, 5}));

// bf16 rows keep f32 parameters; results have the dtype of x
constexpr tk::array_type half{tk::bf16, false, tk::shape{2, 5}};
static_assert(tk::layer_norm(array(half), array(floats({5})), array(floats({5}))).type() == half);

array row(const std::string& name) { return tk::test::golden("ops.txt", "layer_norm." + name); }

}  // namespace

TEST_CASE("layer_norm rejects parameters of another length") {
  const array x(floats({2, 5})), ok(floats({5})), wrong(floats({4}));
  CHECK_THROWS_WITH(tk::layer_norm(x, wrong, ok),
                    contains("layer_norm: scale") && contains("f32[4]") && contains("f32[5]"));
  CHECK_THROWS_WITH(tk::layer_norm(x, ok, wrong), contains("layer_norm: offset"));
}

TEST_CASE("layer_norm and its gradients are those of JAX") {
  const norm_arguments a{row("in0"), row("in1"), row("in2")};
  CHECK(tk::test::distance(norm(a), row("out")) < 1e-6);
  const auto [y, pullback] = tk::vjp(norm, a);
  const auto g = pullback(row("ct"));
  CHECK(tk::test::distance(y, row("out")) < 1e-6);
  CHECK(tk::test::distance(g.x, row("grad0")) < 2e-6);
  CHECK(tk::test::distance(g.scale, row("grad1")) < 2e-6);
  CHECK(tk::test::distance(g.offset, row("grad2")) < 2e-6);
}

TEST_CASE("layer_norm of a batch is the batch of layer_norms") {
  const array x = row("in0");  // [2, 3, 6]
  const std::initializer_list<float> scales{1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1},
      offsets{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  const array found = tk::vmap(norm)(norm_arguments{x, array::from(scales, {2, 6}), array::from(offsets, {2, 6})});
  const array plain = norm({x, tk::ones({6}), tk::zeros({6})});
  CHECK(tk::test::distance(found, plain * array::from(scales, {2, 1, 6}) + array::from(offsets, {2, 1, 6})) < 1e-6);
}

TEST_CASE("layer_norm in bf16 rounds the result of f32 arithmetic") {
  const norm_arguments a{row("in0"), row("in1"), row("in2")};
  const array rounded = astype(a.x, tk::bf16);
  const array y = norm({rounded, a.scale, a.offset});
  REQUIRE(y.dtype() == tk::bf16);
  CHECK(tk::test::distance(astype(y, tk::f32), norm({astype(rounded, tk::f32), a.scale, a.offset})) < 4e-3);
}

namespace {

/// layer_norm of axis `axis` of x in double, without parameters.
std::vector<double> plain(const array& x, int axis, bool subtract_mean) {
  const auto v = x.values<float>();
  std::vector<double> y(v.size());
  const std::int64_t n = x.extent(axis);
  std::int64_t inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.extent(i);
  for (std::int64_t row = 0; row < x.size() / (n ? n : 1); ++row) {
    const auto at = [&](std::int64_t j) {
      return static_cast<std::size_t>(row / inner * inner * n + row % inner + j * inner);
    };
    double mean = 0, square = 0;
    for (std::int64_t j = 0; j < n && subtract_mean; ++j)
      mean += static_cast<double>(v[at(j)]) / static_cast<double>(n);
    for (std::int64_t j = 0; j < n; ++j)
      square +=
          (static_cast<double>(v[at(j)]) - mean) * (static_cast<double>(v[at(j)]) - mean) / static_cast<double>(n);
    for (std::int64_t j = 0; j < n; ++j) y[at(j)] = (static_cast<double>(v[at(j)]) - mean) / std::sqrt(square + 1e-6);
  }
  return y;
}

}  // namespace

TEST_CASE("layer_norm of every axis, with and without means and parameters") {
  using tk::test::noise;
  for (const tk::shape& s : {tk::shape{64}, {128, 32}, {8, 7, 32}, {5, 42}, {24, 32, 40}, {3, 0, 2}, {0, 4}, {3, 1}})
    for (int axis = -s.rank(); axis < s.rank(); ++axis)
      for (const bool subtract_mean : {true, false}) {
        const array x = noise(s, 1);
        const std::int64_t n = s[axis < 0 ? axis + s.rank() : axis];
        const array g = noise({n}, 2), b = noise({n}, 3);
        CAPTURE(tk::message(x.type()).view(), axis, subtract_mean);
        const tk::layer_norm_options o{.axis = axis, .subtract_mean = subtract_mean};
        const array bare = tk::layer_norm(x, {}, {}, o);
        const auto expected = plain(x, axis < 0 ? axis + s.rank() : axis, subtract_mean);
        double wrong = 0;
        for (std::size_t i = 0; i < expected.size(); ++i)
          wrong = std::fmax(wrong, std::fabs(static_cast<double>(bare.values<float>()[i]) - expected[i]));
        CHECK(wrong < 4e-6);
        tk::shape along(s);
        for (int i = 0; i < s.rank(); ++i) along[i] = 1;
        along[axis < 0 ? axis + s.rank() : axis] = n;
        const array scale = reshape(g, along), offset = reshape(b, along);
        CHECK(tk::test::distance(tk::layer_norm(x, g, {}, o), bare * scale) < 2e-6);
        CHECK(tk::test::distance(tk::layer_norm(x, {}, b, o), bare + offset) < 2e-6);
        const array all = tk::layer_norm(x, g, b, {.axis = axis, .scale_offset = 1, .subtract_mean = subtract_mean});
        CHECK(tk::test::distance(all, bare * (scale + 1.0) + offset) < 2e-6);
        const auto r = tk::layer_norm_with_residuals(x, g, b, o);
        CHECK(tk::test::distance(r.out, tk::layer_norm(x, g, b, o)) == 0);
        CHECK(tk::test::distance((x - expand_dims(r.mean, axis)) * expand_dims(r.rstd, axis), bare) < 2e-6);
        if (!subtract_mean) {
          CHECK(tk::test::distance(tk::rms_norm(x, {}, {.axis = axis}), bare) < 1e-6);
          CHECK(tk::test::distance(tk::rms_norm(x, g, {.axis = axis, .scale_offset = 0.5}), bare * (scale + 0.5)) <
                2e-6);
        }
      }
}

TEST_CASE("layer_norm and rms_norm of other axes are those of JAX") {
  tk::test::check_golden(
      "layer_norm_axis1",
      [](const tk::arrays& v) -> tk::arrays {
        return tk::layer_norm(v[0], v[1], v[2], {.axis = 1, .scale_offset = 1});
      },
      3, 4e-6, "model_ops.txt");
  tk::test::check_golden(
      "rms_norm_axis0",
      [](const tk::arrays& v) -> tk::arrays { return tk::rms_norm(v[0], v[1], {.axis = 0, .scale_offset = 0.5}); }, 2,
      4e-6, "model_ops.txt");
}

TEST_CASE("layer_norm with options keeps the contract of functions, in bf16 too") {
  using tk::test::noise;
  for (const tk::dtype t : {tk::f32, tk::bf16})
    for (const bool subtract_mean : {true, false})
      tk::test::check_function(
          [=](const tk::arrays& v) -> tk::arrays {
            const auto r = tk::layer_norm_with_residuals(
                v[0], v[1], v[2], {.axis = 0, .scale_offset = 1, .subtract_mean = subtract_mean});
            return {r.out, r.mean, r.rstd};
          },
          {noise({4, 3}, 1, t), noise({4}, 2), noise({4}, 3)}, {.order = 1});
  const array half = noise({6, 5}, 1, tk::bf16);
  CHECK(tk::layer_norm(half, {}, noise({5}, 2), {.subtract_mean = false}).dtype() == tk::bf16);
  CHECK(tk::layer_norm(half, noise({5}, 2, tk::bf16), noise({5}, 3, tk::bf16), {.scale_offset = 1}).dtype() ==
        tk::bf16);
}

TEST_CASE("layer_norm says what is wrong with its options") {
  const array x(floats({2, 5})), wrong(floats({4}));
  CHECK_THROWS_WITH(tk::layer_norm(x, {}, {}, {.axis = 2}), contains("layer_norm: axis") && contains("f32[2,5]"));
  CHECK_THROWS_WITH(tk::rms_norm(x, {}, {.axis = -3}), contains("rms_norm: axis"));
  CHECK_THROWS_WITH(tk::layer_norm(x, {}, wrong, {.subtract_mean = false}), contains("layer_norm: offset"));
  CHECK_THROWS_WITH(tk::layer_norm(x, wrong, {}, {.scale_offset = 1}), contains("layer_norm: scale"));
  CHECK_THROWS_WITH(tk::rms_norm(x, array(floats({5})), {.axis = 0}), contains("rms_norm: scale"));
}

TEST_CASE("layer_norm keeps the contract of ops") {
  using tk::test::noise;
  for (const tk::dtype t : {tk::f32, tk::bf16})
    tk::test::check_op(tk::layer_norm_p,
                       {{{noise({3, 5}, 1, t), noise({5}, 2), noise({5}, 3)}, pack(tk::norm_attributes{})}});
  tk::test::check_op(tk::layer_norm_p,
                     {{{noise({2, 2, 19}, 1), noise({19}, 2), noise({19}, 3)}, pack(tk::norm_attributes{1e-3})}});
  tk::test::check_op(tk::layer_norm_vjp_p,
                     {{{noise({3, 5}, 1), noise({5}, 2), noise({3, 5}, 3)}, pack(tk::norm_attributes{})}});
}

namespace {
/// Rows of steps near a number far from zero, and what layer_norm and its gradient are in double.
struct far_rows {
  std::int64_t count, length;
  array x = array(0.0f), ct = array(0.0f);
  std::vector<double> y, dx;
  far_rows(double near, double step, std::int64_t n, std::int64_t c) : count(n), length(c) {
    std::vector<float> values, cotangents;
    for (std::int64_t i = 0; i < n * c; ++i) {
      values.push_back(static_cast<float>(near + step * static_cast<double>(i * 7 % 19)));
      cotangents.push_back(static_cast<float>(i * i % 11) - 4.0f);
    }
    for (std::int64_t r = 0; r < n; ++r) {
      const auto mean = [&](auto f) {
        double sum = 0;
        for (std::int64_t j = r * c; j < (r + 1) * c; ++j) sum += f(static_cast<std::size_t>(j));
        return sum / static_cast<double>(c);
      };
      const double m = mean([&](std::size_t j) { return double(values[j]); });
      const double s = 1 / std::sqrt(mean([&](std::size_t j) { return (values[j] - m) * (values[j] - m); }) + 1e-12);
      const double g = mean([&](std::size_t j) { return double(cotangents[j]); });
      const double gx = mean([&](std::size_t j) { return cotangents[j] * (values[j] - m) * s; });
      for (auto j = static_cast<std::size_t>(r * c); j < static_cast<std::size_t>((r + 1) * c); ++j) {
        y.push_back((values[j] - m) * s);
        dx.push_back(s * (cotangents[j] - g - y.back() * gx));
      }
    }
    x = array::from<float>(values, {n, c});
    ct = array::from<float>(cotangents, {n, c});
  }
  /// The largest difference, as a part of the largest value.
  static double error(const std::vector<double>& expected, const array& a) {
    double most = 0, largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      most = std::max(most, std::abs(expected[i] - static_cast<double>(a.values<float>()[i])));
      largest = std::max(largest, std::abs(expected[i]));
    }
    return most / largest;
  }
};
}  // namespace

TEST_CASE("rows far from zero keep the digits of their differences, in every way to normalise") {
  for (const auto& [near, step] : {std::pair{1e4, 1e-3}, {-3e6, 0.5}, {1e4, 3.0}, {0.0, 1.0}})
    for (const std::int64_t length : {3, 7, 64, 1000, 5000}) {
      CAPTURE(near, length);
      const far_rows d(near, step, 5, length);
      const array one = tk::ones({length}), none = tk::zeros({length});
      const tk::norm_attributes options{1e-12};
      for (const char* by : {"kernel", "compose"}) {
        const tk::use_implementation norm_by("layer_norm", by);
        CHECK(far_rows::error(d.y, tk::layer_norm(d.x, one, none, {.epsilon = 1e-12})) < 2e-6);
        CHECK(far_rows::error(d.dx, tk::layer_norm_vjp(d.x, one, d.ct, options)[0]) < 1e-5);
      }
      const array upright = tk::transpose(d.x);
      for (const std::int64_t columns : {5, 80})  // rows after the axis; many of them are another op
        CHECK(
            far_rows::error(d.y, tk::transpose(tk::slice_in_dim(tk::layer_norm(tk::tile(upright, {1, columns / 5}), one,
                                                                               none, {.epsilon = 1e-12, .axis = 0}),
                                                                0, 5, 1))) < 2e-6);
      CHECK(far_rows::error(d.y, tk::standardize(d.x, {.axis = {1}, .epsilon = 1e-12})) < 2e-6);
      CHECK(far_rows::error(d.y, tk::standardize(d.x, tk::ones({length}, tk::bool_), {.axis = {1}, .epsilon = 1e-12})) <
            2e-6);
    }
}
