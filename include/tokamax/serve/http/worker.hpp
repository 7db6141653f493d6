// tokamax/serve/http/worker.hpp: a thread that does what would keep the thread of a server from its clients.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/llm_api.cpp
#pragma once

#include <tokamax/base/requirements.hpp>

#include <chrono>              // milliseconds
#include <condition_variable>  // condition_variable
#include <deque>               // deque
#include <functional>          // function
#include <mutex>               // mutex
#include <thread>              // thread

namespace tokamax::serve {

/// Does jobs in order, and `now_and_then` about ten times a second. Neither throws.
class worker {
 public:
  worker(std::size_t most, std::function<void()> now_and_then)
      : most_(most), now_and_then_(std::move(now_and_then)), thread_([this] { run(); }) {}
  worker(const worker&) = delete;
  ~worker() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  /// False: there are too many already.
  bool add(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      if (jobs_.size() >= most_) return false;
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
    return true;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    auto next = std::chrono::steady_clock::now();
    while (!ends_) {
      wake_.wait_until(lock, next, [this] { return ends_ || !jobs_.empty(); });
      if (ends_) break;
      std::function<void()> job;
      if (!jobs_.empty()) {
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      lock.unlock();
      if (job) job();
      job = nullptr;
      if (const auto now = std::chrono::steady_clock::now(); now >= next) {
        now_and_then_();
        next = now + std::chrono::milliseconds(100);
      }
      lock.lock();
    }
  }

  std::size_t most_;
  std::function<void()> now_and_then_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tokamax::serve
