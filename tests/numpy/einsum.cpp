// tests/numpy/einsum.cpp: equations against JAX, and what they become.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy/einsum.hpp>

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
