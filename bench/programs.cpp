// bench/programs.cpp: many programs at once: what two of them do together, and what thousands of them keep in memory.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "support/measure.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

/// Calls of f(number of the thread) in a second, by so many threads at once.
template <class F>
double rate(int threads, const F& f) {
  std::atomic<int> ready = 0;
  std::atomic<bool> done = false;
  std::atomic<std::int64_t> calls = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      f(t);
      for (++ready; ready <= threads;) std::this_thread::yield();
      std::int64_t mine = 0;
      for (; !done; ++mine) f(t);
      calls += mine;
    });
  while (ready < threads) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  ++ready;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  done = true;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (std::thread& t : all) t.join();
  return static_cast<double>(calls) / seconds;
}

/// What two threads do together, as a multiple of what one does: the median of some rounds in turns.
template <class F>
void report_two(const char* name, const F& f) {
  std::vector<double> ratios;
  for (int round = 0; round < 9; ++round) {
    const double one = rate(1, f);
    ratios.push_back(rate(2, f) / one);
  }
  std::sort(ratios.begin(), ratios.end());
  bench::report("programs", name, "tokamax", ratios[ratios.size() / 2], "times one");
}

/// MiB of this process in memory.
double resident_mib() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * 4096 / (1 << 20);
}

constexpr auto layer = [](const array& x, const array& w) {
  array h = x;
  for (int i = 0; i < 4; ++i) h = tk::softmax(tk::matmul(h, w)) + tk::tanh(h);
  return h;
};

}  // namespace

int main() {
  const auto weights = [](std::int64_t n) { return tk::random::normal(tk::random::key(0), {n, n}); };
  const auto program = tk::jit(layer, tk::cpu(1), tk::at_run_time);
  const auto other = tk::jit(layer, tk::cpu(1), tk::at_run_time);
  for (const std::int64_t n : {16, 64, 256}) {
    const array x = weights(n), w = weights(n);
    const std::string name = "two programs of one thread, layers of " + std::to_string(n);
    report_two(name.c_str(), [&](int t) { (void)(t == 0 ? program : other)(x, w); });
  }
  const array x = tk::ones({64}) + 0.0f;
  report_two("one program called by two threads, 64 numbers",
             [f = tk::jit([](const array& a) { return tk::sin(a) + a; }, tk::cpu(1), tk::at_run_time), &x](int) {
               (void)f(x);
             });
  report_two("eager ops of two threads, 64 numbers", [&](int) { (void)(x + x); });

  const auto many = tk::jit(layer, tk::cpu(1), tk::at_run_time);
  many.keep_programs(1000);
  const auto call = [&](std::int64_t rows) { (void)many(tk::ones({rows, 4}), tk::ones({4, 4})); };
  const double before = resident_mib();
  for (std::int64_t rows = 1; rows <= 1000; ++rows) call(rows);
  const double kept = resident_mib();
  bench::report("programs", "memory of 1,000 programs of 16 ops", "tokamax", kept - before, "MiB");
  for (std::int64_t rows = 1001; rows <= 10000; ++rows) call(rows);
  bench::report("programs", "more memory after 10,000 shapes, 1,000 programs kept", "tokamax", resident_mib() - kept,
                "MiB");
}
