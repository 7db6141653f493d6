// tokamax/backend/far/device.hpp: devices for tests: the CPU's kernels behind memory and a queue of their own, with faults.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/far/device.cpp
#pragma once

#include <tokamax/backend/cpu/execute.hpp>     // cpu_tag
#include <tokamax/backend/far/memory.hpp>      // far_memory
#include <tokamax/backend/far/queue.hpp>       // far_queue
#include <tokamax/runtime/program_device.hpp>  // program_device

#include <atomic>   // atomic
#include <chrono>   // microseconds
#include <random>   // minstd_rand
#include <string>   // to_string
#include <utility>  // exchange

namespace tokamax {

namespace detail {

/// The device behind `far_device(n)`.
class far_instance final : public program_device {
 public:
  explicit far_instance(int n)
      : program_device("far:" + std::to_string(n), false),
        steps_{.delays = std::minstd_rand(static_cast<unsigned>(n) + 1)},
        copies_{.delays = std::minstd_rand(static_cast<unsigned>(n) + 2)},
        queue_([this](device_work& work) { run(work); }),
        copier_([this](device_work& work) { run_copy(work); }) {}

  handle allocate(std::size_t bytes) override {
    require_present();
    auto* const block = new buffer_block{.bytes = bytes, .data = memory_.allocate(bytes), .where = this};
    block->release = [](buffer_block* b) noexcept {
      static_cast<far_instance*>(b->where)->memory_.release(b->data, b->bytes);
      delete b;
    };
    return handle(block);
  }
  using device::put;
  handle put(const handle& from, std::size_t bytes) override {
    if (!peer(*from)) return device::put(from, bytes);
    handle made = allocate(bytes);
    prepare_copy(*made, *from, {bytes});
    copy_from_peer(made, from, {bytes}, nullptr);
    return made;
  }
  void copy_from(const handle& to, const handle& from, const copy_range& part) override {
    if (!peer(*from)) return device::copy_from(to, from, part);
    prepare_copy(*to, *from, part);
    const auto nothing = [] {};
    copy_from_peer(to, from, part, event_share(submit(std::make_unique<host_work<decltype(nothing)>>(nothing))));
  }
  void write(buffer_block& to, std::size_t at, const std::byte* from, std::size_t bytes) override {
    if (to.ready) to.ready->wait();
    do_now(queue_, [&, to = memory_.opened(to.data) + at] { std::memcpy(to, from, bytes); });
  }
  void read(const buffer_block& from, std::size_t at, std::byte* to, std::size_t bytes) override {
    if (from.ready) from.ready->wait();
    do_now(queue_, [&, from = memory_.opened(from.data) + at] { std::memcpy(to, from, bytes); });
  }
  event* submit(std::unique_ptr<device_work> work) override {
    require_present();
    return queue_.submit(std::move(work));
  }
  void synchronize() override {
    do_now(queue_, [] {});
    do_now(copier_, [] {});
  }
  std::byte* kernel_address(std::byte* data) const override { return memory_.opened(data); }
  const kernel_table& kernels() const override { return kernel_table_of<cpu_tag>(); }

  void lose() { lost_ = true; }
  void fail_step(std::int64_t n) { steps_to_failure_ = n; }
  void delay(unsigned seed, int microseconds) {
    const auto set = [&](far_queue& queue, pace& its) {
      do_now(queue, [&] {
        its.delays.seed(seed);
        its.longest = microseconds;
      });
    };
    set(queue_, steps_);
    set(copier_, copies_);
  }
  std::size_t used_bytes() const { return memory_.used_bytes(); }

 private:
  /// Work for the queue that calls a function, such as a copy between host and device.
  template <class F>
  struct host_work final : device_work {
    explicit host_work(const F& f) : function(f) {}
    void run(execution&) override { function(); }
    F function;
  };
  /// A copy from another far device, or within this one. It holds both blocks until it has ended.
  struct peer_copy final : device_work {
    void run(execution& where) override {
      if (written) written->precede(where.where);
      if (before) before->precede(where.where);
      far_instance &source = *peer(*from), &target = static_cast<far_instance&>(where.where);
      source.require_present();
      std::memcpy(target.memory_.opened(to->data) + part.to, source.memory_.opened(from->data) + part.from, part.bytes);
    }
    handle to, from;
    copy_range part;
    event_share written, before;  ///< the work that writes `from`, and what the copy comes after here; null: nothing
  };
  /// How fast a queue is; only its thread uses it.
  struct pace {
    std::minstd_rand delays;
    int longest = 0;  ///< microseconds
  };
  /// The far device whose memory a block is; null if it is of another kind.
  static far_instance* peer(const buffer_block& b) { return dynamic_cast<far_instance*>(b.where); }
  void copy_from_peer(const handle& to, const handle& from, const copy_range& part, event_share before) {
    auto work = std::make_unique<peer_copy>();
    work->to = to;
    work->from = from;
    work->part = part;
    work->written = share_of(from->ready);
    work->before = std::move(before);
    require_present();
    event_share(std::exchange(to->ready, copier_.submit(std::move(work))));
  }
  /// Runs f on a queue, and waits for it.
  template <class F>
  void do_now(far_queue& queue, const F& f) {
    require_present();
    event_share(queue.submit(std::make_unique<host_work<F>>(f)))->wait();
  }
  void require_present() const {
    if (lost_) throw error(error_kind::device, "device: lost", std::string(name()), "a device that answers");
  }
  void run(device_work& work) {
    execution where(*this);
    where.before_step = [](execution& e) {
      auto& here = static_cast<far_instance&>(e.where);
      here.begin_step(here.steps_);
    };
    begin_step(steps_);
    work.run(where);
  }
  void run_copy(device_work& work) {
    execution where(*this);
    begin_step(copies_);
    work.run(where);
  }
  /// Waits for a random time, and fails if a test has asked for it.
  void begin_step(pace& its) {
    if (its.longest > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(its.delays() % static_cast<unsigned>(its.longest)));
    require_present();
    if (steps_to_failure_ > 0 && --steps_to_failure_ == 0)
      throw error(error_kind::device, "device: step", std::string(name()) + " failed", "success");
  }

  far_memory memory_;
  std::atomic<bool> lost_ = false;
  std::atomic<std::int64_t> steps_to_failure_ = 0;
  pace steps_, copies_;
  far_queue queue_, copier_;  // the last members, because their threads use the others
};

/// The instances, made when they are first named; they live as long as the process.
inline far_instance& far_instance_of(int n) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<int, far_instance*>;
  const std::lock_guard lock(mutex);
  far_instance*& one = all[n];
  if (!one) one = new far_instance(n);
  return *one;
}

}  // namespace detail

/// Device n of a kind that exists for tests. It runs the CPU's kernels asynchronously, in the order of its queue, on memory
/// that the host cannot read or write. A second queue copies from other far devices. So code that works with it respects the rules
/// of accelerators. Each number is a device of its own.
class far_device {
 public:
  using tag = cpu_tag;  ///< its programs and kernels are the CPU's
  explicit far_device(int n) : device_(&detail::far_instance_of(n)) {}
  device& get() const { return *device_; }

  /// From now on each step waits for a random time of up to so many microseconds, from a generator with this seed.
  void delay(unsigned seed, int microseconds) const { device_->delay(seed, microseconds); }
  /// Makes step n from now on throw. The first step is 1, and copies count too.
  void fail_step(std::int64_t n) const { device_->fail_step(n); }
  /// Simulates the loss of the device: waiting work and all later requests throw.
  void lose() const { device_->lose(); }
  /// Bytes of its memory that buffers hold.
  std::size_t used_bytes() const { return device_->used_bytes(); }

 private:
  detail::far_instance* device_;
};

}  // namespace tokamax
