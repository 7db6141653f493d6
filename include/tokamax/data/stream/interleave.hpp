// tokamax/data/stream/interleave.hpp: several streams at once, one element of each in turn.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/stream/stream.hpp>  // stream_stage

#include <vector>  // vector

namespace tokamax::data {

/// The state of `interleave`: that of the source, whose turn it is, and for each place of the cycle the state of the source
/// before the element that is open there, and of the stream that it became.
template <class Source, class Inner>
struct interleave_state {
  struct place {
    bool open = false;
    Source source;
    Inner inner;
  };
  Source source;
  std::int64_t next = 0;
  std::vector<place> places;
};

struct interleave_options {
  std::int64_t cycle = 16;  ///< streams that are open together
};

namespace detail {

template <class Source, class F>
using inner_cursor =
    cursor_type<std::remove_cvref_t<decltype(std::declval<const F&>()(std::declval<made_by<Source>>()))>>;

template <class Source, class F, class Cycle>
class interleaving : public makes_at_once<made_by<inner_cursor<Source, F>>> {
  using inner = inner_cursor<Source, F>;
  using value = made_by<inner>;

 public:
  using state_type = interleave_state<state_of<Source>, state_of<inner>>;
  interleaving(Source source, F f, Cycle cycle)
      : source_(std::move(source)), f_(std::move(f)), places_(static_cast<std::size_t>(cycle)) {}
  std::optional<value> take() {
    for (std::size_t closed = 0; closed < places_.size();) {
      place& here = places_[next_];
      if (!here.stream) open(here);
      std::optional<value> result;
      if (here.stream) {
        closed = 0;
        if (auto ticket = here.stream->take())
          result = here.stream->make(std::move(*ticket));
        else
          here.stream.reset();
      } else {
        ++closed;  // there is nothing more to open
      }
      next_ = (next_ + 1) % places_.size();
      if (result) return result;
    }
    return std::nullopt;
  }
  state_type state() const {
    state_type result{source_.state(), static_cast<std::int64_t>(next_), {}};
    for (const place& p : places_)
      result.places.push_back(p.stream ? typename state_type::place{true, p.before, p.stream->state()}
                                       : typename state_type::place{false, result.source, {}});
    return result;
  }
  void set_state(const state_type& state) {
    if (state.places.size() != places_.size())
      throw error("interleave: state of a cycle", std::to_string(state.places.size()), std::to_string(places_.size()));
    check_count(state.next, static_cast<std::int64_t>(places_.size()) - 1, "interleave: state");
    for (std::size_t i = 0; i < places_.size(); ++i) {
      places_[i].stream.reset();
      if (!state.places[i].open) continue;
      source_.set_state(state.places[i].source);
      open(places_[i]);
      if (!places_[i].stream) throw error("interleave: state", "the end", "an element of the source");
      places_[i].stream->set_state(state.places[i].inner);
    }
    source_.set_state(state.source);
    next_ = static_cast<std::size_t>(state.next);
  }

 private:
  struct place {
    state_of<Source> before;  // of the source, before the element that became this stream
    std::optional<inner> stream;
  };
  void open(place& here) {
    here.before = source_.state();
    if (auto ticket = source_.take()) here.stream.emplace(cursor_of(f_(source_.make(std::move(*ticket)))));
  }

  Source source_;
  F f_;
  std::vector<place> places_;
  std::size_t next_ = 0;
};

}  // namespace detail

/// Makes a stream of each element by `f`, such as the records of a file of its name, and reads `cycle` of them together,
/// one element of each in turn. Where one ends, the next takes its place.
/// source  grain.experimental.InterleaveIterDataset, with its order
template <class F>
auto interleave(F f, interleave_options options = {}) {
  detail::at_least_one(options.cycle, "interleave: cycle");
  return detail::stream_stage<detail::interleaving>(std::move(f), options.cycle);
}

}  // namespace tokamax::data
