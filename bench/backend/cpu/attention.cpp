// bench/backend/cpu/attention.cpp: GFLOP/s of attention, forward and with its cotangents.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/attention.hpp>

#include "support/measure.hpp"

namespace simd = tokamax::simd;

// Operations: 4 B N T S H forward and 10 B N T S H backward, half of that where causal.
int main() {
  std::vector<simd::attention_shape> cases{{8, 128, 128, 6, 6, 64, 0.125f, true},
                                           {4, 64, 64, 12, 12, 64, 0.125f, true},
                                           {1, 2048, 2048, 8, 2, 128, 0.088f, true}};
  for (const bool causal : {true, false})
    for (const std::int64_t t : {512, 2048, 8192})
      for (const std::int64_t h : {64, 128}) cases.push_back({1, t, t, 4, 4, h, 0.1f, causal});
  for (const auto& s : cases) {
    const std::int64_t cells = s.batch * s.queries * s.heads * s.head_size;
    const std::int64_t kv = s.batch * s.keys * s.kv_heads * s.head_size;
    std::vector<float> q(static_cast<std::size_t>(cells), 0.1f), out(q), dout(q), dq(q);
    std::vector<float> k(static_cast<std::size_t>(kv), 0.2f), v(k), dk(k), dv(k);
    std::vector<float> lse(static_cast<std::size_t>(s.batch * s.heads * s.queries));
    const auto view = [&]<class T>(T* p, std::int64_t length, std::int64_t heads) {
      return simd::heads_view<T>{p, length * heads * s.head_size, heads * s.head_size, s.head_size};
    };
    const auto in = [&](const std::vector<float>& x) { return view(x.data(), s.queries, s.heads); };
    const auto kin = [&](const std::vector<float>& x) { return view(x.data(), s.keys, s.kv_heads); };
    const auto forward = [&] {
      simd::attention(s, in(q), kin(k), kin(v), view(out.data(), s.queries, s.heads), lse.data());
    };
    const auto both = [&] {
      forward();
      simd::attention_backward(s, in(q), kin(k), kin(v), in(out), lse.data(), in(dout),
                               view(dq.data(), s.queries, s.heads), view(dk.data(), s.keys, s.kv_heads),
                               view(dv.data(), s.keys, s.kv_heads));
    };
    const double unit =
        static_cast<double>(s.batch * s.heads * s.queries * s.keys * s.head_size) * (s.causal ? 0.5e-9 : 1e-9);
    const std::string name = fmt::format("{} B{} T{} N{} K{} H{}", s.causal ? "causal" : "full", s.batch, s.queries,
                                         s.heads, s.kv_heads, s.head_size);
    bench::report("attention", name, "tokamax", 4 * unit / bench::median_seconds(forward, 3), "GFLOP/s");
    bench::report("attention", name + " with gradient", "tokamax", 14 * unit / bench::median_seconds(both, 3),
                  "GFLOP/s");
  }
}
