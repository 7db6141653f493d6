// bench/backend/cpu/gemm.cpp: GFLOP/s of products in f32 and bfloat16, next to Eigen's and oneDNN's where it is installed.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/gemm.hpp>

#include <Eigen/Core>

#include "support/measure.hpp"

#if __has_include(<dnnl.hpp>) && !defined(TOKAMAX_BENCH_WITHOUT_ONEDNN)
  #include <dnnl.hpp>
  #define TOKAMAX_BENCH_ONEDNN 1
#endif

namespace simd = tokamax::simd;

namespace {

struct shape_case {
  std::int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;

  double gigaflops() const { return 2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
  std::string name(const char* dtype) const {
    return fmt::format("{} [{}, {}]{} [{}, {}]{}", dtype, m, k, a_transposed ? "t" : "", k, n, b_transposed ? "t" : "");
  }
};

// Squares; GPT-2's products and those of their gradients; few rows.
const std::vector<shape_case> cases = {{256, 256, 256},
                                       {512, 512, 512},
                                       {1024, 1024, 1024},
                                       {2048, 2048, 2048},
                                       {4096, 4096, 4096},
                                       {256, 768, 768},
                                       {256, 3072, 768},
                                       {256, 768, 3072},
                                       {256, 50304, 768, false, true},
                                       {256, 768, 3072, false, true},
                                       {256, 3072, 768, false, true},
                                       {768, 3072, 256, true},
                                       {3072, 768, 256, true},
                                       {50304, 768, 256, true},
                                       {1, 768, 768},
                                       {1, 50304, 768},
                                       {1, 50304, 768, false, true},
                                       {4, 3072, 768},
                                       {16, 3072, 768},
                                       {16, 3072, 768, false, true}};

template <class F>
void report(const shape_case& s, const char* dtype, const char* impl, F work) {
  const int repeats = static_cast<int>(std::clamp(0.2 / s.gigaflops(), 1.0, 200.0));
  const double seconds = bench::median_seconds([&] {
    for (int i = 0; i < repeats; ++i) work();
  });
  bench::report("gemm", s.name(dtype), impl, s.gigaflops() * repeats / seconds, "GFLOP/s");
}

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

// bf16: operands are f32 and rounded on the way, as in training steps; oneDNN's are bfloat16, its weights packed.
int main() {
  for (const shape_case& s : cases) {
    matrix a = matrix::Random(s.a_transposed ? s.k : s.m, s.a_transposed ? s.m : s.k);
    matrix b = matrix::Random(s.b_transposed ? s.n : s.k, s.b_transposed ? s.k : s.n), c(s.m, s.n);
    const simd::matrix_view va =
        s.a_transposed ? simd::matrix_view{a.data(), 1, s.m} : simd::matrix_view{a.data(), s.k, 1};
    const simd::matrix_view vb =
        s.b_transposed ? simd::matrix_view{b.data(), 1, s.k} : simd::matrix_view{b.data(), s.n, 1};
    for (const auto precision : {simd::gemm_precision::f32, simd::gemm_precision::bfloat16})
      report(s, precision == simd::gemm_precision::f32 ? "f32" : "bf16", "tokamax",
             [&] { simd::gemm(s.m, s.n, s.k, va, vb, c.data(), s.n, simd::gemm_mode::assign, {}, precision); });
    report(s, "f32", "eigen", [&] {
      if (s.a_transposed)
        c.noalias() = a.transpose() * b;
      else if (s.b_transposed)
        c.noalias() = a * b.transpose();
      else
        c.noalias() = a * b;
    });
#if defined(TOKAMAX_BENCH_ONEDNN)
    report(s, "f32", "onednn", [&] {
      dnnl_sgemm(s.a_transposed ? 'T' : 'N', s.b_transposed ? 'T' : 'N', s.m, s.n, s.k, 1.0f, a.data(), a.cols(),
                 b.data(), b.cols(), 0.0f, c.data(), s.n);
    });
    using namespace dnnl;
    static const engine cpu(engine::kind::cpu, 0);
    static stream work(cpu);
    using layout = memory::format_tag;
    const memory::desc left({s.m, s.k}, memory::data_type::bf16, s.a_transposed ? layout::ba : layout::ab);
    const memory::desc right({s.k, s.n}, memory::data_type::bf16, layout::any);
    const memory::desc product({s.m, s.n}, memory::data_type::f32, layout::ab);
    const matmul::primitive_desc description(matmul::desc(left, right, product), cpu);
    const matmul multiply(description);
    const memory ma(left, cpu), mb(description.weights_desc(), cpu), mc(product, cpu);
    report(s, "bf16", "onednn", [&] {
      multiply.execute(work, {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, mc}});
      work.wait();
    });
#endif
  }
}
