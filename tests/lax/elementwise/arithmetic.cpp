// tests/lax/elementwise/arithmetic.cpp: add, sub, mul, div, neg, maximum, minimum, abs, sign.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/arithmetic.hpp>
#include <tokamax/numpy/clip.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

#include <fstream>
#include <sstream>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("arithmetic keeps the contract in every dtype") {
  for (const op* o : {&add_p, &sub_p, &mul_p, &div_p, &max_p, &min_p}) {
    for (const dtype t : {f32, bf16}) check_op(*o, {{{noise({2, 3}, 1, t), noise({2, 3}, 9, t)}}});
    check_op(*o, {{{noise({0, 2}, 1), noise({0, 2}, 2)}}, {{noise(shape{}, 1), noise(shape{}, 2)}}});
    if (o == &div_p) continue;
    check_op(*o,
             {{{array::from<std::int32_t>({-7, 3, 2147483647, 5}), array::from<std::int32_t>({2, -3, 2, 1})}},
              {{array::from<std::uint32_t>({7u, 3u, 4294967295u}), array::from<std::uint32_t>({2u, 4000000000u, 2u})}},
              {{array::from<std::int8_t>({-128, 127, -7, 100}), array::from<std::int8_t>({-128, 2, 3, 100})}}});
  }
  for (const op* o : {&neg_p, &abs_p, &sign_p})
    check_op(*o, {{{noise({5}, 1)}},
                  {{noise({5}, 1, bf16)}},
                  {{array::from<std::int32_t>({-3, 0, 9})}},
                  {{array::from<std::int8_t>({-128, 0, 127})}}});
}

TEST_CASE("operators broadcast as NumPy does, also in derivatives") {
  const auto f = [](const arrays& x) -> arrays { return (x[0] + x[1]) * x[2] - x[1] / (x[2] + 3); };
  check_function(f, {noise({2, 1, 3}, 1), noise({4, 1}, 2), noise(shape{}, 3)});
  check_function([](const arrays& x) -> arrays { return square(x[0]) + clip(x[1], -0.5, 0.25); },
                 {noise({3}, 1), noise({2, 3}, 5)});
  static_assert((array(array_type{f32, false, {2, 1}}) + array(array_type{i32, false, {3}})).type() ==
                array_type{f32, false, {2, 3}});
}

TEST_CASE("operands that do not fit are rejected") {
  const array a = zeros({2, 3}), b(array_type{f32, false, {4}});
  CHECK_THROWS_WITH(a + b, contains("add: shapes: found f32[4], expected extents of 1 or those of f32[2,3]") &&
                               contains("arithmetic.cpp"));
  CHECK_THROWS_WITH(maximum(a, b), contains("max: shapes"));
  CHECK_THROWS_WITH(bind(div_p, {zeros({2}, i32), ones({2}, i32)}, words{}, location{}), contains("div: dtype"));
  CHECK_THROWS_WITH(bind(add_p, {a, zeros({2, 3}, bf16)}, words{}, location{}), contains("add: operand types"));
}

TEST_CASE("NaN, infinities and ties follow JAX") {
  const auto maximum_of = [](const arrays& x) -> arrays { return maximum(x[0], x[1]); };
  const auto minimum_of = [](const arrays& x) -> arrays { return minimum(x[0], x[1]); };
  for (const char* row : {"maximum", "maximum_tie"}) check_golden(row, maximum_of, 2);
  for (const char* row : {"minimum", "minimum_tie"}) check_golden(row, minimum_of, 2);
  check_golden("maximum_zero", [](const arrays& x) -> arrays { return maximum(x[0], 0.0f); });
  check_golden("clip_grad", [](const arrays& x) -> arrays { return clip(x[0], -1.0f, 1.0f); });
  for (const char* row : {"abs_at_zero", "abs_i32"})
    check_golden(row, [](const arrays& x) -> arrays { return abs(x[0]); });
  for (const char* row : {"sign_at_zero", "sign_i32"})
    check_golden(row, [](const arrays& x) -> arrays { return sign(x[0]); });
}

TEST_CASE("i8 wraps as in JAX") {
  check_golden("add_i8", [](const arrays& x) -> arrays { return x[0] + x[1]; }, 2);
  check_golden("sub_i8", [](const arrays& x) -> arrays { return x[0] - x[1]; }, 2);
  check_golden("mul_i8", [](const arrays& x) -> arrays { return x[0] * x[1]; }, 2);
  check_golden("max_i8", [](const arrays& x) -> arrays { return maximum(x[0], x[1]); }, 2);
  check_golden("lt_i8", [](const arrays& x) -> arrays { return x[0] < x[1]; }, 2);
  check_golden("neg_i8", [](const arrays& x) -> arrays { return -x[0]; });
  check_golden("abs_i8", [](const arrays& x) -> arrays { return abs(x[0]); });
  check_golden("sign_i8", [](const arrays& x) -> arrays { return sign(x[0]); });
  check_golden("plus_300_i8", [](const arrays& x) -> arrays { return x[0] + 300; });
  check_golden("halves_i8", [](const arrays& x) -> arrays { return x[0] / 2; });
}

TEST_CASE("i8 in loops of every length, and folded") {
  const function f = [](const arrays& x) -> arrays {
    const array y = x[0] * x[1] + x[0], hundred = full_like(x[0], 100.0);
    return {y, select(y > x[1], y, minimum(x[0], x[1])), astype(y, f32) * 0.5f, hundred + hundred,
            (hundred + hundred) < x[0]};
  };
  for (const std::int64_t n : {1, 7, 15, 16, 17, 33, 100003}) {
    const array x = astype(noise({n}, 1) * 128.0f, i8), y = astype(noise({n}, 2) * 128.0f, i8);
    check_values(f, {x, y}, 3e-6, n < 100);
  }
}

TEST_CASE("result dtypes are those of JAX") {
  std::ifstream file(std::string(TOKAMAX_ROOT) + "/tests/golden/promotion.txt");
  REQUIRE(file.good());
  const auto known = [](const std::string& s, array& a) {
    const auto typed = [&](dtype t) { a = array(array_type{t, false, {}}); };
    if (s == "i*")
      a = array(array_type{i32, true, {}});
    else if (s == "f*")
      a = array(array_type{f32, true, {}});
    else if (s == "bool")
      typed(bool_);
    else if (s == "i8")
      typed(i8);
    else if (s == "i32")
      typed(i32);
    else if (s == "u32")
      typed(u32);
    else if (s == "bf16")
      typed(bf16);
    else if (s == "f32")
      typed(f32);
    else
      return false;
    return true;
  };
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string a, b, result;
    int weak = 0;
    in >> a >> b >> result >> weak;
    array x, y, z;
    if (a[0] == '#' || !known(result, z)) continue;
    INFO(line);
    if (a == "divide") {
      if (!known(b, x)) continue;
      CHECK((x / x).dtype() == z.dtype());
      CHECK((x / x).type().weak == bool(weak));
    } else if (a != "sum" && a != "mean") {
      if (!known(a, x) || !known(b, y)) continue;
      const promoted p = promote({x.dtype(), x.type().weak}, {y.dtype(), y.type().weak});
      CHECK(p.type == z.dtype());
      CHECK(p.weak == bool(weak));
      if (z.dtype() == bool_) continue;
      CHECK((x + y).dtype() == z.dtype());
      CHECK((x + y).type().weak == bool(weak));
    } else {
      continue;
    }
    ++rows;
  }
  CHECK(rows >= 65);
}

TEST_CASE("constants of 32 bits wrap around where their product needs 64") {
  const auto f = [](const array& x) {
    const array_type word{u32, false, {}};
    return x + array(4294967295u, word) * array(4000000000u, word);
  };
  const array x = astype(array{0, 1}, u32);
  for (const array& y : {f(x), jit(f, cpu, at_run_time)(x)}) {
    CHECK(y.values<std::uint32_t>()[0] == 294967296u);
    CHECK(y.values<std::uint32_t>()[1] == 294967297u);
  }
}

TEST_CASE("0 is not neutral for -0: eager, traced and static sums agree") {
  const auto plus = [](const array& x) { return x + 0.0f; };
  const auto minus = [](const array& x) { return x - 0.0f; };
  const auto from_left = [](const array& x) { return 0.0f + x; };
  const array x = array::from<float>({-0.0f, 0.0f, 1.0f});
  for (const dtype t : {f32, bf16, f16, f64}) {
    const array v = astype(x, t);
    const auto bits = [](const array& y) { return std::signbit(astype(y, f32).values<float>()[0]); };
    CHECK(!bits(plus(v)));
    CHECK(!bits(from_left(v)));
    CHECK(bits(minus(v)));
    CHECK(!bits(jit(plus, cpu, at_run_time)(v)));
    CHECK(!bits(jit(from_left, cpu, at_run_time)(v)));
    CHECK(bits(jit(minus, cpu, at_run_time)(v)));
  }
  const auto nodes = [](const auto& f, dtype t) {
    const graph g = make_graph(f, array({t, false, {3}}));
    return g[g.outputs[0]].op;
  };
  CHECK(nodes([](const array& v) { return v + (-0.0f); }, f32) == nullptr);  // the argument itself
  CHECK(nodes([](const array& v) { return v - 0.0f; }, f32) == nullptr);
  CHECK(nodes([](const array& v) { return v + 0; }, i32) == nullptr);
  CHECK(nodes(plus, f32) == &add_p);
}
