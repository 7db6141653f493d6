// bench/calls.cpp: what calling a small program costs besides its arithmetic, and what many programs keep in memory.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <time.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "support/measure.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

using pair_of_numbers = tk::tensor<tk::f32, 2>;

double thread_seconds() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Nanoseconds of this thread for one of n calls of f: the least of some rounds, for the work is always the same.
template <class F>
double nanoseconds(int n, F f) {
  double least = 1e9;
  for (int round = 0; round < 20; ++round) {
    const double begin = thread_seconds();
    for (int i = 0; i < n; ++i) f(i);
    least = std::min(least, thread_seconds() - begin);
  }
  return least / n * 1e9;
}
void print(const std::string& name, double ns) { bench::report("calls", name, "tokamax", ns, "ns"); }

/// Bytes of this process in memory.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * 4096;
}

struct state {
  std::array<array, 3200> leaves = [] {
    std::array<array, 3200> all;
    all.fill(tk::zeros({2}));
    return all;
  }();
};

}  // namespace

int main() {
  tk::cpu_backend::set_num_threads(1);
  const array x = array::from<float>({1, 2}), y = array::from<float>({3, 4});
  print("eager add of 2 numbers", nanoseconds(2000, [&](int) { (void)(x + y); }));
  print("eager x * 2", nanoseconds(2000, [&](int) { (void)(x * 2.0f); }));

  const pair_of_numbers a(x), b(y);
  const auto known = tk::jit([](const pair_of_numbers& p, const pair_of_numbers& q) { return p * q + p; }, tk::cpu);
  print("jit, known while compiling", nanoseconds(2000, [&](int) { (void)known(a, b); }));

  const auto traced = tk::jit([](const array& p, const array& q) { return p * q + p; }, tk::cpu);
  std::vector<array> shapes;
  for (std::int64_t n = 1; n <= 1000; ++n) shapes.push_back(tk::array::filled({tk::f32, false, {n}}, 1.0));
  traced.keep_programs(1000);
  print("jit, traced at run time, 1 shape", nanoseconds(2000, [&](int) { (void)traced(shapes[1], shapes[1]); }));
  const double before = resident_bytes();
  for (const array& s : shapes) (void)traced(s, s);
  bench::report("calls", "memory of a program, 1,000 shapes", "tokamax", (resident_bytes() - before) / 1000 / 1024,
                "KiB");
  print("jit, traced at run time, 1,000 shapes, the last one",
        nanoseconds(2000, [&](int) { (void)traced(shapes[1], shapes[1]); }));
  print("jit, traced at run time, 1,000 shapes in turns", nanoseconds(2000, [&](int i) {
          (void)traced(shapes[static_cast<std::size_t>(i % 16)], shapes[static_cast<std::size_t>(i % 16)]);
        }));

  state s;
  for (array& leaf : s.leaves) leaf = array::from<float>({1, 2});
  const auto step = tk::jit([](const state& t) { return t; }, tk::cpu, tk::at_run_time);
  print("step on a state of 3,200 arrays, donated", nanoseconds(20, [&](int) { s = step(std::move(s)); }));
}
