// tokamax/data/batch.hpp: several elements stacked into the arrays of one record.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree.hpp>     // for_each_leaf
#include <tokamax/core/array.hpp>    // array
#include <tokamax/data/dataset.hpp>  // dataset, stage

#include <cstring>  // memcpy
#include <vector>   // vector

namespace tokamax::data {

namespace detail {

// Any range of tokens, such as a window.
template <class T>
concept token_sequence = indexed<T> && std::same_as<element<T>, std::int32_t>;

// Copies the tokens `skip` to `skip + length - 1` of each sequence into an array i32 [B, length].
template <token_sequence Sequence>
array stack_tokens(const std::vector<Sequence>& rows, std::int64_t skip, std::int64_t length) {
  array result = array::uninitialized({i32, false, {static_cast<std::int64_t>(rows.size()), length}});
  auto* to = result.mutable_data<std::int32_t>();
  for (const Sequence& row : rows) {
    if (row.size() != rows.front().size())
      throw error(error_kind::shape, "batch: length of a sequence", std::to_string(row.size()),
                  std::to_string(rows.front().size()));
    for (std::int64_t i = 0; i < length; ++i) *to++ = row[skip + i];
  }
  return result;
}

// Puts the arrays [...] of B elements into one array [B, ...].
inline array stack_arrays(const std::vector<array>& rows) {
  array_type type = rows.front().type();
  shape extents{static_cast<std::int64_t>(rows.size())};
  for (const std::int64_t extent : type.shape) extents.push_back(extent);
  array result = array::uninitialized({type.dtype, false, extents});
  const auto bytes = static_cast<std::size_t>(rows.front().size()) * static_cast<std::size_t>(size_of(type.dtype));
  std::byte* to = result.mutable_bytes();
  for (const array& row : rows) {
    if (!row.is_concrete() || row.type() != type)
      throw error(error_kind::shape, "batch: type of an element", std::string(tokamax::message{row.type()}.view()),
                  std::string(tokamax::message{type}.view()) + " with data, as in the first element");
    std::memcpy(to, row.bytes(), bytes);
    to += bytes;
  }
  return result;
}

template <indexed Source, class Record>
class batched : public dataset<batched<Source, Record>> {
 public:
  batched(Source source, std::int64_t count) : source_(std::move(source)), count_(count) {
    if (count < 1 || source_.size() < count)
      throw error("batch: elements in a batch", std::to_string(count),
                  "1 to " + std::to_string(source_.size()) + ", the elements of an epoch");
  }
  std::int64_t size() const { return source_.size() / count_; }
  Record operator[](std::int64_t index) const {
    const std::int64_t first = step_of({index / size(), 0}, source_.size()) + index % size() * count_;
    std::vector<element<Source>> rows;
    rows.reserve(static_cast<std::size_t>(count_));
    for (std::int64_t i = 0; i < count_; ++i) rows.push_back(source_[first + i]);
    Record result{};
    if constexpr (token_sequence<element<Source>>) {
      const auto leaves = static_cast<std::int64_t>(count_leaves(result));
      if (leaves != 1 && leaves != 2)
        throw error("batch: arrays in the record", std::to_string(leaves), "1 (tokens) or 2 (inputs and targets)");
      const std::int64_t length = rows.front().size() - (leaves - 1);
      std::int64_t skip = 0;
      for_each_leaf([&](auto& leaf) { leaf = stack_tokens(rows, skip++, length); }, result);
    } else {
      static_assert(std::same_as<element<Source>, Record>,
                    "tokamax: batch stacks windows, or elements that are the record itself; put a map before it");
      std::vector<std::vector<array>> columns(count_leaves(rows.front()));
      for (const Record& row : rows) {
        std::size_t column = 0;
        for_each_leaf([&](const auto& leaf) { columns[column++].push_back(leaf); }, row);
      }
      result = rows.front();
      std::size_t column = 0;
      for_each_leaf([&](auto& leaf) { leaf = stack_arrays(columns[column++]); }, result);
    }
    return result;
  }

 private:
  Source source_;
  std::int64_t count_;
};

}  // namespace detail

/// Puts `count` elements into one. The last elements of an epoch are left out if they do not fill a batch.
/// shapes  windows of n tokens -> a record of one i32 array [B, n], or of two: inputs [B, n - 1] and targets [B, n - 1],
///         which are the inputs one token later; a record of arrays [...] -> the same record of arrays [B, ...]
/// errors  tokamax::error if an epoch is smaller than a batch, or elements differ in type
template <class Record>
auto batch(std::int64_t count) {
  return stage{[=](auto source) { return detail::batched<decltype(source), Record>(std::move(source), count); }};
}

}  // namespace tokamax::data
