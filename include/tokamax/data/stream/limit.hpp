// tokamax/data/stream/limit.hpp: streams that end after so many elements.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/stream/stream.hpp>  // stream_stage

namespace tokamax::data {

/// The state of a stage that counts: that of the source, and how many elements came of it.
template <class Source>
struct counted_state {
  Source source;
  std::int64_t count = 0;
};

namespace detail {

template <class Source, class Count>
class limited {
 public:
  limited(Source source, Count most) : source_(std::move(source)), most_(most) {}
  std::optional<ticket_of<Source>> take() {
    if (count_ == most_) return std::nullopt;
    auto ticket = source_.take();
    count_ += ticket.has_value();
    return ticket;
  }
  made_by<Source> make(ticket_of<Source> ticket) const { return source_.make(std::move(ticket)); }
  counted_state<state_of<Source>> state() const { return {source_.state(), count_}; }
  void set_state(const counted_state<state_of<Source>>& state) {
    check_count(state.count, most_, "limit: state");
    source_.set_state(state.source);
    count_ = state.count;
  }

 private:
  Source source_;
  std::int64_t most_, count_ = 0;
};
template <class Source, class... Arguments>
inline constexpr bool has_no_end<staged<Source, limited, Arguments...>> = false;

}  // namespace detail

/// The first `count` elements.
/// errors  tokamax::error for a negative count
/// source  grain.experimental.LimitIterDataset
inline auto limit(std::int64_t count) {
  if (count < 0) throw error("limit: elements", std::to_string(count), "0 or more");
  return detail::stream_stage<detail::limited>(count);
}

}  // namespace tokamax::data
