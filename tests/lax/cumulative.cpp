// tests/lax/cumulative.cpp: running sums.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/cumulative.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
const bool known = (reference_rules()[&cumsum_p] = [](const asked& a) -> values {
  const auto o = a.attrs<cumulative_options>();
  value out = zeros_of(a.n.type);
  for_each_place(a.n.type.shape, [&](shape at, std::size_t i) {
    if (at[o.axis] != 0) return;
    double sum = 0;
    for (std::int64_t n = a.n.type.shape[o.axis], k = 0; k < n; ++k) {
      at[o.axis] = o.reverse ? n - 1 - k : k;
      i = place(a.n.type.shape, at);
      out.data[i] = sum = wrap(sum + a.in[0].data[i], a.n.type.dtype);
    }
  });
  return {out};
}, true);
}  // namespace

TEST_CASE("cumsum keeps the contract") {
  check_op(cumsum_p, {{{noise({2, 3, 4}, 1)}, pack(cumulative_options{1, false})},
                      {{noise({7}, 1)}, pack(cumulative_options{0, true})},
                      {{noise({3, 5}, 1, bf16)}, pack(cumulative_options{0, false})},
                      {{noise({6, 9}, 1)}, pack(cumulative_options{1, true})},
                      {{noise({3, 0}, 1)}, pack(cumulative_options{1, false})}});
}

TEST_CASE("a long line of integers is added up in chunks, and wraps") {
  const array x = astype(noise({100003}, 2) * 2e9f, i32);
  for (const bool reverse : {false, true}) {
    const array y = cumsum(x, 0, reverse);
    std::uint32_t sum = 0;
    bool equal = true;
    for (std::size_t i = 0; i < 100003; ++i) {
      const std::size_t at = reverse ? 100002 - i : i;
      sum += static_cast<std::uint32_t>(x.values<std::int32_t>()[at]);
      equal = equal && y.values<std::int32_t>()[at] == static_cast<std::int32_t>(sum);
    }
    CHECK(equal);
  }
}

TEST_CASE("running sums of i8 wrap") {
  check_golden("cumsum_i8", [](const arrays& x) -> arrays { return cumsum(x[0], 1); });
}

TEST_CASE("truth values are counted") {
  const array c = cumsum(array::from<bool>({true, false, true, true}));
  CHECK(c.type() == array_type{i32, false, {4}});
  CHECK(c.values<std::int32_t>()[3] == 3);
  CHECK_THROWS_WITH(cumsum(zeros({2}), 1), contains("cumsum: axis"));
}

TEST_CASE("special values reach the sums after them") {
  for (const shape& s : {shape{83, 37}, {0, 5}, {5, 0}, {20011, 3}})
    for (const int axis : {0, 1})
      for (const dtype t : {i8, i32, u32, bf16, f32})
        check_adversarial([=](const arrays& x) -> arrays { return {cumsum(x[0], axis), cumsum(x[0], axis, true)}; },
                          {adversarial(s, 3, t)},
                          {.tolerance = t == bf16  ? 8e-3
                                        : t == f32 ? 1e-5
                                                   : 0,
                           .floor = 100});
}

TEST_CASE("running sums of a million numbers stay within a unit of the last place") {
  const array x = noise({1000003}, 5) + 1.0f;
  const array forward = cumsum(x), backward = cumsum(x, 0, true);
  const auto v = x.values<float>();
  double sum = 0, wrong = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    sum += static_cast<double>(v[i]);
    wrong = std::fmax(wrong, std::fabs(static_cast<double>(forward.values<float>()[i]) - sum) / sum);
  }
  CHECK(wrong < 0x1p-23);
  CHECK(static_cast<double>(backward.values<float>()[0]) == Approx(sum).epsilon(1e-7));
}
