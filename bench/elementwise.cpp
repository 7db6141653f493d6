// bench/elementwise.cpp: bandwidth of fused elementwise chains beside that of a copy, with all threads.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <cstring>

#include "support/measure.hpp"

namespace tk = tokamax;
constexpr std::int64_t elements = 1 << 24;
using vector = tk::tensor<tk::f32, elements>;

void print(const char* name, double bytes, double seconds) {
  bench::report("elementwise", name, "tokamax", bytes / seconds * 1e-9, "GB/s");
}

int main() {
  const vector x(tk::full({elements}, 0.5)), y(tk::full({elements}, 0.25));
  const float* from = x.data<float>();
  tk::array to = tk::array::uninitialized(x.type());
  float* out = to.mutable_data<float>();
  constexpr std::int64_t chunk = 1 << 16;
  print("copy 16777216 f32", 8.0 * elements, bench::median_seconds([&] {
          tk::cpu_backend::parallel_for(
              elements / chunk, [&](std::int64_t i) { std::memcpy(out + i * chunk, from + i * chunk, chunk * 4); });
        }));
  const auto chain = tk::jit(
      [](const vector& a, const vector& b) { return (a * 2.0f + b) * (a - b) + tk::maximum(a, 0.1f) * b; }, tk::cpu);
  print("chain of 8 ops, two operands", 12.0 * elements, bench::median_seconds([&] { chain(x, y); }));
  const auto gelu =
      tk::jit([](const vector& a) { return tk::gelu(tk::gelu(1.01f * a + 0.01f) * 0.99f - 0.01f); }, tk::cpu);
  print("gelu chain 16777216 f32", 8.0 * elements, bench::median_seconds([&] { gelu(x); }));
}
