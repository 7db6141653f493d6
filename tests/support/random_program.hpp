// tests/support/random_program.hpp: programs of random ops, for properties that every program must have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/compiler/passes/lower.hpp>
#include <tokamax/compiler/passes/schedule.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/statistics.hpp>

#include "support/functions.hpp"

#include <random>

namespace tokamax::test {

/// A function of two arrays [4, 6] with `length` random ops, views and reductions among them. Operands are any earlier
/// values, and some of the values are results.
inline function random_program(unsigned seed, int length = 30) {
  return [=](const arrays& in) {
    std::mt19937 random(seed);
    auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    arrays pool = in, results;
    for (int i = 0; i < length; ++i) {
      const array a = pool[below(pool.count())], b = pool[below(pool.count())];
      array y;
      switch (below(11)) {
        case 0:
          y = a + b;
          break;
        case 1:
          y = a * b;
          break;
        case 2:
          y = tanh(a);
          break;
        case 3:
          y = select(a > b, a, -b);
          break;
        case 4:
          y = a - mean(b, {{1}, true});
          break;
        case 5:
          y = b * max(a, {{0}});
          break;
        case 6:
          y = transpose(reshape(a, {6, 4})) + b;
          break;
        case 7:
          y = pad(slice(a, {1, 0}, {4, 5}), sum(b) * 0.01f, {0, 1}, {1, 0});
          break;
        case 8:
          y = matmul(matmul(a, transpose(b)), a) * 0.1f;
          break;
        case 9:
          y = reshape(transpose(a), {4, 6});
          break;
        default:
          y = sin(broadcast_to(slice_in_dim(a, 2, 3, 0), {4, 6}));
          break;
      }
      pool.push_back(y);
      if (below(6) == 0) results.push_back(y);
    }
    results.push_back(pool[pool.count() - 1]);
    return results;
  };
}

/// The lowered graph of a function of two arrays [4, 6].
inline graph lowered_program(const function& f) {
  const array_type t{f32, false, {4, 6}};
  graph g;
  lower(g, trace(f, {t, t}), [](const op& o) { return o.kernels != nullptr; });
  return g;
}
inline plan planned_program(const graph& g) {
  constexpr std::int64_t symbols[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  return make_plan(
      g,
      [](const op& o) {
        return kernel_takes{&o == &dot_general_p || &o == &reduce_sum_p, o.reduction.combines != combiner::none};
      },
      symbols);
}

}  // namespace tokamax::test
