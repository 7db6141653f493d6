// tokamax/data/stream/rebatch.hpp: batches of another size.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/packing.cpp
#pragma once

#include <tokamax/data/batch.hpp>        // rest_of_batch
#include <tokamax/data/stream/rows.hpp>  // row_reader

namespace tokamax::data {

namespace detail {

template <class Source, class Count, class Rest>
class rebatching {
  using element = made_by<Source>;
  using ticket = std::vector<row_part<element>>;

 public:
  rebatching(Source source, Count count, Rest rest)
      : rows_(std::move(source), "rebatch: element"), count_(count), rest_(rest) {}
  std::optional<ticket> take() {
    ticket parts;
    std::int64_t missing = count_;
    while (missing > 0) {
      auto part = rows_.take(missing);
      if (!part) break;
      missing -= part->count;
      parts.push_back(std::move(*part));
    }
    if (parts.empty() || (missing > 0 && rest_ == rest_of_batch::drop)) return std::nullopt;
    return parts;
  }
  element make(ticket parts) const {
    std::int64_t rows = 0;
    for (const auto& part : parts) rows += part.count;
    return join_rows(parts, rest_ == rest_of_batch::pad ? count_ : rows, "rebatch: element");
  }
  counted_state<state_of<Source>> state() const { return rows_.state(); }
  void set_state(const counted_state<state_of<Source>>& state) { rows_.set_state(state); }

 private:
  row_reader<Source> rows_;
  std::int64_t count_;
  rest_of_batch rest_;
};

}  // namespace detail

/// Puts the rows of elements into elements of `count` rows.
/// shapes  records of arrays [B, ...], with any B -> the same of arrays [count, ...]
/// errors  tokamax::error if the arrays of an element have different numbers of rows, or elements differ in type
/// source  grain.experimental.RebatchIterDataset
inline auto rebatch(std::int64_t count, batch_options options = {}) {
  detail::at_least_one(count, "rebatch: rows");
  return detail::stream_stage<detail::rebatching>(count, options.rest);
}

}  // namespace tokamax::data
