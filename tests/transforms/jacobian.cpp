// tests/transforms/jacobian.cpp: Jacobians and Hessians, compared with formulas.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/arange.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jacobian.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
struct parameters {
  array weight, bias;
};
void check_close(const array& found, const array& expected) {
  CHECK(difference({to_value(found)}, {to_value(expected)}, 3e-6) == "");
}
constexpr auto cubes = [](const array& x) { return x * x * x; };
}  // namespace

TEST_CASE("the Jacobian of a linear map is its matrix, in both modes") {
  const array a = noise({2, 3}, 1), x = noise({3}, 2);
  const auto f = [&](const array& v) { return matmul(a, v); };
  check_close(jacfwd(f)(x), a);
  check_close(jacrev(f)(x), a);
  // axes of the result come first: [2, 4, 3, 4]
  const array m = noise({3, 4}, 3), j = jacfwd([&](const array& v) { return matmul(a, v); })(m);
  CHECK(j.shape() == shape{2, 4, 3, 4});
  check_close(j, jacrev([&](const array& v) { return matmul(a, v); })(m));
  check_close(j, reshape(expand_dims(expand_dims(a, 1), -1) * reshape(eye(4), {1, 4, 1, 4}), {2, 4, 3, 4}));
}

TEST_CASE("Jacobians of scalars, of nothing, and of what does not depend") {
  CHECK(jacfwd(cubes)(2.0f).item() == 12);
  CHECK(jacrev(cubes)(2.0f).item() == 12);
  CHECK(jacfwd(cubes)(zeros({0})).shape() == shape{0, 0});
  CHECK(jacrev(cubes)(zeros({0})).shape() == shape{0, 0});
  CHECK(jacrev([](const array& x) { return sum(x); })(zeros({0, 2})).shape() == shape{0, 2});
  const auto constant = [](const array&) { return ones({2}); };
  CHECK(to_value(jacfwd(constant)(ones({3}))).data == std::vector<double>(6, 0));
  CHECK(to_value(jacrev(constant)(ones({3}))).data == std::vector<double>(6, 0));
}

TEST_CASE("trees of arguments and of results, argument numbers and aux") {
  const parameters p{noise({3}, 1), noise({3}, 2)};
  const array x = noise({3}, 3);
  const auto f = [](const parameters& q, const array& v) { return q.weight * v + q.bias; };
  const auto check = [&](const auto& jacobian) {
    const parameters j = jacobian(f)(p, x);
    check_close(j.weight, eye(3) * x);
    check_close(j.bias, eye(3));
  };
  check([](const auto& g) { return jacfwd(g); });
  check([](const auto& g) { return jacrev(g); });
  const auto [jp, jx] = jacrev<0, 1>(f)(p, x);
  check_close(jp.bias, eye(3));
  check_close(jx, eye(3) * p.weight);
  check_close(jacfwd<-1>(f)(p, x), jx);
  const auto two = [](const array& v, const array& w) { return std::pair{v * w, std::tuple{sum(w)}}; };
  const auto [of_product, of_sum] = jacfwd<0, 1>(two)(x, p.bias);
  check_close(std::get<0>(of_product), eye(3) * p.bias);
  check_close(std::get<1>(of_product), eye(3) * x);
  check_close(std::get<0>(std::get<0>(of_sum)), zeros({3}));
  check_close(std::get<1>(std::get<0>(of_sum)), ones({3}));
  const auto [j, aux] = jacrev([](const array& v) { return std::pair{v * v, argmax(v)}; }, has_aux)(x);
  check_close(j, eye(3) * x * 2.0f);
  CHECK(aux.item() == argmax(x).item());
  const std::vector<array> list{noise({2}, 4), noise({3}, 5)};
  const auto of_list = jacfwd([](const std::vector<array>& v) { return sum(v[0]) * v[1]; })(list);
  check_close(of_list[0], broadcast_to(expand_dims(list[1], 1), {3, 2}));
  check_close(of_list[1], eye(3) * sum(list[0]));
}

TEST_CASE("Hessians: of one argument, of several, and through loops") {
  const array x = noise({3}, 1), y = noise({2}, 2);
  const auto f = [](const array& v) { return sum(v * v * v) + square(sum(v)); };
  check_close(hessian(f)(x), eye(3) * 6.0f * x + 2.0f);
  const auto g = [](const array& v, const array& w) { return sum(v * v) * sum(w); };
  const auto h = hessian<0, 1>(g)(x, y);
  check_close(std::get<0>(std::get<0>(h)), eye(3) * 2.0f * sum(y));
  check_close(std::get<1>(std::get<0>(h)), broadcast_to(expand_dims(2.0f * x, 1), {3, 2}));
  check_close(std::get<0>(std::get<1>(h)), broadcast_to(2.0f * x, {2, 3}));
  check_close(std::get<1>(std::get<1>(h)), zeros({2, 2}));
  const auto loop = [](const array& v) {
    return sum(
        scan([](const array& s, const nothing&) { return std::pair{s * s, nothing{}}; }, v, nothing{}, {.length = 2})
            .first);
  };
  check_close(hessian(loop)(x), eye(3) * 12.0f * x * x);
  check_close(vmap(hessian(cubes))(x), 6.0f * x);
  const auto [second, aux] = hessian([](const array& v) { return std::pair{sum(v * v), v}; }, has_aux)(x);
  check_close(second, eye(3) * 2.0f);
  check_close(aux, x);
}

TEST_CASE("Hessians of structs are trees of trees") {
  const parameters p{noise({3}, 1), noise({2}, 2)};
  const auto f = [](const parameters& q) { return sum(q.weight * q.weight * q.weight) * sum(q.bias * q.bias); };
  const auto h = hessian(f)(p);
  const array b2 = sum(p.bias * p.bias), w3 = sum(p.weight * p.weight * p.weight);
  check_close(h.get<"weight">().weight, eye(3) * 6.0f * p.weight * b2);
  check_close(h.get<"weight">().bias, expand_dims(3.0f * p.weight * p.weight, 1) * (2.0f * p.bias));
  check_close(h.get<"bias">().weight, expand_dims(2.0f * p.bias, 1) * (3.0f * p.weight * p.weight));
  check_close(h.get<"bias">().bias, eye(2) * 2.0f * w3);

  struct fixed {
    tensor<f32, 3> weight;
    std::array<tensor<f32, 2>, 1> bias;
  };
  const fixed t{p.weight, {p.bias}};
  const auto g = [&](const fixed& q) { return f({q.weight, q.bias[0]}); };
  const auto first = jacrev(g)(t);
  check_close(first.get<"bias">()[0], 2.0f * p.bias * w3);
  const auto second = hessian(g)(t);
  check_close(second.get<"weight">().get<"bias">()[0], h.get<"weight">().bias);
  check_close(second.get<"bias">()[0].get<"weight">(), h.get<"bias">().weight);
  const auto value = [](const array& x) { return parameters{x * x, sum(x)}; };  // a struct of results
  check_close(jacfwd(value)(p.weight).weight, eye(3) * 2.0f * p.weight);
  check_close(jacrev(value)(p.weight).bias, ones({3}));
  const auto [ht, aux] = hessian([&](const parameters& q) { return std::pair{f(q), q.bias}; }, has_aux)(p);
  check_close(ht.get<"bias">().bias, h.get<"bias">().bias);
  check_close(aux, p.bias);
}

TEST_CASE("Jacobians in programs: static, at run time and eager have the same bits") {
  using numbers = tensor<f32, 3>;
  constexpr auto f = [](const numbers& x) {
    const auto g = [](const array& v) { return sin(v) * sum(v); };
    return std::tuple{jacfwd(g)(array(x)), jacrev(g)(x),
                      hessian([](const array& v) { return sum(sin(v) * v); })(array(x))};
  };
  const numbers x = noise({3}, 1);
  const auto known = leaves(jit(f, cpu, while_compiling)(x)), late = leaves(jit(f, cpu, at_run_time)(x)),
             eager = leaves(f(x));
  REQUIRE(known.count() == 3);
  for (int k = 0; k < 3; ++k) {
    CHECK(bit_difference({known[k]}, {late[k]}).empty());
    CHECK(bit_difference({known[k]}, {eager[k]}).empty());
  }
  check_close(eager[0], eye(3) * cos(array(x)) * sum(x) + expand_dims(sin(array(x)), 1));
}

TEST_CASE("Jacobians of integers are refused") {
  const array i = array::from<std::int32_t>({1, 2});
  CHECK_THROWS_WITH(jacfwd([](const array& v) { return v * 2.0f; })(i), contains("jacfwd: argument: found i32[2]"));
  CHECK_THROWS_WITH(jacrev([](const array& v) { return v * 2.0f; })(i), contains("jacrev: argument: found i32[2]"));
  CHECK_THROWS_WITH(jacrev([](const array& v) { return astype(v, i32); })(ones({2})),
                    contains("jacrev: value of the function: found i32[2], expected floats"));
}
