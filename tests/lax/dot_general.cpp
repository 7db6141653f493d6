// tests/lax/dot_general.cpp: contractions over any axes, and matmul.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/numpy/matmul.hpp>

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

TEST_CASE("i8 is summed in i8 or in i32") {
  const auto bytes = [](const shape& s, unsigned seed) { return astype(noise(s, seed) * 128.0f, i8); };
  const auto dims = [](axes lc, axes rc, axes lb, axes rb, dtype to) {
    return pack(dot_dimensions{lc, rc, lb, rb, to});
  };
  for (const dtype to : {dtype::none, i8, i32})
    check_op(dot_general_p, {{{bytes({3, 37}, 1), bytes({37, 5}, 2)}, dims({1}, {0}, {}, {}, to)},
                             {{bytes({37, 3}, 1), bytes({5, 37}, 2)}, dims({0}, {1}, {}, {}, to)},
                             {{bytes({3, 2, 4}, 1), bytes({4, 5, 2}, 2)}, dims({2}, {0}, {1}, {2}, to)},
                             {{bytes({2, 3, 4}, 1), bytes({4, 3, 5}, 2)}, dims({1, 2}, {1, 0}, {}, {}, to)},
                             {{bytes({2, 3}, 1), bytes({4}, 2)}, dims({}, {}, {}, {}, to)},
                             {{bytes({2, 0}, 1), bytes({0, 3}, 2)}, dims({1}, {0}, {}, {}, to)}});
  const function in_i32 = [](const arrays& x) -> arrays { return matmul(x[0], x[1], {i32}); };
  check_golden("matmul_i8", [](const arrays& x) -> arrays { return matmul(x[0], x[1]); }, 2);
  check_golden("matmul_i8_to_i32", in_i32, 2);
  check_function(in_i32, {bytes({2, 3, 4}, 1), bytes({4, 5}, 2)});
  for (const auto& [m, k, n] :
       {std::array{1, 300, 70}, std::array{65, 33, 97}, std::array{7, 1, 130}, std::array{67, 257, 3}})
    check_values(in_i32, {bytes({m, k}, 1), bytes({k, n}, 2)}, 0, false);
  for (const double x : {-128.0, 127.0}) {  // all the same sign, and the largest there is
    const array a = array::filled({i8, false, {2, 1000}}, -128), b = array::filled({i8, false, {1000, 2}}, x);
    CHECK(in_i32({a, b})[0].values<std::int32_t>()[3] == -128 * static_cast<int>(x) * 1000);
  }
  static_assert(matmul(array(array_type{i8, false, {2, 3}}), array(array_type{i8, false, {3, 4}}), {i32}).type() ==
                array_type{i32, false, {2, 4}});
}

TEST_CASE("bf16 may give its f32 sums") {
  const function f = [](const arrays& x) -> arrays { return matmul(x[0], x[1], {.preferred_element_type = f32}); };
  check_golden(
      "matmul_bf16_to_f32", [&](const arrays& x) -> arrays { return f({astype(x[0], bf16), astype(x[1], bf16)}); }, 2);
  check_function(f, {noise({3, 9}, 1, bf16), noise({9, 5}, 2, bf16)}, {.order = 1});
  check_function(f, {noise({2, 3, 9}, 1, bf16), noise({2, 9, 5}, 2, bf16)}, {.order = 1});
}

TEST_CASE("extents and dtypes that do not fit are rejected") {
  const array a = zeros({2, 3}), b = zeros({4, 2});
  CHECK_THROWS_WITH(
      matmul(a, b),
      contains("matmul: inner extents: found f32[4,2], expected inner extents equal: [.., 3] x [3, ..]") &&
          contains("dot_general.cpp"));
  CHECK_THROWS_WITH(dot_general(zeros({2, 3, 4}), zeros({5, 4, 3}), {{2}, {1}, {0}, {0}}),
                    contains("dot_general: batch extents"));
  CHECK_THROWS_WITH(matmul(zeros({2, 3, 4}), zeros({5, 4, 3})), contains("matmul: batch extents"));
  CHECK_THROWS_WITH(bind(dot_general_p, {a, zeros({3, 2}, bf16)}, dot_dimensions{{1}, {0}, {}, {}}, location{}),
                    contains("dot_general: dtypes"));
  CHECK_THROWS_WITH(matmul(a, zeros({3, 2}), {bf16}),
                    contains("dot_general: preferred type: found bf16, expected f32, or wider of its kind") &&
                        contains("dot_general.cpp"));
  CHECK_THROWS_WITH(matmul(zeros({2, 3}, i8), zeros({3, 2}, i8), {u32}),
                    contains("dot_general: preferred type: found u32, expected i8, or wider of its kind"));
}
