// tests/transforms/control_flow/scan.cpp: loops whose body is traced once.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/eval_shape.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// A recurrent network: h' = tanh(h w + x), y = h' * h'.
arrays recurrence(const arrays& a, bool reverse) {
  const array w = a[2];
  const auto [h, ys] = scan(
      [&](const array& state, const array& x) {
        const array next = tanh(matmul(state, w) + x);
        return std::pair{next, square(next)};
      },
      a[0], a[1], {.reverse = reverse});
  return {h, ys};
}
arrays unrolled(const arrays& a) {
  array h = a[0], total;
  for (int i = 0; i < 4; ++i) h = tanh(matmul(h, a[2]) + squeeze(slice_in_dim(a[1], i, i + 1, 0), 0));
  return h;
}
std::vector<array> inputs(std::int64_t length = 4) { return {noise({3}, 1), noise({length, 3}, 2), noise({3, 3}, 3)}; }
}  // namespace

TEST_CASE("scan keeps the contract: values, both derivatives of first and second order, batches") {
  for (const bool reverse : {false, true})
    check_function([=](const arrays& a) { return recurrence(a, reverse); }, inputs(), {.tolerance = 1e-5});
}

TEST_CASE("a loop of no steps gives its carry back, also differentiated") {
  check_function([](const arrays& a) { return recurrence(a, false); }, inputs(0), {.order = 1});
}

TEST_CASE("scan is what it does unrolled, with its gradients") {
  const auto x = inputs();
  const function looped = [](const arrays& a) -> arrays { return recurrence(a, false)[0]; };
  CHECK(difference(to_values(looped(listed(x))), to_values(unrolled(listed(x))), 1e-6) == "");
  auto pull = x;
  pull.push_back(noise({3}, 5));
  const arrays a = execute_graph(trace(vjp_of(looped, 3), types_of(pull)), listed(pull)),
               b = execute_graph(trace(vjp_of(unrolled, 3), types_of(pull)), listed(pull));
  CHECK(difference(to_values(a), to_values(b), 1e-5) == "");
}

TEST_CASE("carries and sequences may be trees with integers, and there may be no sequence") {
  struct state {
    array count, sum;
  };
  const auto body = [](const state& s, const nothing&) {
    return std::pair{state{s.count + 1, s.sum + astype(s.count, f32)}, s.count};
  };
  const auto [end, counts] =
      scan(body, state{array::from<std::int32_t>({3}, {}), array::from<float>({0.5f}, {})}, nothing{}, {.length = 4});
  CHECK(end.count.item<int>() == 7);
  CHECK(end.sum.item() == 18.5f);
  CHECK(to_value(counts).data == std::vector<double>{3, 4, 5, 6});
}

TEST_CASE("a loop with an integer carry and integer entries is differentiated through its floats") {
  check_function(
      [](const arrays& a) -> arrays {
        const auto [c, ys] = scan(
            [](const std::pair<array, array>& s, const array& k) {
              const array next = s.first * 1.5f + astype(k + s.second, f32) * s.first;
              return std::pair{std::pair{next, s.second + k}, next};
            },
            std::pair{a[0], a[1]}, a[2]);
        return {c.first, ys};
      },
      {noise({2}, 1), array::from<std::int32_t>({1}, {}), array::from<std::int32_t>({1, -2, 2})},
      {.tolerance = 1e-5, .order = 1});
}

TEST_CASE("nested loops, closures over both levels") {
  check_function(
      [](const arrays& a) -> arrays {
        const array w = a[2];
        return scan(
                   [&](const array& outer, const array& row) {
                     const array scale = sum(row);
                     const array inner =
                         scan([&](const array& c,
                                  const array& x) { return std::pair{sin(c * w + x * scale), nothing{}}; },
                              outer, row)
                             .first;
                     return std::pair{inner, nothing{}};
                   },
                   a[0], a[1])
            .first;
      },
      {noise(shape{}, 1), noise({2, 3}, 2), noise(shape{}, 3)}, {.tolerance = 1e-5});
}

TEST_CASE("data that the body closes over is constant") {
  const array w = noise({3}, 7);
  const auto [c, ys] = scan([&](const array& s, const array& x) { return std::pair{s + x * w, s}; }, array(zeros({3})),
                            array(noise({2, 3}, 1)));
  const array x = noise({2, 3}, 1);
  CHECK(difference({to_value(c)}, {to_value(sum(x, {{0}}) * w)}, 1e-6) == "");
  CHECK(ys.shape() == shape{2, 3});
}

TEST_CASE("carries that change and sequences that differ are rejected") {
  const array s = noise({3}, 1), x = noise({4, 3}, 2);
  CHECK_THROWS_WITH(
      scan([](const array& c, const array& v) { return std::pair{matmul(expand_dims(c, 1), expand_dims(v, 0)), c}; }, s,
           x),
      contains("scan: carry: found f32[3,3], expected f32[3]") && contains("scan.cpp"));
  CHECK_THROWS_WITH(scan([](const array& c, const array& v) { return std::pair{astype(c + v, bf16), c}; }, s, x),
                    contains("scan: carry: found bf16[3], expected f32[3]"));
  CHECK_THROWS_WITH(
      scan([](const array& c, const std::pair<array, array>& v) { return std::pair{c + v.first, v.second}; }, s,
           std::pair{x, s}),
      contains("scan: length: found f32[3], expected a leading extent of 4"));
}

TEST_CASE("unrolled loops are the loop, with any length, in both directions") {
  const auto f = [](const array& c, const array& x) { return std::pair{sin(c) * x + 0.5f * c, c * x}; };
  const array start = noise({2}, 3);
  for (const std::int64_t n : {0, 1, 2, 5, 6, 7})
    for (const std::int64_t unroll : {2, 3, 7, 100})
      for (const bool reverse : {false, true}) {
        INFO(n << " steps, " << unroll << " at a time, reverse " << reverse);
        const array xs = noise({n, 2}, 4);
        const auto run = [&](std::int64_t u) {
          return [=](const array& c, const array& v) { return scan(f, c, v, {.reverse = reverse, .unroll = u}); };
        };
        CHECK(bit_difference(listed(leaves(run(unroll)(start, xs))), listed(leaves(run(1)(start, xs)))) == "");
        const auto gradient = [&](std::int64_t u) {
          return grad<0, 1>([=](const array& c, const array& v) {
            const auto [end, ys] = run(u)(c, v);
            return sum(end) + sum(ys * ys);
          })(start, xs);
        };
        CHECK(difference(to_values(leaves(gradient(unroll))), to_values(leaves(gradient(1))), 1e-6) == "");
      }
  const array xs = noise({6, 2}, 4);
  const graph g = make_graph([&](const array& v) { return scan(f, start, v, {.unroll = 6}); }, xs);
  for (const node& n : g.nodes) CHECK((!n.op || !n.op->attributes.has_bodies()));
  CHECK_THROWS_WITH(scan(f, start, xs, {.unroll = 0}), contains("scan: unroll: found 0, expected 1 or more"));
}
