// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/bfloat16.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <concepts>

using tokamax::bfloat16;
using limits = std::numeric_limits<bfloat16>;

namespace {

constexpr float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

static_assert(bfloat16(1.0f).bits == 0x3f80 && float(bfloat16(-2.5f)) == -2.5f && bfloat16(3) == 3.0f);
static_assert(bfloat16(from_bits(0x3f808000)).bits == 0x3f80, "a tie goes to the even fraction: down");
static_assert(bfloat16(from_bits(0x3f818000)).bits == 0x3f82, "a tie goes to the even fraction: up");
static_assert(bfloat16(from_bits(0x3f808001)).bits == 0x3f81);
static_assert(bfloat16(from_bits(0x3f807fff)).bits == 0x3f80);
static_assert(bfloat16(from_bits(0x7f7fffff)).bits == 0x7f80, "above the largest value it rounds to infinity");
static_assert(bfloat16(from_bits(0x00000001)).bits == 0 && bfloat16(-0.0f).bits == 0x8000);
static_assert(bfloat16(from_bits(0x7f800001)).bits == 0x7fc0 && bfloat16(from_bits(0xff800001)).bits == 0xffc0);

static_assert(bfloat16(1.0f) + bfloat16(from_bits(0x3b800000)) == 1.0f, "1 + 2^-8 is a tie");
static_assert(bfloat16(3.0f) * bfloat16(0.5f) - bfloat16(1.0f) == 0.5f && bfloat16(1.0f) / bfloat16(4.0f) == 0.25f);
static_assert((-bfloat16(0.0f)).bits == 0x8000 && +bfloat16(2.0f) == 2.0f);
static_assert(bfloat16(1.0f) < bfloat16(2.0f) && bfloat16(0.0f) == bfloat16(-0.0f));
static_assert(limits::quiet_NaN() != limits::quiet_NaN());

static_assert(std::same_as<decltype(bfloat16() + bfloat16()), bfloat16>);
static_assert(std::same_as<decltype(bfloat16() + 1.0f), float> && std::same_as<decltype(2.0 * bfloat16()), double>);
static_assert(std::is_convertible_v<bfloat16, float> && !std::is_convertible_v<float, bfloat16>);

static_assert(limits::max() == 0x1.fep127f && limits::lowest() == -0x1.fep127f && limits::min() == 0x1p-126f);
static_assert(limits::epsilon() == 0x1p-7f && limits::denorm_min() == 0x1p-133f && limits::round_error() == 0.5f);
static_assert(float(limits::infinity()) == std::numeric_limits<float>::infinity());

constexpr bfloat16 accumulate() {
  bfloat16 x(1.0f);
  x += bfloat16(2.0f);
  x *= bfloat16(4.0f);
  x -= bfloat16(2.0f);
  x /= bfloat16(5.0f);
  return x;
}
static_assert(accumulate() == 2.0f);

}  // namespace

TEST_CASE("every bfloat16 survives the way through float") {
  int changed = 0;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto x = bfloat16::from_bits(static_cast<std::uint16_t>(bits));
    const auto back = bfloat16(float(x));
    if (std::isnan(float(x)) ? back.bits != (x.bits | 0x40) : back.bits != x.bits) ++changed;
  }
  CHECK(changed == 0);
}

TEST_CASE("rounding picks the nearest neighbour") {
  int wrong = 0;
  for (std::uint32_t high = 0x3f00; high < 0x4100; ++high) {
    for (std::uint32_t low = 0; low <= 0xffff; low += 257) {
      const float value = from_bits(high << 16 | low);
      const float below = from_bits(high << 16), above = from_bits((high + 1) << 16);
      const float rounded = bfloat16(value);
      if (std::fabs(value - rounded) > std::fmin(value - below, above - value)) ++wrong;
    }
  }
  CHECK(wrong == 0);
}
