// tokamax/backend/cuda/device.hpp: NVIDIA GPUs as device values, and the tag that their kernels are overloaded on.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/device.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_BODY
#include <tokamax/runtime/kernel.hpp>      // taken_by_kernel

#include <string>       // string
#include <string_view>  // string_view

// What stands before bodies of the GPU backend, which are left out where it is not defined. A file that defines
// TOKAMAX_SEPARATE_CUDA sees declarations only, and links a library, which is one file that compiles this part.
#define TOKAMAX_PART_CUDA 13
#if defined(TOKAMAX_KERNELS_PART) ? TOKAMAX_COMPILES(CUDA) : !defined(TOKAMAX_SEPARATE_CUDA)
  #define TOKAMAX_CUDA_COMPILED_ONCE TOKAMAX_BODY
#endif

namespace tokamax {

/// The tag of NVIDIA GPUs. Programs for one GPU run on all of them.
struct cuda_tag {
  using library = cuda_tag;  ///< inherited by tags that are derived from this one: their other kernels are these
  static constexpr std::string_view name = "cuda";
  /// The kernels of an op, for programs that are traced at run time.
  static kernel_set find_kernels(const op& o);
  /// The device text of a program's loops, which is compiled when the program first runs.
  static std::shared_ptr<const device_code> make_code(const plan_view& p);
  /// Launches a loop of the program.
  static loop_function interpreted_loop();
};

// What the kernels take is known wherever programs are planned.
template <>
inline constexpr bool takes_views<dot_general_p, cuda_tag> = true;
template <>
inline constexpr bool takes_sums<dot_general_p, cuda_tag> = true;
template <>
inline constexpr bool takes_views<attention_p, cuda_tag> = true;
template <>
inline constexpr bool takes_views<attention_vjp_p, cuda_tag> = true;
template <>
inline constexpr bool writes_strides<attention_p, cuda_tag> = true;
template <>
inline constexpr bool writes_strides<attention_vjp_p, cuda_tag> = true;
/// The gradient of logits is written over the logits, which are the largest arrays of many programs.
template <>
inline constexpr int overwrites_operand<cross_entropy_vjp_p, cuda_tag> = 0;

#if !defined(TOKAMAX_CUDA_COMPILED_ONCE)  // the kernels are in the library
void kernel(op_c<reduce_sum_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<sum_in_32_bits_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<reduce_max_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<reduce_min_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<reduce_and_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<reduce_or_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<dot_general_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<concatenate_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<reverse_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<pad_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<gather_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<scatter_add_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<scatter_add_onto_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<dynamic_slice_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<dynamic_update_slice_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<argmax_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<argmin_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<cumsum_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<sort_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<conv_general_dilated_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<layer_norm_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<layer_norm_vjp_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<rms_norm_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<rms_norm_vjp_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<cross_entropy_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<cross_entropy_vjp_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<softmax_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<softmax_vjp_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<attention_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<attention_vjp_p>, cuda_tag, const kernel_arguments&);
void kernel(op_c<rotary_embedding_p>, cuda_tag, const kernel_arguments&);
#endif

template <const op& Op>
inline constexpr kernel_takes taken_by_kernel<Op, cuda_tag>{takes_views<Op, cuda_tag>, takes_producer<Op, cuda_tag>,
                                                            takes_sums<Op, cuda_tag>, writes_strides<Op, cuda_tag>,
                                                            overwrites_operand<Op, cuda_tag>};

/// A GPU as a value: `cuda` is the first one, and `cuda(1)` the second. Programs may name it on machines without a GPU: they
/// start there, and the first use throws.
class cuda_device {
 public:
  using tag = cuda_tag;
  constexpr explicit cuda_device(int number = 0) : number_(number) {}
  constexpr cuda_device operator()(int number) const { return cuda_device(number); }

  /// errors  tokamax::error "cuda: device" that names what is missing: the driver, a version, NVRTC, the GPU
  device& get() const;
  /// What is missing for this GPU to be used; empty if nothing is.
  std::string missing() const;
  /// The libraries without which programs run more slowly, with what then runs in their place; empty if all are there.
  std::string missing_libraries() const;
  bool is_available() const { return missing().empty(); }
  /// Waits until all work of the GPU has ended.
  void synchronize() const { get().synchronize(); }

 private:
  int number_;
};
inline constexpr cuda_device cuda{};

}  // namespace tokamax
