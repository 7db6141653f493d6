// tokamax/backend/cuda/driver/code_jobs.hpp: what a program needs compiled or prepared, done by several threads before its first run.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/driver/code_jobs.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <algorithm>     // max, min
#include <atomic>        // atomic
#include <functional>    // function
#include <set>           // set
#include <string>        // string
#include <system_error>  // system_error
#include <thread>        // thread
#include <vector>        // vector

namespace tokamax::cuda_backend {

/// Jobs that do not depend on one another, each once. A compiler takes 50 to 900 ms for a text, so a program with twenty
/// kernels would wait for seconds if they were compiled when they are launched.
class code_jobs {
 public:
  /// Adds a job, unless one of that key is there.
  void add(std::string key, std::function<void()> job) {
    if (keys_.insert(std::move(key)).second) jobs_.push_back(std::move(job));
  }
  int count() const { return static_cast<int>(jobs_.size()); }
  /// Is it the first time that something of this name is met? Turns of a loop meet the same again and again.
  bool is_new(std::string name) { return met_.insert(std::move(name)).second; }

  /// Does all jobs by as many threads as there are cores; each thread calls `begin` first. A job that throws has no effect:
  /// what needs its result makes it again, and reports the error. Nothing is done for a single job, which gains nothing.
  void run(const std::function<void()>& begin) {
    if (count() < 2) return;
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      try {
        begin();
        for (std::size_t i; (i = next++) < jobs_.size();) attempt(jobs_[i]);
      } catch (...) {}
    };
    std::vector<std::thread> threads;
    const unsigned most = std::min(std::max(1u, std::thread::hardware_concurrency()), static_cast<unsigned>(count()));
    threads.reserve(most);  // so that nothing but a thread that the system refuses can fail below
    try {
      while (threads.size() + 1 < most) threads.emplace_back(work);
    } catch (const std::system_error&) {  // fewer threads do
    }
    work();
    for (std::thread& t : threads) t.join();
  }

 private:
  static void attempt(const std::function<void()>& job) {
    try {
      job();
    } catch (...) {}
  }
  std::set<std::string> keys_, met_;
  std::vector<std::function<void()>> jobs_;
};

}  // namespace tokamax::cuda_backend
