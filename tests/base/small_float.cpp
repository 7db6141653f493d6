// tests/base/small_float.cpp
#include <tokamax/base/small_float.hpp>

#include "support/catch.hpp"

#include <cmath>

using namespace tokamax;

static_assert(float16(1.0f).bits == 0x3c00 && float16(65504.0f).bits == 0x7bff && float16(65520.0f).bits == 0x7c00);
static_assert(float16(-0.0f).bits == 0x8000 && float16(0x1p-24f).bits == 1 && float16(0x1p-25f).bits == 0);
static_assert(float16(0x1.8p-25f).bits == 1 && float16(1.0009765625f).bits == 0x3c01);
static_assert(float8_e5m2(1.0f).bits == 0x3c && float8_e5m2(57344.0f).bits == 0x7b && float8_e5m2(1e9f).bits == 0x7c);
static_assert(float8_e4m3fn(448.0f).bits == 0x7e && float8_e4m3fn(464.0f).bits == 0x7e);
static_assert(float8_e4m3fn(465.0f).bits == 0x7f && float8_e4m3fn(-1e9f).bits == 0xff);

// Each pattern is given back by its value; between two neighbours the nearer one is taken, the even one in the middle.
template <class T>
void check_all() {
  for (unsigned b = 0; b <= T::ones; ++b) {
    const T x = T::from_bits(static_cast<typename T::storage>(b));
    if (std::isnan(float(x))) {
      CHECK(std::isnan(float(T(float(x)))));
      continue;
    }
    CHECK(T(float(x)).bits == b);
    CHECK(T(-float(x)).bits == (b | T::sign));
    if (b >= T::largest) continue;
    const float next = float(T::from_bits(static_cast<typename T::storage>(b + 1)));
    const float middle = (float(x) + next) / 2;
    CHECK(T(middle).bits == b + (b & 1));
    CHECK(T(std::nextafter(middle, 0.0f)).bits == b);
    CHECK(T(std::nextafter(middle, next)).bits == b + 1);
  }
}
TEST_CASE("every float of 8 and 16 bits comes back, and others are rounded to the nearest") {
  check_all<float16>();
  check_all<float8_e5m2>();
  check_all<float8_e4m3fn>();
}
