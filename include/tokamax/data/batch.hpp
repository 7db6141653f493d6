// tokamax/data/batch.hpp: several elements stacked into the arrays of one record.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree.hpp>           // for_each_leaf
#include <tokamax/core/array.hpp>          // array
#include <tokamax/data/stream/stream.hpp>  // make_staged, dataset

#include <algorithm>    // min, max
#include <cstring>      // memcpy, memset
#include <numeric>      // iota
#include <type_traits>  // type_identity
#include <vector>       // vector

namespace tokamax::data {

/// What `batch` does with elements that do not fill a batch: it leaves them out, makes a smaller batch, or adds rows of zeros.
enum class rest_of_batch : std::uint8_t { drop, keep, pad };

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

// An array [B, ...] with zeros below its rows, as [rows, ...].
inline array with_zeros_below(const array& from, std::int64_t rows) {
  array_type type = from.type();
  const std::int64_t row = from.size() / std::max<std::int64_t>(type.shape[0], 1) * size_of(type.dtype);
  const auto filled = static_cast<std::size_t>(type.shape[0] * row);
  type.shape[0] = rows;
  array result = array::uninitialized(type);
  std::byte* to = result.mutable_bytes();
  std::memcpy(to, from.bytes(), filled);
  std::memset(to + filled, 0, static_cast<std::size_t>(rows * row) - filled);
  return result;
}

// Puts rows into one record of arrays [B, ...]. If there are less than `least`, the rest is zeros.
template <class Record, class Element>
Record stack_rows(const std::vector<Element>& rows, std::int64_t least) {
  Record result{};
  if constexpr (token_sequence<Element>) {
    const auto leaves = static_cast<std::int64_t>(count_leaves(result));
    if (leaves != 1 && leaves != 2)
      throw error("batch: arrays in the record", std::to_string(leaves), "1 (tokens) or 2 (inputs and targets)");
    const std::int64_t length = rows.front().size() - (leaves - 1);
    std::int64_t skip = 0;
    for_each_leaf([&](auto& leaf) { leaf = stack_tokens(rows, skip++, length); }, result);
  } else {
    static_assert(std::same_as<Element, Record>,
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
  if (static_cast<std::int64_t>(rows.size()) < least)
    for_each_leaf([&](auto& leaf) { leaf = with_zeros_below(leaf, least); }, result);
  return result;
}

// A source that gives many elements at once, as a batch.
template <class Source, class Record>
concept gathers = requires(const Source& s, std::vector<std::int64_t> indices) {
  { s.gather(indices) } -> std::same_as<Record>;
};

template <indexed Source, class Record>
class batched : public dataset<batched<Source, Record>> {
 public:
  batched(Source source, std::int64_t count, rest_of_batch rest)
      : source_(std::move(source)), count_(count), rest_(rest) {
    if (count < 1 || (source_.size() < count && rest == rest_of_batch::drop) || source_.size() < 1)
      throw error("batch: elements in a batch", std::to_string(count),
                  "1 to " + std::to_string(source_.size()) + ", the elements of an epoch");
  }
  std::int64_t size() const {
    return source_.size() / count_ + (rest_ != rest_of_batch::drop && source_.size() % count_ != 0);
  }
  Record operator[](std::int64_t index) const {
    const std::int64_t within = index % size() * count_;
    const std::int64_t first = step_of({index / size(), 0}, source_.size()) + within;
    const std::int64_t count = std::min(count_, source_.size() - within);
    const std::int64_t least = rest_ == rest_of_batch::pad ? count_ : 0;
    if constexpr (gathers<Source, Record>) {
      std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
      std::iota(indices.begin(), indices.end(), first);
      Record result = source_.gather(indices);
      if (count < least) for_each_leaf([&](auto& leaf) { leaf = with_zeros_below(leaf, least); }, result);
      return result;
    } else {
      std::vector<element<Source>> rows;
      rows.reserve(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) rows.push_back(source_[first + i]);
      return stack_rows<Record>(rows, least);
    }
  }

 private:
  Source source_;
  std::int64_t count_;
  rest_of_batch rest_;
};

// Batches of a stream. Its `take` takes the tickets of a batch, so that other threads can make it.
template <class Source, class Record, class Count, class Rest>
class batching {
  using ticket = std::vector<ticket_of<Source>>;

 public:
  batching(Source source, Record, Count count, Rest rest) : source_(std::move(source)), count_(count), rest_(rest) {}
  std::optional<ticket> take() {
    ticket tickets;
    while (static_cast<std::int64_t>(tickets.size()) < count_) {
      auto next = source_.take();
      if (!next) break;
      tickets.push_back(std::move(*next));
    }
    const bool whole = static_cast<std::int64_t>(tickets.size()) == count_;
    if (tickets.empty() || (!whole && rest_ == rest_of_batch::drop)) return std::nullopt;
    return tickets;
  }
  auto make(ticket tickets) const {
    std::vector<made_by<Source>> rows;
    rows.reserve(tickets.size());
    for (auto& one : tickets) rows.push_back(source_.make(std::move(one)));
    return stack_rows<typename Record::type>(rows, rest_ == rest_of_batch::pad ? count_ : 0);
  }
  state_of<Source> state() const { return source_.state(); }
  void set_state(const state_of<Source>& state) { source_.set_state(state); }

 private:
  Source source_;
  std::int64_t count_;
  rest_of_batch rest_;
};

}  // namespace detail

struct batch_options {
  rest_of_batch rest = rest_of_batch::drop;
};

/// Puts `count` elements into one. The last elements of an epoch, or before the end of a stream, are left out if they do not
/// fill a batch, unless the options say otherwise.
/// shapes  windows of n tokens -> a record of one i32 array [B, n], or of two: inputs [B, n - 1] and targets [B, n - 1],
///         which are the inputs one token later; a record of arrays [...] -> the same record of arrays [B, ...]
/// errors  tokamax::error if an epoch is smaller than a batch, or elements differ in type
/// source  grain.MapDataset.batch; with `pad` grain.experimental.batch_and_pad
template <class Record>
auto batch(std::int64_t count, batch_options options = {}) {
  return stage{[=](auto source) {
    using type = decltype(source);
    if constexpr (stream<type>) {
      detail::at_least_one(count, "batch: elements in a batch");
      return detail::make_staged<detail::batching>(std::move(source), std::type_identity<Record>{}, count,
                                                   options.rest);
    } else {
      return detail::batched<type, Record>(std::move(source), count, options.rest);
    }
  }};
}

}  // namespace tokamax::data
