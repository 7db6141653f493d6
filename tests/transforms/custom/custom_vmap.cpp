// tests/transforms/custom/custom_vmap.cpp: batch rules of functions take the place of derived ones.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/custom/custom_vmap.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// The product of a matrix and a vector; its rule adds 1, which tells that it was called, and 10 if the matrix is batched.
constexpr auto product =
    custom_vmap([](const array& a, const array& x) { return matmul(a, x); },
                [](std::int64_t n, const std::array<bool, 2>& in, const array& a, const array& x) {
                  if (!in[0]) return std::pair{matmul(x, transpose(a)) + 1.0f, true};
                  const array each = in[1] ? x : with_leading_axis(x, n);
                  return std::pair{sum(a * reshape(each, {n, 1, each.extent(1)}), {{2}}) + 11.0f, true};
                });
constexpr auto forgetful = custom_vmap([](const array& x) { return 0.0f * x; },
                                       [](std::int64_t, const std::array<bool, 1>&, const array& x) {
                                         return std::pair{slice_in_dim(x, 0, 1, 0)[0] * 0.0f + 2.0f, false};
                                       });
constexpr auto wrong =
    custom_vmap([](const array& x) { return x; },
                [](std::int64_t, const std::array<bool, 1>&, const array& x) { return std::pair{x, false}; });
}  // namespace

TEST_CASE("outside of vmap the function is f") {
  const array a = noise({2, 3}, 1), x = noise({3}, 2);
  CHECK(bit_difference({product(a, x)}, {matmul(a, x)}) == "");
  CHECK(bit_difference({jit([](const array& m, const array& v) { return product(m, v); }, cpu, at_run_time)(a, x)},
                       {matmul(a, x)}) == "");
  const auto loss = [&](const array& v) { return sum(sin(product(a, v))); };
  const auto same = [&](const array& v) { return sum(sin(matmul(a, v))); };
  CHECK(bit_difference({grad(loss)(x)}, {grad(same)(x)}) == "");
}

TEST_CASE("vmap calls the rule, which knows what is batched") {
  const array a = noise({2, 3}, 1), x = noise({3}, 2), as = noise({4, 2, 3}, 3), xs = noise({4, 3}, 4);
  const auto of = [](const auto& f, axes in) { return vmap(f, {.in_axes = in}); };
  const auto plain = [](const array& m, const array& v) { return matmul(m, v); };
  const auto check = [&](const array& m, const array& v, axes in, float more) {
    CHECK(difference({to_value(of(product, in)(m, v))}, {to_value(of(plain, in)(m, v) + more)}, 1e-6) == "");
  };
  check(a, xs, {not_mapped, 0}, 1);
  check(as, x, {0, not_mapped}, 11);
  check(as, xs, {0, 0}, 11);
  // in the body of a scan, and with a result that all examples share
  const auto loop = [&](const array& v) {
    return scan([&](const array& c, const array&) { return std::pair{product(a, v) + c, c}; }, zeros({2}), zeros({3}))
        .first;
  };
  CHECK(difference({to_value(vmap(loop)(xs))},
                   {to_value(3.0f * (vmap([&](const array& v) { return matmul(a, v); })(xs) + 1.0f))}, 1e-6) == "");
  CHECK(to_value(vmap(forgetful)(xs)).data == std::vector<double>(12, 2.0));
}

TEST_CASE("a gradient has the batch rules of what is in f, at the value that the rule gives") {
  const array a = noise({2, 3}, 1), xs = noise({4, 3}, 4);
  const auto loss = [&](const array& v) { return sum(sin(product(a, v))); };
  const auto expected = [&](const array& v) { return matmul(transpose(a), cos(matmul(a, v) + 1.0f)); };
  CHECK(difference({to_value(vmap(grad(loss))(xs))}, {to_value(vmap(expected)(xs))}, 1e-6) == "");
}

TEST_CASE("custom_vmap of numbers that kernels easily get wrong") {
  for (const dtype t : {f32, bf16})
    check_adversarial([](const arrays& x) -> arrays { return wrong(x[0]) + x[0]; }, {adversarial({9, 37}, 3, t)});
}

TEST_CASE("custom_vmap: errors") {
  CHECK_THROWS_WITH(vmap(wrong)(noise({4, 3}, 1)),
                    contains("custom_vmap: result of the rule: found f32[4,3], expected f32[3]"));
}
