// tokamax/core/device.hpp: where arrays lie and programs run: memory, a queue, and kernels for ops.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/far/device.cpp
#pragma once

#include <tokamax/base/error.hpp>          // error
#include <tokamax/base/time_mark.hpp>      // time_mark
#include <tokamax/core/memory/buffer.hpp>  // handle

#include <algorithm>    // min
#include <cstring>      // memcpy
#include <memory>       // shared_ptr, unique_ptr
#include <string>       // string
#include <string_view>  // string_view
#include <vector>       // vector

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

/// The bodies of a step of control flow, for a device that decides by itself which of them run.
class step_bodies {
 public:
  /// Launches body `b`. Body 0 of a loop writes to `answer`, a byte, whether there is one more turn; other bodies write nothing
  /// there.
  virtual void run(int b, std::byte* answer) = 0;

 protected:
  ~step_bodies() = default;
};

/// What a device keeps of work that it is given again and again. It lives as long as the program.
class kept_launches {
 public:
  virtual ~kept_launches() = default;
};

/// The bytes of a copy from one block to another, and where they begin.
struct copy_range {
  std::size_t bytes = 0;
  std::size_t from = 0;  ///< the first one, in the block that is read
  std::size_t to = 0;    ///< the same in the block that is written
};

/// The devices that run one program together, as one of them sees it. Communicators of backends derive from it.
class device_group {
 public:
  /// How many devices there are.
  virtual int size() const = 0;
  /// The number of this device among them, from 0 on.
  virtual int position() const = 0;
  virtual device& member(int position) const = 0;

 protected:
  ~device_group() = default;
};

/// A device of this process: one memory space, and one queue that does work in the order in which it was submitted. Backends
/// derive from it; some have a second queue for copies between devices. Users name devices by values such as `tk::cpu`, which
/// know their device.
class device {
 public:
  device(const device&) = delete;

  /// The name that errors, profiles and `array::device` show: "cpu", "far:1".
  std::string_view name() const { return name_; }
  /// What measurements on it depend on, such as its model and the number of its threads: times of devices of one kind can be
  /// compared.
  virtual std::string kind() const { return std::string(name_.substr(0, name_.find(':'))); }
  /// Is its memory the host's, and is work done before a call returns? Then buffers need neither copies nor events.
  bool is_host() const { return is_host_; }
  /// How many threads of the host its programs have; 0: those of the process.
  int threads() const { return threads_; }

  /// Allocates memory of this device. Its elements have no value yet.
  /// errors  std::bad_alloc; tokamax::error "device: lost" if the device is gone
  virtual handle allocate(std::size_t bytes) = 0;
  /// Copies `bytes` from the host to byte `at` of a block, after all work that was submitted before.
  virtual void write(buffer_block& to, std::size_t at, const std::byte* from, std::size_t bytes) = 0;
  /// Memory of this device with a copy of `bytes` from the host, which have been read when it returns. The copy need not wait
  /// for work that was submitted before.
  /// errors  those of `allocate` and `write`
  virtual handle put(const std::byte* from, std::size_t bytes) {
    handle made = allocate(bytes);
    write(*made, 0, from, bytes);
    return made;
  }
  /// Memory of this device with a copy of the first `bytes` of a block of any device. Where devices reach one another's memory,
  /// the host waits for nothing, and the copy waits only for the work that writes the block.
  /// errors  those of `allocate` and `copy_from`
  virtual handle put(const handle& from, std::size_t bytes) {
    handle made = allocate(bytes);
    copy_from(made, from, {bytes});
    return made;
  }
  /// Copies a part of a block of any device to a block of this one, after the work that writes the first and after all work that
  /// was submitted here before. Where devices reach one another's memory, the copy goes on when this returns: `to->ready` is its
  /// end. Other copies go through 4 MiB of the host's memory. Nobody else may use `to` meanwhile; `from` may be released.
  /// errors  tokamax::error "device: copy" if the part is not inside of both blocks; the exception of the work that writes `from`,
  ///         at once or when the copy is waited for
  virtual void copy_from(const handle& to, const handle& from, const copy_range& part);
  /// Copies `bytes` from byte `at` of a block to the host, after all work that was submitted before.
  /// errors  the exception of the work that writes the block
  virtual void read(const buffer_block& from, std::size_t at, std::byte* to, std::size_t bytes) = 0;
  /// Adds work to the queue. The result is the end of the work, which the caller must release; null if it has ended.
  virtual event* submit(std::unique_ptr<device_work> work) = 0;
  /// Waits until all submitted work has ended.
  virtual void synchronize() = 0;
  /// The address that kernels use for the memory at `data`.
  virtual std::byte* kernel_address(std::byte* data) const { return data; }

  /// Copies for host code that runs as a step of a program, such as a loop. Addresses are those of kernels, and `host` is
  /// memory of the host. They happen in the order of the steps, and those with the host have ended when they return.
  virtual void copy_in_step(std::byte* to, const std::byte* from, std::size_t bytes) { copy_bytes(to, from, bytes); }
  virtual void read_in_step(std::byte* host, const std::byte* from, std::size_t bytes) {
    copy_bytes(host, from, bytes);
  }
  virtual void write_in_step(std::byte* to, const std::byte* host, std::size_t bytes) { copy_bytes(to, host, bytes); }

  /// Is the calling thread in work that this device will do without the host? Host code of a step that would read a condition
  /// then calls one of the next two functions, which launch each body once, and the device decides when it does the work.
  virtual bool decides_in_step() const { return false; }
  /// Body 0 of `loop` asks whether there is a turn, which is body 1, and is asked again after each turn.
  virtual void loop_in_step(step_bodies&) {}
  /// One of the `count` branches runs: that whose number, an i32, lies at `number` in memory of the device.
  virtual void choose_in_step(const std::byte* /*number*/, int /*count*/, step_bodies&) {}

  /// Does `work`, which launches what depends on nothing but the values in memory at these addresses. A device may record the
  /// launches, and repeat them when the addresses come again instead of doing the work.
  virtual void repeat(std::unique_ptr<kept_launches>&, const std::vector<std::byte*>&, execution& where,
                      device_work& work) {
    work.run(where);
  }

  /// The point between the work that it was given until now and what comes next; null for a device whose work is done when
  /// its launch returns.
  virtual std::shared_ptr<time_mark> mark() { return nullptr; }

  /// The kernels that it has for ops, see runtime/kernel.hpp.
  virtual const kernel_table& kernels() const = 0;
  /// Runs a graph on arrays of this device.
  virtual arrays execute(const graph& g, const arrays& inputs) = 0;
  /// Applies an op to arrays of this device and literals, at once.
  virtual arrays apply(const op& o, const array* in, int n, const std::int64_t* words, int word_count,
                       const location& where) = 0;

 protected:
  device(std::string name, bool is_host, int threads = 0)
      : name_(std::move(name)), is_host_(is_host), threads_(threads) {}
  ~device() = default;
  /// Throws if a part is not inside of both blocks. The host copy of the one that will be written is dropped.
  static void prepare_copy(buffer_block& to, const buffer_block& from, const copy_range& part);

 private:
  static void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  std::string name_;
  bool is_host_;
  int threads_;
};

/// The device whose memory is the host's. Data is there unless it was put elsewhere. A program without a backend has no such
/// device, and `has_host_device` is false.
device& host_device();
bool has_host_device();

namespace detail {

/// Defined by the backend of the host. Its address is null in programs without it.
#if !defined(TOKAMAX_SEPARATE_KERNELS) && !defined(TOKAMAX_INSTANTIATE_KERNELS)
[[gnu::weak]]
#endif
device& host_device_of_backend();

/// The device whose memory a block is.
device& device_of(const buffer_block& b);
/// The bytes of a block in host memory: the block itself, or a copy that lives as long as the block. Waits until they are
/// ready.
const std::byte* bytes_on_host(const buffer_block& b);
/// Copies `bytes` from byte `at` of a block to memory of the host, and keeps no copy. Waits until they are ready.
void read_on_host(const buffer_block& b, std::size_t at, std::byte* to, std::size_t bytes);
/// Drops the host copy of a block, because a program is about to write the block.
void forget_copy_on_host(buffer_block& b) noexcept;
const std::byte* copy_on_host(const buffer_block& b);

inline const std::byte* bytes_on_host(const buffer_block& b) { return b.where ? copy_on_host(b) : b.data; }

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE device& device_of(const buffer_block& b) { return b.where ? *b.where : host_device(); }
TOKAMAX_COMPILED_ONCE const std::byte* copy_on_host(const buffer_block& b) {
  const std::atomic_ref place(const_cast<buffer_block*&>(b.next));
  if (const buffer_block* const there = place.load(std::memory_order_acquire)) return there->data;
  handle made(buffer_pool::instance().allocate(b.bytes));
  b.where->read(b, 0, made->data, b.bytes);
  buffer_block* there = nullptr;
  if (!place.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) return there->data;
  return made.release()->data;
}
TOKAMAX_COMPILED_ONCE void read_on_host(const buffer_block& b, std::size_t at, std::byte* to, std::size_t bytes) {
  const buffer_block* const there =
      b.where ? std::atomic_ref(const_cast<buffer_block*&>(b.next)).load(std::memory_order_acquire) : &b;
  if (!there)
    b.where->read(b, at, to, bytes);
  else if (bytes > 0)
    std::memcpy(to, there->data + at, bytes);
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
TOKAMAX_COMPILED_ONCE void device::prepare_copy(buffer_block& to, const buffer_block& from, const copy_range& part) {
  const auto check = [&](const buffer_block& b, std::size_t at, const char* which) {
    if (at > b.bytes || part.bytes > b.bytes - at)
      throw error("device: copy", std::to_string(part.bytes) + " bytes from byte " + std::to_string(at) + " on",
                  std::to_string(b.bytes) + " bytes, which the block has that is " + which);
  };
  check(from, part.from, "read");
  check(to, part.to, "written");
  detail::forget_copy_on_host(to);
}
TOKAMAX_COMPILED_ONCE void device::copy_from(const handle& to, const handle& from, const copy_range& part) {
  constexpr std::size_t most = std::size_t{1} << 22;
  prepare_copy(*to, *from, part);
  device& source = detail::device_of(*from);
  if (source.is_host()) return write(*to, part.to, from->data + part.from, part.bytes);
  if (is_host()) return source.read(*from, part.from, to->data + part.to, part.bytes);
  const handle room(buffer_pool::instance().allocate(std::min(part.bytes, most)));
  for (std::size_t at = 0; at < part.bytes; at += most) {
    const std::size_t piece = std::min(part.bytes - at, most);
    source.read(*from, part.from + at, room->data, piece);
    write(*to, part.to + at, room->data, piece);
  }
}
TOKAMAX_COMPILED_ONCE device& host_device() {
  if (!has_host_device()) throw error(error_kind::device, "no backend", "none", "#include <tokamax/backend/cpu.hpp>");
  return detail::host_device_of_backend();
}
#endif

}  // namespace tokamax
