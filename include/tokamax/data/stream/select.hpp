// tokamax/data/stream/select.hpp: elements of several streams, by a rule that says whose turn it is.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/stream/stream.hpp>  // stream_base

#include <algorithm>  // any_of, min_element
#include <cmath>      // isfinite
#include <vector>     // vector

namespace tokamax::data {

/// The state of several streams: those of each, and how many elements came of all together.
template <class Source>
struct select_state {
  std::vector<Source> sources;
  std::int64_t count = 0;
};

namespace detail {

template <class Cursor, class Rule>
class selecting {
  using ticket = std::pair<std::size_t, ticket_of<Cursor>>;

 public:
  using state_type = select_state<state_of<Cursor>>;
  selecting(std::vector<Cursor> sources, Rule rule) : sources_(std::move(sources)), rule_(std::move(rule)) {}
  std::optional<ticket> take() {
    const std::int64_t which = rule_(count_);
    check_count(which, static_cast<std::int64_t>(sources_.size()) - 1, "select: number of a stream");
    auto inner = sources_[static_cast<std::size_t>(which)].take();
    if (!inner) return std::nullopt;  // and so does each later call, because the count stays
    ++count_;
    return ticket{static_cast<std::size_t>(which), std::move(*inner)};
  }
  made_by<Cursor> make(ticket t) const { return sources_[t.first].make(std::move(t.second)); }
  state_type state() const {
    state_type result{{}, count_};
    for (const Cursor& source : sources_) result.sources.push_back(source.state());
    return result;
  }
  void set_state(const state_type& state) {
    if (state.sources.size() != sources_.size())
      throw error("select: states of streams", std::to_string(state.sources.size()), std::to_string(sources_.size()));
    check_count(state.count, std::numeric_limits<std::int64_t>::max(), "select: state");
    for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i].set_state(state.sources[i]);
    count_ = state.count;
  }

 private:
  std::vector<Cursor> sources_;
  Rule rule_;
  std::int64_t count_ = 0;
};

template <readable Source, class Rule>
class selected : public stream_base<selected<Source, Rule>> {
 public:
  selected(std::vector<Source> sources, Rule rule) : sources_(std::move(sources)), rule_(std::move(rule)) {
    at_least_one(static_cast<std::int64_t>(sources_.size()), "select: streams");
  }
  auto cursor() const {
    std::vector<cursor_type<Source>> cursors;
    for (const Source& source : sources_) cursors.push_back(cursor_of(source));
    return selecting<cursor_type<Source>, Rule>(std::move(cursors), rule_);
  }

 private:
  std::vector<Source> sources_;
  Rule rule_;
};

// Whose turn it is after `count` elements, if the streams are mixed by these proportions: the one whose share of the first
// count + 1 elements is one more than its share of the first count.
class proportions {
 public:
  explicit proportions(const std::vector<double>& weights) {
    const auto wrong = [](double weight) { return !(weight > 0) || !std::isfinite(weight); };
    if (weights.empty() || std::ranges::any_of(weights, wrong))
      throw error("mix: weights", weights.empty() ? "none" : "one that is not above 0", "finite numbers above 0");
    const double scale = 100 / *std::ranges::min_element(weights);
    for (const double weight : weights) {
      if (weight * scale > 1e9) throw error("mix: weights", "one that is ten million times another", "closer ones");
      shares_.push_back(static_cast<std::int64_t>(weight * scale));
      sum_ += shares_.back();
    }
  }
  std::size_t size() const { return shares_.size(); }
  std::int64_t operator()(std::int64_t count) const {
    __extension__ using wide = __int128;  // products of a count and a share
    std::int64_t remaining = sum_, now = count, after = count + 1;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      const auto next_now = static_cast<std::int64_t>(wide{now} * (remaining - shares_[i]) / remaining);
      const auto next_after = static_cast<std::int64_t>(wide{after} * (remaining - shares_[i]) / remaining);
      if (now - next_now != after - next_after) return static_cast<std::int64_t>(i);
      remaining -= shares_[i];
      now = next_now;
      after = next_after;
    }
    return static_cast<std::int64_t>(shares_.size()) - 1;
  }

 private:
  std::vector<std::int64_t> shares_;
  std::int64_t sum_ = 0;
};

}  // namespace detail

/// Element k is the next one of stream `rule(k)`. It ends where that stream has ended. All streams are of one type; those of
/// different types become `any_stream`s.
/// errors  tokamax::error where the rule names no stream
/// source  grain.experimental DatasetSelectionMap
template <readable Source, class Rule>
auto select(std::vector<Source> sources, Rule rule) {
  return detail::selected<Source, Rule>(std::move(sources), std::move(rule));
}

/// Mixes streams by weights, without chance: after any number of elements each has given its share, rounded. It ends where
/// the stream whose turn it is has ended.
/// errors  tokamax::error unless there is a weight above 0 for each stream
/// source  grain.MapDataset.mix, with its order
template <readable Source>
auto mix(std::vector<Source> sources, const std::vector<double>& weights) {
  const detail::proportions rule(weights);
  if (rule.size() != sources.size())
    throw error("mix: weights", std::to_string(rule.size()), std::to_string(sources.size()) + ", one for each stream");
  return select(std::move(sources), rule);
}

}  // namespace tokamax::data
