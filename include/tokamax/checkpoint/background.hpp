// tokamax/checkpoint/background.hpp: one job at a time on another thread, whose error reaches the next caller.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_FILES_COMPILED_ONCE

#include <chrono>      // seconds
#include <functional>  // function
#include <memory>      // shared_ptr

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/error.hpp>       // error
  #include <tokamax/profile/session.hpp>  // span

  #include <pthread.h>  // pthread_setname_np

  #include <condition_variable>  // condition_variable
  #include <cstdio>              // fprintf
  #include <exception>           // exception_ptr
  #include <mutex>               // mutex
  #include <string>              // to_string
  #include <system_error>        // system_error
  #include <thread>              // thread
  #include <utility>             // exchange
#endif

namespace tokamax::checkpoint {

/// Runs jobs on another thread, one after the other. An error of a job is thrown by the next call of `start` or `wait`. One
/// that nobody has asked for when this object ends is printed to stderr; it never ends the process. In recordings a call that waits for
/// a job is a wait of the name "checkpoint", and so is the name of the thread.
class background {
 public:
  explicit background(std::chrono::seconds deadline);
  background(const background&) = delete;
  ~background();
  /// Begins a job when the one before has ended.
  /// errors  those of the job before; tokamax::error if it has not ended by the deadline, or there is no thread
  void start(std::function<void()> job);
  /// Returns when no job is at work; errors as `start`.
  void wait();
  bool is_busy() const;

 private:
  struct work;
  bool has_ended() const;

  std::chrono::seconds deadline_;
  std::shared_ptr<work> work_;
};

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
// What both threads see. The job's thread shares it, so that a job that hangs beyond the deadline can be left alone.
struct background::work {
  std::mutex mutex;
  std::condition_variable changed;
  bool busy = false;
  std::exception_ptr failure;
  std::thread thread;
};

TOKAMAX_FILES_COMPILED_ONCE background::background(std::chrono::seconds deadline)
    : deadline_(deadline), work_(std::make_shared<work>()) {}
TOKAMAX_FILES_COMPILED_ONCE background::~background() {
  if (!has_ended()) {
    std::fprintf(stderr, "tokamax: a checkpoint was still being saved after %lld s\n",
                 static_cast<long long>(deadline_.count()));
    work_->thread.detach();
    return;
  }
  try {
    wait();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tokamax: a checkpoint was not saved: %s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "tokamax: a checkpoint was not saved\n");
  }
}
TOKAMAX_FILES_COMPILED_ONCE bool background::has_ended() const {
  std::unique_lock lock(work_->mutex);
  if (!work_->busy) return true;
  const profile::span wait("checkpoint", profile::mark_kind::wait);
  return work_->changed.wait_for(lock, deadline_, [&] { return !work_->busy; });
}
TOKAMAX_FILES_COMPILED_ONCE void background::wait() {
  if (!has_ended())
    throw error(error_kind::resource, "checkpoint: a save in the background",
                "one at work after " + std::to_string(deadline_.count()) + " s", "its end");
  if (work_->thread.joinable()) work_->thread.join();
  if (const std::exception_ptr failure = std::exchange(work_->failure, nullptr)) std::rethrow_exception(failure);
}
TOKAMAX_FILES_COMPILED_ONCE void background::start(std::function<void()> job) {
  wait();
  {
    const std::lock_guard lock(work_->mutex);
    work_->busy = true;
  }
  try {
    work_->thread = std::thread([shared = work_, job = std::move(job)]() mutable {
      pthread_setname_np(pthread_self(), "checkpoint");
      std::exception_ptr failure;
      try {
        job();
      } catch (...) {
        failure = std::current_exception();
      }
      job = nullptr;  // what the job holds is free when it counts as ended
      const std::lock_guard lock(shared->mutex);
      shared->failure = std::move(failure);
      shared->busy = false;
      shared->changed.notify_all();
    });
  } catch (const std::system_error& e) {
    const std::lock_guard lock(work_->mutex);
    work_->busy = false;
    throw error(error_kind::resource, "checkpoint: a save in the background", e.what(), "a thread");
  }
}
TOKAMAX_FILES_COMPILED_ONCE bool background::is_busy() const {
  const std::lock_guard lock(work_->mutex);
  return work_->busy;
}
#endif

}  // namespace tokamax::checkpoint
