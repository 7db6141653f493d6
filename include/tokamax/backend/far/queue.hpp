// tokamax/backend/far/queue.hpp: a thread that does the work of a device in order, and asynchronously.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/far/device.cpp
#pragma once

#include <tokamax/core/device.hpp>            // device_work
#include <tokamax/core/event.hpp>             // event
#include <tokamax/core/kernel_arguments.hpp>  // execution

#include <condition_variable>  // condition_variable
#include <deque>               // deque
#include <exception>           // exception_ptr
#include <functional>          // function
#include <memory>              // unique_ptr
#include <mutex>               // mutex
#include <thread>              // thread

namespace tokamax::detail {

/// An event that one thread sets and any number wait for.
class far_event final : public event {
 public:
  void wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
    if (error_) std::rethrow_exception(error_);
  }
  /// The queue of the other device waits, and not the host. Work that asks for it while it runs waits by itself.
  void precede(device& next) override;
  bool is_done() const noexcept override {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  /// Tells all who wait that the work has ended; with an error they throw it.
  void set(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    done_ = true;
    error_ = std::move(error);
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr error_;
};

/// Does one piece of work after the other, on its own thread that lives as long as the process.
class far_queue {
 public:
  /// `run` does one piece of work.
  explicit far_queue(std::function<void(device_work&)> run) : run_(std::move(run)) {
    std::thread([this] { work(); }).detach();
  }
  far_queue(const far_queue&) = delete;

  /// Is the calling thread that of a queue?
  static bool is_current() { return is_current_; }

  /// Appends a piece of work. Returns the event of its end, which the caller releases.
  event* submit(std::unique_ptr<device_work> next) {
    auto* const done = new far_event;
    done->retain();  // one reference for the caller, one for the queue
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(next), done});
    changed_.notify_one();
    return done;
  }

 private:
  struct piece {
    std::unique_ptr<device_work> work;
    far_event* done;
  };
  /// Waits for the next piece of work and takes it from the queue.
  piece take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !waiting_.empty(); });
    piece next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }
  /// The loop of the thread. An exception of one piece goes to those who wait for it, and the next piece still runs.
  void work() {
    is_current_ = true;
    while (true) {
      piece next = take();
      std::exception_ptr error;
      try {
        run_(*next.work);
      } catch (...) {
        error = std::current_exception();
      }
      next.work.reset();  // releases its buffers before the event says that it has ended
      next.done->set(std::move(error));
      next.done->release();
    }
  }

  std::function<void(device_work&)> run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<piece> waiting_;
  static inline thread_local bool is_current_ = false;
};

inline void far_event::precede(device& next) {
  struct waiting final : device_work {
    explicit waiting(far_event& e) : other(share_of(&e)) {}
    void run(execution&) override { other->wait(); }
    event_share other;
  };
  if (far_queue::is_current()) return wait();
  event_share(next.submit(std::make_unique<waiting>(*this)));
}

}  // namespace tokamax::detail
