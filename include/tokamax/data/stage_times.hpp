// tokamax/data/stage_times.hpp: which stage of a pipeline takes the time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/stream/stream.hpp>  // make_staged
#include <tokamax/profile/session.hpp>     // span

#include <atomic>  // atomic
#include <chrono>  // steady_clock
#include <cmath>   // lround
#include <memory>  // shared_ptr
#include <mutex>   // mutex
#include <vector>  // vector

namespace tokamax::data {

namespace detail {

struct stage_clock {
  std::string name, mark;  // in tables, and in recordings
  std::atomic<std::int64_t> nanoseconds = 0, elements = 0;
  template <class F>
  auto measure(const F& f, std::int64_t count) {
    const profile::span recorded(mark);
    const auto begin = std::chrono::steady_clock::now();
    auto result = f();
    nanoseconds += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    elements += count;
    return result;
  }
};

template <indexed Source>
class timed : public dataset<timed<Source>> {
 public:
  timed(Source source, std::shared_ptr<stage_clock> clock) : source_(std::move(source)), clock_(std::move(clock)) {}
  std::int64_t size() const { return source_.size(); }
  element<Source> operator[](std::int64_t index) const {
    return clock_->measure([&] { return source_[index]; }, 1);
  }

 private:
  Source source_;
  std::shared_ptr<stage_clock> clock_;
};

template <class Source, class Clock>
class timing {
 public:
  timing(Source source, Clock clock) : source_(std::move(source)), clock_(std::move(clock)) {}
  std::optional<ticket_of<Source>> take() {
    return clock_->measure([&] { return source_.take(); }, 0);
  }
  made_by<Source> make(ticket_of<Source> ticket) const {
    return clock_->measure([&] { return source_.make(std::move(ticket)); }, 1);
  }
  state_of<Source> state() const { return source_.state(); }
  void set_state(const state_of<Source>& state) { source_.set_state(state); }

 private:
  Source source_;
  Clock clock_;
};

}  // namespace detail

/// Measures a pipeline between its stages. Nothing else is measured, and elements, order and states stay the same. Recordings
/// have the same parts as spans of the names "data.read", "data.parse" and "data.pack":
///
///   stage_times times;
///   auto rows = lines(path) | times.after("read") | map(parse) | times.after("parse") | pack(1024) | times.after("pack");
///   ... fmt::print("{}", times.text());
///
/// source  grain.experimental.ExecutionTrackingMode
class stage_times {
 public:
  /// The part between two of these stages, or between the beginning and the first one, has the name of the second.
  auto after(std::string name) const {
    return stage{[clocks = clocks_, name](auto source) {
      std::shared_ptr<detail::stage_clock> clock;
      {
        const std::lock_guard lock(clocks->mutex);
        clock = clocks->all.emplace_back(std::make_shared<detail::stage_clock>());
      }
      clock->name = name;
      clock->mark = "data." + name;
      if constexpr (stream<decltype(source)>)
        return detail::make_staged<detail::timing>(std::move(source), clock);
      else
        return detail::timed(std::move(source), clock);
    }};
  }

  struct part {
    std::string name;
    std::int64_t elements;
    double seconds;  ///< of the part alone, added up over the threads that did it
  };
  /// The parts in their order. Behind a `prefetch` the time is what is spent on waiting for it.
  std::vector<part> parts() const {
    const std::lock_guard lock(clocks_->mutex);
    std::vector<part> result;
    std::int64_t before = 0;
    for (const auto& clock : clocks_->all) {
      const std::int64_t all = clock->nanoseconds;
      result.push_back({clock->name, clock->elements, 1e-9 * static_cast<double>(all >= before ? all - before : all)});
      before = all;
    }
    return result;
  }
  /// A line for each part, and a sentence that names the one that takes the most time.
  std::string text() const {
    const std::vector<part> all = parts();
    const part* most = nullptr;
    double sum = 0;
    for (const part& one : all) {
      sum += one.seconds;
      if (!most || one.seconds > most->seconds) most = &one;
    }
    if (!most || sum == 0) return "No element was read.\n";
    std::string result;
    const auto share = [&](const part& p) { return std::to_string(std::lround(100 * p.seconds / sum)) + " %"; };
    const auto each = [](const part& p) {
      const double us = 1e6 * p.seconds / static_cast<double>(std::max<std::int64_t>(p.elements, 1));
      return std::to_string(us) + " us an element";
    };
    for (const part& p : all)
      result += p.name + ": " + std::to_string(p.elements) + " elements, " + share(p) + ", " + each(p) + "\n";
    return result + "The bottleneck is " + most->name + ", which takes " + share(*most) + " of the time, " +
           each(*most) + ".\n";
  }

 private:
  struct clocks {
    std::mutex mutex;
    std::vector<std::shared_ptr<detail::stage_clock>> all;
  };
  std::shared_ptr<clocks> clocks_ = std::make_shared<clocks>();
};

}  // namespace tokamax::data
