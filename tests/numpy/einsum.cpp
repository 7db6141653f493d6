// tests/numpy/einsum.cpp: equations against JAX, and what they become.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy/einsum.hpp>
#include <tokamax/numpy/einsum_path.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
constexpr array floats(const shape& s) { return array(array_type{f32, false, s}); }
static_assert(einsum("bthd,bshd->bhts", floats({2, 5, 3, 4}), floats({2, 7, 3, 4})).shape() == shape{2, 3, 5, 7});
static_assert(einsum("...a,ab", floats({2, 5, 3}), floats({3, 4})).shape() == shape{2, 5, 4});
static_assert(einsum(" b i , i o -> o b ", floats({2, 5}), floats({5, 4})).shape() == shape{4, 2});
}  // namespace

TEST_CASE("equations agree with JAX") {
  const struct {
    const char* name;
    std::string_view equation;
    int operands;
  } cases[] = {{"einsum0", "ij,jk->ik", 2},
               {"einsum1", "bij,bjk->bik", 2},
               {"einsum2", "bthd,bshd->bhts", 2},
               {"einsum3", "ij->ji", 1},
               {"einsum4", "ii->i", 1},
               {"einsum5", "ii->", 1},
               {"einsum6", "ij->", 1},
               {"einsum7", "i,j->ij", 2},
               {"einsum8", "ij,jk,kl->il", 3},
               {"einsum9", "...ij,jk->...ik", 2},
               {"einsum10", "ij,ij->i", 2},
               {"einsum11", "abc,cd->dab", 2},
               {"einsum12", "ij,jk", 2}};
  for (const auto& c : cases) {
    const auto equation = c.equation;
    check_golden(c.name, [=](const arrays& x) -> arrays { return einsum(equation, x); }, c.operands);
  }
}

TEST_CASE("labels on one side only are summed, and extents of 1 are repeated") {
  check_function([](const arrays& x) -> arrays { return einsum("ijk,jl->l", x[0], x[1]); },
                 {noise({2, 3, 2}, 1), noise({3, 4}, 2)});
  check_function([](const arrays& x) -> arrays { return einsum("...i,...i->...", x[0], x[1]); },
                 {noise({1, 3, 2}, 1), noise({4, 1, 2}, 2)});
  check_function([](const arrays& x) -> arrays { return einsum("bi,bj,bk->bijk", x[0], x[1], x[2]); },
                 {noise({2, 3}, 1), noise({2, 2}, 2), noise({2, 4}, 3)});
}

TEST_CASE("equations that do not fit are rejected") {
  CHECK_THROWS_WITH(einsum("ij,jk->im", zeros({2, 3}), zeros({3, 4})), contains("einsum: equation: found ij,jk->im"));
  CHECK_THROWS_WITH(einsum("ijk->i", zeros({2, 3})), contains("einsum: equation"));
  CHECK_THROWS_WITH(einsum("ij,jk", zeros({2, 3})), contains("einsum: equation"));
  CHECK_THROWS_WITH(einsum("ij,jk->ik", zeros({2, 3}), zeros({4, 5})), contains("matmul: inner extents"));
}

TEST_CASE("the cheapest order of products is that of JAX, and a path gives the same sum") {
  // Found with jax.numpy.einsum_path of jax 0.10.2.
  const struct {
    std::string_view equation;
    std::vector<shape> operands;
    vec<axes> path;
    double naive, best;
  } cases[] = {
      {"ij,jk,kl->il", {{2, 30}, {30, 4}, {4, 50}}, {{0, 1}, {0, 1}}, 3.6e4, 1.28e3},
      {"ij,jk,kl,lm->im", {{10, 2}, {2, 40}, {40, 3}, {3, 20}}, {{1, 2}, {1, 2}, {0, 1}}, 1.92e5, 1.52e3},
      {"ab,bc,cd->ad", {{50, 4}, {4, 50}, {50, 2}}, {{1, 2}, {0, 1}}, 6e4, 1.6e3},
      {"i,ij,j->", {{30}, {30, 40}, {40}}, {{1, 2}, {0, 1}}, 3.6e3, 2.46e3},
      {"abc,abd,cd->ab", {{3, 4, 5}, {3, 4, 6}, {5, 6}}, {{1, 2}, {0, 1}}, 1.08e3, 840},
      {"ij->ji", {{2, 3}}, {{0}}, 6, 6},
      {"ij,jk", {{2, 3}, {3, 4}}, {{0, 1}}, 48, 48},
      {"...a,ab,bc->...c", {{2, 3, 40}, {40, 2}, {2, 40}}, {{0, 1}, {0, 1}}, 5.76e4, 1.92e3},
      {"ab,cd,ef->abcdef", {{2, 2}, {3, 3}, {2, 2}}, {{0, 2}, {0, 1}}, 288, 160},
  };
  for (const auto& c : cases) {
    INFO(c.equation);
    arrays xs;
    for (const shape& s : c.operands) xs.push_back(noise(s, static_cast<unsigned>(xs.count() + 1)));
    const einsum_plan plan = einsum_path(c.equation, xs);
    REQUIRE(plan.path.count() == c.path.count());
    for (int k = 0; k < plan.path.count(); ++k) CHECK(plan.path[k] == c.path[k]);
    CHECK(plan.naive_flops == c.naive);
    CHECK(plan.flops == c.best);
    const value found = to_value(einsum(c.equation, xs, plan.path)), expected = to_value(einsum(c.equation, xs));
    CHECK(difference({found}, {expected}, 1e-5) == "");
  }
}

TEST_CASE("paths of many operands are found, and wrong ones are rejected") {
  arrays chain;
  for (int k = 0; k < 8; ++k) chain.push_back(noise({2 + k % 3, 2 + (k + 1) % 3}, static_cast<unsigned>(k)));
  const std::string_view equation = "ab,bc,cd,de,ef,fg,gh,hi->ai";
  const einsum_plan plan = einsum_path(equation, chain);
  CHECK(plan.path.count() == 7);
  CHECK(plan.flops < plan.naive_flops / 100);
  CHECK(difference({to_value(einsum(equation, chain, plan.path))}, {to_value(einsum(equation, chain))}, 1e-5) == "");
  const arrays three{noise({2, 3}, 1), noise({3, 2}, 2), noise({2, 4}, 3)};
  check_function([](const arrays& x) -> arrays { return einsum("ij,jk,kl->il", x, vec<axes>{{1, 2}, {0, 1}}); },
                 {three[0], three[1], three[2]}, {.order = 1});
  CHECK(einsum("ij,jk,kl->il", three, {{0, 1, 2}}).shape() == shape{2, 4});
  CHECK_THROWS_WITH(einsum("ij,jk,kl->il", three, {{0, 3}}), contains("einsum: path"));
  CHECK_THROWS_WITH(einsum("ij,jk,kl->il", three, {{0, 0}, {0, 1}}), contains("einsum: path"));
  CHECK_THROWS_WITH(einsum("ij,jk,kl->il", three, {{0, 1}}), contains("einsum: path"));
  CHECK_THROWS_WITH(einsum_path("ij,jk", {three[0]}), contains("einsum: equation"));
  CHECK_THROWS_WITH(einsum_path("ij", {}), contains("einsum: operands"));
}
