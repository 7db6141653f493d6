// tests/transforms/callback.cpp: functions of the host, and effects that happen once and in order.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/functions.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
std::string heard;

constexpr auto note = [](const arrays& a) -> arrays {
  heard += to_string(a[0]) + ";";
  return {a[0] * 2.0f};
};
constexpr auto sine = [](const arrays& a) -> arrays { return {sin(a[0])}; };

array noted(const array& x) { return io_callback(note, {x.type()}, {x})[0]; }

/// What f(x) notes, called eagerly, which is what it notes as one program.
template <class F>
std::string effects_of(const F& f, const array& x) {
  heard.clear();
  f(x);
  const std::string eager = std::exchange(heard, {});
  jit(f, cpu, at_run_time)(x);
  CHECK(heard == eager);
  return heard;
}
}  // namespace

TEST_CASE("a pure callback is a function of its operands, also for each example of a batch") {
  const auto f = [](const array& x) { return pure_callback(sine, {x.type()}, {x * 0.5f})[0] + 1.0f; };
  const array x = noise({3}, 1);
  CHECK(difference({to_value(f(x))}, {to_value(sin(x * 0.5f) + 1.0f)}, 1e-6) == "");
  CHECK(difference({to_value(jit(f, cpu, at_run_time)(x))}, {to_value(f(x))}, 0) == "");
  CHECK(difference({to_value(vmap(f)(noise({4, 3}, 2)))}, {to_value(sin(noise({4, 3}, 2) * 0.5f) + 1.0f)}, 1e-6) == "");
  CHECK_THROWS_WITH(grad([&](const array& v) { return sum(f(v)); })(x), contains("pure_callback: derivative"));
  CHECK_THROWS_WITH(pure_callback(sine, {{f32, false, {2}}}, {x}),
                    contains("callback: result: found f32[3], expected f32[2]"));
}

TEST_CASE("effects happen once, in order, whether their results are used or not") {
  const array x(1.0f);
  const auto unused = [](const array& v) {
    noted(v);
    noted(v);  // not merged
    const array y = noted(v * 3.0f + 1.0f);
    noted(sin(v) * 0.0f + 7.0f);
    return v + 1.0f + y * 0.0f;
  };
  CHECK(effects_of(unused, x) == "1.0;1.0;4.0;7.0;");
  const auto late_first = [](const array& v) {  // the first one waits for a product, the second for nothing
    noted(sum(matmul(broadcast_to(v, {3, 3}), broadcast_to(v, {3, 3}))));
    noted(v);
    return v;
  };
  CHECK(effects_of(late_first, x) == "27.0;1.0;");
}

TEST_CASE("effects in bodies") {
  const array x(1.0f);
  const auto looped = [](const array& v) {
    noted(v * 10.0f);
    fori_loop(0, 2, [](const array& i, const array& c) { return c + noted(astype(i, f32)) * 0.0f; }, v);
    while_loop([](const array& c) { return c < 3.0f; },
               [](const array& c) {
                 noted(c);
                 return c + 1.0f;
               },
               v);
    cond(
        v > 0.0f,
        [](const array& c) {
          noted(c + 0.5f);
          return c;
        },
        [](const array& c) {
          noted(c + 100.0f);
          return c;
        },
        v);
    noted(v * 20.0f);
    return v;
  };
  CHECK(effects_of(looped, x) == "10.0;0.0;1.0;1.0;2.0;1.5;20.0;");
}

TEST_CASE("effects under transformations: for each example, and once beside derivatives") {
  const auto f = [](const array& v) {
    debug_print("x = {}", v);
    const array y = fori_loop(
        0, 2,
        [](const array&, const array& c) {
          debug_print("c = {}", c);
          return c * c;
        },
        v);
    debug_print("shared {}", array(5));
    debug_print("y = {}", y);
    return y;
  };
  debug_print_sink = [](std::string_view line) { heard += line; };
  const std::string one = "x = 2.0\nc = 2.0\nc = 4.0\nshared 5\ny = 16.0\n";
  CHECK(effects_of(f, array(2.0f)) == one);
  CHECK(effects_of([&](const array& x) { return jvp(f, x, array(1.0f)).second; }, array(2.0f)) == one);
  CHECK(effects_of([&](const array& x) { return grad(f)(x); }, array(2.0f)) == one);
  CHECK(effects_of([&](const array& x) { return grad([&](const array& v) { return remat(f)(v); })(x); }, array(2.0f)) ==
        one);
  CHECK(effects_of([&](const array& x) { return vmap(f)(x); }, array::from<float>({1.0f, 2.0f})) ==
        "x = 1.0\nx = 2.0\nc = 1.0\nc = 2.0\nc = 1.0\nc = 4.0\nshared 5\ny = 1.0\ny = 16.0\n");
  CHECK_THROWS_WITH(debug_print("{} {}", array(1)), contains("debug_print: arguments: found 1, expected 2"));
}

namespace {
constexpr auto static_program = [](const tensor<f32>& x) {
  debug_print("first {}", x);
  const array y = while_loop([](const array& c) { return c < 3.0f; },
                             [](const array& c) {
                               debug_print("step {}", c);
                               return c + pure_callback(sine, {c.type()}, {c * 0.0f})[0] + 1.0f;
                             },
                             array(x));
  debug_print("last {}", x);
  return y;
};
}  // namespace

TEST_CASE("programs known while compiling have effects too") {
  debug_print_sink = [](std::string_view line) { heard += line; };
  heard.clear();
  CHECK(jit(static_program, cpu, while_compiling)(tensor<f32>(array(1.0f))).item() == 3.0f);
  CHECK(heard == "first 1.0\nstep 1.0\nstep 2.0\nlast 1.0\n");
}
