// tests/stablehlo/write.cpp: functions of ours as StableHLO text, read back and run: the same values.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/lax/windows/pool.hpp>
#include <tokamax/linalg/cholesky.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/ops.hpp>
#include <tokamax/random.hpp>
#include <tokamax/stablehlo.hpp>
#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"

using tokamax::array;
using tokamax::cpu;
using tokamax::f32;
using tokamax::i32;
using tokamax::shape;
using tokamax::test::error_of;

namespace {

namespace tk = tokamax;
using function = std::function<array(const array&, const array&)>;
struct row {
  const char* name;
  function f;
};

/// x [3, 4] and y [3, 4] of numbers of both signs.
array numbers(int seed) {
  array a = array::uninitialized({f32, false, {3, 4}});
  for (int i = 0; i < 12; ++i) a.mutable_data<float>()[i] = static_cast<float>((i * 7 + seed * 5) % 13 - 6) / 4;
  return a;
}

void check(const row& r) {
  INFO(r.name);
  const array x = numbers(1), y = numbers(2);
  const std::string text = tk::to_stablehlo(r.f, x, y);
  INFO(text);
  if (const char* const folder = std::getenv("TOKAMAX_STABLEHLO_OUT")) {  // for tests/golden/run_stablehlo.py
    std::string name(r.name);
    std::replace(name.begin(), name.end(), ' ', '_');
    std::ofstream(std::string(folder) + "/" + name + ".mlir") << text;
    std::ofstream in(std::string(folder) + "/" + name + ".in", std::ios::binary),
        out(std::string(folder) + "/" + name + ".out", std::ios::binary);
    const auto put = [](std::ofstream& file, const array& a) {
      file.write(reinterpret_cast<const char*>(a.bytes()),
                 static_cast<std::streamsize>(a.size() * tk::size_of(a.dtype())));
    };
    put(in, x);
    put(in, y);
    put(out, r.f(x, y));
  }
  const array expected = r.f(x, y), found = tk::read_stablehlo(text)(cpu, {x, y})[0];
  REQUIRE(found.type() == expected.type());
  const array close =
      tk::allclose(tk::astype(found, f32), tk::astype(expected, f32), {.rtol = 1e-5, .atol = 1e-5, .equal_nan = true});
  CHECK(close.item<bool>());
}

const array table{0, 2, 1};

const std::vector<row> rows = {
    {"arithmetic", [](const array& x, const array& y) { return (x + y) * x - y / (x + 9.0f); }},
    {"comparisons",
     [](const array& x, const array& y) { return tk::select(x < y, x, tk::select(x == y, 2.0f * y, -y)); }},
    {"functions", [](const array& x,
                     const array& y) { return tk::exp(x) + tk::tanh(y) * tk::sin(x) + tk::erf(y) + tk::logistic(x); }},
    {"hyperbolic functions and angles",
     [](const array& x, const array& y) { return tk::sinh(x) + tk::atan2(x, y) + tk::cbrt(y); }},
    {"activations",
     [](const array& x, const array& y) { return tk::gelu(x) + tk::relu(y) + tk::silu(x) + tk::logaddexp(x, y); }},
    {"rounding and remainders",
     [](const array& x, const array& y) { return tk::floor(x) + tk::round(y) + tk::rem(x, 2.0f) + tk::sign(y); }},
    {"integers and bits",
     [](const array& x, const array&) {
       const array n = tk::astype(x * 4, i32);
       return tk::bitwise_xor(tk::shift_left(n, 3), tk::quotient(n, 2)) & array(255);
     }},
    {"conversions", [](const array& x, const array&) { return tk::astype(tk::astype(x, tk::bf16), tk::f64); }},
    {"moving elements",
     [](const array& x, const array& y) {
       return tk::concatenate({tk::transpose(x), tk::reverse(tk::transpose(y), {0})}, 1);
     }},
    {"parts and padding",
     [](const array& x, const array&) { return tk::pad(x(tk::range{0, 3, 2}), {{1, 0}, {0, 2}}); }},
    {"a dynamic part",
     [](const array& x, const array& y) {
       const array at = tk::astype(y(0, 0), i32);
       return tk::dynamic_update_slice(x, tk::dynamic_slice(y, {at, at}, {2, 2}), {array(1), at});
     }},
    {"sums and extremes", [](const array& x, const array& y) { return tk::sum(x, 0) + tk::max(y, 0) - tk::min(x, 0); }},
    {"sums of narrow numbers", [](const array& x, const array&) { return tk::sum(tk::astype(x, tk::f16), 1); }},
    {"questions of all", [](const array& x, const array&) { return tk::any(x > 1.0f, 0) ^ tk::all(x > -1.0f, 0); }},
    {"places of extremes", [](const array& x, const array&) { return tk::argmax(x, 1) * 10 + tk::argmin(x, 1); }},
    {"running sums", [](const array& x, const array&) { return tk::cumsum(x, 1) + tk::cumsum(x, 0, true); }},
    {"products", [](const array& x, const array& y) { return tk::matmul(x, tk::transpose(y)); }},
    {"softmax and norms",
     [](const array& x, const array& y) { return tk::softmax(x) * tk::layer_norm(y, tk::ones({4}), tk::zeros({4})); }},
    {"sorting", [](const array& x, const array&) { return tk::sort(x, 1) + tk::astype(tk::argsort(x, 1, true), f32); }},
    {"the largest ones", [](const array& x, const array&) { return tk::top_k(x, 2).values; }},
    {"rows by index, also outside", [](const array& x, const array&) { return tk::gather(x, array{2, 0, 5, -1}); }},
    {"rows by a table of the program", [](const array& x, const array&) { return tk::gather(x, table); }},
    {"rows added", [](const array& x, const array&) { return tk::scatter_add(array{1, 1, 7}, x, 4); }},
    {"rows replaced", [](const array& x, const array& y) { return tk::scatter(x, array{2, 0, -1}, y); }},
    {"a convolution",
     [](const array& x, const array&) {
       return tk::conv2d(tk::reshape(x, {1, 3, 4, 1}), tk::ones({2, 2, 1, 2}), {.strides = {1, 2}});
     }},
    {"the largest of windows",
     [](const array& x, const array&) { return tk::max_pool(tk::reshape(x, {1, 3, 4, 1}), {2, 2}); }},
    {"a loop that counts",
     [](const array& x, const array& y) {
       return tk::fori_loop(0, 3, [&](const array& i, const array& c) { return c * 0.5f + y * tk::astype(i, f32); }, x);
     }},
    {"a loop with a condition",
     [](const array& x, const array&) {
       return tk::while_loop([](const array& c) { return tk::sum(c) < 100.0f; },
                             [](const array& c) { return c * 2.0f + 1.0f; }, x);
     }},
    {"a branch",
     [](const array& x, const array& y) {
       return tk::cond(
           tk::sum(x) > tk::sum(y), [&](const array& a) { return a + y; }, [&](const array& a) { return a - y; }, x);
     }},
    {"a gradient",
     [](const array& x, const array& y) {
       return tk::grad([&](const array& a) {
         return tk::sum(tk::tanh(tk::matmul(a, tk::transpose(y))) * tk::max(a, {.axis = {1}, .keepdims = true}));
       })(x);
     }},
    {"random numbers", [](const array& x, const array&) { return x + tk::random::normal(tk::random::key(3), {3, 4}); }},
    {"a Cholesky factor",
     [](const array& x, const array&) {
       return tk::linalg::cholesky(tk::matmul(x, tk::transpose(x)) + tk::eye(3) * 4.0f);
     }},
};

}  // namespace

TEST_CASE("to_stablehlo: programs read back as the same functions") {
  for (const row& r : rows) check(r);
}

TEST_CASE("to_stablehlo: ops without a form are named") {
  const auto prints = [](const array& x) {
    tk::debug_print("x = {}", x);
    return x;
  };
  CHECK_THAT(error_of([&] { tk::to_stablehlo(prints, numbers(1)); }), contains("to_stablehlo: op: found debug_print"));
}
