// tokamax/backend/cuda/cublas_lt.hpp: matrix products of NVIDIA's library cuBLASLt, with its choice of algorithm remembered.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/device.cpp
#pragma once

#include <tokamax/backend/cuda/instance.hpp>  // instance

#include <cstdint>  // uint64_t
#include <map>      // map

namespace tokamax::cuda_backend {

/// cuBLASLt, found once. The functions, records and numbers are facts of its documentation (cuBLAS 12.4 and 13.0).
struct cublas_lt {
  library file{"TOKAMAX_CUDA_BLAS", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}};
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
  enum : int { compute_f32 = 68, compute_f64 = 70, type_f32 = 0, type_f64 = 1, type_f16 = 2, type_bf16 = 14 };
  enum : int { transpose_a = 3, transpose_b = 4, batch_count = 5, batch_stride = 6, most_workspace = 1, alignment = 5 };

  int (*create)(handle_type*);
  int (*create_product)(object*, int, int);
  int (*set_product)(object, int, const void*, std::size_t);
  int (*create_layout)(object*, int, std::uint64_t, std::uint64_t, std::int64_t);
  int (*set_layout)(object, int, const void*, std::size_t);
  int (*create_preference)(object*);
  int (*set_preference)(object, int, const void*, std::size_t);
  int (*choose)(handle_type, object, object, object, object, object, object, int, choice*, int*);
  int (*multiply)(handle_type, object, const void*, const void*, object, const void*, object, const void*, const void*,
                  object, void*, object, const algorithm*, void*, std::size_t, stream);

  static const cublas_lt& loaded() {
    static const cublas_lt& one = *new cublas_lt;
    return one;
  }
  bool is_complete() const { return complete_; }

 private:
  cublas_lt() {
    complete_ = file.get(create, "cublasLtCreate") && file.get(create_product, "cublasLtMatmulDescCreate") &&
                file.get(set_product, "cublasLtMatmulDescSetAttribute") &&
                file.get(create_layout, "cublasLtMatrixLayoutCreate") &&
                file.get(set_layout, "cublasLtMatrixLayoutSetAttribute") &&
                file.get(create_preference, "cublasLtMatmulPreferenceCreate") &&
                file.get(set_preference, "cublasLtMatmulPreferenceSetAttribute") &&
                file.get(choose, "cublasLtMatmulAlgoGetHeuristic") && file.get(multiply, "cublasLtMatmul");
  }
  bool complete_ = false;
};

/// One matrix in memory, in the library's order: columns follow one another, `leading` elements apart.
struct library_matrix {
  int type = 0;
  std::int64_t rows = 0, columns = 0, leading = 0, batch_stride = 0;
  int aligned = 256;  ///< the address is a multiple of so many bytes
  auto operator<=>(const library_matrix&) const = default;
};
/// c = op(a) * op(b), `batches` times.
struct library_product {
  library_matrix a, b, c;
  bool transposed_a = false, transposed_b = false;
  int batches = 1, compute = cublas_lt::compute_f32;
  auto operator<=>(const library_product&) const = default;
};

/// The products of one GPU. The library's descriptions of a product are made once and kept.
class product_library {
 public:
  /// Runs a product on the stream of the GPU. False if the library is not there or refuses it.
  bool multiply(instance& gpu, const library_product& p, const void* a, const void* b, void* c) {
    if (!gpu.has_libraries()) return false;
    const prepared& ready = find(p);
    if (!ready.usable) return false;
    const float one = 1, zero = 0;
    const double one_f64 = 1, zero_f64 = 0;
    const bool wide = p.compute == cublas_lt::compute_f64;
    const handle workspace = ready.best.workspace ? gpu.allocate(ready.best.workspace) : handle();
    last_step = "dot_general";
    return library_.multiply(handle_, ready.product, wide ? static_cast<const void*>(&one_f64) : &one, a, ready.a, b,
                             ready.b, wide ? static_cast<const void*>(&zero_f64) : &zero, c, ready.c, c, ready.c,
                             &ready.best.algo, workspace ? workspace->data : nullptr, ready.best.workspace,
                             gpu.queue()) == 0;
  }

 private:
  static constexpr std::size_t most_workspace_bytes = std::size_t{32} << 20;
  struct prepared {
    cublas_lt::object product = nullptr, a = nullptr, b = nullptr, c = nullptr;
    cublas_lt::choice best{};
    bool usable = false;
  };

  const prepared& find(const library_product& p) {
    const std::lock_guard lock(mutex_);
    const auto known = products_.find(p);
    return known != products_.end() ? known->second : products_.emplace(p, prepare(p)).first->second;
  }
  prepared prepare(const library_product& p) {
    prepared r;
    if (!library_.is_complete() || (!handle_ && library_.create(&handle_) != 0)) return r;
    const int scale = p.compute == cublas_lt::compute_f64 ? cublas_lt::type_f64 : cublas_lt::type_f32;
    const int turned[2] = {p.transposed_a, p.transposed_b};
    cublas_lt::object preference = nullptr;
    bool ok = library_.create_product(&r.product, p.compute, scale) == 0 &&
              library_.set_product(r.product, cublas_lt::transpose_a, &turned[0], sizeof(int)) == 0 &&
              library_.set_product(r.product, cublas_lt::transpose_b, &turned[1], sizeof(int)) == 0 &&
              layout(r.a, p.a, p.batches) && layout(r.b, p.b, p.batches) && layout(r.c, p.c, p.batches) &&
              library_.create_preference(&preference) == 0 &&
              library_.set_preference(preference, cublas_lt::most_workspace, &most_workspace_bytes,
                                      sizeof most_workspace_bytes) == 0;
    const library_matrix* const all[4] = {&p.a, &p.b, &p.c, &p.c};
    for (int k = 0; k < 4; ++k) {
      const auto bytes = static_cast<std::uint32_t>(all[k]->aligned);
      ok = ok && library_.set_preference(preference, cublas_lt::alignment + k, &bytes, sizeof bytes) == 0;
    }
    int found = 0;
    r.usable = ok && library_.choose(handle_, r.product, r.a, r.b, r.c, r.c, preference, 1, &r.best, &found) == 0 &&
               found > 0 && r.best.state == 0;
    return r;
  }
  bool layout(cublas_lt::object& made, const library_matrix& m, int batches) const {
    return library_.create_layout(&made, m.type, static_cast<std::uint64_t>(m.rows),
                                  static_cast<std::uint64_t>(m.columns), m.leading) == 0 &&
           library_.set_layout(made, cublas_lt::batch_count, &batches, sizeof batches) == 0 &&
           library_.set_layout(made, cublas_lt::batch_stride, &m.batch_stride, sizeof m.batch_stride) == 0;
  }

  const cublas_lt& library_ = cublas_lt::loaded();
  cublas_lt::handle_type handle_ = nullptr;
  std::mutex mutex_;
  std::map<library_product, prepared> products_;
};

/// That of a GPU; it lives as long as the process.
inline product_library& products_of(const instance& gpu) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<const instance*, product_library>;
  const std::lock_guard lock(mutex);
  return all[&gpu];
}

}  // namespace tokamax::cuda_backend
