// tokamax/core/kernel_arguments.hpp: the arguments of a kernel, and how the kernel of an op with bodies calls them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/run/executable.cpp
#pragma once

#include <tokamax/core/device.hpp>  // device
#include <tokamax/core/op.hpp>      // unpack

#include <cstddef>  // byte

namespace tokamax {

/// Memory seen as an array. Strides count elements, and a stride of 0 repeats an element.
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

/// The bodies of an op, for its kernel to call.
class body_runs {
 public:
  /// Runs body b on the buffers of its inputs, into those of its outputs.
  virtual void run(int b, std::byte* const* inputs, std::byte* const* outputs) = 0;
  /// A second buffer for carry k. It is null if the last body writes the carry over the one that it reads.
  virtual std::byte* spare(int k) const = 0;
  /// The input of body b whose buffer may be that of its output k too, so that it is changed in place; -1: none.
  virtual int donor(int b, int k) const = 0;
  /// The bodies with memory of their own, for thread `number` of those that run them at the same time. Number 0 is this one.
  /// It is called for all threads before they start.
  virtual body_runs& worker(int number) = 0;
  /// The value of an attribute that is an extent, which may be dynamic.
  virtual std::int64_t extent(std::int64_t attribute) const = 0;
  /// Room for twice as many pointers as the op has operands and results, so that runs allocate nothing.
  std::byte** pointers = nullptr;

 protected:
  ~body_runs() = default;
};

/// The context in which kernels and loops run, beside their arguments.
struct execution {
  explicit execution(device& d) : where(d) {}
  execution(const execution&) = delete;

  device& where;                              ///< the device whose memory the arguments are
  const device_group* group = nullptr;        ///< the devices that run this program together; null: this one alone
  void (*before_step)(execution&) = nullptr;  ///< called before each step, if the device asks for it

  /// Memory of the device for one kernel. It is valid until the next kernel calls this.
  std::byte* scratch(std::size_t bytes) {
    if (!scratch_ || scratch_->bytes < bytes) scratch_ = where.allocate(bytes);
    return where.kernel_address(scratch_->data);
  }

 private:
  handle scratch_;
};

/// A fused loop that a kernel runs part by part, so that the data stays in a cache. Threads may run parts at the same time.
class joined_loop {
 public:
  /// Elements [first, first + count) in row-major order, those of a producer into `made`.
  virtual void run(std::int64_t first, std::int64_t count, std::byte* made) const = 0;

 protected:
  ~joined_loop() = default;
};

/// The operands, results and attributes of one kernel call. Results are dense, and so are operands unless `takes_views` is
/// true for the kernel.
struct kernel_arguments {
  const array_view* in = nullptr;
  const array_view* out = nullptr;
  int in_count = 0, out_count = 0;
  const std::int64_t* attributes = nullptr;
  int attribute_count = 0;
  body_runs* bodies = nullptr;            ///< the bodies of an op that has some
  execution* context = nullptr;           ///< where the kernel runs
  const joined_loop* producer = nullptr;  ///< makes the first operand, see `takes_producer`
  std::int64_t configuration = 0;         ///< a number of the implementation's own, such as the size of its blocks
  std::uint32_t unread = 0;               ///< bit k: nothing reads result k, so it need not be written
  template <class Options>
  Options attrs() const {
    return unpack<Options>(attributes);
  }
};

using kernel_function = void (*)(const kernel_arguments&);

}  // namespace tokamax
