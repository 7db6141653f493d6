// tokamax/data/prefetch.hpp: elements made ahead of time by another thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/context.hpp>  // kept_context
#include <tokamax/data/dataset.hpp>  // stage, endless

#include <condition_variable>  // condition_variable
#include <exception>           // exception_ptr
#include <memory>              // unique_ptr
#include <mutex>               // mutex
#include <thread>              // thread
#include <vector>              // vector

namespace tokamax::data {

namespace detail {

// A bounded queue that its own thread fills, in the context of the thread that makes it. The thread ends with the queue, or at the first exception.
template <indexed Source>
class read_ahead {
 public:
  read_ahead(Source source, std::int64_t first, std::size_t slot_count)
      : source_(std::move(source)), slots_(slot_count), thread_([this, first] { fill(first); }) {}
  read_ahead(const read_ahead&) = delete;
  ~read_ahead() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  const Source& source() const { return source_; }
  element<Source> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return taken_ < made_ || failure_; });
    if (taken_ == made_) std::rethrow_exception(failure_);  // all elements made before it have been taken
    element<Source> result = std::move(*slots_[taken_ % slots_.size()]);
    slots_[taken_ % slots_.size()].reset();
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    return result;
  }

 private:
  void fill(std::int64_t step) {
    const context_scope scope(around_.get());
    try {
      for (;; ++step) {
        element<Source> next = source_[step];
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return made_ - taken_ < slots_.size() || stop_; });
        if (stop_) return;
        slots_[made_ % slots_.size()].emplace(std::move(next));
        ++made_;
        lock.unlock();
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  Source source_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<element<Source>>> slots_;
  std::size_t made_ = 0, taken_ = 0;
  std::exception_ptr failure_;
  bool stop_ = false;
  kept_context around_;
  std::thread thread_;  // the last member, because the thread uses all of the others
};

template <indexed Source>
class prefetch_reader : public endless<prefetch_reader<Source>> {
 public:
  prefetch_reader(Source source, data::position at, std::size_t slot_count)
      : step_(step_of(at, source.size())),
        queue_(std::make_unique<read_ahead<Source>>(std::move(source), step_, slot_count)) {}
  item<element<Source>> next() {
    item<element<Source>> result{step_, queue_->take()};
    ++step_;
    return result;
  }
  /// The position after everything that was read. Elements that were made ahead do not count.
  data::position position() const {
    const std::int64_t size = queue_->source().size();
    return {step_ / size, step_ % size};
  }

 private:
  std::int64_t step_;
  std::unique_ptr<read_ahead<Source>> queue_;
};

template <indexed Source>
class prefetched {
 public:
  static constexpr bool reads_ahead = true;
  prefetched(Source source, std::int64_t count) : source_(std::move(source)), count_(count) {
    if (count < 1) throw error("prefetch: elements", std::to_string(count), "1 or more");
  }
  std::int64_t size() const { return source_.size(); }
  element<Source> operator[](std::int64_t index) const { return source_[index]; }
  auto from(position at = {}) const { return prefetch_reader<Source>(source_, at, static_cast<std::size_t>(count_)); }

 private:
  Source source_;
  std::int64_t count_;
};

}  // namespace detail

/// Makes up to `count` elements ahead, in order, on one thread for each reader. Elements and positions are the same as
/// without it. If the pipeline throws, the exception reaches the caller who asks for that element. This must be the last
/// stage of a pipeline. After `map([=](auto e) { return device_put(std::move(e), where); })` elements come to a GPU ahead of
/// time: that thread copies them to pinned memory, and the GPU reads them while it works.
inline auto prefetch(std::int64_t count) {
  return stage{[=](auto source) { return detail::prefetched(std::move(source), count); }};
}

}  // namespace tokamax::data
