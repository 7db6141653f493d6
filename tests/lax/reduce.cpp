// tests/lax/reduce.cpp: sum, mean, var, max, min, all, any, argmax, argmin.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/statistics.hpp>
#include <tokamax/runtime/program/traced_program.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("reductions keep the contract over any axes") {
  for (const op* o : {&reduce_max_p, &reduce_min_p})
    for (const axes& a : {axes{0}, axes{1}, axes{2}, axes{0, 2}, axes{0, 1, 2}, axes{}})
      check_op(*o,
               {{{noise({2, 3, 5}, 1)}, pack(reduce_attributes{a})},
                {{noise({2, 3, 17}, 1, bf16)}, pack(reduce_attributes{a})}},
               {.order = 1});
  const array truth = noise({3, 4}, 1) > -0.5f;
  for (const op* o : {&reduce_and_p, &reduce_or_p})
    for (const axes& a : {axes{0}, axes{1}, axes{0, 1}}) check_op(*o, {{{truth}, pack(reduce_attributes{a})}});
  const array integers = array::from<std::int32_t>({3, -7, 2147483647, 4, 5, -2147483647}, {2, 3});
  const array small = astype(noise({3, 70}, 4) * 128.0f, i8);
  for (const op* o : {&reduce_sum_p, &reduce_max_p, &reduce_min_p}) {
    check_op(*o, {{{integers}, pack(reduce_attributes{{1}})}});
    for (const axes& a : {axes{0}, axes{1}, axes{0, 1}}) check_op(*o, {{{small}, pack(reduce_attributes{a})}});
  }
}

TEST_CASE("mean and var of bf16 are rounded once") {
  for (const axes& a : {axes{0}, axes{1}, axes{0, 1}, axes{}})
    for (const dtype t : {f32, bf16})
      check_op(sum_in_32_bits_p, {{{noise({3, 17}, 1, t)}, pack(reduce_attributes{a})}}, {.order = 1});
  int wrong = 0;
  for (std::int64_t n = 1; n <= 4096; ++n) {
    const array x = array(full({n}, 1, bf16));
    wrong += static_cast<float>(mean(x).values<bfloat16>()[0]) != 1;
    if (n % 64 == 1) wrong += static_cast<float>(var(x).values<bfloat16>()[0]) != 0;
  }
  CHECK(wrong == 0);
  const array x = astype(noise({100000}, 3) + 1.0f, bf16), wide = astype(x, f32);
  CHECK(static_cast<float>(mean(x).values<bfloat16>()[0]) == static_cast<float>(bfloat16(mean(wide).item())));
  CHECK(static_cast<float>(var(x).values<bfloat16>()[0]) == static_cast<float>(bfloat16(var(wide).item())));
}

TEST_CASE("argmax and argmin keep the contract") {
  for (const op* o : {&argmax_p, &argmin_p})
    for (const int axis : {0, 1, 2})
      check_op(*o, {{{noise({2, 3, 7}, 1)}, pack(arg_attributes{axis})},
                    {{array::from<std::int32_t>({1, 3, 3, -1, -1, 0}, {1, 2, 3})}, pack(arg_attributes{axis})}});
}

TEST_CASE("long rows and columns agree with the reference") {
  for (const axes& a : {axes{0}, axes{1}, axes{0, 1}})
    check_values(
        [&](const arrays& x) -> arrays { return {sum(x[0], {a}), max(x[0], {a}), mean(x[0], {a}), var(x[0], {a})}; },
        {noise({333, 517}, 1)});
  const array small = astype(noise({2, 40000}, 1) * 128.0f, i8);
  for (const array& x : {small, reshape(small, {40000, 2})})
    check_values(
        [](const arrays& a) -> arrays {
          const axes all{0, 1};
          return {sum(a[0]),        bind(reduce_sum_p, {a[0]}, reduce_attributes{all}, location{}),
                  max(a[0], {{0}}), min(a[0], {{1}}),
                  argmax(a[0], 0),  argmin(a[0], 1)};
        },
        {x}, 3e-6, false);
}

TEST_CASE("NaN, ties and special values follow JAX") {
  check_golden("max", [](const arrays& x) -> arrays { return max(x[0], {{1}}); });
  check_golden("min", [](const arrays& x) -> arrays { return min(x[0], {{0}}); });
  check_golden("sum", [](const arrays& x) -> arrays { return sum(x[0], {{0}}); });
  check_golden("mean", [](const arrays& x) -> arrays { return mean(x[0], {{1}}); });
  check_golden("var", [](const arrays& x) -> arrays { return var(x[0], {{1}}); });
  check_golden("reduce_max_ties", [](const arrays& x) -> arrays { return max(x[0], {{1}}); });
  check_golden("reduce_min_ties", [](const arrays& x) -> arrays { return min(x[0], {{1}}); });
  check_golden("reduce_max_special", [](const arrays& x) -> arrays { return max(x[0], {{1}}); });
  check_golden("reduce_min_special", [](const arrays& x) -> arrays { return min(x[0], {{1}}); });
  check_golden("argmax_special", [](const arrays& x) -> arrays { return argmax(x[0], 1); });
  check_golden("argmin_special", [](const arrays& x) -> arrays { return argmin(x[0], 1); });
  check_golden("argmax_axis0", [](const arrays& x) -> arrays { return argmax(x[0], 0); });
  check_golden("sum_i32_wraps", [](const arrays& x) -> arrays { return sum(x[0]); });
  check_golden("sum_i8", [](const arrays& x) -> arrays { return sum(x[0], {{1}}); });
  check_golden("max_i8_rows", [](const arrays& x) -> arrays { return max(x[0], {{1}}); });
  check_golden("mean_i8", [](const arrays& x) -> arrays { return mean(x[0], {{1}}); });
  check_golden("argmin_i8", [](const arrays& x) -> arrays { return argmin(x[0], 1); });
  const auto over_rows = [](const op& o) {
    return [&o](const arrays& x) -> arrays { return bind(o, {x[0]}, reduce_attributes{{0}}, location{}); };
  };
  check_golden("reduce_sum_i8", over_rows(reduce_sum_p));
  check_golden("reduce_max_i8_of_none", over_rows(reduce_max_p));
  check_golden("reduce_min_i8_of_none", over_rows(reduce_min_p));
  check_golden("sum_bool", [](const arrays& x) -> arrays { return sum(x[0], {{1}}); });
}

TEST_CASE("negative axes, kept extents and dtypes of results") {
  const array x(array_type{f32, false, {2, 3, 5}}), i(array_type{i32, false, {4}}), b(array_type{bool_, false, {4}});
  static_assert(sum(array(array_type{f32, false, {2, 3}}), {{-1}, true}).shape() == shape{2, 1});
  CHECK(sum(x, {{-1, 0}}).shape() == shape{3});
  CHECK(sum(x).shape() == shape{});
  CHECK(sum(b).dtype() == i32);
  CHECK(mean(i).dtype() == f32);
  CHECK(all(i).dtype() == bool_);
  CHECK(argmax(x, -2).type() == array_type{i32, false, {2, 5}});
}

TEST_CASE("axes that are not there are rejected") {
  const array x = zeros({2, 3});
  CHECK_THROWS_WITH(sum(x, {{2}}),
                    contains("reduce_sum: axis: found [2], expected axes of f32[2,3]") && contains("reduce.cpp"));
  CHECK_THROWS_WITH(max(x, {{0, 0}}), contains("reduce_max: axis"));
  CHECK_THROWS_WITH(argmax(x, 2), contains("argmax: axis: found 2"));
}

TEST_CASE("sums of narrow integers make no wide copy of the operand") {
  for (const dtype d : {i8, u8, i16, bool_}) {
    INFO(name(d));
    const graph g = trace([](const arrays& x) -> arrays { return {sum(x[0], {{1}})}; }, {{d, false, {64, 4096}}});
    const auto p = detail::owned_program::make(g, kernel_table_of<cpu_tag>());
    CHECK(p->tables.regions[0].total_bytes <= 64 * 4);  // the results alone
  }
}

TEST_CASE("long reductions of 64-bit numbers stay in their scratch memory") {
  const std::int64_t rows = 4096, columns = 24;  // many parts of many columns, whose results are combined at the end
  for (const dtype d : {i64, f64}) {
    INFO(name(d));
    const array x = broadcast_to(reshape(iota(d, {columns}, 0), {1, columns}), {rows, columns});
    const array y = sum(x, {{0}}), z = sum(reshape(x, {rows * columns}));
    for (std::int64_t j = 0; j < columns; ++j) CHECK(astype(y, i64).data<std::int64_t>()[j] == rows * j);
    CHECK(astype(z, i64).item<std::int64_t>() == rows * columns * (columns - 1) / 2);
  }
}
