// tests/base/element.cpp
#include <tokamax/base/element.hpp>
#include <tokamax/base/modular.hpp>

#include "support/catch.hpp"

#include <limits>

using namespace tokamax;

static_assert(size_of(bool_) == 1 && size_of(i8) == 1 && size_of(bf16) == 2 && size_of(f32) == 4);
static_assert(name(i32) == "i32" && info(bool_).stablehlo == "i1" && info(i8).stablehlo == "i8");
static_assert(is_floating(bf16) && !is_floating(u32) && is_integer(u32) && is_integer(i8) && !is_integer(bool_));
static_assert(dtype_of<float> == f32 && dtype_of<bfloat16> == bf16 && dtype_of<bool> == bool_ &&
              dtype_of<std::int8_t> == i8 && dtype_of<char> == dtype::none);
static_assert(lowest_of(i8) == -128 && highest_of(i8) == 127);
static_assert(lowest_of(i32) == -2147483648.0 && highest_of(i32) == 2147483647.0);
static_assert(lowest_of(u32) == 0 && highest_of(u32) == 4294967295.0);
constexpr double rounded(auto v, dtype t) { return as_double(kept(v, t), t); }
static_assert(rounded(std::int64_t{300}, i8) == 44 && rounded(std::int64_t{-129}, i8) == 127);
static_assert(rounded(std::int64_t{300}, i32) == 300 && rounded(std::int64_t{7}, bool_) == 1);
static_assert(rounded(std::int64_t{1} << 31, i32) == -2147483648.0 && rounded(std::int64_t{-1}, u32) == 4294967295.0);
static_assert(rounded(0.1, f32) == 0.1f && rounded(1.001, bf16) == 1 && rounded(0.5, bool_) == 1);
static_assert(rounded(-2.7, i32) == -2 && rounded(-1.0, u32) == 4294967295.0);
static_assert(rounded(3e9, i32) == -1294967296 && rounded(1e30, i32) == 2147483647);
static_assert(rounded(-1e30, u32) == 0 && rounded(std::numeric_limits<double>::quiet_NaN(), i8) == 0);

// Elements as bits.
static_assert(element_bits::of(1.0f).value == 0x3f800000 && element_bits::of(bfloat16(1.0f)).value == 0x3f80);
static_assert(element_bits::of(std::int8_t{-1}).as<std::int8_t>() == -1 && element_bits::of(true).as<bool>());
static_assert(converted(element_bits::of(-1), i32, u32).as<std::uint32_t>() == 0xffffffffu);
static_assert(converted(element_bits::of(3e9f), f32, i32).as<std::int32_t>() == 2147483647);

// Integers wrap around, also while compiling.
using word = modular<std::int64_t>;
constexpr std::int64_t top = std::numeric_limits<std::int64_t>::max();
static_assert((word(top) + word(1)).value == -top - 1 && (word(top) * word(3)).value == top - 2);
static_assert((-word(-top - 1)).value == -top - 1 && (word(-8) >> word(1)).value == -4 && abs(word(-3)).value == 3);

// JAX's lattice, 64-bit types disabled.
constexpr promoted strong(dtype t) { return {t, false}; }
constexpr promoted weak(dtype t) { return {t, true}; }
static_assert(promote(strong(bool_), strong(i32)) == strong(i32));
static_assert(promote(strong(u32), strong(i32)) == strong(i32));
static_assert(promote(strong(bf16), strong(f32)) == strong(f32));
static_assert(promote(strong(i32), strong(bf16)) == strong(bf16));
static_assert(promote(strong(bf16), weak(f32)) == strong(bf16));
static_assert(promote(strong(i8), strong(bool_)) == strong(i8));
static_assert(promote(strong(i8), strong(i32)) == strong(i32));
static_assert(promote(strong(i8), strong(u32)) == strong(i32));
static_assert(promote(strong(i8), weak(i32)) == strong(i8));
static_assert(promote(strong(i8), strong(bf16)) == strong(bf16));
static_assert(promote(strong(i8), weak(f32)) == weak(f32));
static_assert(promote(strong(u32), weak(i32)) == strong(u32));
static_assert(promote(strong(i32), weak(f32)) == weak(f32));
static_assert(promote(weak(i32), weak(f32)) == weak(f32));

TEST_CASE("promotion commutes and is associative") {
  const promoted all[] = {strong(bool_), strong(i8),  strong(i32), strong(u32),
                          strong(bf16),  strong(f32), weak(i32),   weak(f32)};
  for (const promoted& a : all)
    for (const promoted& b : all) {
      CHECK(promote(a, b) == promote(b, a));
      for (const promoted& c : all) CHECK(promote(promote(a, b), c).type == promote(a, promote(b, c)).type);
    }
}
