// tests/benchmarking/benchmark.cpp: times, memory and steps of functions that are compiled, traced or called as they are.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/benchmarking/benchmark.hpp>

#include <tokamax/backend/far.hpp>
#include <tokamax/tokamax.hpp>

#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace {
namespace tk = tokamax;
using tk::benchmark_mode;

constexpr tk::array_type of(const tk::shape& s, tk::dtype type = tk::f32) { return {type, false, s}; }
constexpr auto layer = [](const tk::array& x, const tk::array& w) { return tk::tanh(tk::matmul(x, w)); };
using input = tk::tensor<tk::f32, 4, 8>;
using weight = tk::tensor<tk::f32, 8, 16>;
constexpr auto known_layer = [](const input& x, const weight& w) { return tk::sum(tk::tanh(tk::matmul(x, w))); };

void check_times(const tk::benchmark_data& d, std::size_t count) {
  REQUIRE(d.evaluation_times_ms.size() == count);
  const tk::time_spread s = d.spread();
  CHECK(s.min > 0);
  CHECK(s.min <= s.lower_quartile);
  CHECK(s.lower_quartile <= s.median);
  CHECK(s.median <= s.upper_quartile);
  CHECK(s.upper_quartile <= s.max);
}
}  // namespace

TEST_CASE("a function is traced, and its steps and sizes are known") {
  const tk::benchmark_data d = tk::benchmark(layer, {.iterations = 7}, of({4, 8}), of({8, 16}));
  check_times(d, 7);
  CHECK(d.lower_time_ms > 0);
  CHECK(d.compile_time_ms > 0);
  CHECK(d.metadata.program == "traced");
  CHECK(d.metadata.mode == "forward");
  CHECK(d.metadata.device == "cpu");
  CHECK(d.metadata.argument_bytes == 4 * (32 + 128));
  CHECK(d.metadata.result_bytes == 4 * 64);
  const auto known = 4.0 * (32 + 128 + 64) + static_cast<double>(d.metadata.arena_bytes);
  CHECK(d.peak_memory_mb == Approx(known * 1e-6));
  REQUIRE(d.metadata.steps.size() == 2);
  for (const tk::benchmark_step& s : d.metadata.steps) {
    CHECK(s.calls == 1);
    if (s.name == "dot_general f32[4,8] f32[8,16]") CHECK(s.flops == 2 * 4 * 8 * 16);
  }
  CHECK(tk::benchmark(layer, {.steps = false}, of({4, 8}), of({8, 16})).metadata.steps.empty());
  CHECK_THAT(tk::to_text(d), contains("forward of a traced program on cpu"));
}

TEST_CASE("a jitted function is measured as it is") {
  const auto run = tk::jit(known_layer, tk::cpu, tk::while_compiling);
  const tk::benchmark_data d = tk::benchmark(run, input(), weight());
  check_times(d, 5);
  CHECK(d.metadata.program == "static");
  CHECK(d.lower_time_ms == 0);
  CHECK(d.compile_time_ms == 0);
  CHECK(d.metadata.arena_bytes == decltype(run)::for_types<input, weight>::peak_bytes);
  CHECK(d.metadata.intermediate_bytes == decltype(run)::for_types<input, weight>::total_bytes);

  const tk::benchmark_data late = tk::benchmark(tk::jit(known_layer, tk::cpu, tk::at_run_time), input(), weight());
  CHECK(late.metadata.program == "traced");
  CHECK(late.metadata.intermediate_bytes >= d.metadata.intermediate_bytes);  // its loops are not joined to kernels
  using rows = tk::tensor<tk::f32, tk::dyn(), 8>;
  constexpr auto doubled = [](const rows& x) { return tk::tanh(x) * 2.0f; };
  const tk::benchmark_data any = tk::benchmark(tk::jit(doubled, tk::cpu), rows(tk::full({5, 8}, 1.0f)));
  CHECK(any.metadata.program == "static");
  CHECK(any.metadata.result_bytes == 4 * 40);
  const tk::benchmark_data back = tk::benchmark<benchmark_mode::forward_and_vjp>(run, input(), weight());
  CHECK(back.metadata.program == "traced");
  CHECK(back.metadata.result_bytes == 4 * (1 + 32 + 128));
}

TEST_CASE("programs of another device are measured there") {
  const auto run = tk::jit(layer, tk::far_device(1), tk::at_run_time);
  const tk::benchmark_data d = tk::benchmark(run, of({4, 8}), of({8, 16}));
  check_times(d, 5);
  CHECK(d.metadata.device == "far:1");
  const tk::benchmark_data back = tk::benchmark<benchmark_mode::vjp>(run, {.iterations = 1}, of({4, 8}), of({8, 16}));
  CHECK(back.metadata.device == "far:1");
  CHECK(back.metadata.result_bytes == 4 * (32 + 128));
}

TEST_CASE("every mode is a program of its own") {
  const auto results = [](const tk::benchmark_data& d) {
    check_times(d, 2);
    return d.metadata.result_bytes;
  };
  const tk::benchmark_options two{.iterations = 2};
  const tk::array_type x = of({4, 8}), w = of({8, 16});
  CHECK(results(tk::benchmark<benchmark_mode::forward>(layer, two, x, w)) == 4 * 64);
  CHECK(results(tk::benchmark<benchmark_mode::forward_res>(layer, two, x, w)) >= 4 * 64);
  CHECK(results(tk::benchmark<benchmark_mode::vjp>(layer, two, x, w)) == 4 * (32 + 128));
  CHECK(results(tk::benchmark<benchmark_mode::forward_and_vjp>(layer, two, x, w)) == 4 * (64 + 32 + 128));
}

TEST_CASE("time that passes in a callable is seen") {
  using namespace std::chrono_literals;
  const tk::benchmark_data no_result = tk::benchmark([] { std::this_thread::sleep_for(4ms); }, {.iterations = 3});
  CHECK(no_result.median_evaluation_time_ms() >= 4);
  CHECK(no_result.median_evaluation_time_ms() < 400);
  CHECK(no_result.metadata.program == "eager");
  CHECK(no_result.peak_memory_mb == 0);

  int calls = 0;
  const auto slow = [&calls](const tk::array& x) {
    ++calls;
    std::this_thread::sleep_for(4ms);
    return x * 2.0f;
  };
  CHECK(tk::benchmark(slow, {.iterations = 3, .eager = true}, of({8})).median_evaluation_time_ms() >= 4);
  CHECK(calls == 5);  // the warmup, three runs, and the one that is recorded
  const tk::benchmark_data traced = tk::benchmark(slow, {.iterations = 3}, of({8}));
  CHECK(traced.lower_time_ms >= 4);
  CHECK(calls == 7);  // it is traced twice

  const auto waits = [](const tk::array& x) {
    return tk::io_callback(
        [](const tk::arrays& in) -> tk::arrays {
          std::this_thread::sleep_for(4ms);
          return in;
        },
        {x.type()}, {x})[0];
  };
  const tk::benchmark_data inside = tk::benchmark(waits, {.iterations = 3}, of({8}));
  CHECK(inside.spread().min >= 4);
  CHECK(inside.lower_time_ms < inside.spread().min * 100);
}

TEST_CASE("no arguments, no elements, integers and captured data") {
  const tk::array table = tk::arange(1000) * 1.0f;
  const tk::benchmark_data none = tk::benchmark([&] { return tk::sin(table); }, {.iterations = 1});
  check_times(none, 1);
  CHECK(none.metadata.argument_bytes == 4000);
  CHECK(tk::benchmark(layer, of({0, 8}), of({8, 16})).metadata.result_bytes == 0);
  CHECK(tk::benchmark(layer, of({4, 0}), of({0, 16})).metadata.argument_bytes == 0);
  const auto sums = [](const tk::array& x) { return tk::sum(x); };
  CHECK(tk::benchmark(sums, of({6}, tk::i32)).metadata.result_bytes == 4);
  CHECK_THROWS_WITH(tk::benchmark<benchmark_mode::vjp>(sums, of({6}, tk::i32)), contains("mode vjp: arguments"));
}

TEST_CASE("wrong numbers and wrong arguments are refused") {
  CHECK_THROWS_WITH(tk::benchmark(layer, {.iterations = 0}, of({4, 8}), of({8, 16})),
                    contains("benchmark: iterations: found 0, expected at least 1"));
  CHECK_THROWS_WITH(tk::benchmark(layer, {.warmup = -1}, of({4, 8}), of({8, 16})), contains("benchmark: warmup"));
  CHECK_THROWS_WITH(tk::benchmark(layer, of({4, 8}), of({7, 16})), contains("matmul"));
  CHECK_THROWS_WITH(tk::benchmark(layer, tk::array(), of({8, 16})), contains("random_initialize"));
  check_times(tk::benchmark(layer, {.warmup = 0}, of({4, 8}), of({8, 16})), 5);
}
