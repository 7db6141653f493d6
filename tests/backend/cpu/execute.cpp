// tests/backend/cpu/execute.cpp: every kernel on values, extents and layouts that are easy to get wrong.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/execute.hpp>

#include "support/adversarial.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <limits>

using namespace tokamax;
using namespace tokamax::test;

namespace {

function calls(const op& o) {
  return [&o](const arrays& x) { return bind_all(o, x.data(), x.count(), words{}, location{}); };
}
template <class T>
array repeated(const std::vector<T>& v, std::int64_t n, std::int64_t stretch = 1) {
  array a = array::uninitialized({dtype_of<T>, false, {n}});
  for (std::int64_t i = 0; i < n; ++i) a.data<T>()[i] = v[static_cast<std::size_t>(i / stretch) % v.size()];
  return a;
}
/// All pairs of these numbers, in an odd number of elements that takes several threads.
template <class T>
std::vector<array> pairs(const std::vector<T>& v, std::int64_t n = 40009) {
  return {repeated(v, n), repeated(v, n, static_cast<std::int64_t>(v.size()))};
}
const std::vector<std::int32_t> integers{
    0, 1, -1, 2, -2, 7, 31, 32, 33, 46341, -46341, 0x7fffffff, -0x7fffffff - 1, 1 << 24};
constexpr double smallest = std::numeric_limits<float>::min();

}  // namespace

TEST_CASE("elementwise ops that IEEE 754 defines have its bits everywhere") {
  const std::vector<array> two = pairs(special_floats()), one{two[0]};
  for (const op* o : {&neg_p, &abs_p, &sqrt_p, &floor_p, &ceil_p, &round_p, &sign_p}) {
    INFO(std::string(o->name));
    check_adversarial(calls(*o), one);
    check_adversarial(calls(*o), {astype(one[0], bf16)});
  }
  for (const op* o :
       {&add_p, &sub_p, &mul_p, &div_p, &max_p, &min_p, &eq_p, &ne_p, &lt_p, &le_p, &gt_p, &ge_p, &rem_p}) {
    INFO(std::string(o->name));
    check_adversarial(calls(*o), two);
    check_adversarial(calls(*o), {astype(two[0], bf16), astype(two[1], bf16)});
  }
  check_adversarial([](const arrays& x) -> arrays { return {select(x[0] < x[1], x[0], x[1])}; }, two);
}

TEST_CASE("elementary functions are near the real ones everywhere") {
  const std::vector<array> two = pairs(special_floats()), one{two[0]};
  for (const op* o : {&exp_p, &expm1_p, &log_p, &log1p_p, &rsqrt_p, &tanh_p, &logistic_p, &sin_p, &cos_p, &erf_p}) {
    INFO(std::string(o->name));
    check_adversarial(calls(*o), one, {.tolerance = 1e-6, .floor = smallest * 1e6});
    check_adversarial(calls(*o), {astype(one[0], bf16)}, {.tolerance = 4e-3, .floor = smallest * 1e3});
  }
  check_adversarial(calls(logaddexp_p), two, {.tolerance = 1e-6, .floor = smallest * 1e6});
  std::vector<float> normal;  // a denormal base may count as zero
  for (const float x : special_floats())
    if (x == 0 || !(std::fabs(x) < smallest)) normal.push_back(x);
  for (const float x : {2.0f, 3.0f, -3.0f, 0.1f}) normal.push_back(x);
  INFO("pow");
  check_adversarial(calls(pow_p), pairs(normal), {.tolerance = 1e-5, .floor = smallest * 1e6});
  check_adversarial(calls(erf_inv_p), {repeated<float>({0, -0.0f, 1, -1, 0.5f, -0.999999f, 1e-30f, 0.97f}, 1009)},
                    {.tolerance = 4e-6, .floor = smallest * 1e6});
}

TEST_CASE("integers wrap, shift and divide as documented") {
  const std::vector<array> two = pairs(integers), one{two[0]};
  for (const op* o : {&neg_p, &abs_p, &sign_p, &bitwise_not_p}) {
    INFO(std::string(o->name));
    check_adversarial(calls(*o), one);
  }
  for (const op* o :
       {&add_p, &sub_p, &mul_p, &max_p, &min_p, &eq_p, &ne_p, &lt_p, &le_p, &gt_p, &ge_p, &rem_p, &quotient_p,
        &bitwise_and_p, &bitwise_or_p, &bitwise_xor_p, &shift_left_p, &shift_right_arithmetic_p}) {
    INFO(std::string(o->name));
    check_adversarial(calls(*o), two);
  }
  const std::vector<array> bits{astype(two[0], u32), astype(two[1], u32)};
  for (const op* o : {&add_p, &sub_p, &mul_p, &max_p, &min_p, &lt_p, &ge_p, &rem_p, &quotient_p, &bitwise_and_p,
                      &shift_left_p, &shift_right_logical_p}) {
    INFO(std::string(o->name));
    check_adversarial(calls(*o), bits);
  }
  const std::vector<array> truths{astype(two[0] > 0, bool_), two[1] > 1};
  for (const op* o : {&logical_and_p, &logical_or_p}) check_adversarial(calls(*o), truths);
  check_adversarial(calls(logical_not_p), {truths[0]});
}

TEST_CASE("conversions round, truncate and end where the dtype does") {
  const array x = repeated(special_floats(), 40009), i = repeated(integers, 40009);
  const auto to = [](dtype t) { return [t](const arrays& v) -> arrays { return {astype(v[0], t)}; }; };
  for (const dtype t : {bf16, bool_}) check_adversarial(to(t), {x});
  for (const dtype t : {f32, bf16, u32, bool_}) check_adversarial(to(t), {i});
  for (const dtype t : {f32, bf16, i32, bool_}) check_adversarial(to(t), {astype(i, u32)});
  const std::vector<float> from{-3e9f, -2.9f, -0.0f, 1e-40f, 2.9f, 2147483648.f, 4e9f, 5e9f, INFINITY, -INFINITY, NAN};
  constexpr std::int64_t low = -2147483648LL, high = 2147483647, top = 4294967295LL;
  const std::int64_t as_signed[] = {low, -2, 0, 0, 2, high, high, high, high, low, 0},
                     as_unsigned[] = {0, 0, 0, 0, 2, 2147483648LL, 4000000000LL, top, top, 0, 0};
  const array f = array::from<float>(std::span<const float>(from), {static_cast<std::int64_t>(from.size())});
  for (std::size_t k = 0; k < from.size(); ++k) {
    CAPTURE(from[k]);
    CHECK(astype(f, i32).data<std::int32_t>()[k] == as_signed[k]);
    CHECK(astype(f, u32).data<std::uint32_t>()[k] == as_unsigned[k]);
  }
}

TEST_CASE("kernels on rows with special values, and on odd and empty extents") {
  const adversarial_options near{.tolerance = 3e-6, .floor = 1};
  const auto along = [](int axis, array (*f)(const array&, reduce_options, source_line)) {
    return [=](const arrays& x) -> arrays { return {f(x[0], {{axis}}, source_line::current())}; };
  };
  for (const shape& s : {shape{83, 37}, {5, 1, 13}, {1009}, {0, 5}, {5, 0}, {3, 20011}})
    for (int axis = 0; axis < s.rank(); ++axis) {
      CAPTURE(axis);
      const std::vector<array> x{sprinkled(s, 3)};
      check_adversarial(along(axis, sum), x, near);
      check_adversarial(along(axis, sum), {sprinkled(s, 5, bf16)}, {.tolerance = 8e-3, .floor = 1});
      if (s[axis] == 0) continue;
      check_adversarial(along(axis, max), x);
      check_adversarial(along(axis, min), x);
      check_adversarial([=](const arrays& v) -> arrays { return {argmax(v[0], axis), argmin(v[0], axis)}; }, x);
      check_adversarial([=](const arrays& v) -> arrays { return {any(v[0] > 0, {{axis}}), all(v[0] < 1, {{axis}})}; },
                        x);
    }
  const array rows = sprinkled({83, 37}, 1);
  check_adversarial([](const arrays& x) -> arrays { return {pad(x[0], x[1], {1, -2}, {3, 1}, {0, 2})}; },
                    {rows, array::from<float>({-0.0f}, {})}, {.views = false});
  for (const shape& s : {shape{83, 37}, {7, 0}, {53, 1}}) {
    const std::vector<array> table{sprinkled(s, 1), array::from<std::int32_t>({0, 6, -1, 99, 3, 5, 5, 2, 6, 1, 0})};
    check_adversarial([](const arrays& x) -> arrays { return {gather(x[0], x[1])}; }, table);
  }
  check_adversarial([](const arrays& x) -> arrays { return {scatter_add(x[0], x[1], 7)}; },
                    {array::from<std::int32_t>({0, 6, -1, 99, 3, 5, 5}), sprinkled({7, 37}, 13)}, near);
}

TEST_CASE("products, softmax and normalisations carry special values where sums do") {
  const adversarial_options near{.tolerance = 5e-6, .floor = 1};
  const auto product = [](const arrays& x) -> arrays { return {matmul(x[0], x[1])}; };
  struct {
    shape a, b;
  } const sizes[] = {{{83, 37}, {37, 29}}, {{1, 101}, {101, 1}}, {{53, 1}, {1, 67}},
                     {{0, 5}, {5, 3}},     {{5, 0}, {0, 3}},     {{131, 257}, {257, 61}}};
  for (const auto& s : sizes) {
    check_adversarial(product, {sprinkled(s.a, 3), noise(s.b, 4)}, near);
    check_adversarial(product, {noise(s.a, 4), sprinkled(s.b, 3)}, near);
  }
  for (const shape& s : {shape{83, 37}, {83, 1}, {83, 131}, {0, 7}}) {
    const array x = sprinkled(s, 3, f32, false), ct = noise(s, 4), one = noise({s[1]}, 5), two = noise({s[1]}, 6);
    INFO("softmax");
    check_adversarial([](const arrays& v) -> arrays { return {softmax(v[0])}; }, {sprinkled(s, 3)}, near);
    check_adversarial([](const arrays& v) -> arrays { return {softmax_vjp(v[0], v[1])}; }, {x, ct}, near);
    INFO("layer_norm");
    check_adversarial([](const arrays& v) -> arrays { return {layer_norm(v[0], v[1], v[2])}; }, {x, one, two},
                      {.tolerance = 2e-5, .floor = 1});
    INFO("rms_norm");
    check_adversarial([](const arrays& v) -> arrays { return {rms_norm(v[0], v[1])}; }, {x, one},
                      {.tolerance = 2e-5, .floor = 1});
    INFO("cross_entropy");
    array labels = array::uninitialized({i32, false, {s[0]}});
    for (std::int64_t i = 0; i < s[0]; ++i) labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 5 % s[1]);
    check_adversarial([](const arrays& v) -> arrays { return {softmax_cross_entropy(v[0], v[1])}; }, {x, labels}, near);
  }
}

TEST_CASE("attention carries special values where its sums do") {
  const shape s{2, 37, 3, 16};
  const auto f = [](const arrays& x) -> arrays { return attention(x[0], x[1], x[2], {}); };
  for (const std::size_t which : {0u, 1u, 2u}) {
    CAPTURE(which);
    std::vector<array> in{noise(s, 1), noise(s, 2), noise(s, 3)};
    in[which] = sprinkled(s, 0, f32, false);
    check_adversarial(f, in, {.tolerance = 1e-5, .floor = 1});
  }
}
