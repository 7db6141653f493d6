// tokamax/backend/far/device.hpp: devices for tests: the CPU's kernels behind memory and a queue of their own, with faults.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/far/device.cpp
#pragma once

#include <tokamax/backend/cpu/execute.hpp>     // cpu_tag
#include <tokamax/backend/far/memory.hpp>      // far_memory
#include <tokamax/backend/far/queue.hpp>       // far_queue
#include <tokamax/runtime/program_device.hpp>  // program_device

#include <atomic>  // atomic
#include <chrono>  // microseconds
#include <random>  // minstd_rand
#include <string>  // to_string

namespace tokamax {

namespace detail {

/// The device behind `far_device(n)`.
class far_instance final : public program_device {
 public:
  explicit far_instance(int n)
      : program_device("far:" + std::to_string(n), false),
        table_{name(), kernels_on<cpu_tag>, cpu_tag::interpreted_loop()},
        delays_(static_cast<unsigned>(n) + 1),
        queue_([this](device_work& work) { run(work); }) {}

  handle allocate(std::size_t bytes) override {
    require_present();
    auto* const block = new buffer_block{.bytes = bytes, .data = memory_.allocate(bytes), .where = this};
    block->release = [](buffer_block* b) noexcept {
      static_cast<far_instance*>(b->where)->memory_.release(b->data, b->bytes);
      delete b;
    };
    return handle(block);
  }
  void write(buffer_block& to, const std::byte* from, std::size_t bytes) override {
    copy([&, to = memory_.opened(to.data)] { std::memcpy(to, from, bytes); });
  }
  void read(const buffer_block& from, std::byte* to, std::size_t bytes) override {
    if (from.ready) from.ready->wait();
    copy([&, from = memory_.opened(from.data)] { std::memcpy(to, from, bytes); });
  }
  event* submit(std::unique_ptr<device_work> work) override {
    require_present();
    return queue_.submit(std::move(work));
  }
  void synchronize() override {
    copy([] {});
  }
  std::byte* kernel_address(std::byte* data) const override { return memory_.opened(data); }
  const kernel_table& kernels() const override { return table_; }

  void lose() { lost_ = true; }
  void fail_step(std::int64_t n) { steps_to_failure_ = n; }
  void delay(unsigned seed, int microseconds) {
    copy([&] {
      delays_.seed(seed);
      longest_delay_ = microseconds;
    });
  }
  std::size_t used_bytes() const { return memory_.used_bytes(); }

 private:
  /// Work for the queue that calls a function, such as a copy between host and device.
  template <class F>
  struct host_work final : device_work {
    explicit host_work(const F& f) : function(f) {}
    void run(execution&) override { function(); }
    const F& function;
  };
  /// Runs f on the queue, and waits for it.
  template <class F>
  void copy(const F& f) {
    event* const done = submit(std::make_unique<host_work<F>>(f));
    const std::unique_ptr<event, void (*)(event*)> owner(done, [](event* e) { e->release(); });
    done->wait();
  }
  void require_present() const {
    if (lost_) throw error(error_kind::device, "device: lost", std::string(name()), "a device that answers");
  }
  void run(device_work& work) {
    execution where(*this);
    where.before_step = [](execution& e) { static_cast<far_instance&>(e.where).begin_step(); };
    begin_step();
    work.run(where);
  }
  /// Waits for a random time, and fails if a test has asked for it.
  void begin_step() {
    if (longest_delay_ > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(delays_() % static_cast<unsigned>(longest_delay_)));
    require_present();
    if (steps_to_failure_ > 0 && --steps_to_failure_ == 0)
      throw error(error_kind::device, "device: step", std::string(name()) + " failed", "success");
  }

  kernel_table table_;
  far_memory memory_;
  std::atomic<bool> lost_ = false;
  std::atomic<std::int64_t> steps_to_failure_ = 0;
  std::minstd_rand delays_;  // used by the thread of the queue only
  int longest_delay_ = 0;
  far_queue queue_;  // the last member, because its thread uses the others
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
/// that the host cannot read or write. So code that works with it respects the rules of accelerators. Each number is a
/// device of its own.
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
