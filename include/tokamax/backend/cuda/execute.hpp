// tokamax/backend/cuda/execute.hpp: ties programs and eager calls to the GPUs, their kernels and their loops.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/device.cpp
#pragma once

#include <tokamax/backend/cuda/device.hpp>  // cuda_device

#if defined(TOKAMAX_CUDA_COMPILED_ONCE)
  #include <tokamax/backend/cuda/kernels/attention.hpp>         // attention
  #include <tokamax/backend/cuda/kernels/conv.hpp>              // kernels of conv_general_dilated
  #include <tokamax/backend/cuda/kernels/copy.hpp>              // kernels of concatenate, of pad, of reverse
  #include <tokamax/backend/cuda/kernels/cross_entropy.hpp>     // kernels of cross_entropy
  #include <tokamax/backend/cuda/kernels/dot_general.hpp>       // kernels of dot_general
  #include <tokamax/backend/cuda/kernels/index.hpp>             // kernels of gather, of dynamic_slice, of search_sorted
  #include <tokamax/backend/cuda/kernels/norm.hpp>              // kernels of layer_norm, of rms_norm
  #include <tokamax/backend/cuda/kernels/reduce.hpp>            // reduce_sum and its family
  #include <tokamax/backend/cuda/kernels/rotary_embedding.hpp>  // kernels of rotary_embedding
  #include <tokamax/backend/cuda/kernels/rows.hpp>              // kernels of argmax, of cumsum, of sort
  #include <tokamax/backend/cuda/kernels/scatter.hpp>           // kernels of scatter_add
  #include <tokamax/backend/cuda/kernels/softmax.hpp>           // kernels of softmax
  #include <tokamax/backend/cuda/loops.hpp>                     // program_code
  #include <tokamax/backend/cuda/precompile.hpp>                // connection_of_process

  #include <map>  // map

namespace tokamax {

namespace cuda_backend {

/// Sets `found` to the kernel of the one of these ops that is `o`.
template <const op&... Ops>
void find_among(const op& o, kernel_set& found) {
  ((&o == &Ops ? void(found = {kernel_for<Ops, cuda_tag>(), taken_by_kernel<Ops, cuda_tag>, nullptr}) : void()), ...);
}

/// The GPUs that have been used; they live as long as the process.
inline instance& instance_number(int n) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<int, instance*>;
  const std::lock_guard lock(mutex);
  instance*& one = all[n];
  if (!one) one = new instance(n, kernel_table_of<cuda_tag>(), connection_of_process());
  return *one;
}

}  // namespace cuda_backend

/// An op without a kernel here runs as its `compose`. Ops that are host code, such as loops, have a `run`.
TOKAMAX_CUDA_COMPILED_ONCE kernel_set cuda_tag::find_kernels(const op& o) {
  kernel_set found{.run = o.run};
  cuda_backend::find_among<reduce_sum_p, sum_in_32_bits_p, reduce_max_p, reduce_min_p, reduce_and_p, reduce_or_p,
                           dot_general_p, concatenate_p, reverse_p, pad_p, gather_p, scatter_add_p, scatter_add_onto_p,
                           dynamic_slice_p, dynamic_update_slice_p, argmax_p, argmin_p, cumsum_p, sort_p,
                           conv_general_dilated_p, layer_norm_p, layer_norm_vjp_p, rms_norm_p, rms_norm_vjp_p,
                           cross_entropy_p, cross_entropy_vjp_p, softmax_p, softmax_vjp_p, attention_p, attention_vjp_p,
                           rotary_embedding_p, search_sorted_p>(o, found);
  return found;
}
TOKAMAX_CUDA_COMPILED_ONCE std::shared_ptr<const device_code> cuda_tag::make_code(const plan_view& p) {
  return std::make_shared<cuda_backend::program_code>(p);
}
TOKAMAX_CUDA_COMPILED_ONCE loop_function cuda_tag::interpreted_loop() {
  return [](const loop_arguments& a) { static_cast<const cuda_backend::program_code*>(a.code)->run(a); };
}

TOKAMAX_CUDA_COMPILED_ONCE device& cuda_device::get() const { return cuda_backend::instance_number(number_); }
TOKAMAX_CUDA_COMPILED_ONCE std::string cuda_device::missing_libraries() const {
  const std::string blas = cuda_backend::cublas_lt::loaded().missing(), dnn = cuda_backend::cudnn::loaded().missing();
  std::string all;
  if (!blas.empty()) all += "matrix products run as plain kernels: " + blas;
  if (!dnn.empty()) all += (all.empty() ? "" : "; ") + ("attention runs as its parts: " + dnn);
  return all;
}
TOKAMAX_CUDA_COMPILED_ONCE std::string cuda_device::missing() const {
  return cuda_backend::missing_device(number_, cuda_backend::connection_of_process());
}

}  // namespace tokamax
#endif
