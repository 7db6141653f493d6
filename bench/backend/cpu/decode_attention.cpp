// bench/backend/cpu/decode_attention.cpp: attention of few queries to long keys: row by row, by blocked products, and a copy.
// SPDX-License-Identifier: Apache-2.0
//
// Rows report bytes of keys and values a second. They take turns with blocked products, which many queries use, and with a copy
// of as many bytes. Each figure is the best of its rounds, so that other programs on the machine count less.
#include <tokamax/backend/cpu/attention/attention.hpp>
#include <tokamax/base/bfloat16.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "support/measure.hpp"

namespace cpu_backend = tokamax::cpu_backend;
using cpu_backend::detail::attention_forward, cpu_backend::detail::few_query_attention;

template <class T>
void measure(const cpu_backend::attention_shape& s) {
  constexpr bool half = sizeof(T) == 2;
  constexpr auto precision = half ? cpu_backend::gemm_precision::bfloat16 : cpu_backend::gemm_precision::f32;
  const std::int64_t cells = s.batch * s.queries * s.heads * s.head_size;
  const std::int64_t kv = s.batch * s.keys * s.kv_heads * s.head_size;
  const auto count = static_cast<std::size_t>(kv);
  std::vector<T> q(static_cast<std::size_t>(cells), T(0.1f)), out(q);
  const std::unique_ptr<T[]> k(new T[count]), v(new T[count]), copy(new T[2 * count]);
  std::fill_n(k.get(), kv, T(0.5f));
  std::fill_n(v.get(), kv, T(0.25f));
  std::fill_n(copy.get(), 2 * kv, T(0.0f));
  const auto view = [&](T* x, std::int64_t length, std::int64_t heads) {
    return cpu_backend::heads_view<void>{x, length * heads * s.head_size, heads * s.head_size, s.head_size, half};
  };
  const auto of_q = view(q.data(), s.queries, s.heads), to = view(out.data(), s.queries, s.heads);
  const auto of_k = view(k.get(), s.keys, s.kv_heads), of_v = view(v.get(), s.keys, s.kv_heads);
  const auto machine = cpu_backend::detail::attention_kernels_for(cpu_backend::best_gemm_machine(), precision);
  const auto copy_all = [&] {
    constexpr std::int64_t chunk = 1 << 18;
    const std::int64_t chunks = (kv + chunk - 1) / chunk;
    cpu_backend::parallel_for(2 * chunks, [&](std::int64_t i) {
      const std::int64_t first = i % chunks * chunk, n = std::min(chunk, kv - first);
      std::memcpy(copy.get() + i / chunks * kv + first, (i < chunks ? k.get() : v.get()) + first,
                  static_cast<std::size_t>(n) * sizeof(T));
    });
  };
  const std::vector<double> seconds =
      bench::best_seconds_of({[&] { few_query_attention(s, of_q, of_k, of_v, to, {}); },
                              [&] { attention_forward(s, machine, of_q, of_k, of_v, to, {}); }, copy_all},
                             kv > 1 << 25 ? 5 : 15);
  const double bytes = 2e-9 * static_cast<double>(kv) * sizeof(T);
  const std::string name = fmt::format("{} B{} T{} S{} N{} K{} H{}", half ? "bf16" : "f32", s.batch, s.queries, s.keys,
                                       s.heads, s.kv_heads, s.head_size);
  bench::report("decode_attention", name, "tokamax", bytes / seconds[0], "GB/s");
  bench::report("decode_attention", name, "blocked products", bytes / seconds[1], "GB/s");
  bench::report("decode_attention", name, "copy", bytes / seconds[2], "GB/s");
}

int main() {
  for (const auto& [batch, queries, heads, kv_heads] : {std::array<std::int64_t, 4>{8, 1, 32, 32},
                                                        {8, 1, 32, 8},
                                                        {1, 1, 32, 8},
                                                        {1, 4, 32, 8},
                                                        {1, 8, 8, 8},
                                                        {1, 23, 8, 8}}) {
    const cpu_backend::attention_shape s{batch, queries, 4096, heads, kv_heads, 128, 0.088f, false};
    measure<float>(s);
    measure<tokamax::bfloat16>(s);
  }
}
