// tokamax/data/prefetch.hpp: elements made ahead of time by other threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree.hpp>           // for_each_leaf, record
#include <tokamax/core/array.hpp>          // array
#include <tokamax/core/context.hpp>        // kept_context
#include <tokamax/data/stream/stream.hpp>  // stream_base, endless

#include <condition_variable>  // condition_variable
#include <exception>           // exception_ptr
#include <memory>              // unique_ptr
#include <mutex>               // mutex
#include <thread>              // thread
#include <vector>              // vector

namespace tokamax::data {

struct prefetch_options {
  std::int64_t threads = 1;
  std::int64_t elements = 2;  ///< that are ready or being made
  std::int64_t bytes =
      std::numeric_limits<std::int64_t>::max();  ///< of arrays that are ready; one element may have more
};

namespace detail {

// The bytes of the arrays in an element.
template <class Element>
std::int64_t bytes_in(const Element& e) {
  std::int64_t bytes = 0;
  if constexpr (record<Element> || std::derived_from<Element, array>)
    for_each_leaf([&](const array& leaf) { bytes += leaf.size() * size_of(leaf.dtype()); }, e);
  return bytes;
}

// A queue that its own threads fill, in the context of the thread that makes it. They take tickets in turn, in order, and
// make elements at once; `next` gives them in order. The threads end with the queue, or at the first exception.
template <class Cursor>
class read_ahead {
 public:
  struct taken {
    made_by<Cursor> value;
    state_of<Cursor> after;
  };

  read_ahead(Cursor source, prefetch_options options)
      : source_(std::move(source)), options_(options), slots_(static_cast<std::size_t>(options.elements)) {}
  read_ahead(const read_ahead&) = delete;
  ~read_ahead() { end(); }

  void start() {
    if (!threads_.empty()) return;
    stop_ = ended_ = false;
    begun_ = given_ = 0;
    ready_bytes_ = 0;
    for (slot& s : slots_) s = {};
    try {
      for (std::int64_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& e) {
      if (threads_.empty()) throw error(error_kind::resource, "prefetch: threads", e.what(), "at least one");
    }
  }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    room_.notify_all();
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }
  // Nothing at the end. An exception is thrown again by each later call.
  std::optional<taken> next() {
    start();
    std::unique_lock lock(mutex_);
    slot& s = slots_[given_ % slots_.size()];
    ready_.wait(lock, [&] { return s.value || s.failure || (ended_ && given_ == begun_); });
    if (s.failure) std::rethrow_exception(s.failure);
    if (!s.value) return std::nullopt;
    std::optional<taken> result = std::move(s.value);
    ready_bytes_ -= s.bytes;
    s = {};
    ++given_;
    lock.unlock();
    room_.notify_all();
    return result;
  }
  // Only while no thread runs.
  Cursor& source() { return source_; }

 private:
  struct slot {
    std::optional<taken> value;
    std::exception_ptr failure;
    std::int64_t bytes = 0;
  };

  void work() {
    const context_scope scope(around_.get());
    std::unique_lock lock(mutex_);
    for (;;) {
      room_.wait(lock, [&] { return stop_ || ended_ || may_begin(); });
      if (stop_ || ended_) return;
      slot& s = slots_[begun_ % slots_.size()];
      try {
        auto ticket = source_.take();  // in order, and alone: the lock is held
        if (!ticket) {
          ended_ = true;
          ready_.notify_all();
          room_.notify_all();
          return;
        }
        auto after = source_.state();
        ++begun_;
        lock.unlock();
        taken made{source_.make(std::move(*ticket)), std::move(after)};
        const std::int64_t bytes = bytes_in(made.value);
        lock.lock();
        s.bytes = bytes;
        ready_bytes_ += bytes;
        s.value.emplace(std::move(made));
      } catch (...) {
        if (!lock.owns_lock())
          lock.lock();
        else
          ++begun_;  // `take` has failed: that is the element that fails
        s.failure = std::current_exception();
        ended_ = true;
      }
      ready_.notify_all();
      room_.notify_all();
    }
  }
  bool may_begin() const {
    return begun_ - given_ < slots_.size() && (ready_bytes_ < options_.bytes || begun_ == given_);
  }

  Cursor source_;
  prefetch_options options_;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::vector<slot> slots_;
  std::size_t begun_ = 0, given_ = 0;
  std::int64_t ready_bytes_ = 0;
  bool stop_ = false, ended_ = false;
  kept_context around_;
  std::vector<std::thread> threads_;
};

template <class Cursor>
class prefetching : public makes_at_once<made_by<Cursor>> {
 public:
  prefetching(Cursor source, prefetch_options options)
      : state_(source.state()), queue_(std::make_unique<read_ahead<Cursor>>(std::move(source), options)) {}
  void start() { queue_->start(); }
  std::optional<made_by<Cursor>> take() {
    auto taken = queue_->next();
    if (!taken) return std::nullopt;
    state_ = std::move(taken->after);
    return std::move(taken->value);
  }
  state_of<Cursor> state() const { return state_; }
  void set_state(const state_of<Cursor>& state) {
    queue_->end();
    queue_->source().set_state(state);
    state_ = state;
  }

 private:
  state_of<Cursor> state_;  // after what was given; elements that were made ahead do not count
  std::unique_ptr<read_ahead<Cursor>> queue_;
};

// Reads a dataset with an index without end.
template <class Cursor>
class prefetch_reader : public endless<prefetch_reader<Cursor>> {
 public:
  prefetch_reader(Cursor cursor, std::int64_t epoch, data::position at) : cursor_(std::move(cursor)), size_(epoch) {
    set_state(at);
    cursor_.start();
  }
  item<made_by<Cursor>> next() {
    const std::int64_t step = step_of(cursor_.state(), size_);
    return {step, *cursor_.take()};
  }
  /// The position after everything that was read. Elements that were made ahead do not count.
  data::position position() const { return cursor_.state(); }
  data::position state() const { return position(); }
  void set_state(data::position at) {
    step_of(at, size_);
    cursor_.set_state(at);
  }

 private:
  Cursor cursor_;
  std::int64_t size_;
};

template <stream Source>
class prefetched : public stream_base<prefetched<Source>> {
 public:
  prefetched(Source source, prefetch_options options) : source_(std::move(source)), options_(options) {}
  auto cursor() const { return prefetching<cursor_type<Source>>(cursor_of(source_), options_); }

 private:
  Source source_;
  prefetch_options options_;
};
template <class Source>
inline constexpr bool has_no_end<prefetched<Source>> = has_no_end<Source>;

// It keeps the index for those who ask for an element; stages after it read it as a stream.
template <indexed Source>
class prefetched_index {
 public:
  prefetched_index(Source source, prefetch_options options) : source_(std::move(source)), options_(options) {}
  auto cursor() const { return prefetching<cursor_type<Source>>(cursor_of(source_), options_); }
  std::int64_t size() const { return source_.size(); }
  element<Source> operator[](std::int64_t index) const { return source_[index]; }
  auto from(position at = {}) const { return prefetch_reader(cursor(), source_.size(), at); }
  // The same of what `stage` makes of its source, a stream.
  auto over(const auto& stage) const { return prefetched(stage(source_), options_); }

 private:
  Source source_;
  prefetch_options options_;
};

}  // namespace detail

/// Makes elements ahead on other threads, wherever it stands in a pipeline. Elements, their order and states are the same as
/// without it, for any number of threads. The stages before it do their work on all threads at once where an element does
/// not depend on others, as in `map` and `batch`; filters and packing are done by one at a time. If the pipeline throws, the
/// exception reaches the caller who asks for that element. After `map([=](auto e) { return device_put(std::move(e), where);
/// })` elements come to a GPU ahead of time: that thread copies them to pinned memory, and the GPU reads them while it works.
/// errors  tokamax::error unless there is a thread, and room for an element
/// source  grain.experimental.ThreadPrefetchIterDataset, grain.ReadOptions
inline auto prefetch(prefetch_options options) {
  detail::at_least_one(options.threads, "prefetch: threads");
  detail::at_least_one(options.elements, "prefetch: elements");
  detail::at_least_one(options.bytes, "prefetch: bytes");
  return stage{[=](auto source) {
    if constexpr (stream<decltype(source)>)
      return detail::prefetched(std::move(source), options);
    else
      return detail::prefetched_index(std::move(source), options);
  }};
}
/// The same with one thread, and `count` elements.
inline auto prefetch(std::int64_t count) { return prefetch({.elements = count}); }

}  // namespace tokamax::data
