// tokamax/core/kernel_arguments.hpp: what a kernel gets, and how that of an op with bodies calls them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/executable.cpp
#pragma once

#include <tokamax/core/device.hpp>  // device
#include <tokamax/core/op.hpp>      // unpack

#include <cstddef>  // byte

namespace tokamax {

/// A block of memory seen as an array: strides count elements, 0 repeats.
struct array_view {
  void* data = nullptr;
  dtype type = dtype::none;
  shape extents, strides;
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  std::int64_t extent(int axis) const { return extents[axis]; }
  std::int64_t stride(int axis) const { return strides[axis]; }
  int rank() const { return extents.rank(); }
  std::int64_t size() const { return tokamax::size(extents); }
};

/// The bodies of an op whose kernel runs: how it calls them.
class body_runs {
 public:
  /// Runs body b on the buffers of its inputs, into those of its outputs.
  virtual void run(int b, std::byte* const* inputs, std::byte* const* outputs) = 0;
  /// A second buffer for carry k, null for one that the last body writes over the one that it reads.
  virtual std::byte* spare(int k) const = 0;
  /// An attribute that is an extent, which may be dynamic.
  virtual std::int64_t extent(std::int64_t attribute) const = 0;
  /// Room for twice as many pointers as the op has operands and results, so that runs allocate nothing.
  std::byte** pointers = nullptr;

 protected:
  ~body_runs() = default;
};

/// Where kernels and loops run: what they get beside their arguments.
struct execution {
  explicit execution(device& d) : where(d) {}
  execution(const execution&) = delete;

  device& where;          ///< whose memory the arguments lie in
  void* queue = nullptr;  ///< what the device calls its queue, such as a stream; null: its own thread
  void* group = nullptr;  ///< the communicator of the devices that run this program together
  void (*before_step)(execution&) = nullptr;  ///< called before each step, if the device asks for it

  /// Memory of the device for one kernel, until the next one asks.
  std::byte* scratch(std::size_t bytes) {
    if (!scratch_ || scratch_->bytes < bytes) scratch_ = where.allocate(bytes);
    return where.kernel_address(scratch_->data);
  }

 private:
  handle scratch_;
};

/// The operands, results and attributes of one kernel call. Results are dense; so are operands, unless the kernel says
/// `takes_views`.
struct kernel_arguments {
  const array_view* in = nullptr;
  const array_view* out = nullptr;
  int in_count = 0, out_count = 0;
  const std::int64_t* attributes = nullptr;
  int attribute_count = 0;
  body_runs* bodies = nullptr;   ///< of an op with bodies
  execution* context = nullptr;  ///< where the kernel runs
  template <class Options>
  Options attrs() const {
    return unpack<Options>(attributes);
  }
};

using kernel_function = void (*)(const kernel_arguments&);

}  // namespace tokamax
