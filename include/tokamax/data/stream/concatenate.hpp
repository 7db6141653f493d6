// tokamax/data/stream/concatenate.hpp: streams or datasets, one behind the other.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/stream/select.hpp>  // select_state

#include <algorithm>  // upper_bound

namespace tokamax::data {

namespace detail {

template <class Cursor>
class concatenating {
  using ticket = std::pair<std::size_t, ticket_of<Cursor>>;

 public:
  using state_type = select_state<state_of<Cursor>>;
  explicit concatenating(std::vector<Cursor> sources) : sources_(std::move(sources)) {}
  std::optional<ticket> take() {
    for (; now_ < sources_.size(); ++now_) {
      if (auto inner = sources_[now_].take()) return ticket{now_, std::move(*inner)};
    }
    return std::nullopt;
  }
  made_by<Cursor> make(ticket t) const { return sources_[t.first].make(std::move(t.second)); }
  state_type state() const {  // of the stream that is being read alone
    state_type result{{}, static_cast<std::int64_t>(now_)};
    if (now_ < sources_.size()) result.sources.push_back(sources_[now_].state());
    return result;
  }
  void set_state(const state_type& state) {
    check_count(state.count, static_cast<std::int64_t>(sources_.size()), "concatenate: state");
    const auto before = now_;
    now_ = static_cast<std::size_t>(state.count);
    if (state.sources.size() != (now_ < sources_.size() ? 1u : 0u))
      throw error("concatenate: states of streams", std::to_string(state.sources.size()), "that of the one being read");
    for (std::size_t i = now_ + 1; i <= before && i < sources_.size(); ++i) sources_[i].set_state(first_[i]);
    if (now_ < sources_.size()) sources_[now_].set_state(state.sources[0]);
  }

 private:
  static std::vector<state_of<Cursor>> states(const std::vector<Cursor>& sources) {
    std::vector<state_of<Cursor>> result;
    for (const Cursor& source : sources) result.push_back(source.state());
    return result;
  }

  std::vector<Cursor> sources_;
  std::vector<state_of<Cursor>> first_ = states(sources_);
  std::size_t now_ = 0;
};

template <readable Source>
class concatenated : public stream_base<concatenated<Source>> {
 public:
  explicit concatenated(std::vector<Source> sources) : sources_(std::move(sources)) {}
  auto cursor() const {
    std::vector<cursor_type<Source>> cursors;
    for (const Source& source : sources_) cursors.push_back(cursor_of(source));
    return concatenating<cursor_type<Source>>(std::move(cursors));
  }

 private:
  std::vector<Source> sources_;
};

// An epoch is an epoch of each, in order.
template <indexed Source>
class concatenated_index : public dataset<concatenated_index<Source>> {
 public:
  explicit concatenated_index(std::vector<Source> sources) : sources_(std::move(sources)) {
    for (const Source& source : sources_) {
      if (source.size() > std::numeric_limits<std::int64_t>::max() - size())
        throw error("concatenate: elements", "more", "less than 2^63 in all");
      ends_.push_back(size() + source.size());
    }
  }
  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  element<Source> operator[](std::int64_t index) const {
    const std::int64_t epoch = index / size(), within = index % size();
    const auto which = static_cast<std::size_t>(std::ranges::upper_bound(ends_, within) - ends_.begin());
    const Source& source = sources_[which];
    return source[epoch * source.size() + within - (ends_[which] - source.size())];
  }

 private:
  std::vector<Source> sources_;
  std::vector<std::int64_t> ends_;  // of each, counted over all
};

}  // namespace detail

/// All elements of the first, then those of the second, and so on. Datasets with an index make one with an index, which can
/// be shuffled as a whole.
/// source  grain.MapDataset.concatenate
template <readable Source>
auto concatenate(std::vector<Source> sources) {
  if constexpr (stream<Source>)
    return detail::concatenated<Source>(std::move(sources));
  else
    return detail::concatenated_index<Source>(std::move(sources));
}

}  // namespace tokamax::data
