// tests/ops/quantized/grouped_matmul.cpp: products of groups with scales, a bias and a gated activation are those of loops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/quantized/grouped_matmul.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/check_op.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"

#include <cmath>

namespace tk = tokamax;
using tk::array;
using tk::gate_up_activation;
using tk::test::noise;

namespace {

double gated(gate_up_activation how, double gate, double up) {
  const double low = std::fmin(gate, 7.0), high = std::fmax(-7.0, std::fmin(up, 7.0));
  switch (how) {
    case gate_up_activation::silu:
      return gate / (1 + std::exp(-gate)) * up;
    case gate_up_activation::gelu:
      return 0.5 * gate * (1 + std::tanh(0.7978845608028654 * (gate + 0.044715 * gate * gate * gate))) * up;
    case gate_up_activation::swigluoai:
      return low / (1 + std::exp(-1.702 * low)) * (high + 1);
    default:
      return gate;
  }
}

/// What grouped_matmul means, in doubles, row after row. x [M, K], w [G, K, N], scale [G, T, 1, N], bias [G, 1, N].
std::vector<double> plain(const array& x, const array& w, const tk::grouped_matmul_options& o,
                          const std::vector<std::int32_t>& sizes, std::int32_t offset) {
  const array wide = astype(w, tk::f32), none = tk::zeros({0});
  const auto a = x.values<float>(), b = wide.values<float>();
  const std::int64_t rows = x.extent(0), k = x.extent(1), n = w.extent(2);
  const auto scale = (o.rhs_scale.exists() ? o.rhs_scale : none).values<float>();
  const auto bias = (o.rhs_bias.exists() ? o.rhs_bias : none).values<float>();
  const std::int64_t tiles = o.rhs_scale.exists() ? o.rhs_scale.extent(1) : 1;
  const auto at = [](const auto& v, std::int64_t i) {
    return v.empty() ? 1.0 : static_cast<double>(v[static_cast<std::size_t>(i)]);
  };
  const bool halves = o.activation != gate_up_activation::none;
  std::vector<double> y(static_cast<std::size_t>(rows * n), 0.0), out;
  std::int64_t row = 0;
  for (std::size_t global = 0; global < sizes.size(); ++global)
    for (std::int32_t i = 0; i < sizes[global] && row < rows; ++i, ++row) {
      const std::int64_t g = static_cast<std::int64_t>(global) - offset;
      if (g < 0 || g >= w.extent(0)) continue;
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = bias.empty() ? 0.0 : at(bias, g * n + j);
        for (std::int64_t p = 0; p < k; ++p)
          sum += at(a, row * k + p) * at(b, (g * k + p) * n + j) * at(scale, (g * tiles + p / (k / tiles)) * n + j);
        y[static_cast<std::size_t>(row * n + j)] = sum;
      }
    }
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < (halves ? n / 2 : n); ++j) {
      const auto gate = static_cast<std::size_t>(i * n + j);
      out.push_back(halves ? gated(o.activation, y[gate], y[gate + static_cast<std::size_t>(n / 2)]) : y[gate]);
    }
  return out;
}
double apart(const array& found, const std::vector<double>& expected) {
  const array wide = astype(found, tk::f32);
  const auto v = wide.values<float>();
  REQUIRE(v.size() == expected.size());
  double most = 1e-30, wrong = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    most = std::fmax(most, std::fabs(expected[i]));
    wrong = std::fmax(wrong, std::fabs(static_cast<double>(v[i]) - expected[i]));
  }
  return wrong / most;
}
array sizes_of(const std::vector<std::int32_t>& sizes) {
  return array::from<std::int32_t>(sizes, {static_cast<std::int64_t>(sizes.size())});
}

}  // namespace

TEST_CASE("grouped_matmul with scales, bias, offset and gated activations is that of loops in double") {
  using enum gate_up_activation;
  const std::vector<std::int32_t> sizes{3, 0, 4, 2, 5, 1};  // of 18 rows
  const array x = noise({18, 32}, 1) * 3.0f, w = noise({3, 32, 10}, 2);
  const auto q = tk::quantize(w, {.tiles = {1, 16, 1}});
  for (const std::int32_t offset : {0, 2, 5})
    for (const auto how : {none, silu, gelu, swigluoai})
      for (const bool biased : {false, true})
        for (const bool scaled : {false, true}) {
          tk::grouped_matmul_options o{.group_offset = array::from<std::int32_t>({offset}), .activation = how};
          if (biased) o.rhs_bias = noise({3, 1, 10}, 3);
          if (scaled) o.rhs_scale = reshape(q.scale, {3, 2, 1, 10});
          const array& rhs = scaled ? q.qvalue : w;
          CAPTURE(offset, static_cast<int>(how), biased, scaled);
          const array y = tk::grouped_matmul(x, rhs, sizes_of(sizes), o);
          const auto expected = plain(x, rhs, o, sizes, offset);
          CHECK(apart(y, expected) < 3e-6);
          const auto run = tk::jit([&](const array& a) { return tk::grouped_matmul(a, rhs, sizes_of(sizes), o); },
                                   tk::cpu, tk::at_run_time);
          CHECK(tk::test::distance(array(run(x)), y) < 1e-6);
          if (!scaled) continue;
          o.lhs_quantization = tk::i8;
          CHECK(apart(tk::grouped_matmul(x, rhs, sizes_of(sizes), o), expected) < 0.02);
        }
}

TEST_CASE("grouped_matmul of bf16 rounds once, and its gradients are those of its parts") {
  const array sizes = sizes_of({3, 0, 5}), x = noise({8, 16}, 1), w = noise({3, 16, 6}, 2), b = noise({3, 1, 6}, 3);
  const auto narrow = [](const array& v) { return array(astype(v, tk::bf16)); };
  const auto wide = [](const array& v) { return array(astype(v, tk::f32)); };
  const tk::grouped_matmul_options o{.rhs_bias = b, .activation = gate_up_activation::silu};
  const array y = tk::grouped_matmul(narrow(x), narrow(w), sizes, o);
  CHECK(y.dtype() == tk::bf16);
  CHECK(tk::test::distance(wide(y), wide(narrow(tk::grouped_matmul(wide(narrow(x)), wide(narrow(w)), sizes, o)))) <
        8e-3);
  CHECK(tk::grouped_matmul(narrow(x), narrow(w), sizes, {.preferred_element_type = tk::f32}).dtype() == tk::f32);
  const auto all = [&](const tk::arrays& v) -> tk::arrays {
    return {tk::grouped_matmul(v[0], v[1], sizes, {.rhs_bias = v[2], .activation = gate_up_activation::silu})};
  };
  tk::test::check_function(all, {x, w, b}, {.order = 1});
}

TEST_CASE("grouped_matmul says what is wrong with its operands") {
  const array x = noise({6, 4}, 1), w = noise({3, 4, 5}, 2), sizes = sizes_of({2, 2, 2});
  CHECK_THROWS_WITH(tk::grouped_matmul(w, w, sizes), contains("grouped_matmul: lhs"));
  CHECK_THROWS_WITH(tk::grouped_matmul(x, x, sizes), contains("grouped_matmul: rhs"));
  CHECK_THROWS_WITH(tk::grouped_matmul(x, w, sizes, {.rhs_scale = w}), contains("grouped_matmul: rhs_scale"));
  CHECK_THROWS_WITH(tk::grouped_matmul(x, w, sizes, {.rhs_bias = w}), contains("grouped_matmul: rhs_bias"));
  CHECK_THROWS_WITH(tk::grouped_matmul(x, w, sizes, {.activation = gate_up_activation::gelu}), contains("an even N"));
  CHECK_THROWS_WITH(tk::grouped_matmul(x, w, sizes, {.lhs_quantization = tk::i8}),
                    contains("grouped_matmul: lhs_quantization"));
  CHECK_THROWS_WITH(tk::grouped_matmul(x, w, sizes_of({2})), contains("one size for each group"));
}

TEST_CASE("gradients of grouped_matmul pass through the rounding of its input") {
  const array x = noise({6, 16}, 1), w = noise({3, 16, 5}, 2), sizes = sizes_of({2, 2, 2});
  const tk::quantized_array q = tk::quantize(w, {.tiles = {1, 8, 1}});
  const tk::grouped_matmul_options rounded{.rhs_scale = reshape(q.scale, {3, 2, 1, 5}), .lhs_quantization = tk::i8};
  const array found =
      tk::grad([&](const array& v) { return tk::sum(tk::square(tk::grouped_matmul(v, q.qvalue, sizes, rounded))); })(x);
  const array expected = tk::grad([&](const array& v) {
    return tk::sum(tk::square(tk::ragged_dot(tk::fake_quantize(v, {.tiles = {1, 8}}), dequantize(q), sizes)));
  })(x);
  CHECK(tk::test::distance(found, expected) < 1e-5);
}
