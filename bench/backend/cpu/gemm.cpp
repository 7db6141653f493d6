// bench/backend/cpu/gemm.cpp: GFLOP/s of single-precision products, next to oneDNN's where it is installed.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/gemm.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#if __has_include(<dnnl.h>) && !defined(TOKAMAX_BENCH_WITHOUT_ONEDNN)
  #include <dnnl.h>
  #define TOKAMAX_BENCH_ONEDNN 1
#endif

namespace simd = tokamax::simd;

namespace {

struct shape_case {
  std::int64_t m, n, k;
  bool a_transposed, b_transposed;
};

constexpr shape_case cases[] = {
    {512, 512, 512, false, false},  {2048, 2048, 2048, false, false}, {256, 768, 768, false, false},
    {256, 3072, 768, false, false}, {256, 768, 3072, false, false},   {256, 768, 3072, false, true},
    {768, 3072, 256, true, false},  {256, 50304, 768, false, false},  {256, 50304, 768, false, true},
    {768, 50304, 256, true, false}, {256, 768, 50304, false, true},   {256, 768, 50304, false, false},
    {1024, 384, 384, false, false}, {1024, 1536, 384, false, false},  {1024, 384, 1536, false, false},
    {384, 1536, 1024, true, false}, {1024, 256, 384, false, false},   {128, 128, 64, false, true},
    {1, 768, 768, false, false},    {1, 50304, 768, false, false},    {1, 50304, 768, false, true},
    {4, 3072, 768, false, false},   {8, 3072, 768, false, false},     {16, 3072, 768, false, false},
    {8, 3072, 768, false, true}};

double seconds(auto&& work) {
  const auto from = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

double best(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

}  // namespace

// Arguments: rounds for each shape (default 9). The peers take turns, so that a busy machine slows both.
int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  for (const shape_case& s : cases) {
    std::vector<float> a(static_cast<std::size_t>(s.m * s.k), 0.5f), b(static_cast<std::size_t>(s.k * s.n), 0.25f);
    std::vector<float> c(static_cast<std::size_t>(s.m * s.n));
    const simd::matrix_view va =
        s.a_transposed ? simd::matrix_view{a.data(), 1, s.m} : simd::matrix_view{a.data(), s.k, 1};
    const simd::matrix_view vb =
        s.b_transposed ? simd::matrix_view{b.data(), 1, s.k} : simd::matrix_view{b.data(), s.n, 1};
    const double flops = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
    const int repeats = static_cast<int>(std::clamp(2e8 / flops, 1.0, 100.0));
    std::vector<double> ours, peer;
    for (int round = 0; round <= rounds; ++round) {  // the first round warms up
      const double t = seconds([&] {
        for (int i = 0; i < repeats; ++i) simd::gemm(s.m, s.n, s.k, va, vb, c.data(), s.n);
      });
      if (round > 0) ours.push_back(t / repeats);
#if defined(TOKAMAX_BENCH_ONEDNN)
      const double u = seconds([&] {
        for (int i = 0; i < repeats; ++i)
          dnnl_sgemm(s.a_transposed ? 'T' : 'N', s.b_transposed ? 'T' : 'N', s.m, s.n, s.k, 1.0f, a.data(),
                     s.a_transposed ? s.m : s.k, b.data(), s.b_transposed ? s.k : s.n, 0.0f, c.data(), s.n);
      });
      if (round > 0) peer.push_back(u / repeats);
#endif
    }
    const double mine = flops / best(ours) * 1e-9;
    std::printf(
        "{\"bench\": \"gemm\", \"m\": %lld, \"n\": %lld, \"k\": %lld, \"a\": \"%s\", \"b\": \"%s\", \"threads\": %d, "
        "\"gflops\": %.1f",
        static_cast<long long>(s.m), static_cast<long long>(s.n), static_cast<long long>(s.k),
        s.a_transposed ? "t" : "n", s.b_transposed ? "t" : "n", simd::num_threads(), mine);
    if (!peer.empty()) {
      const double theirs = flops / best(peer) * 1e-9;
      std::printf(", \"onednn_gflops\": %.1f, \"ratio\": %.2f", theirs, mine / theirs);
    }
    std::printf("}\n");
  }
}
