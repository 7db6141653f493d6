// tests/transforms/grad.cpp: gradients of functions on trees.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/indexing/gather.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/statistics.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {

struct layer {
  array weight, bias;
};
struct network {
  layer first, second;
  array unused;
};
network parameters() { return {{noise({3, 4}, 1), noise({4}, 2)}, {noise({4, 1}, 3), noise({1}, 4)}, noise({2}, 5)}; }
constexpr auto forward_pass = [](const network& n, const array& x) {
  return matmul(tanh(matmul(x, n.first.weight) + n.first.bias), n.second.weight) + n.second.bias;
};
constexpr auto loss = [](const network& n, const array& x) { return mean(square(forward_pass(n, x))); };

bool same_bits(const array& a, const array& b) { return bit_difference({a}, {b}).empty(); }

// types are known to the compiler
struct abstract_layer {
  array weight{array_type{f32, false, {3, 4}}}, bias{array_type{f32, false, {4}}};
};
constexpr auto abstract_loss = [](const abstract_layer& p, const array& x) {
  return sum(matmul(x, p.weight) + p.bias);
};
static_assert(grad(abstract_loss)(abstract_layer{}, array(array_type{f32, false, {2, 3}})).weight.shape() ==
              shape{3, 4});

}  // namespace

TEST_CASE("the gradient of a tree is a tree like it; leaves that are not used get zeros") {
  const array x = noise({5, 3}, 9);
  const auto [value, g] = value_and_grad(loss)(parameters(), x);
  CHECK(same_bits(value, loss(parameters(), x)));
  CHECK(g.first.weight.shape() == shape{3, 4});
  CHECK(g.second.bias.shape() == shape{1});
  CHECK(to_value(g.unused).data == std::vector<double>{0, 0});
  check_function([](const arrays& p) -> arrays { return loss({{p[0], p[1]}, {p[2], p[3]}, array()}, p[4]); },
                 {noise({3, 4}, 1), noise({4}, 2), noise({4, 1}, 3), noise({1}, 4), x}, {.order = 1});
}

TEST_CASE("with has_aux the second part of a pair passes through") {
  const auto f = [](const array& x) { return std::pair{sum(x * x), std::pair{x + 1.0f, argmax(x)}}; };
  const array x = noise({3}, 1);
  const auto [result, g] = value_and_grad(f, has_aux)(x);
  CHECK(same_bits(result.first, sum(x * x)));
  CHECK(same_bits(result.second.first, x + 1.0f));
  CHECK(same_bits(result.second.second, argmax(x)));
  CHECK(same_bits(g, x + x));
  const auto [h, aux] = grad(f, has_aux)(x);
  CHECK(same_bits(h, g));
  CHECK(same_bits(aux.first, x + 1.0f));
}

TEST_CASE("argument numbers choose what a gradient is with respect to") {
  const auto f = [](const array& x, const layer& l, const array& y) { return sum(x * l.weight + l.bias * y * y); };
  const array x = noise({3}, 1), y = noise({3}, 2);
  const layer l{noise({3}, 3), noise({3}, 4)};
  const auto [value, all] = value_and_grad<0, 1, 2>(f)(x, l, y);
  CHECK(same_bits(value, f(x, l, y)));
  CHECK(same_bits(std::get<0>(all), l.weight));
  CHECK(same_bits(std::get<1>(all).weight, x));
  CHECK(same_bits(std::get<1>(all).bias, y * y));
  CHECK(same_bits(grad(f)(x, l, y), l.weight));
  CHECK(same_bits(grad<1>(f)(x, l, y).weight, x));
  CHECK(same_bits(grad<-1>(f)(x, l, y), grad<2>(f)(x, l, y)));
  const auto [dy, dx] = grad<2, 0>(f)(x, l, y);  // in the order that is asked for
  CHECK(same_bits(dy, std::get<2>(all)));
  CHECK(same_bits(dx, l.weight));
  const auto [g, aux] = grad<0, -1>([](const array& a, int n, const array& b) { return std::pair{a * b, a * n}; },
                                    has_aux)(2.0f, 3, 5.0f);
  CHECK(std::get<0>(g).item() == 5);
  CHECK(std::get<1>(g).item() == 2);
  CHECK(aux.item() == 6);
}

TEST_CASE("argument numbers in programs: static, at run time and eager have the same bits") {
  using numbers = tensor<f32, 3>;
  constexpr auto f = [](const numbers& a, const numbers& b, const numbers& c) {
    const auto product = [](const array& x, const array& y, const array& z) {
      return std::pair{sum(x * sin(y) * z), x * z};
    };
    const auto [gradients, aux] = grad<2, 1>(product, has_aux)(array(a), array(b), array(c));
    // the gradient with respect to a third argument of a gradient with respect to the second
    const array mixed = grad<2>([&](const array& x, const array& y, const array& z) {
      return sum(grad<1>([](const array& p, const array& q, const array& r) { return sum(p * sin(q) * r); })(x, y, z));
    })(array(a), array(b), array(c));
    return std::tuple{gradients, aux, mixed};
  };
  const numbers a = noise({3}, 1), b = noise({3}, 2), c = noise({3}, 3);
  const auto known = leaves(jit(f, cpu, while_compiling)(a, b, c)), late = leaves(jit(f, cpu, at_run_time)(a, b, c)),
             eager = leaves(f(a, b, c));
  REQUIRE(known.count() == 4);
  for (int k = 0; k < 4; ++k) {
    CHECK(same_bits(known[k], late[k]));
    CHECK(same_bits(known[k], eager[k]));
  }
  CHECK(difference({to_value(eager[1])}, {to_value(array(a) * cos(array(b)) * array(c))}, 1e-6) == "");
}

TEST_CASE("gradients with respect to nothing but integers are refused, for each argument") {
  const auto f = [](const array& x, const array& i) { return sum(x * astype(i, f32)); };
  const array x = noise({2}, 1), i = array::from<std::int32_t>({2, 3});
  CHECK(to_value(grad(f)(x, i)).data == std::vector<double>{2, 3});
  CHECK_THROWS_WITH(grad<1>(f)(x, i), contains("grad: argument: found i32[2], expected at least one floating leaf"));
  CHECK_THROWS_WITH((grad<0, 1>(f)(x, i)), contains("grad: argument: found i32[2]"));
  CHECK_THROWS_WITH(grad([](const array& n) { return n * 1.0f; })(3), contains("grad: argument: found i32[]"));
}

TEST_CASE("gradients of gradients, three deep") {
  const auto cube = [](const array& x) { return x * x * x; };
  const array x = array::from<float>({2}, {});
  CHECK(cube(x).item() == 8);
  CHECK(grad(cube)(x).item() == 12);
  CHECK(grad(grad(cube))(x).item() == 12);
  CHECK(grad(grad(grad(cube)))(x).item() == 6);
  CHECK(grad(grad(grad(grad(cube))))(x).item() == 0);
}

TEST_CASE("values of an outer function are constants of an inner gradient") {
  // d/dx [ x * d/dy (x + y)^2 at y = 1 ] = d/dx [ 2 x (x + 1) ] = 4 x + 2
  const auto f = [](const array& x) {
    const array inner = grad([&](const array& y) { return square(x + y); })(array(1.0f));
    return x * inner;
  };
  CHECK(grad(f)(array::from<float>({3}, {})).item() == 14);
  // no confusion of an inner variable with the outer one of the same value
  const auto g = [](const array& x) { return x * grad([&](const array& y) { return x * y; })(x); };
  CHECK(grad(g)(array::from<float>({3}, {})).item() == 6);
}

TEST_CASE("data that a function closes over is constant") {
  const array w = noise({3}, 1), x = noise({3}, 2);
  CHECK(same_bits(grad([&](const array& v) { return sum(v * w); })(x), w));
  CHECK(same_bits(stop_gradient(x), x));
  CHECK(same_bits(grad([&](const array& v) { return sum(stop_gradient(v) * v); })(x), x));
}

TEST_CASE("gradients pass through gather and add up at rows that repeat") {
  const array table = noise({4, 2}, 1), rows = array::from<std::int32_t>({1, 1, 3});
  const array g = grad([&](const array& t) { return sum(gather(t, rows)); })(table);
  CHECK(to_value(g).data == std::vector<double>{0, 0, 2, 2, 0, 0, 1, 1});
}

TEST_CASE("integer leaves get zeros") {
  struct mixed {
    array x, steps;
  };
  const auto f = [](const mixed& m) { return sum(m.x * astype(m.steps, f32)); };
  const mixed g = grad(f)(mixed{noise({2}, 1), array::from<std::int32_t>({2, 3})});
  CHECK(to_value(g.x).data == std::vector<double>{2, 3});
  CHECK(g.steps.type() == array_type{i32, false, {2}});
  CHECK(to_value(g.steps).data == std::vector<double>{0, 0});
}

TEST_CASE("the value of a differentiated function must be a floating scalar") {
  CHECK_THROWS_WITH(grad([](const array& x) { return x * 2.0f; })(noise({3}, 1)),
                    contains("grad: value of the function: found f32[3], expected a floating scalar"));
  CHECK_THROWS_WITH(grad([](const array& x) { return argmax(x); })(noise({3}, 1)), contains("i32[]"));
}
