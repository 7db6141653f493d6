// tests/consumer/chain.cpp: a program compiled without a build type is about as fast as the same traced at run time.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <chrono>
#include <cstdio>

namespace tk = tokamax;
using image = tk::tensor<tk::f32, 1024, 1024>;

constexpr auto chain = [](const image& x) { return tk::tanh((x * 2.0f + 1.0f) * x - 3.0f) / (x * x + 1.0f); };

/// The fastest of some calls, in milliseconds.
double milliseconds(const auto& f, const image& x) {
  double best = 1e9;
  for (int i = 0; i < 6; ++i) {
    const auto start = std::chrono::steady_clock::now();
    (void)f(x);
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

int main() {
  const image x{tk::random::uniform(tk::random::key(1), {1024, 1024})};
  const auto compiled = tk::jit(chain, tk::cpu, tk::while_compiling);
  const auto late = tk::jit(chain, tk::cpu, tk::at_run_time);
  const auto a = compiled(x).values<float>(), b = late(x).values<float>();
  const bool same = std::equal(a.begin(), a.end(), b.begin(), b.end());
  const double t = milliseconds(compiled, x), limit = 20 * milliseconds(late, x);
  std::printf("compiled: %.2f ms, limit %.2f ms, the same bits: %s\n", t, limit, same ? "yes" : "no");
  return t < limit && same ? 0 : 1;
}
