// tests/lax/indexing/gather.cpp: rows by index, their transpose, and take.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/indexing/gather.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/lax/shapes/reverse.hpp>
#include <tokamax/lax/sort.hpp>
#include <tokamax/numpy/arange.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/take.hpp>
#include <tokamax/numpy/take_along_axis.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/functions.hpp"

#include <algorithm>

using namespace tokamax;
using namespace tokamax::test;

namespace {
array ids(std::initializer_list<std::int32_t> v, const shape& s) { return array::from<std::int32_t>(v, s); }
}  // namespace

TEST_CASE("gather keeps the contract") {
  check_op(gather_p, {{{noise({4, 3}, 1), ids({0, 3, 3, 1}, {4})}},
                      {{noise({4, 3}, 1), ids({0, 3, 2, 1, 2, 2}, {2, 3})}},
                      {{noise({4, 2, 2}, 1), ids({2}, {})}},
                      {{noise({5}, 1), ids({4, 0, 4}, {3})}},
                      {{noise({4, 3}, 1, bf16), ids({1, 1}, {2})}},
                      {{noise({4, 3}, 1), ids({}, {0})}}});
}

TEST_CASE("scatter_add keeps the contract and drops what lies outside") {
  const words four = pack(scatter_attributes{4});
  check_op(scatter_add_p, {{{ids({0, 3, 3}, {3}), noise({3, 2}, 1)}, four},
                           {{ids({1, -1, 4, 1}, {2, 2}), noise({2, 2, 3}, 1)}, four},
                           {{ids({2}, {1}), noise({1}, 1)}, four},
                           {{ids({2, -1, 2, 4, 0}, {5}), noise({5}, 1)}, four},
                           {{ids({}, {0}), noise({0, 2}, 1)}, four},
                           {{ids({1, 1, 2}, {3}), astype(noise({3, 37}, 1) * 60.0f, i8)}, four}});
}

TEST_CASE("scatter_add onto an operand keeps the contract") {
  check_op(scatter_add_onto_p, {{{noise({4, 2}, 2), ids({0, 3, 3}, {3}), noise({3, 2}, 1)}},
                                {{noise({4, 3}, 2), ids({1, -1, 4, 1}, {2, 2}), noise({2, 2, 3}, 1)}},
                                {{noise({4}, 2), ids({2}, {1}), noise({1}, 1)}},
                                {{noise({4}, 2), ids({2, -1, 2, 4, 0}, {5}), noise({5}, 1)}},
                                {{noise({4, 2}, 2), ids({}, {0}), noise({0, 2}, 1)}},
                                {{noise({3, 2}, 2, bf16), ids({1, 1}, {2}), noise({2, 2}, 1, bf16)}}});
}

TEST_CASE("scatter_add writes over an operand that nobody reads again, and over no other") {
  const array rows = ids({0, 3, 3}, {3});
  const std::vector<array> x{noise({4, 2}, 2), noise({3, 2}, 1)};
  check_function([&](const arrays& v) -> arrays { return scatter_add(v[0] * 2.0f, rows, v[1]) + 1.0f; }, x);
  check_function(
      [&](const arrays& v) -> arrays {
        const array twice = reverse(v[0], {0}) * 2.0f;
        return {scatter_add(twice, rows, v[1]) + 1.0f, scatter_add(twice, rows, v[1] * 3.0f), twice};
      },
      x);
}

TEST_CASE("the gradient of a table that is also multiplied is scattered onto the product") {
  const array wanted = ids({2, 0, 2}, {3});
  const auto loss = [&](const arrays& x) -> arrays {
    return sum(matmul(gather(x[0], wanted), transpose(x[0])) * x[1]);
  };
  check_function(loss, {noise({4, 3}, 1), noise({3, 4}, 2)});
  const graph g = trace(vjp_of(loss, 2), {{f32, false, {4, 3}}, {f32, false, {3, 4}}, {f32, false, {}}});
  CHECK(std::any_of(g.nodes.begin(), g.nodes.end(), [](const node& n) { return n.op == &scatter_add_onto_p; }));
}

TEST_CASE("take counts from the end, fills with NaN and works along any axis") {
  const array wanted = ids({2, 0, 0}, {3}), mixed = ids({0, 3, 4, -1, -4, -5, 9}, {7});
  check_golden("take_axis1", [&](const arrays& x) -> arrays { return take(x[0], wanted, 1); });
  check_golden("take_fill", [](const arrays& x) -> arrays { return take(x[0], x[1]); }, 2);
  check_golden("take_fill_i8", [&](const arrays& x) -> arrays { return take(x[0], mixed); });
  check_golden("take_fill_i32", [&](const arrays& x) -> arrays { return take(x[0], mixed); });
  check_function([](const arrays& x) -> arrays { return take(x[0], x[1], -1); },
                 {noise({2, 3, 4}, 1), ids({3, 0}, {2})});
  check_golden(
      "scatter_add",
      [](const arrays& x) -> arrays { return scatter_add(x[0], select(x[2] < 0, x[2] + 4, x[2]), x[1]); }, 3);
}

TEST_CASE("a table without rows and indices of another dtype are rejected") {
  CHECK_THROWS_WITH(gather(zeros({2, 2}), zeros({2})), contains("gather: index dtype: found f32[2], expected i32"));
  CHECK_THROWS_WITH(gather(zeros({}), zeros({2}, i32)), contains("gather: table"));
  CHECK_THROWS_WITH(scatter_add(zeros({3}, i32), zeros({2, 2}), 4), contains("scatter_add: updates"));
  CHECK_THROWS_WITH(scatter_add(zeros({4, 3}), zeros({3}, i32), zeros({3, 2})), contains("scatter_add: operand"));
  CHECK_THROWS_WITH(scatter_add(zeros({4, 2}, bool_), zeros({3}, i32), zeros({3, 2}, bool_)), contains("numbers"));
  CHECK_THROWS_WITH(scatter_add(zeros({4, 2}, bf16), zeros({3}, i32), zeros({3, 2})), contains("scatter_add: operand"));
}

TEST_CASE("what i32 indices do not reach is refused") {
  const array square(array_type{i8, false, {50000, 50000}}), line(array_type{i8, false, {3000000000}});
  const array at(array_type{i32, false, {50000, 1}});
  CHECK_THROWS_WITH(take_along_axis(square, at, 1),
                    contains("take_along_axis: elements: found i8[50000,50000], expected at most 2147483647"));
  CHECK_THROWS_WITH(vmap([](const array& t, const array& i) { return gather(t, i); })(square, at),
                    contains("gather: rows of the batch: found 2500000000, expected at most 2147483647"));
  CHECK_THROWS_WITH(
      vmap([](const array& i, const array& u) { return scatter_add(i, u, 50000); })(at, zeros({50000, 1})),
      contains("scatter_add: rows of the batch: found 2500000000"));
  CHECK_THROWS_WITH(scatter_add(at, zeros({50000, 1}), 3000000000), contains("scatter_add: rows and indices"));
  CHECK_THROWS_WITH(take(line, array(1)), contains("take: extent: found 3000000000, expected at most 2147483647"));
  CHECK_THROWS_WITH(argmax(line), contains("argmax: extent: found i8[3000000000], expected 1 to 2^31"));
  CHECK_THROWS_WITH(argsort(line), contains("iota: extent: found 3000000000, expected numbers of i32"));
  CHECK_THROWS_WITH(arange(3000000000), contains("iota: extent: found 3000000000, expected numbers of i32"));
}
