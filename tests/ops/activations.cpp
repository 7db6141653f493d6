// tests/ops/activations.cpp: values and derivatives of the activation functions.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/numpy/clip.hpp>
#include <tokamax/ops/activations.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vjp.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

constexpr auto all_of_them = [](const array& x) {
  return sum(tk::relu(x) + tk::gelu(x) + tk::gelu(x, {.approximate = false}) + tk::silu(x) + tk::softplus(x) +
             tk::log_sigmoid(x) + tk::leaky_relu(x) + tk::elu(x) + tk::selu(x) + tk::relu6(x) + tk::sigmoid(x));
};
constexpr tk::array_type four{tk::f32, false, tk::shape{4}};
static_assert(tk::grad(all_of_them)(array(four)).type() == four);

array row(const std::string& name) { return tk::test::golden("ops.txt", name); }

/// Every value on its own: within 4e-6 of its size, or of 5e-7.
bool close(const array& found, const array& expected) {
  const auto a = found.values<float>(), b = expected.values<float>();
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (std::isnan(b[i]) && std::isnan(a[i])) continue;
    if (a[i] == b[i]) continue;
    if (!(std::fabs(a[i] - b[i]) <= 4e-6f * std::fabs(b[i]) + 5e-7f))
      return UNSCOPED_INFO(i << ": " << a[i] << " for " << b[i]), false;
  }
  return true;
}

template <class F>
void check_points(const std::string& name, F f) {
  CAPTURE(name);
  const array x = row("unary.in0");
  CHECK(close(f(x), row(name + ".out")));
  CHECK(close(tk::grad([&](const array& v) { return sum(f(v)); })(x), row(name + ".grad0")));
}

}  // namespace

TEST_CASE("activations and their derivatives are those of JAX") {
  check_points("relu", [](const array& x) { return tk::relu(x); });
  check_points("gelu_tanh", [](const array& x) { return tk::gelu(x); });
  check_points("gelu_exact", [](const array& x) { return tk::gelu(x, {.approximate = false}); });
  check_points("silu", [](const array& x) { return tk::silu(x); });
  check_points("softplus", [](const array& x) { return tk::softplus(x); });
  check_points("log_sigmoid", [](const array& x) { return tk::log_sigmoid(x); });
  check_points("leaky_relu", [](const array& x) { return tk::leaky_relu(x); });
  check_points("elu", [](const array& x) { return tk::elu(x); });
  check_points("logistic", [](const array& x) { return tk::sigmoid(x); });
}

TEST_CASE("relu and relu6 have no gradient at their corners") {
  for (const std::string name : {"relu_at_zero", "relu6_at_zero"}) {
    const auto f = [&](const array& x) { return name == "relu_at_zero" ? tk::relu(x) : tk::relu6(x); };
    const auto [y, pullback] = tk::vjp(f, row(name + ".in0"));
    const auto g = pullback(row(name + ".ct"));
    CHECK(close(y, row(name + ".out")));
    CHECK(close(g, row(name + ".grad0")));
  }
}

TEST_CASE("relu keeps the contract of ops") {
  using tk::test::noise;
  for (const tk::dtype t : {tk::f32, tk::bf16}) tk::test::check_op(tk::relu_p, {{{noise({3, 5}, 1, t)}}});
}

TEST_CASE("exact gelu has no cancellation, and rounds bf16 once") {
  using tk::test::noise;
  for (const tk::dtype t : {tk::f32, tk::bf16}) tk::test::check_op(tk::gelu_p, {{{noise({3, 5}, 3, t)}}});
  const array x = array::from<float>({-5, -5.75f, -12, -3, -3.40625f});
  const array y = tk::gelu(x, {.approximate = false}), z = tk::gelu(astype(x, tk::bf16), {.approximate = false});
  const auto exact = [](float v) {
    return 0.5 * static_cast<double>(v) * std::erfc(-static_cast<double>(v) / std::sqrt(2.0));
  };
  const array wide = astype(z, tk::f32);
  for (std::size_t i = 0; i < 5; ++i) {
    const float at = x.values<float>()[i];
    CHECK(y.values<float>()[i] == static_cast<float>(exact(at)));
    CHECK(wide.values<float>()[i] == static_cast<float>(tk::bfloat16(static_cast<float>(exact(at)))));
  }
}

TEST_CASE("activations of integers are those of the same numbers in f32") {
  const array x = array::from<std::int32_t>({-2000, -128, 0, 1, 3, 40, 2000});
  const auto check = [](auto f, const array& v) {
    CHECK(f(v).dtype() == tk::f32);
    CHECK(tk::test::distance(f(v), f(astype(v, tk::f32))) == 0);
  };
  for (const array& v : {x, astype(maximum(x, 0), tk::u32), astype(clip(x, -128, 127), tk::i8)}) {
    check([](const array& a) { return tk::gelu(a); }, v);
    check([](const array& a) { return tk::gelu(a, {.approximate = false}); }, v);
    check([](const array& a) { return tk::silu(a); }, v);
    check([](const array& a) { return tk::softplus(a); }, v);
    check([](const array& a) { return tk::log_sigmoid(a); }, v);
    check([](const array& a) { return tk::leaky_relu(a); }, v);
    check([](const array& a) { return tk::elu(a); }, v);
    check([](const array& a) { return tk::selu(a); }, v);
  }
}
