// tests/base/dtype.cpp
#include <tokamax/base/dtype.hpp>

#include "support/catch.hpp"

using namespace tokamax;

static_assert(size_of(bool_) == 1 && size_of(bf16) == 2 && size_of(f32) == 4);
static_assert(name(i32) == "i32" && info(bool_).stablehlo == "i1");
static_assert(is_floating(bf16) && !is_floating(u32) && is_integer(u32) && !is_integer(bool_));
static_assert(dtype_of<float> == f32 && dtype_of<bfloat16> == bf16 && dtype_of<bool> == bool_ &&
              dtype_of<double> == dtype::none);

// JAX's lattice, 64-bit types disabled.
constexpr promoted strong(dtype t) { return {t, false}; }
constexpr promoted weak(dtype t) { return {t, true}; }
static_assert(promote(strong(bool_), strong(i32)) == strong(i32));
static_assert(promote(strong(u32), strong(i32)) == strong(i32));
static_assert(promote(strong(bf16), strong(f32)) == strong(f32));
static_assert(promote(strong(i32), strong(bf16)) == strong(bf16));
static_assert(promote(strong(bf16), weak(f32)) == strong(bf16));
static_assert(promote(strong(u32), weak(i32)) == strong(u32));
static_assert(promote(strong(i32), weak(f32)) == weak(f32));
static_assert(promote(weak(i32), weak(f32)) == weak(f32));

TEST_CASE("promotion commutes and is associative") {
  const promoted all[] = {strong(bool_), strong(i32), strong(u32), strong(bf16), strong(f32), weak(i32), weak(f32)};
  for (const promoted& a : all)
    for (const promoted& b : all) {
      CHECK(promote(a, b) == promote(b, a));
      for (const promoted& c : all) CHECK(promote(promote(a, b), c).type == promote(a, promote(b, c)).type);
    }
}
