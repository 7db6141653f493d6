// tests/base/dtype.cpp
#include <tokamax/base/dtype.hpp>

#include "support/catch.hpp"

#include <limits>

using namespace tokamax;

static_assert(size_of(bool_) == 1 && size_of(i8) == 1 && size_of(bf16) == 2 && size_of(f32) == 4);
static_assert(name(i32) == "i32" && info(bool_).stablehlo == "i1" && info(i8).stablehlo == "i8");
static_assert(is_floating(bf16) && !is_floating(u32) && is_integer(u32) && is_integer(i8) && !is_integer(bool_));
static_assert(dtype_of<float> == f32 && dtype_of<bfloat16> == bf16 && dtype_of<bool> == bool_ &&
              dtype_of<std::int8_t> == i8 && dtype_of<double> == dtype::none);
static_assert(lowest_of(i8) == -128 && highest_of(i8) == 127);
static_assert(lowest_of(i32) == -2147483648.0 && highest_of(i32) == 2147483647.0);
static_assert(lowest_of(u32) == 0 && highest_of(u32) == 4294967295.0);
static_assert(wrapped(300, i8) == 44 && wrapped(-129, i8) == 127 && wrapped(300, i32) == 300 && wrapped(7, bool_) == 1);
static_assert(wrapped(std::int64_t{1} << 31, i32) == -2147483648.0 && wrapped(-1, u32) == 4294967295.0);
static_assert(kept(0.1, f32) == 0.1f && kept(1.001, bf16) == 1 && kept(0.5, bool_) == 1 && kept(-2.7, i32) == -2);
static_assert(kept(-1, u32) == 4294967295.0 && kept(3e9, i32) == -1294967296 && kept(1e30, i32) == 2147483647);
static_assert(kept(-1e30, u32) == 0 && kept(std::numeric_limits<double>::quiet_NaN(), i8) == 0);

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
