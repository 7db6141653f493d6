// bench/backend/cpu/kernel_call.cpp: kernels on blocks, whose source is that of all devices, beside the library's own kernels.
// SPDX-License-Identifier: Apache-2.0
//
// Both sides run in turns, and the fewest milliseconds count. `ratio` is the time of the blocks over that of the library.
#include <tokamax/backend/cpu.hpp>
#include <tokamax/kernel/ops/flash_attention.hpp>
#include <tokamax/kernel/ops/matmul.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/random.hpp>
#include <tokamax/runtime/jit.hpp>

#include <string>

#include "support/measure.hpp"

namespace tk = tokamax;
using tk::array;

using square = tk::tensor<tk::f32, 1024, 1024>;
using heads = tk::tensor<tk::f32, 8, 1024, 64>;

constexpr auto product = [](const square& x, const square& w) {
  return tk::kernel_ops::matmul(x, w, {.block = {256, 256, 256}});
};
constexpr auto own_product = [](const square& x, const square& w) { return tk::matmul(x, w); };
template <bool Causal>
constexpr auto attention = [](const heads& q, const heads& k, const heads& v) {
  return tk::kernel_ops::flash_attention(q, k, v, {.queries = 256, .keys = 256, .causal = Causal});
};
template <bool Causal>
constexpr auto own_attention = [](const heads& q, const heads& k, const heads& v) {
  const auto turned = [](const array& x) { return tk::expand_dims(tk::swapaxes(x, 0, 1), {0}); };
  const array y = tk::dot_product_attention(turned(q), turned(k), turned(v), {.is_causal = Causal});
  return tk::swapaxes(tk::reshape(y, {1024, 8, 64}), 0, 1);
};

template <class Blocks, class Own, class... Args>
void measure(const std::string& name, const Blocks& blocks, const Own& own, const Args&... args) {
  const auto known = tk::jit(blocks, tk::cpu, tk::while_compiling);
  const auto late = tk::jit(blocks, tk::cpu, tk::at_run_time);
  const auto library = tk::jit(own, tk::cpu, tk::at_run_time);
  const auto best =
      bench::best_seconds_of({[&] { known(args...); }, [&] { late(args...); }, [&] { library(args...); }}, 15);
  bench::report("kernel_call", name, "blocks, known while compiling", 1e3 * best[0], "ms");
  bench::report("kernel_call", name, "blocks, traced at run time", 1e3 * best[1], "ms");
  bench::report("kernel_call", name, "library", 1e3 * best[2], "ms");
  bench::report("kernel_call", name, "ratio, known while compiling", best[0] / best[2], "x");
  bench::report("kernel_call", name, "ratio, traced at run time", best[1] / best[2], "x");
}

int main() {
  int seed = 0;
  const auto normal = [&](const tk::shape& s) { return tk::random::normal(tk::random::key(++seed), s); };
  const square x = normal({1024, 1024}), w = normal({1024, 1024});
  measure("product of 1024", product, own_product, x, w);
  const heads q = normal({8, 1024, 64}), k = normal({8, 1024, 64}), v = normal({8, 1024, 64});
  measure("attention", attention<false>, own_attention<false>, q, k, v);
  measure("causal attention", attention<true>, own_attention<true>, q, k, v);
}
