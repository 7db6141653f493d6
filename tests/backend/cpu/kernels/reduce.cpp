// tests/backend/cpu/kernels/reduce.cpp: reductions of every layout, whose trees do not depend on the threads.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/kernels/reduce.hpp>

#include "support/threads.hpp"

#include <cmath>
#include <limits>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("sums of every layout") {
  const struct {
    shape s;
    axes a;
  } cases[] = {{{7, 33}, {1}},
               {{7, 33}, {0}},
               {{7, 33}, {0, 1}},
               {{5, 3, 17, 4}, {1, 3}},
               {{5, 3, 17, 4}, {0, 2}},
               {{1000, 3}, {0}},
               {{1000, 3}, {1}},
               {{3, 40000}, {1}},
               {{70000}, {0}},
               {{9, 1, 5}, {2}},
               {{8, 1}, {1}},
               {{600, 2500}, {0}},
               {{3, 700, 9, 5}, {1, 2}},
               {{3, 700, 9, 50}, {1, 3}},
               {{2, 40000, 3}, {0, 2}},
               {{0, 4}, {0}},
               {{2, 3, 4}, {0, 1}}};
  for (const auto& c : cases)
    for (dtype t : {f32, bf16, i32}) {
      CAPTURE(c.s[0], c.s.rank(), static_cast<int>(t));
      array x = noise(c.s, 1, t == i32 ? f32 : t);
      if (t == i32) x = astype(x * 100.0f, i32);
      const double tolerance = t == bf16 ? 2e-6 : 2e-5;
      check_threads([&](const arrays& a) -> arrays { return reduce_sum(a[0], c.a); }, {x}, tolerance);
      if (size(c.s) == 0) continue;
      check_threads([&](const arrays& a) -> arrays { return {max(a[0], {.axis = c.a}), min(a[0], {.axis = c.a})}; },
                    {x});
    }
}

TEST_CASE("a sum of many equal values keeps its digits") {
  const array x = astype(zeros({1 << 20}) + 0.1f, f32);
  CHECK(std::fabs(sum(x).item() / (0.1f * (1 << 20)) - 1) < 1e-6);
  CHECK(std::fabs(sum(broadcast_to(reshape(x, {1 << 20, 1}), {1 << 20, 3}), {.axis = {0}}).values<float>()[1] /
                      (0.1f * (1 << 20)) -
                  1) < 1e-5);
}

TEST_CASE("NaN reaches the result from any place") {
  for (int n : {1, 7, 8, 9, 100})
    for (int at : {0, n / 2, n - 1}) {
      array x = array::uninitialized({f32, false, {n}});
      std::fill_n(x.mutable_data<float>(), n, 1.0f);
      x.mutable_data<float>()[at] = std::numeric_limits<float>::quiet_NaN();
      CHECK(std::isnan(max(x).item()));
      CHECK(std::isnan(min(x).item()));
      CHECK(std::isnan(max(reshape(x, {n, 1}), {.axis = {0}}).item()));
      CHECK(argmax(x).item<int>() == at);
      CHECK(argmin(x).item<int>() == at);
    }
}

TEST_CASE("all and any look at each truth value") {
  for (int n : {1, 7, 8, 9, 100})
    for (int at : {0, n / 2, n - 1}) {
      array x = array::uninitialized({bool_, false, {n}}), y = array::uninitialized({bool_, false, {n}});
      std::fill_n(x.mutable_data<bool>(), n, true);
      std::fill_n(y.mutable_data<bool>(), n, false);
      CHECK(all(x).item<bool>());
      CHECK_FALSE(any(y).item<bool>());
      x.mutable_data<bool>()[at] = false;
      y.mutable_data<bool>()[at] = true;
      CHECK_FALSE(all(x).item<bool>());
      CHECK(any(y).item<bool>());
    }
}
