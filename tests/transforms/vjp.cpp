// tests/transforms/vjp.cpp: gradients of functions on trees.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/gather.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/transforms/vjp.hpp>

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

TEST_CASE("a pair passes its second part through") {
  const auto f = [](const array& x) { return std::pair{sum(x * x), x + 1.0f}; };
  const array x = noise({3}, 1);
  const auto [result, g] = value_and_grad(f)(x);
  CHECK(same_bits(result.second, x + 1.0f));
  CHECK(same_bits(g, x + x));
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

TEST_CASE("vjp takes a cotangent for every leaf of the value") {
  const auto f = [](const array& x) { return std::pair{x * 2.0f, sum(x)}; };
  const array x = noise({3}, 1);
  const auto [y, g] = vjp(f, x, std::pair{array(ones({3})), array(10.0f)});
  CHECK(same_bits(y.first, x * 2.0f));
  CHECK(to_value(g).data == std::vector<double>{12, 12, 12});
}

TEST_CASE("the value of a differentiated function must be a floating scalar") {
  CHECK_THROWS_WITH(grad([](const array& x) { return x * 2.0f; })(noise({3}, 1)),
                    contains("grad: value of the function: found f32[3], expected a floating scalar"));
  CHECK_THROWS_WITH(grad([](const array& x) { return argmax(x); })(noise({3}, 1)), contains("i32[]"));
}
