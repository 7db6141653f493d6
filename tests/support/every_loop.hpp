// tests/support/every_loop.hpp: a program with every elementwise op of a dtype, for what prints or compiles loops.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/tokamax.hpp>

#include "support/functions.hpp"

namespace tokamax::test {

struct elementwise_op {
  const op* kind;
  int operands;
};
inline const elementwise_op all_ops[] = {{&add_p, 2},
                                         {&sub_p, 2},
                                         {&mul_p, 2},
                                         {&div_p, 2},
                                         {&neg_p, 1},
                                         {&max_p, 2},
                                         {&min_p, 2},
                                         {&abs_p, 1},
                                         {&sign_p, 1},
                                         {&rem_p, 2},
                                         {&quotient_p, 2},
                                         {&exp_p, 1},
                                         {&expm1_p, 1},
                                         {&log_p, 1},
                                         {&log1p_p, 1},
                                         {&sqrt_p, 1},
                                         {&rsqrt_p, 1},
                                         {&tanh_p, 1},
                                         {&logistic_p, 1},
                                         {&sin_p, 1},
                                         {&cos_p, 1},
                                         {&erf_p, 1},
                                         {&floor_p, 1},
                                         {&ceil_p, 1},
                                         {&round_p, 1},
                                         {&pow_p, 2},
                                         {&fma_p, 3},
                                         {&erf_inv_p, 1},
                                         {&normal_cdf_p, 1},
                                         {&logaddexp_p, 2},
                                         {&relu_p, 1},
                                         {&gelu_p, 1},
                                         {&eq_p, 2},
                                         {&ne_p, 2},
                                         {&lt_p, 2},
                                         {&le_p, 2},
                                         {&gt_p, 2},
                                         {&ge_p, 2},
                                         {&logical_and_p, 2},
                                         {&logical_or_p, 2},
                                         {&logical_not_p, 1},
                                         {&bitwise_and_p, 2},
                                         {&bitwise_or_p, 2},
                                         {&bitwise_xor_p, 2},
                                         {&bitwise_not_p, 1},
                                         {&shift_left_p, 2},
                                         {&select_p, 3},
                                         {&shift_right_logical_p, 2},
                                         {&shift_right_arithmetic_p, 2}};

/// Every op that a dtype has, on operands that lie densely, transposed and repeated, that count, and that are constants.
/// Then conversions to the dtypes in `to`. With `kinds` < 4 an op has only so many of these kinds of second operands, and the
/// next op the next ones.
inline graph every_loop_of(dtype t, std::initializer_list<dtype> to = {bool_, i8, i32, u32, bf16, f32}, int kinds = 4,
                           shape s = {7, 9}) {
  return trace(
      [&](const arrays& in) {
        const array x = in[0], turned = transpose(in[1]), row = broadcast_to(in[2], s);
        const array counts = astype(iota(i32, s, 1), t);
        const array seconds[] = {turned, row, counts, array(3.0, {t, false, s})};
        arrays results;
        int next = 0;
        for (const auto& [kind, operands] : all_ops)
          for (int k = 0; k < kinds; ++k) {
            const array c = x == turned, second = seconds[next++ % 4];
            const arrays given = kind == &select_p ? arrays{c, x, second} : arrays{x, second, row};
            try {
              results.push_back(bind_all(*kind, given.data(), operands, {}, {})[0]);
            } catch (const error&) {  // not of this dtype
            }
          }
        for (dtype one : to) results.push_back(astype(x, one));
        return results;
      },
      {{t, false, s}, {t, false, {s[1], s[0]}}, {t, false, {1, s[1]}}});
}

}  // namespace tokamax::test
