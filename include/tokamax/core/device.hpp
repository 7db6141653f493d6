// tokamax/core/device.hpp: where arrays lie and programs run: memory, a queue, and kernels for ops.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/far/device.cpp
#pragma once

#include <tokamax/base/error.hpp>   // error
#include <tokamax/core/buffer.hpp>  // handle

#include <memory>       // unique_ptr
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax {

struct op;
struct graph;
struct arrays;
struct kernel_table;
struct execution;
struct location;
class array;

/// Work for the queue of a device.
class device_work {
 public:
  virtual ~device_work() = default;
  virtual void run(execution& where) = 0;
};

/// A device of this process: one memory space and one queue, which does its work in the order it was handed in. Backends
/// derive from it; users name devices by values such as `tk::cpu`, which know their device.
class device {
 public:
  device(const device&) = delete;

  /// As errors, profiles and `array::device` show it: "cpu", "far:1".
  std::string_view name() const { return name_; }
  /// Is its memory the host's, and its work done before a call returns? Then buffers need neither copies nor events.
  bool is_host() const { return is_host_; }

  /// Memory of this device; its elements have no value yet.
  /// errors  std::bad_alloc; tokamax::error "device: lost" for one that is no more
  virtual handle allocate(std::size_t bytes) = 0;
  /// Copies `bytes` from the host, after all work that was handed in before.
  virtual void write(buffer_block& to, const std::byte* from, std::size_t bytes) = 0;
  /// Copies `bytes` to the host, after all work that was handed in before.
  /// errors  what the work threw that writes the block
  virtual void read(const buffer_block& from, std::byte* to, std::size_t bytes) = 0;
  /// Hands work to the queue. The result is the end of the work, to be released by the caller; null if it has ended.
  virtual event* submit(std::unique_ptr<device_work> work) = 0;
  /// Waits until all work that was handed in has ended.
  virtual void synchronize() = 0;
  /// The address under which kernels find what lies at `data`.
  virtual std::byte* kernel_address(std::byte* data) const { return data; }

  /// What it has for each op, see runtime/kernel.hpp.
  virtual const kernel_table& kernels() const = 0;
  /// Runs a graph on arrays of this device.
  virtual arrays execute(const graph& g, const arrays& inputs) = 0;
  /// Applies an op to arrays of this device and literals, at once.
  virtual arrays apply(const op& o, const array* in, int n, const std::int64_t* words, int word_count,
                       const location& where) = 0;

 protected:
  device(std::string name, bool is_host) : name_(std::move(name)), is_host_(is_host) {}
  ~device() = default;

 private:
  std::string name_;
  bool is_host_;
};

/// The device whose memory is the host's, where data lies that was put nowhere else. A program without a backend has none:
/// `has_host_device` says so.
device& host_device();
bool has_host_device();

namespace detail {

/// Defined by the backend of the host. Its address is null in programs without it.
#if !defined(TOKAMAX_SEPARATE_KERNELS) && !defined(TOKAMAX_INSTANTIATE_KERNELS)
[[gnu::weak]]
#endif
device& host_device_of_backend();

/// The device that a block lies on.
device& device_of(const buffer_block& b);
/// The bytes of a block in host memory: where it lies, or a copy that goes with the block. Waits until they are ready.
const std::byte* bytes_on_host(const buffer_block& b);
/// A block whose bytes are about to be written by a program has no copy on the host any more.
void forget_copy_on_host(buffer_block& b) noexcept;
const std::byte* copy_on_host(const buffer_block& b);

inline const std::byte* bytes_on_host(const buffer_block& b) { return b.where ? copy_on_host(b) : b.data; }

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE device& device_of(const buffer_block& b) { return b.where ? *b.where : host_device(); }
TOKAMAX_COMPILED_ONCE const std::byte* copy_on_host(const buffer_block& b) {
  const std::atomic_ref place(const_cast<buffer_block*&>(b.next));
  if (const buffer_block* const there = place.load(std::memory_order_acquire)) return there->data;
  handle made(buffer_pool::instance().allocate(b.bytes));
  b.where->read(b, made->data, b.bytes);
  buffer_block* there = nullptr;
  if (!place.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) return there->data;
  return made.release()->data;
}
TOKAMAX_COMPILED_ONCE void forget_copy_on_host(buffer_block& b) noexcept {
  if (b.where && b.next) handle(std::exchange(b.next, nullptr));
}
#endif

}  // namespace detail

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE bool has_host_device() {
  #if defined(TOKAMAX_INSTANTIATE_KERNELS)
  return true;
  #else
  return &detail::host_device_of_backend != nullptr;
  #endif
}
TOKAMAX_COMPILED_ONCE device& host_device() {
  if (!has_host_device()) throw error("no backend", "none", "#include <tokamax/backend/cpu.hpp>");
  return detail::host_device_of_backend();
}
#endif

}  // namespace tokamax
