// tokamax/data/dataset.hpp: what every stage of a pipeline is: elements by index, read in order from a position.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>       // error
#include <tokamax/profile/session.hpp>  // span

#include <concepts>     // same_as
#include <cstddef>      // ptrdiff_t
#include <cstdint>      // int64_t
#include <limits>       // numeric_limits
#include <optional>     // optional
#include <string>       // to_string
#include <type_traits>  // remove_cvref_t
#include <utility>      // move

namespace tokamax::data {

/// Elements by index. `size()` is the number of elements of an epoch; indices from `size()` on belong to later epochs,
/// so every index from 0 is valid. The same index always gives the same element.
template <class D>
concept indexed = requires(const D& d, std::int64_t index) {
  { d.size() } -> std::same_as<std::int64_t>;
  d[index];
};

/// Elements by index that are asked for by index, unlike those of a stage that reads ahead in order.
template <class D>
concept random_access = indexed<D> && !requires(const D& d) { d.cursor(); };

template <indexed D>
using element = std::remove_cvref_t<decltype(std::declval<const D&>()[0])>;

/// A position between two elements of a dataset. It is all that must be saved to go on exactly there.
struct position {
  std::int64_t epoch = 0;
  std::int64_t index = 0;  ///< within the epoch
  constexpr bool operator==(const position&) const = default;
};

/// The number of elements before `at`.
/// errors  tokamax::error if `at` is not a position in an epoch of `size` elements
inline std::int64_t step_of(position at, std::int64_t size) {
  if (at.epoch < 0 || at.index < 0 || at.index >= size)
    throw error("data position", "epoch " + std::to_string(at.epoch) + ", index " + std::to_string(at.index),
                "an index from 0 to " + std::to_string(size - 1));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (at.epoch > 0 && at.epoch > most / size - 2)  // leaves room for readers to count up from there
    throw error("data position", "epoch " + std::to_string(at.epoch) + " of " + std::to_string(size) + " elements",
                "at most 2^63 elements before it");
  return at.epoch * size + at.index;
}

/// An element and the number of elements before it, counted over all epochs.
template <class Value>
struct item {
  std::int64_t step;
  Value value;
};

/// Makes an endless range of a class with `next()`: `for (const auto& [step, value] : reader)`.
template <class Reader>
struct endless {
  class iterator {
   public:
    using difference_type = std::ptrdiff_t;
    explicit iterator(Reader& reader) : reader_(&reader), current_(reader.next()) {}
    auto& operator*() const { return *current_; }
    iterator& operator++() {
      current_.emplace(reader_->next());
      return *this;
    }
    void operator++(int) { ++*this; }

   private:
    Reader* reader_;
    mutable std::optional<decltype(std::declval<Reader&>().next())> current_;
  };
  iterator begin() { return iterator(static_cast<Reader&>(*this)); }
  std::unreachable_sentinel_t end() { return {}; }
};

/// Reads a dataset in order, epoch after epoch. In recordings `next` is a wait of the name "data".
template <indexed Source>
class reader : public endless<reader<Source>> {
 public:
  reader(Source source, data::position at) : source_(std::move(source)), step_(step_of(at, source_.size())) {}
  item<element<Source>> next() {
    const profile::span wait("data", profile::mark_kind::wait);
    item<element<Source>> result{step_, source_[step_]};
    ++step_;
    return result;
  }
  /// The position after everything that was read. Save it with the model; `from(position)` goes on there.
  data::position position() const { return {step_ / source_.size(), step_ % source_.size()}; }
  /// The same by the names that readers of streams have.
  data::position state() const { return position(); }
  void set_state(data::position at) { step_ = step_of(at, source_.size()); }

 private:
  Source source_;
  std::int64_t step_;
};

/// The base of every stage.
template <class Self>
struct dataset {
  /// A reader that begins at `at`. All readers from the same position give the same elements.
  auto from(position at = {}) const { return reader<Self>(static_cast<const Self&>(*this), at); }
};

/// A stage without its source. `source | stage` gives it one, and `stage | stage` joins two.
template <class Make>
struct stage {
  Make make;
};
template <class Make>
stage(Make) -> stage<Make>;
template <class Source, class Make>
  requires(indexed<Source> || requires(const Source& s) { s.cursor(); })
auto operator|(Source source, const stage<Make>& next) {
  return next.make(std::move(source));
}
template <class First, class Second>
auto operator|(stage<First> first, stage<Second> second) {
  return stage{[=](auto source) { return second.make(first.make(std::move(source))); }};
}

}  // namespace tokamax::data
