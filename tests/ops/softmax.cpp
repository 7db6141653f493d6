// tests/ops/softmax.cpp: softmax, log_softmax and logsumexp, also of infinite and masked values.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/softmax.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

#include <cmath>
#include <limits>

namespace tk = tokamax;
using tk::array;

namespace {

constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
static_assert(tk::softmax(array(floats({2, 3}))).type() == floats({2, 3}));
static_assert(tk::softmax(array(floats({2, 3})), 0).type() == floats({2, 3}));
static_assert(tk::log_softmax(array(floats({2, 3})), 0).type() == floats({2, 3}));
static_assert(tk::logsumexp(array(floats({2, 3})), {{0}}).type() == floats({3}));
static_assert(tk::logsumexp(array(floats({2, 3})), {.keepdims = true}).type() == floats({1, 1}));

array row(const std::string& name) { return tk::test::golden("ops.txt", name); }

template <class F>
void check_case(const std::string& name, const std::string& input, F f, const array& gradient = {}) {
  CAPTURE(name);
  const array x = row(input);
  CHECK(tk::test::distance(f(x), row(name + ".out")) < 1e-6);
  const auto [y, pullback] = tk::vjp(f, x);
  const auto g = pullback(row(name + ".ct"));
  CHECK(tk::test::distance(y, row(name + ".out")) < 1e-6);
  CHECK(tk::test::distance(g, gradient.exists() ? gradient : row(name + ".grad0")) < 2e-6);
}

constexpr auto last_softmax = [](const array& x) { return tk::softmax(x); };
constexpr auto first_softmax = [](const array& x) { return tk::softmax(x, 0); };
constexpr auto last_log_softmax = [](const array& x) { return tk::log_softmax(x); };
constexpr auto last_logsumexp = [](const array& x) { return tk::logsumexp(x, {{-1}}); };
constexpr auto whole_logsumexp = [](const array& x) { return tk::logsumexp(x); };

}  // namespace

TEST_CASE("softmax and its relatives are those of JAX") {
  check_case("softmax", "softmax.in0", last_softmax);
  check_case("softmax_axis0", "softmax.in0", first_softmax);
  check_case("log_softmax", "softmax.in0", last_log_softmax);
  check_case("logsumexp", "softmax.in0", last_logsumexp);
  check_case("softmax_masked", "softmax_masked.in0", last_softmax);
  check_case("log_softmax_masked", "log_softmax_masked.in0", last_log_softmax);
  const array rows_of_jax = row("logsumexp_masked.grad0");  // NaN for a row of -inf, whose gradient is 0 here
  check_case("logsumexp_masked", "logsumexp_masked.in0", last_logsumexp,
             select(tk::iota(tk::i32, {4, 4}, 0) == 1, 0.0f, rows_of_jax));
  check_case("logsumexp_minus_inf", "logsumexp_minus_inf.in0", whole_logsumexp);
}

TEST_CASE("softmax of a batch, and along another axis, is softmax of the rows") {
  const array x = row("layer_norm.in0");  // [2, 3, 6]
  CHECK(tk::test::distance(tk::vmap(last_softmax)(x), tk::softmax(x)) == 0);
  CHECK(tk::test::distance(transpose(tk::softmax(x, 1), {0, 2, 1}), tk::softmax(transpose(x, {0, 2, 1}))) == 0);
  CHECK(tk::test::distance(sum(tk::softmax(x, 0), {{0}}), tk::ones({3, 6})) < 1e-6);
  CHECK(tk::test::distance(exp(tk::log_softmax(x)), tk::softmax(x)) < 1e-6);
}

TEST_CASE("softmax rejects integers") {
  CHECK_THROWS_WITH(tk::softmax(array::from<std::int32_t>({1, 2})), contains("softmax: x"));
}

TEST_CASE("softmax keeps the contract of ops") {
  using tk::test::noise;
  for (const tk::dtype t : {tk::f32, tk::bf16}) {
    tk::test::check_op(tk::softmax_p, {{{noise({3, 5}, 1, t)}}, {{noise({2, 3, 17}, 2, t)}}});
    tk::test::check_op(tk::softmax_vjp_p, {{{noise({3, 5}, 1, t), noise({3, 5}, 2, t)}}});
  }
}

TEST_CASE("logsumexp over the elements of a mask") {
  const array x = array::from<float>({1, 2, 300, 4, 5, -std::numeric_limits<float>::infinity()}, {2, 3});
  const array mask = array::from<bool>({true, true, false, false, false, false}, {2, 3});
  const array y = tk::logsumexp(x, mask, {{1}});
  CHECK(y.values<float>()[0] == Approx(std::log(std::exp(1.0) + std::exp(2.0))));
  CHECK(y.values<float>()[1] == -std::numeric_limits<float>::infinity());
  CHECK(tk::logsumexp(x, mask, {{1}, true}).shape() == tk::shape{2, 1});
  CHECK(tk::logsumexp(x, array::from<bool>({true, false, false}), {{1}}).values<float>()[0] == 1.0f);
  const array g = tk::grad([&](const array& v) { return tk::logsumexp(v, mask); })(x);
  CHECK(g.values<float>()[0] == Approx(1 / (1 + std::exp(1.0))));
  CHECK((g.values<float>()[2] == 0 && g.values<float>()[3] == 0));
  CHECK_THROWS_WITH(tk::logsumexp(x, x), contains("logsumexp: mask: found f32[2,3], expected booleans"));
}

TEST_CASE("rows of 16-bit floats are summed, and what follows computed, in f32") {
  const auto number = [](const array& x) { return tk::astype(x, tk::f64).item<double>(); };
  const array zeros = tk::zeros({100000}, tk::f16);
  CHECK(number(tk::max(tk::log_softmax(zeros))) == Approx(-11.5129).epsilon(1e-3));
  CHECK(number(tk::logsumexp(zeros)) == Approx(11.5129).epsilon(1e-3));
  CHECK(tk::log_softmax(zeros).dtype() == tk::f16);
  const auto loss = [](const array& x) { return tk::logsumexp(x) * array(1000.0f, {tk::f16, false, {}}); };
  CHECK(number(tk::max(tk::grad(loss)(zeros))) == Approx(0.01).epsilon(1e-2));
}

TEST_CASE("elements of -inf have no gradient, and no NaN") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto slope = [](const array& x) { return tk::grad([](const array& v) { return tk::logsumexp(v); })(x); };
  CHECK(tk::test::distance(slope(array::from<float>({-inf, -inf})), tk::zeros({2})) == 0);
  CHECK(tk::test::distance(slope(array::from<float>({-inf, 3, 3})), array::from<float>({0, 0.5f, 0.5f})) < 1e-6);
  CHECK(tk::test::distance(slope(array::from<float>({3, -50, -inf})), array::from<float>({1, 0, 0})) < 1e-6);
  CHECK(tk::logsumexp(array::from<float>({-inf, -inf})).item() == -inf);
  CHECK(tk::logsumexp(array::from<float>({inf, 1})).item() == inf);
  CHECK(std::isnan(tk::logsumexp(array::from<float>({std::nanf(""), 1})).item()));
}
