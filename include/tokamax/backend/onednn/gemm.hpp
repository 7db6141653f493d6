// tokamax/backend/onednn/gemm.hpp: matrix products by oneDNN.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (who links tokamax::onednn includes it)
// needs <dnnl.hpp>
#pragma once

#include <tokamax/backend/cpu/gemm/choose/implementation.hpp>  // gemm_implementation
#include <tokamax/backend/cpu/gemm/choose/offered.hpp>         // offered

#include <dnnl.hpp>

#include <cstdint>  // int64_t, int8_t, int32_t
#include <cstdlib>  // abort
#include <map>      // map
#include <tuple>    // tuple

#if defined(_OPENMP)
  #include <omp.h>  // omp_get_max_threads
#endif

namespace tokamax::onednn {

namespace detail {

// oneDNN uses the limit of threads that OpenMP has. If this file is compiled without OpenMP, oneDNN would use all
// processors.
#if defined(_OPENMP) && DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
inline constexpr bool keeps_to_our_threads = true;
inline int threads() noexcept { return omp_get_max_threads(); }
#else
inline constexpr bool keeps_to_our_threads = false;
inline int threads() noexcept { return 1; }
#endif

// Does the machine have the instruction set `isa`, according to oneDNN?
inline bool has(dnnl::cpu_isa isa) noexcept {
  static const int found = static_cast<int>(dnnl::get_effective_cpu_isa());
  return (found & static_cast<int>(isa)) == static_cast<int>(isa);
}

inline char letter(const cpu_backend::matrix_view& v) noexcept { return cpu_backend::is_transposed(v) ? 'T' : 'N'; }

// Products bfloat16 x bfloat16 -> f32. oneDNN has no plain function for them, but compiles code for each shape, which each
// thread keeps.
class product {
 public:
  using key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool,
                         bool, int>;

  static product& of(const cpu_backend::gemm_product& p) {
    static thread_local std::map<key, product> all;
    return all
        .try_emplace({p.m, p.n, p.k, cpu_backend::leading_stride(p.a), cpu_backend::leading_stride(p.b), p.ldc,
                      is_transposed(p.a), is_transposed(p.b), p.mode == cpu_backend::gemm_mode::assign, threads()},
                     p)
        .first->second;
  }

  explicit product(const cpu_backend::gemm_product& p) {
    using dnnl::memory;
    constexpr auto in = memory::data_type::bf16, out = memory::data_type::f32;
    const memory::desc a({p.m, p.k}, in, {p.a.row_stride, p.a.column_stride}),
        b({p.k, p.n}, in, {p.b.row_stride, p.b.column_stride}), c({p.m, p.n}, out, {p.ldc, 1});
    dnnl::primitive_attr how;
    if (p.mode == cpu_backend::gemm_mode::accumulate) {
      dnnl::post_ops add;
      add.append_sum(1.0f);
      how.set_post_ops(add);
    }
#if DNNL_VERSION_MAJOR >= 3
    multiply_ = dnnl::matmul(dnnl::matmul::primitive_desc(cpu(), a, b, c, how));
#else
    multiply_ = dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), how, cpu()));
#endif
    a_ = memory(a, cpu(), DNNL_MEMORY_NONE);
    b_ = memory(b, cpu(), DNNL_MEMORY_NONE);
    c_ = memory(c, cpu(), DNNL_MEMORY_NONE);
  }

  void run(const cpu_backend::gemm_product& p) {
    static thread_local dnnl::stream order(cpu());
    a_.set_data_handle(const_cast<void*>(p.a.data));
    b_.set_data_handle(const_cast<void*>(p.b.data));
    c_.set_data_handle(p.c);
    multiply_.execute(order, {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}});
    order.wait();
  }

 private:
  static const dnnl::engine& cpu() {
    static const dnnl::engine one(dnnl::engine::kind::cpu, 0);
    return one;
  }
  dnnl::matmul multiply_;
  dnnl::memory a_, b_, c_;
};

inline bool can(const cpu_backend::gemm_product& p) noexcept {
  using cpu_backend::gemm_element;
  if (!keeps_to_our_threads || p.a.element != p.b.element) return false;
  switch (p.a.element) {
    case gemm_element::f32:
      return p.precision == cpu_backend::gemm_precision::f32;
    case gemm_element::bfloat16:
      return p.precision == cpu_backend::gemm_precision::bfloat16 && has(dnnl::cpu_isa::avx512_core);
    case gemm_element::int8:  // on older machines oneDNN adds pairs in 16 bits, which saturate
      return has(dnnl::cpu_isa::avx512_core_vnni);
  }
  return false;
}

inline void run(const cpu_backend::gemm_product& p) noexcept {
  const float beta = p.mode == cpu_backend::gemm_mode::assign ? 0.0f : 1.0f;
  const std::int64_t lda = cpu_backend::leading_stride(p.a), ldb = cpu_backend::leading_stride(p.b);
  dnnl_status_t status = dnnl_success;
  switch (p.a.element) {
    case cpu_backend::gemm_element::f32:
      status = dnnl_sgemm(letter(p.a), letter(p.b), p.m, p.n, p.k, 1.0f, p.a.f32_at(0, 0), lda, p.b.f32_at(0, 0), ldb,
                          beta, p.c, p.ldc);
      break;
    case cpu_backend::gemm_element::bfloat16:
      product::of(p).run(p);
      break;
    case cpu_backend::gemm_element::int8: {
      const std::int32_t zero = 0;
      status = dnnl_gemm_s8s8s32(
          letter(p.a), letter(p.b), 'F', p.m, p.n, p.k, 1.0f, static_cast<const std::int8_t*>(p.a.data), lda, 0,
          static_cast<const std::int8_t*>(p.b.data), ldb, 0, beta, reinterpret_cast<std::int32_t*>(p.c), p.ldc, &zero);
      break;
    }
  }
  if (status != dnnl_success) std::abort();  // only if memory is exhausted
}

}  // namespace detail

/// oneDNN's products, for `use_implementation("dot_general", "onednn")`, autotune, and blas::choices().add(onednn::gemm). Link tokamax::onednn, which exists where CMake finds
/// dnnl.
///
/// dtypes  a, b f32, multiplied in f32; bf16, multiplied in bfloat16, with AVX-512; int8 with its VNNI
inline constexpr cpu_backend::gemm_implementation gemm{"onednn", detail::can, detail::run};

namespace detail {
inline const bool is_offered = cpu_backend::offered().add(gemm);  // to dot_general, for programs that include this
}

}  // namespace tokamax::onednn
