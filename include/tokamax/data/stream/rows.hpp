// tokamax/data/stream/rows.hpp: parts of arrays along the leading axis of all leaves of an element.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/packing.cpp
#pragma once

#include <tokamax/base/tree.hpp>          // for_each_leaf
#include <tokamax/core/array.hpp>         // array
#include <tokamax/data/stream/limit.hpp>  // counted_state

#include <cstring>  // memcpy, memset
#include <vector>   // vector

namespace tokamax::data::detail {

// Rows `first` to `first + count - 1` of an element.
template <class Element>
struct row_part {
  Element element;
  std::int64_t first, count;
};

inline std::int64_t row_bytes(const array_type& type) {
  std::int64_t bytes = size_of(type.dtype);
  for (int axis = 1; axis < type.shape.rank(); ++axis) bytes *= type.shape[axis];
  return bytes;
}
// Refuses what has no rows; `what` says who asks.
inline std::int64_t rows_of(const array& leaf, const char* what) {
  if (!leaf.is_concrete() || leaf.rank() < 1)
    throw error(error_kind::shape, what, std::string(message{leaf.type()}.view()), "arrays [n, ...] with data");
  return leaf.extent(0);
}
// The number of rows that all leaves of an element have.
template <class Element>
std::int64_t common_rows(const Element& e, const char* what) {
  std::int64_t rows = -1;
  for_each_leaf(
      [&](const array& leaf) {
        const std::int64_t found = rows_of(leaf, what);
        if (rows >= 0 && found != rows)
          throw error(error_kind::shape, what, std::to_string(rows) + " and " + std::to_string(found) + " rows",
                      "as many in all arrays of an element");
        rows = found;
      },
      e);
  if (rows < 0) throw error(error_kind::shape, what, "an element without arrays", "at least one");
  return rows;
}

// An array [length, ...] of zeros, with the type of `like` otherwise.
inline array zero_rows(const array& like, std::int64_t length) {
  array_type type = like.type();
  type.weak = false;
  type.shape[0] = length;
  array result = array::uninitialized(type);
  std::memset(result.mutable_bytes(), 0, static_cast<std::size_t>(length * row_bytes(type)));
  return result;
}
// Copies `count` rows of `from`, from `first` on, to row `at` of `to`.
inline void copy_rows(array& to, std::int64_t at, const array& from, std::int64_t first, std::int64_t count,
                      const char* what) {
  array_type expected = to.type();
  expected.shape[0] = from.extent(0);
  if (from.type() != expected)
    throw error(error_kind::shape, what, std::string(message{from.type()}.view()),
                std::string(message{expected}.view()) + ", as in the first element");
  const std::int64_t bytes = row_bytes(expected);
  std::memcpy(to.mutable_bytes() + at * bytes, from.bytes() + first * bytes, static_cast<std::size_t>(count * bytes));
}

// Parts one behind the other in the rows of one element of `length` rows.
template <class Element>
Element join_rows(const std::vector<row_part<Element>>& parts, std::int64_t length, const char* what) {
  Element result = parts.front().element;
  for_each_leaf([&](array& leaf) { leaf = zero_rows(leaf, length); }, result);
  std::int64_t at = 0;
  for (const auto& part : parts) {
    for_each_leaf([&](array& to, const array& from) { copy_rows(to, at, from, part.first, part.count, what); }, result,
                  part.element);
    at += part.count;
  }
  return result;
}

// Takes elements of a source and gives them away in rows. The place is the state of the source before the element that is
// begun, and the number of its rows that are gone.
template <class Source>
class row_reader {
 public:
  using element = made_by<Source>;
  row_reader(Source source, const char* what) : source_(std::move(source)), what_(what), state_{source_.state()} {}
  // At most `most` rows of the element that is begun, or of the next that has rows; nothing at the end.
  std::optional<row_part<element>> take(std::int64_t most) {
    while (!begun_ || state_.count == rows_) {
      state_ = {source_.state()};
      begun_.reset();
      if (!open()) return std::nullopt;
    }
    const std::int64_t first = state_.count, count = std::min(most, rows_ - first);
    state_.count += count;
    return row_part<element>{*begun_, first, count};
  }
  const counted_state<state_of<Source>>& state() const { return state_; }
  void set_state(const counted_state<state_of<Source>>& state) {
    source_.set_state(state.source);
    state_ = {state.source};
    begun_.reset();
    rows_ = 0;
    if (state.count == 0) return;
    open();
    check_count(state.count, rows_, what_);
    state_.count = state.count;
  }

 private:
  bool open() {
    auto ticket = source_.take();
    if (!ticket) return false;
    begun_.emplace(source_.make(std::move(*ticket)));
    rows_ = common_rows(*begun_, what_);
    return true;
  }

  Source source_;
  const char* what_;
  std::optional<element> begun_;
  std::int64_t rows_ = 0;
  counted_state<state_of<Source>> state_;
};

// The base of cursors that take rows.
template <class Source>
class takes_rows {
 public:
  takes_rows(Source source, const char* what) : rows_(std::move(source), what) {}
  const counted_state<state_of<Source>>& state() const { return rows_.state(); }
  void set_state(const counted_state<state_of<Source>>& state) { rows_.set_state(state); }

 protected:
  using row_parts = std::vector<row_part<made_by<Source>>>;
  // Parts of elements with `count` rows together, or fewer at the end.
  row_parts take_rows(std::int64_t count) {
    row_parts result;
    while (count > 0) {
      auto part = rows_.take(count);
      if (!part) break;
      count -= part->count;
      result.push_back(std::move(*part));
    }
    return result;
  }

 private:
  row_reader<Source> rows_;
};

}  // namespace tokamax::data::detail
