// tests/profile/timeline.cpp: every step of a program is recorded with its work.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/timeline.hpp>

#include <tokamax/tokamax.hpp>

#include <sstream>
#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace {
namespace tk = tokamax;
using tk::profile::event;

using input = tk::tensor<tk::f32, 4, 8>;
using weight = tk::tensor<tk::f32, 8, 16>;
constexpr auto layer = [](const input& x, const weight& w) { return tk::tanh(tk::matmul(x, w) * 0.5f); };

const event* find(const std::vector<event>& events, std::string_view name) {
  for (const event& e : events)
    if (e.name == name) return &e;
  return nullptr;
}
const input x(tk::full({4, 8}, 0.5));
const weight w(tk::full({8, 16}, 0.25));
}  // namespace

TEST_CASE("a compiled program records its kernels and loops") {
  const auto run = tk::jit(layer, tk::cpu, tk::while_compiling);
  const tk::profile::timeline recording;
  const tk::array y = run(x, w);
  CHECK(y.data<float>()[0] == Approx(std::tanh(0.5)));
  REQUIRE(recording.events().size() == 2);
  const event* dot = find(recording.events(), "dot_general f32[4,8] f32[8,16]");
  const event* loop = find(recording.events(), "loop [64] mul tanh");
  REQUIRE(dot);
  REQUIRE(loop);
  CHECK(dot->flops == 2 * 4 * 8 * 16);
  CHECK(dot->bfloat16_flops == 0);
  CHECK(dot->bytes == 4 * (4 * 8 + 8 * 16 + 4 * 16));
  CHECK(loop->flops == 64);
  CHECK(loop->transcendentals == 64);
  CHECK(loop->bytes == 2 * 4 * 64);
  CHECK(dot->duration > 0);
  CHECK(loop->begin >= dot->begin + dot->duration);
}

TEST_CASE("programs traced at run time and eager calls are recorded, by the inner of two recordings") {
  const auto late = tk::jit(layer, tk::cpu, tk::at_run_time);
  const auto narrow = tk::with_precision<tk::bf16_products>(layer);
  {
    const tk::profile::timeline outer;
    {
      const tk::profile::timeline inner;
      late(x, w);
      CHECK(find(inner.events(), "dot_general f32[4,8] f32[8,16]"));
      CHECK(find(inner.events(), "loop [64] mul tanh"));
      CHECK(outer.events().empty());
    }
    narrow(x, w);
    const event* dot = find(outer.events(), "dot_general f32[4,8] f32[8,16], products in bf16");
    REQUIRE(dot);
    CHECK(dot->bfloat16_flops == 2 * 4 * 8 * 16);
    CHECK(dot->flops == 0);
  }
  CHECK(tk::current_context.observer == nullptr);
}

TEST_CASE("a recording hears its own thread only") {
  const auto run = tk::jit(layer, tk::cpu, tk::while_compiling);
  const tk::profile::timeline recording;
  std::thread([&] { run(x, w); }).join();
  CHECK(recording.events().empty());
}

TEST_CASE("repeated elements count once, and long loops are cut short by name only") {
  const auto shifted = [](const tk::array& a, const tk::array& row) { return a + row; };
  const auto powers = [](const tk::array& a, const tk::array& b) {
    tk::array y = a;
    for (int i = 0; i < 20; ++i) y = tk::tanh(y) + b;
    return y;
  };
  const tk::profile::timeline recording;
  tk::jit(shifted, tk::cpu, tk::at_run_time)(tk::full({4, 8}, 1.0) * 2.0f, tk::arange(8) * 1.0f);
  tk::jit(powers, tk::cpu, tk::at_run_time)(tk::arange(8) * 1.0f, tk::arange(8) * 2.0f);
  const event* sum = find(recording.events(), "loop [4,8] add");
  REQUIRE(sum);
  CHECK(sum->bytes == 4 * (32 + 8 + 32));
  const event& chain = recording.events().back();
  CHECK(chain.name == "loop [8] tanh add tanh add tanh add tanh add tanh add tanh add tanh add +26");
  CHECK(chain.flops == 20 * 8);
  CHECK(chain.transcendentals == 20 * 8);
}

TEST_CASE("a loop of a program holds the steps of its body") {
  const auto sums = [](const tk::array& start, const tk::array& xs) {
    return tk::scan([](const tk::array& sum, const tk::array& v) { return std::pair{sum + v, sum * v}; }, start, xs);
  };
  const tk::profile::timeline recording;
  tk::jit(sums, tk::cpu)(tk::full({8}, 0.0), tk::full({5, 8}, 1.0));
  std::int64_t inside = 0;
  const event* scan = find(recording.events(), "scan");
  REQUIRE(scan);
  CHECK(scan->outer);
  int steps = 0;
  for (const event& e : recording.events()) {
    if (e.outer) continue;
    ++steps;
    if (e.begin >= scan->begin && e.begin + e.duration <= scan->begin + scan->duration) inside += e.duration;
  }
  CHECK(steps >= 5);
  CHECK(inside <= scan->duration);
}

TEST_CASE("the work of convolutions and attention is counted") {
  const tk::profile::timeline recording;
  tk::conv2d(tk::full({2, 8, 8, 3}, 1.0), tk::full({3, 3, 3, 4}, 1.0));
  const tk::array q = tk::full({2, 16, 4, 8}, 0.1);
  tk::dot_product_attention(q, q, q);
  const auto attend = [&](const tk::array& v) {
    return tk::sum(tk::dot_product_attention(q, q, v, {.is_causal = true}));
  };
  tk::grad(attend)(q);
  std::vector<double> flops;
  for (const event& e : recording.events())
    if (e.name.find("conv_") == 0 || e.name.find("attention") == 0) flops.push_back(e.flops);
  const double product = 2.0 * 2 * 4 * 16 * 16 * 8;
  CHECK(flops == std::vector<double>{2.0 * 2 * 8 * 8 * 4 * 27, 2 * product, 2 * product / 2, 5 * product / 2});
}

TEST_CASE("a recording becomes a file of trace events") {
  const auto file = std::filesystem::temp_directory_path() / "tokamax_trace.json";
  event elsewhere{"two", 8000, 1000};
  elsewhere.device = "far:1";
  tk::profile::write_trace({{"one", 5000, 2000, 3, 4, 8}, elsewhere}, file);
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  CHECK(text.str() ==
        "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
        "{\"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"name\": \"thread_name\", \"args\": {\"name\": \"\"}},\n"
        "{\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"name\": \"one\", \"ts\": 0, \"dur\": 2, \"args\": {\"flops\": 7, "
        "\"transcendentals\": 0, \"bytes\": 8}},\n"
        "{\"ph\": \"M\", \"pid\": 1, \"tid\": 2, \"name\": \"thread_name\", \"args\": {\"name\": \"far:1\"}},\n"
        "{\"ph\": \"X\", \"pid\": 1, \"tid\": 2, \"name\": \"two\", \"ts\": 3, \"dur\": 1, \"args\": {\"flops\": 0, "
        "\"transcendentals\": 0, \"bytes\": 0}}\n]}\n");
  std::filesystem::remove(file);
  CHECK_THROWS_WITH(tk::profile::write_trace({}, "/nowhere/trace.json"),
                    contains("profile: found a file that cannot be"));
}
