// tokamax/data/stream/window_shuffle.hpp: a random order within windows of a stream.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/shuffle.hpp>        // permutation
#include <tokamax/data/stream/stream.hpp>  // stream_stage

#include <vector>  // vector

namespace tokamax::data {

/// The state of `window_shuffle`: that of the source before the window, the window's number, and how many were given of it.
template <class Source>
struct window_shuffle_state {
  Source source;
  std::int64_t window = 0, given = 0;
};

namespace detail {

// It holds the tickets of a window, so that a restore makes none of its elements.
template <class Source, class Size, class Seed>
class window_shuffling {
 public:
  window_shuffling(Source source, Size size, Seed seed)
      : source_(std::move(source)), size_(size), seed_(seed), state_{source_.state()} {}
  std::optional<ticket_of<Source>> take() {
    if (tickets_.empty() && !fill()) return std::nullopt;
    ticket_of<Source> ticket = std::move(tickets_.back());
    tickets_.pop_back();
    ++state_.given;
    if (tickets_.empty()) state_ = {source_.state(), state_.window + 1};
    return ticket;
  }
  made_by<Source> make(ticket_of<Source> ticket) const { return source_.make(std::move(ticket)); }
  window_shuffle_state<state_of<Source>> state() const { return state_; }
  void set_state(const window_shuffle_state<state_of<Source>>& state) {
    source_.set_state(state.source);
    tickets_.clear();
    state_ = state;
    if (state.given == 0) return;
    fill();
    check_count(state.given, static_cast<std::int64_t>(tickets_.size()) - 1, "window_shuffle: state");
    tickets_.erase(tickets_.end() - state.given, tickets_.end());
    state_.given = state.given;
  }

 private:
  bool fill() {
    state_ = {source_.state(), state_.window};
    std::vector<ticket_of<Source>> window;
    while (static_cast<std::int64_t>(window.size()) < size_) {
      auto ticket = source_.take();
      if (!ticket) break;
      window.push_back(std::move(*ticket));
    }
    if (window.empty()) return false;
    const auto count = static_cast<std::int64_t>(window.size());
    const permutation order(count, seed_ + static_cast<std::uint32_t>(state_.window));
    for (std::int64_t i = 0; i < count; ++i) tickets_.push_back(std::move(window[static_cast<std::size_t>(order(i))]));
    return true;
  }

  Source source_;
  std::int64_t size_;
  std::uint32_t seed_;
  std::vector<ticket_of<Source>> tickets_;
  window_shuffle_state<state_of<Source>> state_;
};

}  // namespace detail

/// Shuffles each window of `size` elements; the last one may be smaller. For data that can only be read in order.
/// source  grain.experimental.WindowShuffleIterDataset, with its order
inline auto window_shuffle(std::int64_t size, shuffle_options options = {}) {
  detail::at_least_one(size, "window_shuffle: elements");
  return detail::stream_stage<detail::window_shuffling>(size, options.seed);
}

}  // namespace tokamax::data
