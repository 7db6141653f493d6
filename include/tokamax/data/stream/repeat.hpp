// tokamax/data/stream/repeat.hpp: so many epochs, and then the end.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/stream/limit.hpp>  // limited, counted_state

namespace tokamax::data {

struct repeat_options {
  bool reseed =
      true;  ///< each epoch of a dataset with an index has its own order and random numbers; false: that of the first
};

namespace detail {

// Shows the first epoch of a dataset in all of them, unless they are to differ.
template <indexed Source>
class epochs : public dataset<epochs<Source>> {
 public:
  epochs(Source source, bool differ) : source_(std::move(source)), differ_(differ) {}
  const Source& source() const { return source_; }
  std::int64_t size() const { return source_.size(); }
  element<Source> operator[](std::int64_t index) const { return source_[differ_ ? index : index % size()]; }

 private:
  Source source_;
  bool differ_;
};

template <class Source, class Count>
class repeated {
 public:
  repeated(Source source, Count times) : source_(std::move(source)), first_(source_.state()), times_(times) {}
  std::optional<ticket_of<Source>> take() {
    for (;;) {
      if (auto ticket = source_.take()) {
        empty_ = false;
        return ticket;
      }
      if (empty_ || round_ + 1 == times_) return std::nullopt;
      ++round_;
      empty_ = true;  // a source without elements would never return
      source_.set_state(first_);
    }
  }
  made_by<Source> make(ticket_of<Source> ticket) const { return source_.make(std::move(ticket)); }
  counted_state<state_of<Source>> state() const { return {source_.state(), round_}; }
  void set_state(const counted_state<state_of<Source>>& state) {
    check_count(state.count, times_ == 0 ? state.count : times_ - 1, "repeat: state");
    source_.set_state(state.source);
    round_ = state.count;
    empty_ = false;
  }

 private:
  Source source_;
  state_of<Source> first_;
  std::int64_t times_, round_ = 0;
  bool empty_ = false;
};

struct repeating {
  std::int64_t times;
  repeat_options options;
  auto operator()(auto source) const {
    using type = decltype(source);
    if constexpr (stream<type> && indexed<type>) {
      return source.over(*this);  // epochs are read ahead as what is before them is
    } else if constexpr (stream<type>) {
      static_assert(!has_no_end<type>,
                    "tokamax: repeat comes too late: this stream has no end. Put it behind the dataset with an index, "
                    "before the stages that read it in order");
      return make_staged<repeated>(std::move(source), times);
    } else {
      const std::int64_t size = source.size();
      if (times > 0) step_of({times, 0}, std::max<std::int64_t>(size, 1));
      const std::int64_t most = times == 0 ? std::numeric_limits<std::int64_t>::max() : times * size;
      return make_staged<limited>(epochs<type>(std::move(source), options.reseed), most);
    }
  }
};

}  // namespace detail

/// `times` epochs of a dataset, or `times` times a stream from its beginning; 0 for no end. A dataset that is read without
/// this stage has no end. Behind a `prefetch` it does what it does before it.
/// errors  tokamax::error for a negative number; compile error for a stream without end, such as a filter of a dataset that is
///         read without this stage
/// source  grain.MapDataset.repeat
inline auto repeat(std::int64_t times, repeat_options options = {}) {
  if (times < 0) throw error("repeat: times", std::to_string(times), "0 or more");
  return stage{detail::repeating{times, options}};
}

}  // namespace tokamax::data
