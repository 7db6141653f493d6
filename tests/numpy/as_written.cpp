// tests/numpy/as_written.cpp: operators, axes and indices as fingers write them, in every kind of program.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

#include <cstring>

namespace tk = tokamax;
using tk::array;

namespace {

struct inputs {
  tk::tensor<tk::f32, 2, 3> x;
  tk::tensor<tk::i32, 4> i;
  tk::tensor<tk::u8, 4> u;
};
constexpr std::size_t count = 32;
using results = std::array<array, count>;

constexpr auto written = [](const inputs& in) {
  const array &x = in.x, &i = in.i, &u = in.u;
  array z = i;
  z &= 6, z |= 1, z ^= 2, z %= 5, z <<= 2, z >>= 1;
  return results{i & 3,
                 i | 8,
                 i ^ 5,
                 ~i,
                 !(i > 2),
                 i % 3,
                 -7 % (i + 9),
                 i << 2,
                 i >> 1,
                 u >> 1,
                 z,
                 (x > 0) & (x < 1),
                 (x > 0) | (x < -1),
                 !x,
                 1.5f % (x + 9.0f),
                 x[tk::clip(i, 0, 1)],
                 tk::sum(x, 0),
                 tk::sum(x, {0, 1}),
                 tk::sum(x, {0}),
                 tk::sum(x, {}),
                 tk::max(x, -1),
                 tk::min(x, {.axis = 0, .keepdims = true}),
                 tk::mean(x, 1),
                 tk::var(x, {.axis = 1, .ddof = 1}),
                 tk::std_(x, 0),
                 tk::prod(x, {-1}),
                 tk::all(x, 0),
                 tk::flip(x, 1),
                 tk::flip(x, {0, 1}),
                 tk::logsumexp(x, 1),
                 tk::median(x, 0),
                 tk::nanmax(x, {1})};
};
constexpr auto meant = [](const inputs& in) {
  const array &x = in.x, &i = in.i, &u = in.u;
  const array z = tk::bitwise_xor(tk::bitwise_or(tk::bitwise_and(i, 6), 1), 2);
  const tk::reduce_options first{.axis = {0}}, last{.axis = {-1}}, none{};
  return results{tk::bitwise_and(i, 3),
                 tk::bitwise_or(i, 8),
                 tk::bitwise_xor(i, 5),
                 tk::bitwise_not(i),
                 tk::logical_not(i > 2),
                 tk::remainder(i, 3),
                 tk::remainder(-7, i + 9),
                 tk::left_shift(i, 2),
                 tk::right_shift(i, 1),
                 tk::right_shift(u, 1),
                 tk::right_shift(tk::left_shift(tk::remainder(z, 5), 2), 1),
                 tk::logical_and(x > 0, x < 1),
                 tk::logical_or(x > 0, x < -1),
                 tk::logical_not(x),
                 tk::remainder(1.5f, x + 9.0f),
                 x(tk::clip(i, 0, 1)),
                 tk::sum(x, first),
                 tk::sum(x, none),
                 tk::sum(x, first),
                 tk::sum(x),
                 tk::max(x, last),
                 tk::min(x, {.axis = {0}, .keepdims = true}),
                 tk::mean(x, last),
                 tk::var(x, {.axis = {1}, .ddof = 1}),
                 tk::std_(x, {.axis = {0}}),
                 tk::prod(x, last),
                 tk::all(x, first),
                 tk::flip(x, tk::axes{1}),
                 tk::flip(x),
                 tk::logsumexp(x, last),
                 tk::median(x, first),
                 tk::nanmax(x, last)};
};

bool same(const array& a, const array& b) {
  return a.type() == b.type() &&
         std::memcmp(a.bytes(), b.bytes(), static_cast<std::size_t>(a.size() * size_of(a.dtype()))) == 0;
}

TEST_CASE("what is written is what is meant, while compiling, traced and eagerly") {
  const inputs in{array::from<float>({0.5f, -2, 3, 0, 0.25f, -1}, {2, 3}), array::from<std::int32_t>({-3, 1, 4, -8}),
                  array::from<std::uint8_t>({200, 7, 0, 255})};
  const results expected = meant(in), eager = written(in), traced = tk::jit(written, tk::cpu, tk::at_run_time)(in),
                compiled = tk::jit(written, tk::cpu, tk::while_compiling)(in);
  for (std::size_t k = 0; k < count; ++k) {
    INFO("result " << k);
    CHECK(same(eager[k], expected[k]));
    CHECK(same(traced[k], expected[k]));
    CHECK(same(compiled[k], expected[k]));
  }
}

TEST_CASE("masks and indices of no elements stand between brackets, too") {
  const array x = array::from<float>({1, 2, 3});
  CHECK(x[x > 1].size() == 2);
  CHECK(x[array::from(std::vector<int>{})].shape() == tk::shape{0});
  CHECK_THROWS(x[array::from<float>({1})]);
}

}  // namespace
