// tests/benchmarking/autotune.cpp: the ops of a program are measured once each, and what was measured changes what runs.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/benchmarking/autotune.hpp>

#include <tokamax/benchmarking/fraction_tolerances.hpp>
#include <tokamax/tokamax.hpp>

#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/steps_of.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::steps_of;

namespace {

using rows = tk::tensor<tk::f32, 6, 16>;
constexpr auto normed = [](const rows& x) { return tk::layer_norm(tk::softmax(x)); };
constexpr auto loss = [](const rows& x) { return tk::sum(tk::square(tk::layer_norm(x))); };
constexpr tk::autotune_options quick{.iterations = 2, .sample_ms = 0};

// A result that says of each call that `name` is the fastest.
tk::autotuning_result preferring(tk::autotuning_result r, const std::string& name) {
  for (tk::tuned_call& c : r.calls)
    for (tk::implementation_times& i : c.implementations) i.evaluation_times_ms = {i.name == name ? 1.0 : 2.0};
  return r;
}

}  // namespace

TEST_CASE("every op with several implementations is measured once, in each kind of program") {
  const rows x = tk::sin(tk::reshape(tk::arange(96), {6, 16}));
  for (const tk::autotuning_result& r :
       {tk::autotune(normed, quick, x), tk::autotune(tk::jit(normed, tk::cpu, tk::at_run_time), quick, x),
        tk::autotune(tk::jit(normed, tk::cpu, tk::while_compiling), quick, x)}) {
    CHECK(r.device_kind == tk::host_device().kind());
    CHECK(r.version == tk::version);
    REQUIRE(r.calls.size() == 2);
    CHECK_THAT(r.calls[0].call, contains("layer_norm(f32[6,16], f32[16], f32[16]"));
    CHECK_THAT(r.calls[1].call, contains("softmax(f32[6,16]"));
    for (const tk::tuned_call& c : r.calls) {
      REQUIRE(c.implementations.size() == 2);
      CHECK(c.implementations[0].name == "kernel");
      CHECK(c.implementations[1].name == "compose");
      for (const auto& i : c.implementations) CHECK(i.evaluation_times_ms.size() == 2);
    }
  }
}

TEST_CASE("the backward pass is measured too, and abstract arguments get data") {
  const tk::autotuning_result r =
      tk::autotune<tk::benchmark_mode::forward_and_vjp>(loss, quick, tk::array_type{tk::f32, false, {6, 16}});
  REQUIRE(r.calls.size() == 2);
  CHECK_THAT(r.calls[1].call, contains("layer_norm_vjp("));
}

TEST_CASE("what was measured changes what runs, in eager, traced and static programs, and in its scope only") {
  const rows x = tk::sin(tk::reshape(tk::arange(96), {6, 16}));
  const auto traced = tk::jit(normed, tk::cpu, tk::at_run_time);
  const auto fixed = tk::jit(normed, tk::cpu, tk::while_compiling);
  const tk::autotuning_result r = tk::autotune(normed, quick, x);
  const tk::autotuning_result compose = preferring(r, "compose"), kernel = preferring(r, "kernel");
  const auto composed = [&](const auto& f) { return steps_of(f, x).find("by compose") != std::string::npos; };
  for (int turn = 0; turn < 2; ++turn) {
    CHECK_FALSE((composed(normed) || composed(traced) || composed(fixed)));
    const tk::autotuning_scope outer(compose);
    CHECK((composed(normed) && composed(traced) && composed(fixed)));
    CHECK(tk::allclose_fractions(normed(x), fixed(x), {{1, 1e-6}}));
    {
      const tk::autotuning_scope inner(kernel);
      CHECK_FALSE((composed(normed) || composed(traced) || composed(fixed)));
    }
    CHECK((composed(normed) && composed(traced) && composed(fixed)));
    bool other_thread = true;
    std::thread([&] { other_thread = composed(fixed) || composed(traced); }).join();
    CHECK_FALSE(other_thread);
  }
  tk::autotune_everywhere(compose);
  CHECK((composed(normed) && composed(traced) && composed(fixed)));
  bool other_thread = false;
  std::thread([&] { other_thread = composed(fixed) && composed(traced); }).join();
  CHECK(other_thread);
  {
    const tk::autotuning_scope inner(kernel);
    CHECK_FALSE(composed(fixed));
  }
  tk::autotune_everywhere({});
  CHECK_FALSE((composed(normed) || composed(traced) || composed(fixed)));
}

TEST_CASE("results of another device kind change nothing, and known calls are not measured again") {
  const rows x = tk::sin(tk::reshape(tk::arange(96), {6, 16}));
  const tk::autotuning_result r = preferring(tk::autotune(normed, quick, x), "compose");
  tk::autotuning_result foreign = r;
  foreign.device_kind = "abacus";
  const tk::autotuning_scope scope(foreign);
  CHECK(steps_of(normed, x).find("by compose") == std::string::npos);
  const tk::autotuning_result again = tk::autotune(normed, {.iterations = 3, .sample_ms = 0, .known = r}, x);
  REQUIRE(again.calls.size() == 2);
  CHECK(again.calls[0].implementations[0].evaluation_times_ms == std::vector<double>{2});
  CHECK(tk::autotune(normed, {.timeout_s = 0}, x).calls.empty());
  CHECK_THROWS_WITH(tk::autotune(normed, {.iterations = 0}, x), contains("autotune: options"));
}
