// tokamax/data/stream/pack.hpp: whole sequences put together in bins of one length.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/packing.cpp
#pragma once

#include <tokamax/data/stream/concat_then_split.hpp>  // packed

namespace tokamax::data {

enum class fit : std::uint8_t { first, best };

struct pack_options {
  std::int64_t bins = 32;                  ///< that are open together
  fit by = fit::first;                     ///< the first bin with room, or the one that has the least left
  std::int64_t sequences = 0;              ///< at most so many in a bin; 0 for any number
  std::int64_t alignment = 1;              ///< sequences begin at multiples of this
  std::vector<std::int64_t> lengths = {};  ///< one for each array of an element, in place of one for all
};

/// The state of `pack`: that of the source before the first sequence of the bins that are being given, and how many were given.
template <class Source>
using pack_state = counted_state<Source>;

namespace detail {

template <class Source, class Length, class Options>
class packing {
  using element = made_by<Source>;
  using bin = std::vector<element>;

 public:
  packing(Source source, Length length, Options options)
      : source_(std::move(source)), length_(length), options_(std::move(options)), state_{source_.state()} {}
  std::optional<bin> take() {
    if (given_all() && !fill()) return std::nullopt;
    return bins_[static_cast<std::size_t>(state_.count++)].sequences;
  }
  packed<element> make(const bin& sequences) const {
    packed<element> result{sequences.front(), sequences.front(), sequences.front()};
    std::size_t column = 0;
    for_each_leaf(
        [&](array& values, array& ids, array& positions) {
          const std::int64_t length = length_of(column++);
          values = zero_rows(values, length);
          ids = zero_marks(length);
          positions = zero_marks(length);
        },
        result.values, result.segment_ids, result.positions);
    std::vector<std::int64_t> used(column, 0);
    std::int32_t id = 0;
    for (const element& e : sequences) {
      ++id;
      column = 0;
      for_each_leaf(
          [&](array& values, array& ids, array& positions, const array& from) {
            std::int64_t& at = used[column++];
            copy_rows(values, at, from, 0, from.extent(0), "pack: sequence");
            mark_rows(ids, positions, at, from.extent(0), id);
            at = aligned(at + from.extent(0));
          },
          result.values, result.segment_ids, result.positions, e);
    }
    return result;
  }
  pack_state<state_of<Source>> state() const { return given_all() ? pack_state<state_of<Source>>{after_, 0} : state_; }
  void set_state(const pack_state<state_of<Source>>& state) {
    source_.set_state(state.source);
    next_.reset();
    bins_.clear();
    state_ = {state.source};
    after_ = state.source;
    if (state.count == 0) return;
    fill();
    check_count(state.count, static_cast<std::int64_t>(bins_.size()) - 1, "pack: state");
    state_.count = state.count;
  }

 private:
  struct open_bin {
    bin sequences;
    std::vector<std::int64_t> used;  // rows of each array
  };

  bool given_all() const { return state_.count == static_cast<std::int64_t>(bins_.size()); }
  std::int64_t length_of(std::size_t column) const {
    return column < options_.lengths.size() ? options_.lengths[column] : length_;
  }
  std::int64_t aligned(std::int64_t rows) const {
    return (rows + options_.alignment - 1) / options_.alignment * options_.alignment;
  }

  // Fills bins until a sequence fits into none of them; it is the first of the next bins.
  bool fill() {
    bins_.clear();
    state_ = {after_};
    for (;;) {
      if (!next_) {
        after_ = source_.state();
        auto ticket = source_.take();
        if (!ticket) break;
        next_.emplace(source_.make(std::move(*ticket)));
      }
      if (!put(*next_)) break;
      next_.reset();
    }
    return !bins_.empty();
  }
  bool put(const element& e) {
    std::vector<std::int64_t> rows;
    for_each_leaf(
        [&](const array& leaf) {
          rows.push_back(rows_of(leaf, "pack: sequence"));
          const std::int64_t most = length_of(rows.size() - 1);
          if (rows.back() > most)
            throw error(error_kind::shape, "pack: length of a sequence", std::to_string(rows.back()),
                        "at most " + std::to_string(most));
        },
        e);
    if (!options_.lengths.empty() && options_.lengths.size() != rows.size())
      throw error("pack: lengths", std::to_string(options_.lengths.size()),
                  std::to_string(rows.size()) + ", one for each array");
    open_bin* chosen = nullptr;
    std::int64_t most_used = -1;
    for (open_bin& b : bins_) {
      const std::int64_t used = used_if_it_fits(b, rows);
      if (used <= most_used) continue;
      most_used = used;
      chosen = &b;
      if (options_.by == fit::first) break;
    }
    if (!chosen) {
      if (static_cast<std::int64_t>(bins_.size()) == options_.bins) return false;
      chosen = &bins_.emplace_back(open_bin{{}, std::vector<std::int64_t>(rows.size(), 0)});
    }
    chosen->sequences.push_back(e);
    for (std::size_t i = 0; i < rows.size(); ++i) chosen->used[i] = aligned(chosen->used[i] + rows[i]);
    return true;
  }
  // The rows in a bin, or -1 if there is no room for so many more.
  std::int64_t used_if_it_fits(const open_bin& b, const std::vector<std::int64_t>& rows) const {
    if (options_.sequences > 0 && static_cast<std::int64_t>(b.sequences.size()) == options_.sequences) return -1;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (b.used[i] + rows[i] > length_of(i)) return -1;
      sum += b.used[i];
    }
    return sum;
  }

  Source source_;
  std::int64_t length_;
  Options options_;
  std::vector<open_bin> bins_;
  std::optional<element> next_;             // is taken, and fits into none of the bins
  pack_state<state_of<Source>> state_;      // of the bins
  state_of<Source> after_ = state_.source;  // of the source, before the first sequence of the next bins
};

}  // namespace detail

/// Puts whole sequences into bins of `length` rows. Bins are given when a sequence fits into none of them.
/// shapes  elements of arrays [n, ...] -> `packed` elements
/// errors  tokamax::error for a sequence that is longer than a bin, or if elements differ in type
/// source  grain.experimental.FirstFitPackIterDataset, BestFitPackIterDataset
inline auto pack(std::int64_t length, pack_options options = {}) {
  detail::at_least_one(length, "pack: length");
  detail::at_least_one(options.bins, "pack: bins");
  detail::at_least_one(options.alignment, "pack: alignment");
  return detail::stream_stage<detail::packing>(length, std::move(options));
}

}  // namespace tokamax::data
