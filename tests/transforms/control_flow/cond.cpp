// tests/transforms/control_flow/cond.cpp: branches that are chosen when the program runs.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/reduce.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/cond.hpp>
#include <tokamax/transforms/eval_shape.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/remat.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// Two results, each branch with a value of its own that it closes over.
arrays either(const arrays& a) {
  const auto [y, z] = cond(
      sum(a[0]) > 0.0f, [&](const array& x) { return std::pair{x * a[1], sin(x)}; },
      [&](const array& x) { return std::pair{cos(x) + a[2], x}; }, a[0]);
  return {y, z};
}
arrays one_of_three(const arrays& a) {
  return switch_(a[0],
                 std::tuple{[](const array& x) { return x * x; }, [](const array& x) { return sin(x); },
                            [&](const array& x) { return x * a[2]; }},
                 a[1]);
}
}  // namespace

TEST_CASE("cond keeps the contract on both sides, also where the examples of a batch differ") {
  for (const float sign : {1.0f, -1.0f})
    check_function(either, {abs(noise({3}, 1)) * sign + 0.1f * sign, noise({3}, 2), noise({3}, 3)},
                   {.tolerance = 1e-5});
}

TEST_CASE("switch_ keeps the contract for each branch, and takes the nearest one outside of them") {
  for (const int i : {0, 1, 2}) check_function(one_of_three, {array(i), noise({3}, 1), noise({3}, 2)});
  const array x = noise({3}, 1), w = noise({3}, 2);
  const auto value = [&](const array& i) { return to_values(one_of_three({i, x, w})); };
  CHECK(difference(value(array(-5)), value(array(0)), 0) == "");
  CHECK(difference(value(array(7)), value(array(2)), 0) == "");
  CHECK(difference(value(array(7u)), value(array(2)), 0) == "");
  const std::int64_t beyond = std::int64_t{1} << 32;  // its low bits are those of 0
  CHECK(difference(value(array::from<std::int64_t>({beyond}, {})), value(array(2)), 0) == "");
  CHECK(difference(value(array::from<std::int64_t>({1 - beyond}, {})), value(array(0)), 0) == "");
  CHECK(difference(value(array::from<std::uint32_t>({4294967295u}, {})), value(array(2)), 0) == "");
}

TEST_CASE("only the branch that is chosen runs: a loop that would not end is not entered") {
  const auto f = [](const array& x) {
    return cond(
        x < 0.0f,
        [](const array& v) {
          return cond(v > 0.0f, [](const array& u) { return u; }, [](const array& u) { return u * 2.0f; }, v);
        },
        [](const array& v) { return v + 1.0f; }, x);
  };
  CHECK(f(array(-1.0f)).item() == -2.0f);
  CHECK(f(array(1.0f)).item() == 2.0f);
  CHECK(grad(f)(array(-1.0f)).item() == 2.0f);
}

TEST_CASE(
    "a derivative that is not finite where a branch is not taken stays there, also of a value that it closes over") {
  const array x = array::from<float>({4, 0, -1}), w = array(2.0f);
  const auto loss = [](const array& v, const array& factor) {
    const auto one = [&](const array& u) {
      return cond(
          u > 0.0f, [&](const array& a) { return sqrt(a) * log(a) * factor; }, [](const array& a) { return a * 0.0f; },
          u);
    };
    return sum(vmap(one)(v));
  };
  const auto [dx, dw] = grad<0, 1>(loss)(x, w);
  CHECK(difference({to_value(dx)}, {to_value(array::from<float>({std::log(4.0f) / 2 + 1, 0, 0}))}, 1e-5) == "");
  CHECK(dw.item() == Approx(2 * std::log(4.0f)));
  const auto chosen = [](const array& v) {
    const auto one = [](const array& u) {
      return switch_(astype(u > 0.0f, i32),
                     std::tuple{[](const array&) { return zeros({}); }, [](const array& a) { return 1.0f / a; }}, u);
    };
    return vmap(one)(v);
  };
  CHECK(difference({to_value(jvp(chosen, x, ones({3})).second)}, {to_value(array::from<float>({-1.0f / 16, 0, 0}))},
                   1e-5) == "");
  CHECK(difference({to_value(grad([&](const array& v) { return sum(chosen(v)); })(x))},
                   {to_value(array::from<float>({-1.0f / 16, 0, 0}))}, 1e-5) == "");
}

TEST_CASE("operands may be trees with integers, or none; the predicate may be a constant") {
  const array x = noise({3}, 1);
  const auto [n, y] = cond(
      true, [](const std::pair<array, array>& p) { return std::pair{p.first + 1, p.second * 2.0f}; },
      [](const std::pair<array, array>& p) { return p; }, std::pair{array(3), x});
  CHECK(n.item<int>() == 4);
  CHECK(difference({to_value(y)}, {to_value(x * 2.0f)}, 0) == "");
  CHECK(cond(sum(x) > 1e9f, [&] { return sum(x); }, [&] { return sum(x) * 0.0f + 7.0f; }).item() == 7.0f);
}

TEST_CASE("a choice that is known when it is traced is the branch, at once and after transformations") {
  const auto ops_of = [](const auto& f) {
    std::string names;
    const graph g = make_graph(f, array({f32, false, {3}}));
    const vec<char> live = live_nodes(g);
    for (int i = 0; i < g.count(); ++i)
      if (live[i] && g[i].op) names += std::string(g[i].op->name) + " ";
    return names;
  };
  const auto twice = [](const array& v) { return v + v; };
  const auto sine = [](const array& v) { return sin(v); };
  CHECK(ops_of([&](const array& x) { return cond(false, twice, sine, x); }) == "sin ");
  CHECK(ops_of([&](const array& x) { return cond(true, twice, sine, x); }) == "add ");
  CHECK(ops_of([&](const array& x) { return cond(array(2) > 1, twice, sine, x); }) == "add ");
  const auto chosen = [&](int i) {
    return ops_of([&](const array& x) { return switch_(array(i), std::tuple{sine, twice}, x); });
  };
  CHECK(chosen(-3) == "sin ");
  CHECK(chosen(0) == "sin ");
  CHECK(chosen(9) == "add ");
  const auto late = [&](const array& x) {  // the number becomes known where the program is lowered
    return remat([&](const array& i, const array& v) { return switch_(i, std::tuple{twice, sine}, v); })(array(1), x);
  };
  const array x = noise({3}, 1);
  CHECK(bit_difference({jit(late, cpu, at_run_time)(x)}, {sin(x)}).empty());
  const array five = cond(true, [] { return array(5); }, [] { return array(7); });
  CHECK(five.item<int>() == 5);
  CHECK(
      eval_shape([](const array& v) { return cond(true, [] { return array(2.0f); }, [] { return array(1.0f); }) * v; },
                 array({bf16, false, {2}}))
          .dtype() == f32);  // a result has no weak type
}

TEST_CASE("wrong branches are rejected") {
  const array x = noise({3}, 1);
  const auto same = [](const array& v) { return v; };
  CHECK_THROWS_WITH(cond(
                        sum(x) > 0.0f, same, [](const array& v) { return sum(v); }, x),
                    contains("cond: branches: found f32[3], expected f32[]") && contains("cond.cpp"));
  CHECK_THROWS_WITH(cond(x > 0.0f, same, same, x), contains("cond: predicate: found bool[3], expected a bool scalar"));
  CHECK_THROWS_WITH(cond(sum(x), same, same, x), contains("cond: predicate: found f32[], expected a bool scalar"));
  CHECK_THROWS_WITH(switch_(sum(x), std::tuple{same, same}, x), contains("switch_: index: found f32[]"));
  CHECK_THROWS_WITH(switch_(array(1), std::tuple{same, same, [](const array& v) { return astype(v, bf16); }}, x),
                    contains("switch_: branches: found bf16[3], expected f32[3]"));
}
