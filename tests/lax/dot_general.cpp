// tests/lax/dot_general.cpp: contractions over any axes, and matmul.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("dot_general keeps the contract for every kind of axes") {
  auto dims = [](axes lc, axes rc, axes lb = {}, axes rb = {}) { return pack(dot_dimensions{lc, rc, lb, rb}); };
  check_op(dot_general_p, {{{noise({3, 4}, 1), noise({4, 5}, 2)}, dims({1}, {0})},
                           {{noise({4, 3}, 1), noise({5, 4}, 2)}, dims({0}, {1})},
                           {{noise({4, 3}, 1), noise({4, 5}, 2)}, dims({0}, {0})},
                           {{noise({2, 3, 4}, 1), noise({2, 4, 5}, 2)}, dims({2}, {1}, {0}, {0})},
                           {{noise({3, 2, 4}, 1), noise({4, 5, 2}, 2)}, dims({2}, {0}, {1}, {2})},
                           {{noise({2, 3, 4}, 1), noise({4, 3, 5}, 2)}, dims({1, 2}, {1, 0})},
                           {{noise({2, 3}, 1), noise({4}, 2)}, dims({}, {})},
                           {{noise({3}, 1), noise({3}, 2)}, dims({0}, {0})},
                           {{noise({2, 0}, 1), noise({0, 3}, 2)}, dims({1}, {0})},
                           {{noise({2, 3, 2, 4}, 1), noise({2, 2, 4, 3}, 2)}, dims({3}, {2}, {0, 2}, {0, 1})}});
}

TEST_CASE("bf16 accumulates in f32") {
  check_op(dot_general_p,
           {{{noise({3, 64}, 1, bf16), noise({64, 5}, 2, bf16)}, pack(dot_dimensions{{1}, {0}, {}, {}})}},
           {.order = 1});
}

TEST_CASE("large products agree with the reference on every path of the kernel") {
  for (const auto& [m, k, n] :
       {std::array{1, 300, 70}, std::array{65, 33, 97}, std::array{7, 1, 130}, std::array{130, 257, 3}})
    check_values([](const arrays& x) -> arrays { return matmul(x[0], x[1]); }, {noise({m, k}, 1), noise({k, n}, 2)});
}

TEST_CASE("matmul broadcasts leading axes as NumPy does") {
  const function f = [](const arrays& x) -> arrays { return matmul(x[0], x[1]); };
  check_function(f, {noise({2, 3, 4}, 1), noise({4, 5}, 2)});
  check_function(f, {noise({2, 1, 3, 4}, 1), noise({3, 4, 2}, 2)}, {.order = 1});
  check_function(f, {noise({3, 4}, 1), noise({2, 4, 5}, 2)}, {.order = 1});
  check_function(f, {noise({4}, 1), noise({4, 5}, 2)}, {.order = 1});
  check_function(f, {noise({3, 4}, 1), noise({4}, 2)}, {.order = 1});
  check_golden(
      "dot_general", [](const arrays& x) -> arrays { return dot_general(x[0], x[1], {{2}, {1}, {0}, {0}}); }, 2);
  check_golden("matmul_i32", f, 2);
}

TEST_CASE("extents and dtypes that do not fit are rejected") {
  const array a = zeros({2, 3}), b = zeros({4, 2});
  CHECK_THROWS_WITH(matmul(a, b), contains("matmul: inner extents: found f32[4,2], expected f32[2,3]") &&
                                      contains("dot_general.cpp"));
  CHECK_THROWS_WITH(dot_general(zeros({2, 3, 4}), zeros({5, 4, 3}), {{2}, {1}, {0}, {0}}),
                    contains("dot_general: batch extents"));
  CHECK_THROWS_WITH(matmul(zeros({2, 3, 4}), zeros({5, 4, 3})), contains("matmul: batch extents"));
  CHECK_THROWS_WITH(bind(dot_general_p, {a, zeros({3, 2}, bf16)}, dot_dimensions{{1}, {0}, {}, {}}, location{}),
                    contains("dot_general: dtypes"));
}
