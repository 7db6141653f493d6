// tokamax/data/stream/concat_then_split.hpp: sequences one behind the other, cut into pieces of one length.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/packing.cpp
#pragma once

#include <tokamax/data/stream/rows.hpp>  // takes_rows

namespace tokamax::data {

/// Sequences that share the rows of arrays. Sequences count from 1 in each element, positions from 0 in each sequence; where
/// there is no sequence both are 0.
/// shapes  values: arrays [length, ...]; segment_ids, positions: i32 [length] for each of them
template <class Element>
struct packed {
  Element values, segment_ids, positions;
};

struct concat_then_split_options {
  std::optional<std::int32_t> bos = std::nullopt;  ///< replaces the first token of each piece of a sequence
};

namespace detail {

// Adds a sequence to arrays of segments and positions.
inline void mark_rows(array& ids, array& positions, std::int64_t at, std::int64_t count, std::int32_t id) {
  auto* const segment = ids.mutable_data<std::int32_t>() + at;
  auto* const position = positions.mutable_data<std::int32_t>() + at;
  for (std::int64_t i = 0; i < count; ++i) {
    segment[i] = id;
    position[i] = static_cast<std::int32_t>(i);
  }
}
inline array zero_marks(std::int64_t length) { return zero_rows(array(array_type{i32, false, {length}}), length); }

template <class Source, class Length, class Options>
class concat_then_splitting : public takes_rows<Source> {
  using element = made_by<Source>;
  using ticket = typename takes_rows<Source>::row_parts;

 public:
  concat_then_splitting(Source source, Length length, Options options)
      : takes_rows<Source>(std::move(source), "concat_then_split: sequence"), length_(length), options_(options) {}
  std::optional<ticket> take() {
    ticket parts = this->take_rows(length_);
    if (parts.empty()) return std::nullopt;
    return parts;
  }
  packed<element> make(ticket parts) const {
    packed<element> result{join_rows(parts, length_, "concat_then_split: sequence"), parts.front().element,
                           parts.front().element};
    for_each_leaf(
        [&](array& values, array& ids, array& positions) {
          ids = zero_marks(length_);
          positions = zero_marks(length_);
          std::int64_t at = 0;
          std::int32_t id = 0;
          for (const auto& part : parts) {
            mark_rows(ids, positions, at, part.count, ++id);
            if (options_.bos) values.mutable_data<std::int32_t>()[at] = *options_.bos;
            at += part.count;
          }
        },
        result.values, result.segment_ids, result.positions);
    return result;
  }

 private:
  std::int64_t length_;
  Options options_;
};

}  // namespace detail

/// Cuts the sequence of all sequences into elements of `length` rows, each full but for the last, so that no memory is lost to
/// padding. A sequence that is cut goes on in the next element.
/// shapes  elements of arrays [n, ...], with one n in each -> `packed` elements
/// errors  tokamax::error if the arrays of an element have different lengths, elements differ in type, or with `bos` are not i32
/// source  grain.experimental.ConcatThenSplitIterDataset
inline auto concat_then_split(std::int64_t length, concat_then_split_options options = {}) {
  detail::at_least_one(length, "concat_then_split: length");
  return detail::stream_stage<detail::concat_then_splitting>(length, options);
}

}  // namespace tokamax::data
