// tests/backend/cpu/vector/simd.cpp: loads, stores, folds and bfloat16 against plain loops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/vector/narrow.hpp>
#include <tokamax/backend/cpu/vector/simd.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;

TEST_CASE("simd: partial loads pad and partial stores stop") {
  for (std::int64_t n = 0; n < cpu_backend::width; ++n) {
    std::vector<float> in(static_cast<std::size_t>(n));  // exact size: a sanitizer sees a read behind the end
    for (std::int64_t i = 0; i < n; ++i) in[static_cast<std::size_t>(i)] = 1.5f + static_cast<float>(i);
    const auto v = cpu_backend::load_partial(in.data(), n, -7.0f);
    float all[64];
    cpu_backend::store(all, v);
    for (std::int64_t i = 0; i < cpu_backend::width; ++i)
      CHECK(all[i] == (i < n ? 1.5f + static_cast<float>(i) : -7.0f));
    std::vector<float> out(static_cast<std::size_t>(cpu_backend::width), 9.0f);
    cpu_backend::store_partial(out.data(), v, n);
    for (std::int64_t i = 0; i < cpu_backend::width; ++i)
      CHECK(out[static_cast<std::size_t>(i)] == (i < n ? 1.5f + static_cast<float>(i) : 9.0f));
    const auto ints = cpu_backend::load_partial<cpu_backend::i32v>(reinterpret_cast<const std::int32_t*>(all), n, 3);
    std::int32_t kept[64];
    cpu_backend::store(kept, ints);
    for (std::int64_t i = n; i < cpu_backend::width; ++i) CHECK(kept[i] == 3);
  }
}

TEST_CASE("simd: numbers of 8 bits are widened, and stored by their low bits") {
  for (std::int64_t n = 1; n <= cpu_backend::width; ++n) {
    std::vector<std::int8_t> in(static_cast<std::size_t>(n)), out(64, 9);  // exact size, for a sanitizer
    for (std::int64_t i = 0; i < n; ++i) in[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i * 37 - 128);
    const auto v = cpu_backend::load_int8(in.data(), n);
    std::int32_t wide[64];
    cpu_backend::store(wide, v);
    for (std::int64_t i = 0; i < cpu_backend::width; ++i)
      CHECK(wide[i] == (i < n ? in[static_cast<std::size_t>(i)] : 0));
    cpu_backend::store_int8(out.data(), v + cpu_backend::i32v(256), n);
    for (std::size_t i = 0; i < 64; ++i) CHECK(out[i] == (i < static_cast<std::size_t>(n) ? in[i] : 9));
  }
}

TEST_CASE("simd: an unqualified store needs no alignment") {
  using namespace tokamax::cpu_backend;
  float all[65] = {};
  store(all + 1, f32v(2.0f));
  CHECK(all[0] == 0.0f);
  CHECK(all[1] == 2.0f);
}

TEST_CASE("simd: streamed vectors arrive") {
  alignas(64) float all[2 * cpu_backend::width] = {};
  cpu_backend::stream(all + cpu_backend::width, cpu_backend::f32v(2.0f));
  cpu_backend::finish_streams();
  for (std::int64_t i = 0; i < 2 * cpu_backend::width; ++i) CHECK(all[i] == (i < cpu_backend::width ? 0.0f : 2.0f));
}

TEST_CASE("simd: tanh_rational") {
  const auto at = [](float x) {
    float y[64];
    cpu_backend::store(y, cpu_backend::tanh_rational(cpu_backend::f32v(x)));
    return y[0];
  };
  double most = 0;
  for (int i = 1; i < 400000; ++i) {
    const float x = std::exp2(-30.0f + 34.0f * static_cast<float>(i) / 400000.0f);
    const double exact = std::tanh(static_cast<double>(x));
    most = std::max(most, std::fabs(static_cast<double>(at(x)) - exact) / exact);
    if (at(-x) != -at(x)) FAIL("not odd at " << x);
  }
  CHECK(most < 4.0 * 1.2e-7);
  CHECK(at(0.0f) == 0.0f);
  CHECK(std::signbit(at(-0.0f)));
  CHECK(at(1e-40f) == 1e-40f);
#if defined(__x86_64__)
  CHECK(at(INFINITY) == 1.0f);
  CHECK(at(-1e30f) == -1.0f);
#else  // where xsimd divides in steps
  CHECK(at(INFINITY) == Approx(1.0f).epsilon(3e-7));
  CHECK(at(-1e30f) == Approx(-1.0f).epsilon(3e-7));
#endif
  CHECK(std::isnan(at(NAN)));
}

TEST_CASE("simd: exp_bounded") {
  const auto at = [](float x) {
    float y[64];
    cpu_backend::store(y, cpu_backend::exp_bounded(cpu_backend::f32v(x)));
    return y[0];
  };
  for (int i = 0; i < 400000; ++i) {
    const float x = 88.0f - 175.2f * static_cast<float>(i) / 400000.0f;
    const double wide = static_cast<double>(x), exact = std::exp(wide);
    const double error = std::fabs(static_cast<double>(at(x)) - exact) / exact;
    if (error > 2.0 * 1.2e-7) FAIL("exp of " << x << ": error " << error);
  }
  CHECK(at(0.0f) == 1.0f);
  CHECK(at(-0.0f) == 1.0f);
  CHECK(at(-1e-40f) == 1.0f);
  CHECK(at(-87.5f) == Approx(0.0).margin(1.2e-38));  // no normal number
  for (const float x : {-88.1f, -89.0f, -1e4f, -3.4e38f}) CHECK(at(x) == 0.0f);
  CHECK(at(-INFINITY) == 0.0f);
  CHECK(at(-1e30f) == 0.0f);
  CHECK(std::isnan(at(NAN)));
}

TEST_CASE("simd: folds, masks, select, gather") {
  float x[64];
  for (int i = 0; i < 64; ++i) x[i] = static_cast<float>((i * 37) % 64);
  const auto v = cpu_backend::load(x);
  float sum = 0;
  float highest = x[0];
  float lowest = x[0];
  for (std::int64_t i = 0; i < cpu_backend::width; ++i) {
    sum += x[i];
    highest = x[i] > highest ? x[i] : highest;
    lowest = x[i] < lowest ? x[i] : lowest;
  }
  CHECK(cpu_backend::reduce_add(v) == sum);
  CHECK(cpu_backend::reduce_max(v) == highest);
  CHECK(cpu_backend::reduce_min(v) == lowest);

  const cpu_backend::mask even =
      cpu_backend::to_mask((cpu_backend::iota() & cpu_backend::i32v(1)) == cpu_backend::i32v(0));
  float picked[64];
  cpu_backend::store(picked, cpu_backend::select(even, v, cpu_backend::f32v(-1.0f)));
  std::int32_t bits[64];
  cpu_backend::store(bits, cpu_backend::select_bits(even, cpu_backend::iota(), cpu_backend::i32v(-5)));
  float gathered[64];
  cpu_backend::store(gathered, cpu_backend::gather(x, cpu_backend::iota() * cpu_backend::i32v(3)));
  for (std::int64_t i = 0; i < cpu_backend::width; ++i) {
    CHECK(picked[i] == (i % 2 == 0 ? x[i] : -1.0f));
    CHECK(bits[i] == (i % 2 == 0 ? i : -5));
    CHECK(gathered[i] == x[3 * i]);
  }
  CHECK(cpu_backend::select(true, 1.0f, 2.0f) == 1.0f);
}

TEST_CASE("simd: bfloat16 rounds to nearest even") {
  const auto expected = [](float f) {
    std::uint32_t u;
    std::memcpy(&u, &f, 4);
    if (std::isnan(f)) return static_cast<std::uint16_t>(((u >> 16) & 0x8000u) | 0x7fc0u);
    const std::uint32_t low = u & 0xffffu;
    std::uint32_t high = u >> 16;
    if (low > 0x8000u || (low == 0x8000u && (high & 1u) != 0)) ++high;
    return static_cast<std::uint16_t>(high);
  };
  std::uint32_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    float x[64];
    std::uint16_t half[64];
    for (std::int64_t i = 0; i < cpu_backend::width; ++i) {
      state = state * 1664525u + 1013904223u;
      std::uint32_t u = state;
      if (round % 3 == 0) u = (u & 0xffff0000u) | 0x8000u;  // ties
      std::memcpy(&x[i], &u, 4);
    }
    cpu_backend::store_bfloat16(half, cpu_backend::load(x));
    float back[64];
    cpu_backend::store(back, cpu_backend::load_bfloat16(half));
    for (std::int64_t i = 0; i < cpu_backend::width; ++i) {
      REQUIRE(half[i] == expected(x[i]));
      std::uint32_t u;
      std::memcpy(&u, &back[i], 4);
      REQUIRE(u == static_cast<std::uint32_t>(half[i]) << 16);
    }
  }
  const float special[4] = {INFINITY, -INFINITY, NAN, 3.4028234e38f};
  std::uint16_t half[4] = {};
  const std::int64_t n = cpu_backend::width < 4 ? cpu_backend::width : 4;
  if (n < cpu_backend::width) {
    cpu_backend::store_bfloat16_partial(half, cpu_backend::load_partial(special, n), n);
  } else {
    cpu_backend::store_bfloat16(half, cpu_backend::load(special));
  }
  for (std::int64_t i = 0; i < n; ++i) CHECK(half[i] == expected(special[i]));
}
