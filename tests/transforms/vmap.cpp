// tests/transforms/vmap.cpp: functions of one example on batches.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/tree/tree_like.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/indexing/gather.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
struct parameters {
  array weight, bias;
};
constexpr auto loss = [](const parameters& p, const array& x) {
  return sum(square(tanh(matmul(x, p.weight)) + p.bias));
};
array row(const array& x, std::int64_t i) { return squeeze(slice_in_dim(x, i, i + 1, 0), 0); }
void check_close(const array& found, const array& expected) {
  CHECK(difference({to_value(found)}, {to_value(expected)}, 3e-6) == "");
}
}  // namespace

TEST_CASE("vmap of grad is a gradient for every example") {
  const parameters p{noise({3, 2}, 1), noise({2}, 2)};
  const array x = noise({5, 3}, 3);
  const parameters each = vmap(grad(loss), {.in_axes = {not_mapped, 0}})(p, x);
  CHECK(each.weight.shape() == shape{5, 3, 2});
  for (int i = 0; i < 5; ++i) {
    const parameters one = grad(loss)(p, row(x, i));
    check_close(row(each.weight, i), one.weight);
    check_close(row(each.bias, i), one.bias);
  }
}

TEST_CASE("grad of vmap is the sum over examples") {
  const parameters p{noise({3, 2}, 1), noise({2}, 2)};
  const array x = noise({5, 3}, 3);
  const auto total = [](const parameters& q, const array& batch) {
    return sum(vmap(loss, {.in_axes = {not_mapped, 0}})(q, batch));
  };
  const parameters g = grad(total)(p, x), each = vmap(grad(loss), {.in_axes = {not_mapped, 0}})(p, x);
  check_close(g.weight, sum(each.weight, {{0}}));
  check_close(g.bias, sum(each.bias, {{0}}));
}

TEST_CASE("axes of arguments and of the result") {
  const array x = noise({3, 4}, 1), y = noise({4, 5}, 2);
  const auto f = [](const array& a, const array& b) { return a * sum(b); };
  check_close(vmap(f, {.in_axes = {1, 0}})(x, y), vmap(f)(transpose(x), y));
  check_close(vmap(f, {.in_axes = {-1, 0}, .out_axes = {1}})(x, y), x * sum(y, {{1}}));
  check_close(vmap([](const array& a) { return a + 1.0f; }, {.out_axes = {-1}})(x), transpose(x + 1.0f));
}

TEST_CASE("axes of the leaves of trees") {
  const array x = noise({3}, 1), weights = noise({4, 3, 2}, 2), bias = noise({2}, 3);
  const auto f = [](const parameters& p, const array& v) {
    return parameters{matmul(v, p.weight) + p.bias, sum(p.weight)};
  };
  const parameters shared{weights, bias};
  const auto per_leaf = std::tuple{parameters{.weight = 0, .bias = not_mapped}, not_mapped};
  const parameters y = vmap(f, per_leaf)(shared, x);
  CHECK(y.weight.shape() == shape{4, 2});
  for (int i = 0; i < 4; ++i) check_close(row(y.weight, i), matmul(x, row(weights, i)) + bias);
  const parameters turned = vmap(f, per_leaf, parameters{.weight = 1, .bias = 0})(shared, x);
  check_close(turned.weight, transpose(y.weight));
  check_close(turned.bias, y.bias);
  const auto numbers = tree_map_with_path<int>(
      [](std::string_view path) { return path == "weight" ? 0 : static_cast<int>(not_mapped); }, shared);
  check_close(vmap(f, std::tuple{numbers, not_mapped})(shared, x).weight, y.weight);
  // entries for whole subtrees, and for elements of tuples and vectors
  using pair = std::pair<std::vector<array>, array>;
  const pair tree{{noise({2, 4}, 4), noise({4, 2}, 5)}, noise({3}, 6)};
  const auto g = [](const pair& p) { return p.first[0] + p.first[1] + sum(p.second); };
  const array expected = transpose(tree.first[0]) + tree.first[1] + sum(tree.second);
  check_close(vmap(g, std::make_tuple(std::pair{std::vector<int>{1, 0}, not_mapped}))(tree), expected);
  check_close(vmap(g, std::make_tuple(std::pair{std::vector<int>{1, 0}, not_mapped}), 1, {.axis_name = "i"})(tree),
              transpose(expected));
  CHECK_THROWS_WITH(vmap(g, std::make_tuple(std::pair{std::vector<int>{1}, 0}))(tree),
                    contains("vmap: in_axes: found 2 entries, expected one for each of 3 leaves"));
  CHECK_THROWS_WITH(vmap(f, std::tuple{not_mapped, not_mapped})(shared, x), contains("no argument that is mapped"));
  CHECK_THROWS_WITH(vmap(f, std::tuple{parameters{noise({2}, 1), 0}, 0})(shared, x), contains("vmap: in_axes"));
}

TEST_CASE("nested vmap is an outer product") {
  const array a = noise({3}, 1), b = noise({4}, 2);
  const auto times = [](const array& x, const array& y) { return x * y; };
  const auto rows = [&](const array& x, const array& v) { return vmap(times, {.in_axes = {not_mapped, 0}})(x, v); };
  check_close(vmap(rows, {.in_axes = {0, not_mapped}})(a, b), expand_dims(a, 1) * b);
}

TEST_CASE("results that do not depend on the batch are repeated") {
  const array x = noise({4, 2}, 1), w = noise({3}, 2);
  const auto [y, z] = vmap([&](const array& v) { return std::pair{v * 2.0f, w * 1.0f}; })(x);
  check_close(y, x * 2.0f);
  check_close(z, broadcast_to(w, {4, 3}));
}

TEST_CASE("each example looks up its own table, and indices outside stay outside") {
  const array tables = noise({2, 3, 2}, 1), rows = array::from<std::int32_t>({0, 2, 1, 3}, {2, 2});
  const array y = vmap([](const array& t, const array& i) { return gather(t, i); })(tables, rows);
  check_close(row(y, 0), gather(row(tables, 0), row(rows, 0)));
  check_close(row(y, 1), gather(row(tables, 1), row(rows, 1)));
}

TEST_CASE("vmap of jvp and jvp of vmap agree") {
  const auto f = [](const array& x) { return exp(x) * sum(x); };
  const array x = noise({3, 4}, 1), t = noise({3, 4}, 2);
  check_close(vmap([&](const array& v, const array& d) { return jvp(f, v, d).second; })(x, t),
              jvp(vmap(f), x, t).second);
}

TEST_CASE("leaves with other batch extents are rejected") {
  const auto f = [](const array& a, const array& b) { return a + b; };
  CHECK_THROWS_WITH(vmap(f)(noise({3, 2}, 1), noise({4, 2}, 2)),
                    contains("vmap: batch extent: found f32[4,2], expected a leading extent of 3"));
  CHECK_THROWS_WITH(vmap([](const array& a) { return a; })(noise(shape{}, 1)), contains("vmap: in_axes"));
}
