// tests/transforms/collectives.cpp: entries of a named axis, compared with sums over the axis outside.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/arange.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/collectives.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/custom/custom_vjp.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/remat.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
void check_close(const array& found, const array& expected) {
  CHECK(difference({to_value(found)}, {to_value(expected)}, 2e-6) == "");
}
template <class F>
constexpr auto over_i(F f) {
  return vmap(f, {.axis_name = "i"});
}
}  // namespace

TEST_CASE("sums, means, maxima and minima over a named axis") {
  const array x = noise({4, 3}, 1);
  const array row = expand_dims(sum(x, {{0}}), 0);
  check_close(over_i([](const array& a) { return a / psum(a, "i"); })(x), x / row);
  check_close(over_i([](const array& a) { return a - pmean(a, "i"); })(x), x - row / 4.0f);
  check_close(over_i([](const array& a) { return a - pmax(a, "i"); })(x), x - expand_dims(max(x, {{0}}), 0));
  check_close(over_i([](const array& a) { return a - pmin(a, "i"); })(x), x - expand_dims(min(x, {{0}}), 0));
  CHECK(to_value(over_i([](const array& a) { return sum(a) * 0.0f + psum(1, "i"); })(x)).data ==
        std::vector<double>{4, 4, 4, 4});
  const auto [s, t] = over_i([](const array& a) { return psum(std::pair{a, sum(a)}, "i"); })(x);
  check_close(s, broadcast_to(row, {4, 3}));
  check_close(t, broadcast_to(sum(x), {4}));
}

TEST_CASE("entries know their number, and what the others have") {
  const array x = noise({3, 2}, 1);
  check_close(over_i([](const array& a) { return a * astype(axis_index("i"), f32); })(x),
              x * astype(reshape(arange(3), {3, 1}), f32));
  CHECK(over_i([](const array& a) { return all_gather(a, "i"); })(x).shape() == shape{3, 3, 2});
  check_close(over_i([](const array& a) { return gather(all_gather(a, "i"), axis_index("i")); })(x), x);
  const array rotated = over_i([](const array& a) { return ppermute(a, "i", {{0, 1}, {1, 2}, {2, 0}}); })(x);
  check_close(rotated, gather(x, array::from<std::int32_t>({2, 0, 1})));
  const array sent = over_i([](const array& a) { return ppermute(a, "i", {{2, 0}}); })(x);
  check_close(sent, x * 0.0f + gather(x, array::from<std::int32_t>({2, 2, 2})) * array::from<float>({1, 0, 0}, {3, 1}));
}

TEST_CASE("what is the same for all entries need not be mapped") {
  const array x = noise({3, 2}, 1);
  const auto f = [](const array& a) { return std::pair{psum(a * a, "i") + 1.0f, a}; };
  const auto [total, same] = vmap(f, {.out_axes = {not_mapped, 1}, .axis_name = "i"})(x);
  check_close(total, sum(x * x, {{0}}) + 1.0f);
  check_close(same, transpose(x));
  CHECK_THROWS_WITH(vmap(f, {.out_axes = {not_mapped}, .axis_name = "i"})(x),
                    contains("vmap: out_axes: found f32[3,2], expected for not_mapped, a result that is the same"));
  CHECK_THROWS_WITH(vmap([](const array& a) { return std::pair{a, a}; }, {.out_axes = {0, 0, 0}})(x),
                    contains("vmap: out_axes: found [0,0,0], expected one entry, or one for each of 2 results"));
}

TEST_CASE("nested maps with names of their own") {
  const array x = noise({2, 3}, 1);
  const auto both = [](const array& a) {
    return a - psum(a, "row") + 10.0f * psum(a, "column") + psum(psum(a, "row"), "column");
  };
  const auto rows = [&](const array& r) { return vmap(both, {.axis_name = "column"})(r); };
  check_close(vmap(rows, {.axis_name = "row"})(x),
              x - expand_dims(sum(x, {{0}}), 0) + 10.0f * expand_dims(sum(x, {{1}}), 1) + sum(x));
  const auto index = [](const array& a) {
    return a * 0.0f + astype(axis_index("row") * 10 + axis_index("column"), f32);
  };
  const auto indices = [&](const array& r) { return vmap(index, {.axis_name = "column"})(r); };
  CHECK(to_value(vmap(indices, {.axis_name = "row"})(x)).data == std::vector<double>{0, 1, 2, 10, 11, 12});
}

TEST_CASE("gradients inside are those of the sum over all entries; outside, of the whole") {
  const array x = array::from<float>({1, 2, 3});
  const auto inside = [&](const auto& f) { return to_value(over_i(grad(f))(x)).data; };
  CHECK(inside([](const array& a) { return psum(a * a, "i"); }) == std::vector<double>{6, 12, 18});
  CHECK(inside([](const array& a) { return psum(a, "i") * a; }) == std::vector<double>{12, 12, 12});
  CHECK(inside([](const array& a) { return sum(square(all_gather(a, "i"))); }) == std::vector<double>{6, 12, 18});
  check_close(over_i(grad([](const array& a) { return pmean(a * a, "i"); }))(x), 2.0f * x);
  const auto [y, dy] =
      over_i([](const array& a) { return jvp([](const array& b) { return psum(b * b, "i"); }, a, array(1.0f)); })(x);
  CHECK(to_value(y).data == std::vector<double>{14, 14, 14});
  CHECK(to_value(dy).data == std::vector<double>{12, 12, 12});
  const auto whole = [](const array& v) {
    return sum(vmap([](const array& a) { return a * psum(a, "i"); }, {.axis_name = "i"})(v));
  };
  CHECK(to_value(grad(whole)(x)).data == std::vector<double>{12, 12, 12});
}

TEST_CASE("in loops, in what is computed again, and in functions with rules") {
  const array x = noise({3, 2}, 1);
  const array total = expand_dims(sum(x, {{0}}), 0);
  const auto loop = [](const array& a) {
    return scan([](const array& s, const nothing&) { return std::pair{psum(s, "i") * 0.5f, nothing{}}; }, a, nothing{},
                {.length = 2})
        .first;
  };
  check_close(over_i(loop)(x), broadcast_to(total * (0.25f * 3.0f), {3, 2}));
  check_close(over_i(remat([](const array& a) { return a - psum(a, "i"); }))(x), x - total);
  const auto ruled = custom_vjp([](const array& a) { return a - psum(a, "i"); },
                                [](const array& a) { return std::pair{a - psum(a, "i"), nothing{}}; },
                                [](const nothing&, const array& ct) { return psum(ct, "i"); });
  check_close(over_i(ruled)(x), x - total);
  check_close(over_i(grad([&](const array& a) { return sum(ruled(a)); }))(x), full({3, 2}, 3.0f));
}

TEST_CASE("named axes in programs: static, at run time and eager have the same bits") {
  using numbers = tensor<f32, 3, 2>;
  constexpr auto f = [](const numbers& x) {
    const auto g = [](const array& a) {
      return std::pair{a - pmean(a, "i") * astype(axis_index("i"), f32), psum(a * a, "i")};
    };
    return vmap(g, {.out_axes = {0, not_mapped}, .axis_name = "i"})(array(x));
  };
  const numbers x = noise({3, 2}, 1);
  const auto known = leaves(jit(f, cpu, while_compiling)(x)), late = leaves(jit(f, cpu, at_run_time)(x)),
             eager = leaves(f(x));
  for (int k = 0; k < 2; ++k) {
    CHECK(bit_difference({known[k]}, {late[k]}).empty());
    CHECK(bit_difference({known[k]}, {eager[k]}).empty());
  }
  check_close(eager[1], sum(array(x) * x, {{0}}));
}

TEST_CASE("unknown names, names that are taken, and a size instead of an argument") {
  const array x = noise({3, 2}, 1);
  CHECK_THROWS_WITH(
      over_i([](const array& a) { return psum(a, "j"); })(x),
      contains("psum: axis name: found j, expected the axis_name of a vmap around it") && contains("collectives.cpp"));
  CHECK_THROWS_WITH(over_i([](const array& a) { return a * axis_index("j"); })(x),
                    contains("axis_index: axis name: found j"));
  CHECK_THROWS_WITH(psum(x, "i"), contains("psum: axis name: found i"));
  CHECK_THROWS_WITH(over_i([](const array& a) { return over_i([](const array& b) { return b; })(a); })(x),
                    contains("vmap: axis_name: found i, expected a name that no vmap around it has"));
  CHECK_THROWS_WITH(over_i([](const array& a) { return ppermute(a, "i", {{0, 3}}); })(x),
                    contains("ppermute: pair: found 0 to 3, expected entries below 3"));
  const auto numbered = [](const array& a) { return a + astype(axis_index("i"), f32); };
  check_close(vmap(numbered, {.in_axes = {not_mapped}, .axis_name = "i", .axis_size = 3})(array(5.0f)),
              array::from<float>({5, 6, 7}));
  CHECK_THROWS_WITH(vmap(numbered, {.axis_name = "i", .axis_size = 4})(noise({3}, 1)), contains("vmap: batch extent"));
}
