// bench/backend/cpu/attention.cpp: GFLOP/s of attention and its cotangents.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/attention.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace simd = tokamax::simd;

// Arguments: rounds (default 5). Flops: 4 B N T S H forward and 10 B N T S H backward, half of that when causal.
int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const simd::attention_shape cases[] = {{8, 128, 128, 6, 6, 64, 0.125f, true},
                                         {4, 64, 64, 12, 12, 64, 0.125f, true},
                                         {1, 1024, 1024, 12, 12, 64, 0.125f, true},
                                         {1, 1024, 1024, 12, 12, 64, 0.125f, false},
                                         {1, 2048, 2048, 8, 2, 128, 0.088f, true}};
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
    double best[2] = {1e300, 1e300};
    for (int round = 0; round <= rounds; ++round) {
      const auto t0 = std::chrono::steady_clock::now();
      simd::attention(s, in(q), kin(k), kin(v), view(out.data(), s.queries, s.heads), lse.data());
      const auto t1 = std::chrono::steady_clock::now();
      simd::attention_backward(s, in(q), kin(k), kin(v), in(out), lse.data(), in(dout),
                               view(dq.data(), s.queries, s.heads), view(dk.data(), s.keys, s.kv_heads),
                               view(dv.data(), s.keys, s.kv_heads));
      const auto t2 = std::chrono::steady_clock::now();
      best[0] = std::min(best[0], std::chrono::duration<double>(t1 - t0).count());
      best[1] = std::min(best[1], std::chrono::duration<double>(t2 - t1).count());
    }
    const double unit =
        static_cast<double>(s.batch * s.heads * s.queries * s.keys * s.head_size) * (s.causal ? 0.5 : 1.0);
    std::printf(
        "{\"bench\": \"attention\", \"b\": %lld, \"t\": %lld, \"n\": %lld, \"k\": %lld, \"h\": %lld, \"causal\": %s, "
        "\"threads\": %d, \"forward_gflops\": %.1f, \"backward_gflops\": %.1f, \"forward_ms\": %.3f, "
        "\"backward_ms\": %.3f}\n",
        static_cast<long long>(s.batch), static_cast<long long>(s.queries), static_cast<long long>(s.heads),
        static_cast<long long>(s.kv_heads), static_cast<long long>(s.head_size), s.causal ? "true" : "false",
        simd::num_threads(), 4 * unit / best[0] * 1e-9, 10 * unit / best[1] * 1e-9, best[0] * 1e3, best[1] * 1e3);
  }
}
