// bench/backend/cpu/gemm.cpp: GFLOP/s of products in f32, bfloat16, int8, f64 and wider integers, next to Eigen's and oneDNN's
// where it is installed, and to what is chosen among them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/gemm/choose/choice.hpp>
#include <tokamax/backend/cpu/gemm/gemm.hpp>
#include <tokamax/backend/cpu/gemm/typed.hpp>
#include <tokamax/backend/cpu/roofline.hpp>
#include <tokamax/backend/eigen/gemm.hpp>
#include <tokamax/base/bfloat16.hpp>

#include <Eigen/Core>

#include <memory>
#include <new>

#include "support/measure.hpp"

#if defined(TOKAMAX_BENCH_ONEDNN)
  #include <tokamax/backend/onednn/gemm.hpp>

  #include <dnnl.hpp>
#endif

namespace cpu_backend = tokamax::cpu_backend;
using tokamax::bfloat16;

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
                                       {256, 768, 50304},
                                       {256, 768, 3072, false, true},
                                       {256, 3072, 768, false, true},
                                       {768, 3072, 256, true},
                                       {3072, 768, 256, true},
                                       {50304, 768, 256, true},
                                       {1, 768, 768},
                                       {1, 50304, 768},
                                       {1, 50304, 768, false, true},
                                       {4, 3072, 768},
                                       {4, 3072, 768, false, true},
                                       {16, 3072, 768},
                                       {16, 3072, 768, false, true}};

// Products of f64 and of wide integers.
const std::vector<shape_case> typed_cases = {
    {64, 64, 64},    {256, 256, 256},    {256, 256, 256, true}, {256, 256, 256, false, true},
    {512, 512, 512}, {1024, 1024, 1024}, {1, 1024, 1024},       {1, 1024, 1024, false, true},
    {4, 1024, 1024}};

struct contender {
  const char* impl;
  std::function<void()> work;
};

std::string_view only;  // of the command line: a part of the names of the cases that are measured

void report(const shape_case& s, const char* dtype, const std::vector<contender>& all, double peak = 0) {
  if (s.name(dtype).find(only) == std::string::npos) return;
  const int repeats = static_cast<int>(std::clamp(0.2 / s.gigaflops(), 1.0, 200.0));
  std::vector<std::function<void()>> works;
  for (const contender& c : all)
    works.push_back([&c, repeats] {
      for (int i = 0; i < repeats; ++i) c.work();
    });
  const std::vector<double> seconds = bench::median_seconds_of(works, s.gigaflops() > 10 ? 5 : 9);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double rate = s.gigaflops() * repeats / seconds[i];
    bench::report("gemm", s.name(dtype), all[i].impl, rate, "GFLOP/s");
    if (i == 0 && peak > 0) fmt::print("  {:.2f} of the peak\n", rate / peak);
  }
}

// Memory that begins on a line of the caches, as that of arrays does.
template <class T>
struct line_allocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, line); }
  bool operator==(const line_allocator&) const { return true; }
};
template <class T>
using matrix = std::vector<T, line_allocator<T>>;

template <class T>
matrix<T> values(std::int64_t rows, std::int64_t columns) {
  matrix<T> all(static_cast<std::size_t>(rows * columns));
  std::uint32_t bits = 1;
  for (T& x : all) {
    bits = bits * 1664525u + 1013904223u;
    if constexpr (std::is_integral_v<T>)
      x = static_cast<T>(bits >> 24);
    else
      x = T(static_cast<float>(bits >> 8) / 8388608.0f - 1.0f);
  }
  return all;
}

template <class T>
cpu_backend::matrix_view view(const matrix<T>& x, std::int64_t rows, std::int64_t columns, bool transposed) {
  constexpr auto element = std::is_same_v<T, float>      ? cpu_backend::gemm_element::f32
                           : std::is_same_v<T, bfloat16> ? cpu_backend::gemm_element::bfloat16
                                                         : cpu_backend::gemm_element::int8;
  return transposed ? cpu_backend::matrix_view{x.data(), 1, rows, element}
                    : cpu_backend::matrix_view{x.data(), columns, 1, element};
}

// Our kernels, and those that are chosen for the shape.
std::vector<contender> ours_and_chosen(const cpu_backend::gemm_product& p) {
  return {
      {"tokamax", [p] { cpu_backend::detail::own_gemm(p); }},
      {"tokamax, chosen", [p] { cpu_backend::gemm(p.m, p.n, p.k, p.a, p.b, p.c, p.ldc, p.mode, {}, p.precision); }}};
}

// Eigen's product of the same matrices.
template <class T>
std::function<void()> eigen_product(const shape_case& s, const T* a, const T* b, T* c) {
  using rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;  // the transposed matrix, as it lies in memory
  return [=] {
    Eigen::Map<rows> to(c, s.m, s.n);
    if (s.a_transposed)
      to.noalias() = Eigen::Map<const columns>(a, s.m, s.k) * Eigen::Map<const rows>(b, s.k, s.n);
    else if (s.b_transposed)
      to.noalias() = Eigen::Map<const rows>(a, s.m, s.k) * Eigen::Map<const columns>(b, s.k, s.n);
    else
      to.noalias() = Eigen::Map<const rows>(a, s.m, s.k) * Eigen::Map<const rows>(b, s.k, s.n);
  };
}

void f32_case(const shape_case& s, double peak) {
  const auto a = values<float>(s.m, s.k), b = values<float>(s.k, s.n);
  matrix<float> c(static_cast<std::size_t>(s.m * s.n));
  std::vector<contender> all =
      ours_and_chosen({s.m, s.n, s.k, view(a, s.m, s.k, s.a_transposed), view(b, s.k, s.n, s.b_transposed), c.data(),
                       s.n, cpu_backend::gemm_mode::assign, cpu_backend::gemm_precision::f32});
  all.push_back({"eigen", eigen_product(s, a.data(), b.data(), c.data())});
#if defined(TOKAMAX_BENCH_ONEDNN)
  all.push_back({"onednn", [&] {
                   dnnl_sgemm(s.a_transposed ? 'T' : 'N', s.b_transposed ? 'T' : 'N', s.m, s.n, s.k, 1.0f, a.data(),
                              s.a_transposed ? s.m : s.k, b.data(), s.b_transposed ? s.k : s.n, 0.0f, c.data(), s.n);
                 }});
#endif
  report(s, "f32", all, peak);
}

#if defined(TOKAMAX_BENCH_ONEDNN)
class onednn_product {
 public:
  onednn_product(const shape_case& s, bool weights, dnnl::memory::data_type in, dnnl::memory::data_type out,
                 const void* a, const void* b, void* c) {
    using namespace dnnl;
    using layout = memory::format_tag;
    const memory::desc left({s.m, s.k}, in, s.a_transposed ? layout::ba : layout::ab);
    const memory::desc right({s.k, s.n}, in, s.b_transposed ? layout::ba : layout::ab);
    const memory::desc product({s.m, s.n}, out, layout::ab);
    const memory::desc best({s.k, s.n}, in, weights ? layout::any : s.b_transposed ? layout::ba : layout::ab);
    const matmul::primitive_desc description(matmul::desc(left, best, product), cpu_);
    multiply_ = matmul(description);
    a_ = memory(left, cpu_, const_cast<void*>(a));
    b_ = memory(description.weights_desc(), cpu_);
    c_ = memory(product, cpu_, c);
    memory given(right, cpu_, const_cast<void*>(b));
    reorder(given, b_).execute(work_, given, b_);
  }
  void run() {
    multiply_.execute(work_, {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}});
    work_.wait();
  }

 private:
  dnnl::engine cpu_{dnnl::engine::kind::cpu, 0};
  dnnl::stream work_{cpu_};
  dnnl::matmul multiply_;
  dnnl::memory a_, b_, c_;
};

// Adds oneDNN's product, where it has one for this machine.
void add_onednn(std::vector<contender>& all, const shape_case& s, bool weights, dnnl::memory::data_type in,
                dnnl::memory::data_type out, const void* a, const void* b, void* c) {
  try {
    all.push_back({"onednn", [peer = std::make_shared<onednn_product>(s, weights, in, out, a, b, c)] { peer->run(); }});
  } catch (const dnnl::error&) {}
}
#endif

// Weights are packed before; the right sides of weights' gradients are not.
void bfloat16_case(const shape_case& s, double peak) {
  const bool weights = !s.a_transposed;
  const auto a = values<bfloat16>(s.m, s.k), b = values<bfloat16>(s.k, s.n);
  const cpu_backend::matrix_view va = view(a, s.m, s.k, s.a_transposed), vb = view(b, s.k, s.n, s.b_transposed);
  const tokamax::blas::packed_matrix packed(weights ? s.k : 0, s.n, vb, cpu_backend::gemm_precision::bfloat16);
  matrix<float> c(static_cast<std::size_t>(s.m * s.n));
  const auto compare = [&](const char* name, [[maybe_unused]] bool pack, std::vector<contender> all) {
#if defined(TOKAMAX_BENCH_ONEDNN)
    add_onednn(all, s, pack, dnnl::memory::data_type::bf16, dnnl::memory::data_type::f32, a.data(), b.data(), c.data());
#endif
    report(s, name, all, peak);
  };
  if (weights) compare("bf16", true, {{"tokamax", [&] { cpu_backend::gemm(s.m, va, packed, c.data(), s.n); }}});
  compare(weights ? "bf16 not packed" : "bf16", false,
          ours_and_chosen({s.m, s.n, s.k, va, vb, c.data(), s.n, cpu_backend::gemm_mode::assign,
                           cpu_backend::gemm_precision::bfloat16}));
  // as a training step has it: operands in f32 that are rounded on the way
  const auto wide_a = values<float>(s.m, s.k), wide_b = values<float>(s.k, s.n);
  report(s, "bf16 from f32",
         {{"tokamax",
           [&] {
             cpu_backend::gemm(s.m, s.n, s.k, view(wide_a, s.m, s.k, s.a_transposed),
                               view(wide_b, s.k, s.n, s.b_transposed), c.data(), s.n, cpu_backend::gemm_mode::assign,
                               {}, cpu_backend::gemm_precision::bfloat16);
           }}},
         peak);
}

void int8_case(const shape_case& s, double peak) {
  const bool weights = !s.a_transposed;
  const auto a = values<std::int8_t>(s.m, s.k), b = values<std::int8_t>(s.k, s.n);
  const cpu_backend::matrix_view va = view(a, s.m, s.k, s.a_transposed), vb = view(b, s.k, s.n, s.b_transposed);
  const tokamax::blas::packed_matrix packed(weights ? s.k : 0, s.n, vb, cpu_backend::int8_microkernels());
  matrix<std::int32_t> c(static_cast<std::size_t>(s.m * s.n));
  std::vector<contender> all{{"tokamax", [&] {
                                if (weights)
                                  cpu_backend::gemm(s.m, va, packed, c.data(), s.n);
                                else
                                  cpu_backend::detail::own_gemm(
                                      {s.m, s.n, s.k, va, vb, reinterpret_cast<float*>(c.data()), s.n,
                                       cpu_backend::gemm_mode::assign, cpu_backend::gemm_precision::f32});
                              }}};
#if defined(TOKAMAX_BENCH_ONEDNN)
  add_onednn(all, s, weights, dnnl::memory::data_type::s8, dnnl::memory::data_type::s32, a.data(), b.data(), c.data());
#endif
  report(s, "int8", all, peak);
}

// f64 and integers wider than int8, without a peak to compare with. T is the type that Eigen multiplies, Word ours.
template <class T, class Word = T>
void typed_case(const shape_case& s, const char* dtype) {
  const auto a = values<T>(s.m, s.k), b = values<T>(s.k, s.n);
  matrix<T> c(static_cast<std::size_t>(s.m * s.n));
  const auto view_of = [](const matrix<T>& x, std::int64_t rows, std::int64_t columns, bool transposed) {
    const auto* const data = reinterpret_cast<const Word*>(x.data());
    return transposed ? cpu_backend::typed_matrices<Word>{data, 0, 1, rows}
                      : cpu_backend::typed_matrices<Word>{data, 0, columns, 1};
  };
  report(s, dtype,
         {{"tokamax",
           [&] {
             cpu_backend::typed_gemm<Word>({1, s.m, s.n, s.k, view_of(a, s.m, s.k, s.a_transposed),
                                            view_of(b, s.k, s.n, s.b_transposed), reinterpret_cast<Word*>(c.data())});
           }},
          {"eigen", eigen_product(s, a.data(), b.data(), c.data())}});
}

}  // namespace

int main(int count, char** words) {
  if (count > 1) only = words[1];
  const auto machine = tokamax::measure_roofline();
  const double int8_peak = tokamax::detail::peak_flops(cpu_backend::int8_microkernels());
  fmt::print("peak: {:.0f} GFLOP/s in f32, {:.0f} in bf16, {:.0f} in int8; copy {:.1f} GB/s\n", machine.flops * 1e-9,
             machine.bfloat16_flops * 1e-9, int8_peak * 1e-9, machine.bytes * 1e-9);
  tokamax::blas::choices().add(tokamax::eigen::gemm);
#if defined(TOKAMAX_BENCH_ONEDNN)
  tokamax::blas::choices().add(tokamax::onednn::gemm);
#endif
  for (const shape_case& s : cases) {
    f32_case(s, machine.flops * 1e-9);
    bfloat16_case(s, machine.bfloat16_flops * 1e-9);
    int8_case(s, int8_peak * 1e-9);
  }
  for (const shape_case& s : typed_cases) {
    typed_case<double>(s, "f64");
    typed_case<std::int32_t, std::uint32_t>(s, "i32");
    typed_case<std::int64_t, std::uint64_t>(s, "i64");
  }
  fmt::print("\nchosen\n{}", tokamax::blas::choices().to_text());
}
