// tests/profile/analysis/memory_peak.cpp: what programs hold step by step, at their peaks and over time.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/analysis/memory_peak.hpp>

#include <tokamax/profile/analysis/memory_over_time.hpp>
#include <tokamax/profile/session.hpp>

#include <tokamax/tokamax.hpp>

#include <algorithm>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/recorded.hpp"

namespace {
namespace tk = tokamax;
using namespace tokamax::profile;

program_buffer buffer(const char* name, buffer_role role, std::int64_t bytes, int first, int last) {
  return {name, "", "", role, bytes, 0, first, last};
}
/// The names of what lives at a peak.
std::vector<std::string> names(const program_memory& m, const memory_peak& p) {
  std::vector<std::string> all;
  for (const std::size_t i : p.lives) all.push_back(m.buffers[i].name);
  return all;
}
/// What the largest program of a recording holds.
program_memory largest(const recording& all) {
  const auto peaks = memory_peaks(all);
  REQUIRE_FALSE(peaks.empty());
  return all.tables.at(peaks[0].first)->memory;
}
template <class F, class... Args>
recording recorded_run(F f, const Args&... args) {
  const auto run = tk::jit(f, tk::cpu, tk::at_run_time);
  const session s;
  run(args...);
  return s.read();
}
}  // namespace

TEST_CASE("the peak is the first of the steps at which a program holds the most") {
  using enum buffer_role;
  const program_memory m{
      {buffer("x", argument, 100, 0, 5), buffer("y", result, 10, 0, 5), buffer("a", intermediate, 40, 0, 2),
       buffer("b", intermediate, 60, 2, 3), buffer("c", intermediate, 60, 3, 4),
       buffer("gone", intermediate, 1000, 3, 2), buffer("k", constant, 1, 0, 5)},
      128,
      6};
  CHECK(held_bytes(m) == std::vector<std::int64_t>{151, 151, 211, 231, 171, 111});
  const memory_peak p = peak_of(m);
  CHECK(p.step == 3);
  CHECK(p.bytes == 231);
  CHECK(names(m, p) == std::vector<std::string>{"x", "b", "c", "y", "k"});
  CHECK(p.by_role[0] == 100);
  CHECK(p.by_role[1] == 10);
  CHECK(p.by_role[2] == 1);
  CHECK(p.by_role[3] == 120);
  CHECK(p.reserved == 100 + 10 + 1 + 128);
  CHECK(p.unused() == 8);
  CHECK(peak_of({{buffer("a", intermediate, 8, 1, 1), buffer("b", intermediate, 8, 3, 3)}, 8, 4}).step == 1);
  CHECK(held_bytes({}).empty());
  CHECK(peak_of({}).bytes == 0);
  CHECK(peak_of({}).lives.empty());
}

TEST_CASE("a program's buffers have the names, types, lines and bytes of its values") {
  const tk::array x = tk::full({64, 32}, 0.5f), w = tk::full({32, 128}, 0.25f), v = tk::full({128, 16}, 0.5f);
  const program_memory m =
      largest(recorded_run([](const tk::array& a, const tk::array& b,
                              const tk::array& c) { return tk::matmul(tk::tanh(tk::matmul(a, b)), c); },
                           x, w, v));
  const auto find = [&](const char* type, buffer_role role) {
    const auto found =
        std::ranges::find_if(m.buffers, [&](const program_buffer& b) { return b.type == type && b.role == role; });
    REQUIRE(found != m.buffers.end());
    return *found;
  };
  CHECK(find("f32[64,32]", buffer_role::argument).name == "argument 0");
  CHECK(find("f32[32,128]", buffer_role::argument).bytes == 32 * 128 * 4);
  CHECK(find("f32[128,16]", buffer_role::argument).name == "argument 2");
  const program_buffer y = find("f32[64,16]", buffer_role::result);
  CHECK(y.name == "result 0: dot_general f32[64,128] f32[128,16]");
  CHECK_THAT(y.place, contains("memory_peak.cpp:"));
  const program_buffer h = find("f32[64,128]", buffer_role::intermediate);
  CHECK(h.name == "dot_general f32[64,32] f32[32,128]");
  CHECK(h.bytes == 64 * 128 * 4);
  const memory_peak p = peak_of(m);
  CHECK(p.by_role[0] == 4 * (64 * 32 + 32 * 128 + 128 * 16));
  CHECK(p.by_role[1] == 4 * 64 * 16);
  CHECK(p.by_role[3] == 4 * 64 * 128);  // tanh is written over what it reads
  CHECK(p.unused() == 0);
}

TEST_CASE("an argument that a loop repeats along an axis has its own type") {
  const auto normal = [](const tk::shape& s) { return tk::random::normal(tk::random::key(1), s); };
  const tk::array x = normal({6, 8}), row = normal({8}), column = normal({6, 1});
  const program_memory m = largest(recorded_run(
      [](const tk::array& a, const tk::array& b, const tk::array& c) { return tk::tanh(a + b) * c; }, x, row, column));
  REQUIRE(m.buffers.size() == 4);
  CHECK(m.buffers[1].type == "f32[8]");
  CHECK(m.buffers[1].bytes == 8 * 4);
  CHECK(m.buffers[2].type == "f32[6]");
  CHECK(m.buffers[2].bytes == 6 * 4);
  CHECK(peak_of(m).bytes == 4 * (48 + 8 + 6 + 48));
}

TEST_CASE("what a plan reserves is what its buffers take, gaps apart") {
  const tk::array x = tk::full({1024}, 0.5f);
  const auto many = [](const tk::array& a) {
    tk::array sum = a;
    for (int k = 1; k < 6; ++k) sum = sum + tk::sort(a * float(k));
    return tk::sort(sum);
  };
  const program_memory m = largest(recorded_run(many, x));
  std::int64_t top = 0;
  for (const program_buffer& b : m.buffers)
    if (b.role == buffer_role::intermediate) top = std::max(top, b.offset + b.bytes);
  CHECK(m.arena_bytes == top);
  for (const program_buffer& a : m.buffers)  // buffers that are held at one time lie apart
    for (const program_buffer& b : m.buffers)
      if (&a < &b && a.role == buffer_role::intermediate && b.role == a.role && a.first <= b.last && b.first <= a.last)
        CHECK((a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset));
  const memory_peak p = peak_of(m);
  CHECK(p.bytes <= p.reserved);
  CHECK(p.unused() <= 1024 * 4);
}

TEST_CASE("bodies are the scratch of their op, and a result in the memory of an argument is no buffer of its own") {
  tk::array x = tk::full({256, 256}, 0.5f);
  const auto loop = [](const tk::array& a) {
    return tk::fori_loop(0, 4, [](const tk::array&, const tk::array& c) { return tk::tanh(tk::matmul(c, c)); }, a);
  };
  const program_memory m = largest(recorded_run(loop, x));
  CHECK(std::ranges::any_of(m.buffers, [](const program_buffer& b) {
    return b.name.starts_with("scratch of ") && b.bytes >= 256 * 256 * 4;
  }));
  const auto update = tk::jit([](tk::array a) { return a * 2.0f; }, tk::cpu, tk::at_run_time);
  const session s;
  const tk::array y = update(std::move(x));
  const program_memory donated = largest(s.read());
  REQUIRE(donated.buffers.size() == 1);
  CHECK(donated.buffers[0].name == "argument 0");
  CHECK(peak_of(donated).bytes == 256 * 256 * 4);
}

TEST_CASE("memory over time is the sum of all threads") {
  recording all = recorded({{"a", "dot", 0, 10}, {"a", "mul", 10, 20}, {"b", "add", 5, 30}, {"b", "#span f", 0, 40}});
  auto table = std::make_shared<step_table>(all.tables[1]->steps, all.tables[1]->places);
  table->steps[0].memory = 100;
  table->steps[1].memory = 100;
  table->steps[2].memory = 7;
  all.tables[1] = table;
  const std::vector<std::pair<std::int64_t, double>> points{{0, 100}, {5, 107}, {20, 7}, {30, 0}};
  CHECK(memory_over_time(all) == points);
  CHECK(memory_over_time(all, 2) == std::vector<std::pair<std::int64_t, double>>{{0, 107}, {30, 0}});
  CHECK(memory_over_time({}).empty());
}
