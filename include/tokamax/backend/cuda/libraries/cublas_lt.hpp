// tokamax/backend/cuda/libraries/cublas_lt.hpp: matrix products of NVIDIA's library cuBLASLt, with its choice of algorithm remembered.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/products.cpp
#pragma once

#include <tokamax/backend/cuda/launch.hpp>         // launch_template
#include <tokamax/backend/cuda/text/products.hpp>  // compare_words

#include <chrono>   // steady_clock
#include <cstdint>  // uint64_t
#include <cstring>  // memcmp
#include <limits>   // infinity
#include <map>      // map
#include <utility>  // exchange
#include <vector>   // vector

namespace tokamax::cuda_backend {

/// The functions of cuBLASLt, which are found once; one that is not there is null. The functions, records and numbers are facts
/// of its documentation (cuBLAS 12.4 and 13.0). Tests pass functions of their own.
struct cublas_lt {
  using handle_type = struct cublas_record*;
  using object = struct cublas_object*;
  struct algorithm {
    std::uint64_t data[8];
  };
  struct choice {
    algorithm algo;
    std::size_t workspace;
    int state;
    float waves;
    int reserved[4];
  };
  enum : int {
    compute_f32 = 68,
    compute_f64 = 70,
    compute_tf32 = 77,
    type_f32 = 0,
    type_f64 = 1,
    type_f16 = 2,
    type_bf16 = 14
  };
  enum : int { transpose_a = 3, transpose_b = 4, epilogue = 7, bias_pointer = 8 };  ///< attributes of a product
  enum : int { epilogue_bias = 4 };
  enum : int { batch_count = 5, batch_stride = 6, most_workspace = 1, alignment = 5 };

  std::string absent_library = {};  ///< what was not found, and why

  std::size_t (*version)() = nullptr;
  int (*create)(handle_type*) = nullptr;
  int (*create_product)(object*, int, int) = nullptr;
  int (*set_product)(object, int, const void*, std::size_t) = nullptr;
  int (*create_layout)(object*, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*set_layout)(object, int, const void*, std::size_t) = nullptr;
  int (*create_preference)(object*) = nullptr;
  int (*set_preference)(object, int, const void*, std::size_t) = nullptr;
  int (*choose)(handle_type, object, object, object, object, object, object, int, choice*, int*) = nullptr;
  int (*multiply)(handle_type, object, const void*, const void*, object, const void*, object, const void*, const void*,
                  object, void*, object, const algorithm*, void*, std::size_t, stream) = nullptr;

  static const cublas_lt& loaded() {
    static const cublas_lt& one = *new cublas_lt(found());
    return one;
  }
  /// Calls f(pointer, name in the library) for each function.
  template <class Library, class F>
  static void each_function(Library& l, const F& f) {
    f(l.version, "cublasLtGetVersion");
    f(l.create, "cublasLtCreate");
    f(l.create_product, "cublasLtMatmulDescCreate");
    f(l.set_product, "cublasLtMatmulDescSetAttribute");
    f(l.create_layout, "cublasLtMatrixLayoutCreate");
    f(l.set_layout, "cublasLtMatrixLayoutSetAttribute");
    f(l.create_preference, "cublasLtMatmulPreferenceCreate");
    f(l.set_preference, "cublasLtMatmulPreferenceSetAttribute");
    f(l.choose, "cublasLtMatmulAlgoGetHeuristic");
    f(l.multiply, "cublasLtMatmul");
  }
  /// What is missing: the library, or a function of one that is too old. Empty if nothing is.
  std::string missing() const { return missing_of(*this, "cuBLASLt"); }
  bool is_complete() const { return has_all_functions(*this); }

 private:
  static cublas_lt found() {
    return found_in<cublas_lt>({"TOKAMAX_CUDA_BLAS", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}});
  }
};

/// One matrix in memory, in the library's order: columns follow one another, `leading` elements apart.
struct library_matrix {
  int type = 0;
  std::int64_t rows = 0, columns = 0, leading = 0, batch_stride = 0;
  int aligned = 256;  ///< the address is a multiple of so many bytes
  auto operator<=>(const library_matrix&) const = default;
};
/// c = op(a) * op(b), `batches` times. What is added to the sums before they are rounded: a matrix like c, and then a column for
/// all columns.
struct library_product {
  library_matrix a, b, c;
  bool transposed_a = false, transposed_b = false, adds_matrix = false, adds_column = false;
  int batches = 1, compute = cublas_lt::compute_f32;
  auto operator<=>(const library_product&) const = default;
};
/// Where the matrices of a product are.
struct product_places {
  const void *a = nullptr, *b = nullptr, *matrix = nullptr, *column = nullptr;
  void* c = nullptr;
};

/// The products of one GPU. The library's descriptions of a product are made once and kept.
class product_library {
 public:
  /// Products of fewer operations than `least_measured` take so long as their launch, so the library's first proposal is taken;
  /// of others the fastest one of eight. TOKAMAX_CUDA_TUNE=0 takes the first one for all.
  explicit product_library(const cublas_lt& functions = cublas_lt::loaded(),
                           std::int64_t least_measured = std::int64_t{1} << 32)
      : library_(functions), least_measured_(least_measured) {
    const char* const tune = std::getenv("TOKAMAX_CUDA_TUNE");
    measures_ = !tune || std::string_view(tune) != "0";
  }

  /// Runs a product on the stream of the GPU. False if the library is not there or refuses it.
  bool multiply(instance& gpu, const library_product& p, const product_places& at) {
    if (gpu.is_precompiling()) return compile_for_measuring(gpu), true;
    if (&library_ == &cublas_lt::loaded() && !gpu.has_libraries()) return false;
    if (gpu.in_body() && library_.is_complete()) throw cannot_record();
    if (reinterpret_cast<std::uintptr_t>(at.column) % 16 != 0) return false;
    if (code_jobs* const later = gpu.jobs()) {
      later->add("cuBLASLt", [this] {
        const std::lock_guard lock(mutex_);
        has_handle();
      });
      return library_.is_complete();
    }
    const std::lock_guard lock(mutex_);  // the place of the column is part of the description
    prepared& ready = find(p, at);
    if (!ready.usable) return false;
    if (p.adds_column && !set(ready.product, cublas_lt::bias_pointer, at.column)) return false;
    if (!ready.others.empty() && !gpu.is_recording()) choose_by_time(gpu, p, ready, at);
    last_step = "dot_general";
    return run(gpu, p, ready, ready.best, at);
  }

 private:
  static constexpr std::size_t most_workspace_bytes = std::size_t{32} << 20;
  static constexpr double most_seconds = 2;  ///< for measuring in a process; what is left is measured by the next one
  struct prepared {
    cublas_lt::object product = nullptr, a = nullptr, b = nullptr, c = nullptr;
    cublas_lt::choice best{};
    std::vector<cublas_lt::choice> others;  ///< that have not been measured
    bool usable = false;
  };

  prepared& find(const library_product& p, const product_places& at) {
    const auto known = products_.find(p);
    return known != products_.end() ? known->second : products_.emplace(p, prepare(p, at)).first->second;
  }
  bool run(instance& gpu, const library_product& p, const prepared& ready, const cublas_lt::choice& how,
           const product_places& at) const {
    const float f32_factors[] = {1, p.adds_matrix ? 1.0f : 0.0f};
    const double f64_factors[] = {1, p.adds_matrix ? 1.0 : 0.0};
    const bool wide = p.compute == cublas_lt::compute_f64;
    const void* const alpha = wide ? static_cast<const void*>(f64_factors) : f32_factors;
    const void* const beta = wide ? static_cast<const void*>(f64_factors + 1) : f32_factors + 1;
    const handle workspace = how.workspace ? gpu.allocate(how.workspace) : handle();
    return library_.multiply(handle_, ready.product, alpha, at.a, ready.a, at.b, ready.b, beta,
                             p.adds_matrix ? at.matrix : at.c, ready.c, at.c, ready.c, &how.algo,
                             workspace ? workspace->data : nullptr, how.workspace, gpu.queue()) == 0;
  }

  /// Takes the fastest of the library's proposals whose result has the bits of the first one, so that results do not depend on
  /// what was measured. The choice is kept on disk for this product, GPU and library. Measuring waits for the GPU.
  void choose_by_time(instance& gpu, const library_product& p, prepared& ready, const product_places& at) {
    const std::vector<cublas_lt::choice> others = std::exchange(ready.others, {});
    const std::string key = key_of(gpu, p);
    if (const auto kept = gpu.cache().find(key)) {
      for (const cublas_lt::choice& c : others)
        if (kept->size() == sizeof c.algo && std::memcmp(kept->data(), &c.algo, sizeof c.algo) == 0) ready.best = c;
      return;
    }
    if (spent_ > most_seconds) return;
    const auto begin = std::chrono::steady_clock::now();
    try {
      const auto bytes = static_cast<std::size_t>(p.batches * p.c.rows * p.c.columns * bytes_of(p.c.type));
      const handle first = gpu.allocate(bytes), differs = gpu.allocate(sizeof(std::int64_t));
      product_places there = at;
      there.c = first->data;
      if (!run(gpu, p, ready, ready.best, there)) return;
      double least = seconds(gpu, p, ready, ready.best, at) * 0.98;  // others must be faster by more than chance
      for (const cublas_lt::choice& c : others) {
        const double time = seconds(gpu, p, ready, c, at);
        if (time >= least || !same_bits(gpu, first->data, at.c, bytes, *differs)) continue;
        least = time;
        ready.best = c;
      }
    } catch (const std::bad_alloc&) {  // there is no room for a second result
      return;
    }
    spent_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    gpu.cache().keep(key, {reinterpret_cast<const char*>(&ready.best.algo), sizeof ready.best.algo});
  }
  /// The time of a run; infinity if it fails.
  double seconds(instance& gpu, const library_product& p, const prepared& ready, const cublas_lt::choice& c,
                 const product_places& at) const {
    if (!run(gpu, p, ready, c, at)) return std::numeric_limits<double>::infinity();  // the first run loads its code
    gpu.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i) run(gpu, p, ready, c, at);
    gpu.synchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 3;
  }
  static void compare(instance& gpu, const void* a, const void* b, std::size_t bytes, const void* differs) {
    kernel_record r;
    r.add(bytes / 2).add(a).add(b).add(differs);
    launch_template(gpu, cuda_text::products, "compare_words", "compare_data", {"u16"},
                    ceil_div(static_cast<std::int64_t>(bytes / 2), block_threads), r);
  }
  static void compile_for_measuring(instance& gpu) { compare(gpu, nullptr, nullptr, 2, nullptr); }
  static bool same_bits(instance& gpu, const void* a, const void* b, std::size_t bytes, buffer_block& differs) {
    gpu.clear_in_step(differs.data, sizeof(std::int64_t));
    compare(gpu, a, b, bytes, differs.data);
    std::int64_t found = 0;
    gpu.read_in_step(reinterpret_cast<std::byte*>(&found), differs.data, sizeof found);
    return found == 0;
  }
  std::string key_of(const instance& gpu, const library_product& p) const {
    std::string key = "cuBLASLt " + std::to_string(library_.version()) + " " + gpu.model();
    for (const library_matrix* const m : {&p.a, &p.b, &p.c})
      for (const std::int64_t v :
           {std::int64_t{m->type}, m->rows, m->columns, m->leading, m->batch_stride, std::int64_t{m->aligned}})
        key.append(" ").append(std::to_string(v));
    for (const int v :
         {int{p.transposed_a}, int{p.transposed_b}, int{p.adds_matrix}, int{p.adds_column}, p.batches, p.compute})
      key.append(" ").append(std::to_string(v));
    return key;
  }
  static std::int64_t bytes_of(int type) {
    return type == cublas_lt::type_f64 ? 8 : type == cublas_lt::type_f32 ? 4 : 2;
  }
  /// Does measuring take little beside what it saves? It needs a second result.
  bool is_measured(const library_product& p) const {
    const std::int64_t depth = p.transposed_a ? p.a.rows : p.a.columns, results = p.batches * p.c.rows * p.c.columns;
    return measures_ && results * depth >= least_measured_ && results * bytes_of(p.c.type) <= std::int64_t{1} << 30;
  }
  /// Is there a handle of the library? The first call makes it, which takes a tenth of a second.
  bool has_handle() { return library_.is_complete() && (handle_ || library_.create(&handle_) == 0); }
  prepared prepare(const library_product& p, const product_places& at) {
    prepared r;
    if (!has_handle()) return r;
    const int scale = p.compute == cublas_lt::compute_f64 ? cublas_lt::type_f64 : cublas_lt::type_f32;
    cublas_lt::object preference = nullptr;
    bool ok = library_.create_product(&r.product, p.compute, scale) == 0 &&
              set(r.product, cublas_lt::transpose_a, int{p.transposed_a}) &&
              set(r.product, cublas_lt::transpose_b, int{p.transposed_b}) && layout(r.a, p.a, p.batches) &&
              layout(r.b, p.b, p.batches) && layout(r.c, p.c, p.batches) &&
              library_.create_preference(&preference) == 0 &&
              library_.set_preference(preference, cublas_lt::most_workspace, &most_workspace_bytes,
                                      sizeof most_workspace_bytes) == 0;
    if (p.adds_column)
      ok = ok && set(r.product, cublas_lt::epilogue, int{cublas_lt::epilogue_bias}) &&
           set(r.product, cublas_lt::bias_pointer, at.column);
    const library_matrix* const all[4] = {&p.a, &p.b, &p.c, &p.c};
    for (int k = 0; k < 4; ++k) {
      const auto bytes = static_cast<std::uint32_t>(all[k]->aligned);
      ok = ok && library_.set_preference(preference, cublas_lt::alignment + k, &bytes, sizeof bytes) == 0;
    }
    cublas_lt::choice proposals[8];
    int found = 0;
    r.usable = ok &&
               library_.choose(handle_, r.product, r.a, r.b, r.c, r.c, preference, is_measured(p) ? 8 : 1, proposals,
                               &found) == 0 &&
               found > 0 && proposals[0].state == 0;
    if (!r.usable) return r;
    r.best = proposals[0];
    for (int k = 1; k < found; ++k)
      if (proposals[k].state == 0) r.others.push_back(proposals[k]);
    return r;
  }
  template <class T>
  bool set(cublas_lt::object product, int attribute, const T& value) const {
    return library_.set_product(product, attribute, &value, sizeof value) == 0;
  }
  bool layout(cublas_lt::object& made, const library_matrix& m, int batches) const {
    return library_.create_layout(&made, m.type, static_cast<std::uint64_t>(m.rows),
                                  static_cast<std::uint64_t>(m.columns), m.leading) == 0 &&
           library_.set_layout(made, cublas_lt::batch_count, &batches, sizeof batches) == 0 &&
           library_.set_layout(made, cublas_lt::batch_stride, &m.batch_stride, sizeof m.batch_stride) == 0;
  }

  const cublas_lt& library_;
  cublas_lt::handle_type handle_ = nullptr;
  const std::int64_t least_measured_;
  bool measures_ = true;
  double spent_ = 0;  // seconds, on measuring
  std::mutex mutex_;
  std::map<library_product, prepared> products_;
};

/// That of a GPU, which lives as long as the process. The first call decides about the functions.
inline product_library& products_of(const instance& gpu, const cublas_lt& functions = cublas_lt::loaded()) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<const instance*, product_library>;
  const std::lock_guard lock(mutex);
  return all.try_emplace(&gpu, functions).first->second;
}

}  // namespace tokamax::cuda_backend
