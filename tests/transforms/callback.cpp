// tests/transforms/callback.cpp: functions of the host, and effects that happen once and in order.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/text/parse.hpp>
#include <tokamax/compiler/text/print.hpp>
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

TEST_CASE("a pullback prints what its rules print, not again what the function did") {
  debug_print_sink = [](std::string_view line) { heard += line; };
  const auto f = [](const array& v) {
    debug_print("f {}", v);
    return custom_vjp(
        [](const array& x) {
          debug_print("function {}", x);
          return x * x;
        },
        [](const array& x) {
          debug_print("forward {}", x);
          return std::pair{x * x, x};
        },
        [](const array& x, const array& ct) {
          debug_print("backward {}", ct);
          return 2.0f * x * ct;
        })(v);
  };
  CHECK(effects_of(f, array(3.0f)) == "f 3.0\nfunction 3.0\n");
  CHECK(effects_of([&](const array& x) { return grad(f)(x); }, array(3.0f)) ==
        "f 3.0\nfunction 3.0\nforward 3.0\nbackward 1.0\n");
  heard.clear();
  const auto [y, pullback] = vjp(f, array(3.0f));
  CHECK(std::exchange(heard, {}) == "f 3.0\nfunction 3.0\nforward 3.0\n");
  CHECK(pullback(array(1.0f)).item() == 6.0f);
  CHECK(pullback(array(2.0f)).item() == 12.0f);
  CHECK(std::exchange(heard, {}) == "backward 1.0\nbackward 2.0\n");
  const auto squared = custom_jvp([](const array& x) { return x * x; },
                                  [](const array& x, const array& dx) {
                                    debug_print("rule at {}", x);
                                    debug_print("rule {}", dx);
                                    return std::pair{x * x, 2.0f * x * dx};
                                  });
  CHECK(effects_of([&](const array& x) { return grad(remat(squared))(x); }, array(3.0f)) ==
        "rule at 3.0\n");  // in reverse mode the tangent has no value
  heard.clear();
  const auto [z, push] = linearize(squared, array(3.0f));
  CHECK(push(array(5.0f)).item() == 30.0f);
  CHECK(std::exchange(heard, {}) == "rule at 3.0\nrule 5.0\n");
}

TEST_CASE("where examples go different ways, lines are printed for all and other effects are refused") {
  debug_print_sink = [](std::string_view line) { heard += line; };
  const auto branch = [](const array& x) {
    return cond(
        x > 0.5f,
        [](const array& v) {
          debug_print("t {}", v);
          return v;
        },
        [](const array& v) {
          debug_print("f {}", v);
          return v;
        },
        x);
  };
  const array x = array::from<float>({0.0f, 1.0f});
  CHECK(effects_of([&](const array& v) { return vmap(branch)(v); }, x) == "f 0.0\nf 1.0\nt 0.0\nt 1.0\n");
  const auto loop = [](const array& v) {
    return while_loop(
        [](const array& c) {
          debug_print("p {}", c);
          return c < 1.0f;
        },
        [](const array& c) { return c + 1.0f; }, v);
  };
  CHECK(effects_of([&](const array& v) { return vmap(loop)(v); }, x) == "p 0.0\np 1.0\np 1.0\np 1.0\n");

  const auto same = [](const array& v) { return v; };
  const auto noted_branch = [&](const array& v) { return cond(v > 0.5f, noted, same, v); };
  CHECK_THROWS_WITH(vmap(noted_branch)(x), contains("cond: vmap: found an effect outside of the program, expected a "
                                                    "predicate that all examples share"));
  const auto noted_loop = [](const array& v) { return while_loop([](const array& c) { return c < 3.0f; }, noted, v); };
  CHECK_THROWS_WITH(vmap(noted_loop)(x), contains("while_loop: vmap: found an effect"));
  const auto shared = [&](const array& v) {
    return cond(array(true), noted, same, fori_loop(0, 2, [](const array&, const array& c) { return noted(c); }, v));
  };
  CHECK(effects_of([&](const array& v) { return vmap(shared)(v); }, x) == "0.0;1.0;0.0;2.0;0.0;4.0;");
  const auto ordered = [](const array& v) { return io_callback(note, {v.type()}, {v}, {.ordered = true})[0]; };
  CHECK(effects_of(ordered, array(1.0f)) == "1.0;");
  CHECK_THROWS_WITH(vmap(ordered)(x), contains("io_callback: vmap: found an ordered one"));
}

TEST_CASE("what derivatives compute again has no effect again, or is refused") {
  const array x(0.5f);
  const auto logs = [](const array& v) {
    noted(stop_gradient(v));
    return sin(v);
  };
  const auto uses = [](const array& v) { return sin(v * noted(stop_gradient(v))); };
  const auto twice = [](const auto& f) {
    return [=](const array& v) { return fori_loop(0, 2, [=](const array&, const array& c) { return f(c); }, v); };
  };
  const auto chosen = [](const auto& f) {
    return [=](const array& v) { return cond(v > 0.0f, f, [](const array& u) { return u; }, v); };
  };
  const auto until = [](const auto& f) {
    return [=](const array& v) { return while_loop([](const array& c) { return c > 0.48f; }, f, v); };
  };
  const auto gradient = [](const auto& f) { return [=](const array& v) { return grad(f)(v); }; };
  const auto tangent = [](const auto& f) { return [=](const array& v) { return jvp(f, v, v).second; }; };
  CHECK(effects_of(gradient(logs), x) == "0.5;");
  CHECK(effects_of(gradient(uses), x) == "0.5;");
  CHECK(effects_of(gradient(remat(logs)), x) == "0.5;");
  CHECK(effects_of(gradient(twice(logs)), x) == "0.5;0.47942555;");
  CHECK(effects_of(tangent(twice(logs)), x) == "0.5;0.47942555;");
  CHECK(effects_of(gradient(chosen(logs)), x) == "0.5;");
  CHECK(effects_of(tangent(chosen(logs)), x) == "0.5;");
  CHECK(effects_of(tangent(until(logs)), x) == "0.5;");
  CHECK(effects_of(gradient(twice(chosen(logs))), x) == "0.5;0.47942555;");  // nor in loops of loops
  CHECK(effects_of(gradient(remat(twice(remat(chosen(logs))))), x) == "0.5;0.47942555;");
  CHECK(effects_of(tangent(until(chosen(twice(logs)))), x) == "0.5;0.47942555;");
  const auto refused = [&](const auto& f, const char* where) {
    CHECK_THROWS_WITH(f(x), contains("io_callback: derivative: found its result inside of") && contains(where));
  };
  refused(gradient(remat(uses)), "remat");
  refused(gradient(twice(chosen(uses))), "scan");
  refused(gradient(twice(uses)), "scan");
  refused(tangent(twice(uses)), "scan");
  refused(gradient(chosen(uses)), "cond");
  refused(tangent(chosen(uses)), "cond");
  refused(tangent(until(uses)), "while_loop");
  CHECK_THROWS_WITH(grad([&](const array& v) { return noted(v); })(x), contains("io_callback: derivative"));
}

TEST_CASE("effects of a graph that was read from its text") {
  const auto f = [](const arrays& in) -> arrays {
    debug_print("x = {}", in[0]);
    const array y = fori_loop(
        0, 2,
        [](const array&, const array& c) {
          debug_print("c = {}", c);
          return c * c;
        },
        in[0]);
    debug_print("end");
    return {y};
  };
  const graph g = test::trace(f, {{f32, false, {}}}), read = parse_graph(to_text(g));
  CHECK(read.effects.count() == 3);
  debug_print_sink = [](std::string_view line) { heard += line; };
  heard.clear();
  CHECK(execute_graph(read, {array(2.0f)})[0].item() == 16.0f);
  CHECK(heard == "x = 2.0\nc = 2.0\nc = 4.0\nend\n");
}

TEST_CASE("a program in a narrower dtype gives the host's functions what they are written for") {
  const auto f = [](const array& x) {
    const array y = matmul(x, x);
    debug_print("start");
    noted(sum(y) * 0.0f + 1.0f);
    return pure_callback(sine, {y.type()}, {y})[0];
  };
  const array x = noise({3, 3}, 1);
  debug_print_sink = [](std::string_view line) { heard += line; };
  CHECK(effects_of([&](const array& v) { return with_precision<bf16_compute>(f)(v); }, x) == "start\n1.0;");
  CHECK(difference({to_value(with_precision<bf16_compute>(f)(x))}, {to_value(f(x))}, 2e-2) == "");
}

namespace {
constexpr auto known_with_effects = [](const tensor<f32>& x) {
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
  CHECK(jit(known_with_effects, cpu, while_compiling)(tensor<f32>(array(1.0f))).item() == 3.0f);
  CHECK(heard == "first 1.0\nstep 1.0\nstep 2.0\nlast 1.0\n");
}

namespace {
constexpr auto without_operand = [](const tensor<f32>& x) {
  debug_print("begin");
  debug_print("constant {}", 2.5f);
  const array y = array(x) * 2.0f;
  debug_print("y = {}", y);
  return y;
};
constexpr auto constant_function = [](const tensor<f32>& x) {
  const auto f = [](const array& v) {
    debug_print("v = {}", v);
    return v * v;
  };
  return grad(f)(3.0f) + array(x);
};
}  // namespace

TEST_CASE("lines without a traced operand are printed, by a program that is traced at run time") {
  debug_print_sink = [](std::string_view line) { heard += line; };
  heard.clear();
  CHECK(jit(without_operand, cpu)(tensor<f32>(array(1.0f))).item() == 2.0f);
  CHECK(std::exchange(heard, {}) == "begin\nconstant 2.5\ny = 2.0\n");
  CHECK(jit(constant_function, cpu)(tensor<f32>(array(1.0f))).item() == 7.0f);
  CHECK(std::exchange(heard, {}) == "v = 3.0\n");
}

namespace {
struct doubled {
  arrays operator()(const arrays& a) const { return {a[0] * 2.0f}; }
};
struct halved {
  static constexpr std::string_view name = "half (of it)";
  arrays operator()(const arrays& a) const { return {a[0] * 0.5f}; }
};
}  // namespace

TEST_CASE("the text of a graph tells callbacks apart, and is read back by their names") {
  const auto f = [](const array& x) {
    const array y = pure_callback(doubled{}, {x.type()}, {x})[0];
    const array z = io_callback(halved{}, {x.type(), x.type()}, {y}, {.ordered = true})[0];
    return pure_callback(named_callback<"sine">(sine), {x.type()}, {z})[0];
  };
  const graph g = test::trace([&](const arrays& a) -> arrays { return f(a[0]); }, {{f32, false, {2}}});
  const std::string text = to_text(g);
  CHECK(text.find("doubled>(%in0, results=[f32[2]])") != text.npos);
  CHECK(text.find("= io_callback<half {of it)>(%2, ordered=true, results=[f32[2], f32[2]])") != text.npos);
  CHECK(text.find("= pure_callback<sine>(") != text.npos);
  vec<const op*> ops = library_ops();
  CHECK_THROWS_WITH(parse_graph(text, ops), contains("expected the name of an op"));
  using named_sine = std::remove_cvref_t<decltype(named_callback<"sine">(sine))>;
  ops.push_back(&callback_p<doubled, effect_kind::none>);
  ops.push_back(&callback_p<halved, effect_kind::ordered>);
  ops.push_back(&callback_p<named_sine, effect_kind::none>);
  CHECK(to_text(parse_graph(text, ops)) == text);
}
