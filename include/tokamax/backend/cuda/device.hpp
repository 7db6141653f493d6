// tokamax/backend/cuda/device.hpp: NVIDIA GPUs as device values, and the tag that their kernels are overloaded on.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/device.cpp
#pragma once

#include <tokamax/runtime/kernel.hpp>  // kernel_table, taken_by_kernel

#include <string>       // string
#include <string_view>  // string_view

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
