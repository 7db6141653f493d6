// tests/lax/dot_general.cpp: contractions over any axes, and matmul.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/shapes/concatenate.hpp>
#include <tokamax/lax/shapes/transpose.hpp>
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

TEST_CASE("integers of every width are exact, in any layout and preferred dtype") {
  // x [2, 3, 37] and y [3, 5, 2], contracted over two axes that no one stride reaches; z [37, 3, 2] is x transposed
  for (const dtype from : {i4, i8, i16, i32, i64, u4, u8, u16, u32, u64})
    for (const dtype to : {i4, i8, i16, i32, i64, u4, u8, u16, u32, u64}) {
      if (!tokamax::detail::sums_in(from, to)) continue;
      CAPTURE(name(from), name(to));
      const auto integers = [&](const shape& s, unsigned seed) {
        const array v = convert_element_type(noise(s, seed) * 2000.0f, i64);
        return convert_element_type(v * v * v * v * v, from);
      };
      const array x = integers({2, 3, 37}, 1), y = integers({3, 5, 2}, 2), z = integers({37, 3, 2}, 3);
      const array free = dot_general(x, y, {{0, 1}, {2, 0}, {}, {}, to});                      // [37, 5]
      const array square = dot_general(x, transpose(z, {2, 1, 0}), {{2}, {2}, {0}, {0}, to});  // [2, 3, 3]
      REQUIRE(free.dtype() == to);
      dispatch(from, [&]<dtype From>() {
        dispatch(to, [&]<dtype To>() {
          if constexpr (is_integer(From) && is_integer(To)) {
            const auto a = x.values<element_t<From>>(), b = y.values<element_t<From>>(),
                       c = z.values<element_t<From>>();
            const auto found = free.values<element_t<To>>(), squares = square.values<element_t<To>>();
            bool right = found.size() == 185 && squares.size() == 18;
            for (std::size_t i = 0; right && i < 185; ++i) {
              std::uint64_t sum = 0;
              for (std::size_t p = 0; p < 6; ++p)
                sum += static_cast<std::uint64_t>(a[p * 37 + i / 5]) *
                       static_cast<std::uint64_t>(b[(p % 3 * 5 + i % 5) * 2 + p / 3]);
              right = found[i] == static_cast<element_t<To>>(sum);
            }
            for (std::size_t i = 0; right && i < 18; ++i) {
              std::uint64_t sum = 0;
              for (std::size_t p = 0; p < 37; ++p)
                sum += static_cast<std::uint64_t>(a[i / 3 * 37 + p]) *
                       static_cast<std::uint64_t>(c[(p * 3 + i % 3) * 2 + i / 9]);
              right = squares[i] == static_cast<element_t<To>>(sum);
            }
            REQUIRE(right);
          }
        });
      });
    }
}

TEST_CASE("products of f64 keep the contract, and their digits for a huge k") {
  const auto dims = [](axes lc, axes rc, axes lb, axes rb) { return pack(dot_dimensions{lc, rc, lb, rb}); };
  check_op(dot_general_p, {{{noise({3, 37}, 1, f64), noise({37, 5}, 2, f64)}, dims({1}, {0}, {}, {})},
                           {{noise({37, 3}, 1, f64), noise({5, 37}, 2, f64)}, dims({0}, {1}, {}, {})},
                           {{noise({3, 2, 4}, 1, f64), noise({4, 5, 2}, 2, f64)}, dims({2}, {0}, {1}, {2})},
                           {{noise({2, 3, 4}, 1, f64), noise({4, 3, 5}, 2, f64)}, dims({1, 2}, {1, 0}, {}, {})},
                           {{noise({2, 3}, 1, f64), noise({4}, 2, f64)}, dims({}, {}, {}, {})},
                           {{noise({2, 0}, 1, f64), noise({0, 3}, 2, f64)}, dims({1}, {0}, {}, {})}});
  const array third = full({1, 300000}, 1.0 / 3, f64), ones = transpose(third, {1, 0}) * 3.0;
  CHECK(matmul(third, ones).values<double>()[0] == Approx(100'000).epsilon(1e-13));
  CHECK(matmul(concatenate({third, third}, 0), ones).values<double>()[1] == Approx(100'000).epsilon(1e-13));
}

TEST_CASE("bf16 may give its f32 sums") {
  const function f = [](const arrays& x) -> arrays { return matmul(x[0], x[1], {.preferred_element_type = f32}); };
  check_golden(
      "matmul_bf16_to_f32", [&](const arrays& x) -> arrays { return f({astype(x[0], bf16), astype(x[1], bf16)}); }, 2);
  check_function(f, {noise({3, 9}, 1, bf16), noise({9, 5}, 2, bf16)}, {.order = 1});
  check_function(f, {noise({2, 3, 9}, 1, bf16), noise({2, 9, 5}, 2, bf16)}, {.order = 1});
}

TEST_CASE("a narrow result is the rounded wide one, for any number of threads") {
  for (const auto& [m, k, n] : {std::array{1, 3, 1}, std::array{5, 1, 7}, std::array{3, 0, 5}, std::array{0, 4, 2},
                                std::array{131, 9, 129}, std::array{2, 70, 16385}})
    for (const auto& [narrow, wide] : {std::pair{bf16, f32}, std::pair{f16, f32}, std::pair{i8, i32}}) {
      INFO(name(narrow) << " " << m << " " << k << " " << n);
      const array a = convert_element_type(noise({m, k}, 1) * 50.0f, narrow),
                  b = convert_element_type(noise({k, n}, 2) * 50.0f, narrow);
      for (int threads : {1, 3}) {
        cpu_backend::set_num_threads(threads);
        const array x = matmul(a, b), y = convert_element_type(matmul(a, b, {wide}), narrow);
        CHECK(all(x == y).item<bool>());
      }
      cpu_backend::set_num_threads(0);
    }
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

TEST_CASE("products of truth values are or of and") {
  const array a = noise({3, 70}, 1) > 0.9f, b = noise({70, 5}, 2) > 0.9f;  // few are true
  const array y = dot_general(a, b, {{1}, {0}}),
              counts =
                  dot_general(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}, .preferred_element_type = i32});
  REQUIRE(y.type() == array_type{bool_, false, {3, 5}});
  const array want = dot_general(astype(a, f64), astype(b, f64), {{1}, {0}});
  for (std::int64_t i = 0; i < 15; ++i) {
    CHECK(y.data<bool>()[i] == (want.data<double>()[i] != 0));
    CHECK(counts.data<std::int32_t>()[i] == want.data<double>()[i]);
  }
  CHECK_THROWS_WITH(bind(dot_general_p, {a, b}, dot_dimensions{{1}, {0}}, location{}),
                    contains("dot_general: dtypes: found bool[3,70], expected numbers"));
}
