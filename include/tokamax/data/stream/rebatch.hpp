// tokamax/data/stream/rebatch.hpp: batches of another size.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/packing.cpp
#pragma once

#include <tokamax/data/batch.hpp>        // rest_of_batch
#include <tokamax/data/stream/rows.hpp>  // takes_rows

namespace tokamax::data {

namespace detail {

template <class Source, class Count, class Rest>
class rebatching : public takes_rows<Source> {
  using element = made_by<Source>;
  using ticket = typename takes_rows<Source>::row_parts;

 public:
  rebatching(Source source, Count count, Rest rest)
      : takes_rows<Source>(std::move(source), "rebatch: element"), count_(count), rest_(rest) {}
  std::optional<ticket> take() {
    ticket parts = this->take_rows(count_);
    if (parts.empty() || (rest_ == rest_of_batch::drop && rows_of_parts(parts) < count_)) return std::nullopt;
    return parts;
  }
  element make(ticket parts) const {
    return join_rows(parts, rest_ == rest_of_batch::pad ? count_ : rows_of_parts(parts), "rebatch: element");
  }

 private:
  static std::int64_t rows_of_parts(const ticket& parts) {
    std::int64_t rows = 0;
    for (const auto& part : parts) rows += part.count;
    return rows;
  }

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
