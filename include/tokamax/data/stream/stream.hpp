// tokamax/data/stream/stream.hpp: elements that are read in order only, and the place where reading goes on.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/dataset.hpp>  // indexed, item, stage

#include <iterator>  // default_sentinel_t
#include <tuple>     // apply

namespace tokamax::data {

/// Goes through a stream. Its work has two parts. `take` moves on by one element, in order, and gives a ticket for it, or
/// nothing at the end. `make` makes the element of a ticket; any number of threads may call it, in any order. `state` is
/// the place after what was taken, a plain record; `set_state` goes there, on a cursor that was anywhere.
template <class C>
concept stream_cursor = requires(C& c, const C& k) {
  k.make(std::move(*c.take()));
  c.set_state(k.state());
};

/// Elements in order, to an end or without one. Each call of `cursor` begins at the first.
template <class S>
concept stream = requires(const S& s) {
  { s.cursor() } -> stream_cursor;
};

template <class S>
concept readable = stream<S> || indexed<S>;

namespace detail {

template <class Cursor>
using ticket_of = typename decltype(std::declval<Cursor&>().take())::value_type;
template <class Cursor>
using made_by = std::remove_cvref_t<decltype(std::declval<const Cursor&>().make(std::declval<ticket_of<Cursor>>()))>;
template <class Cursor>
using state_of = std::remove_cvref_t<decltype(std::declval<const Cursor&>().state())>;

// A dataset with an index, read epoch after epoch without end. One without elements is a stream without elements.
template <indexed Source>
class index_cursor {
 public:
  explicit index_cursor(Source source) : source_(std::move(source)), size_(source_.size()) {}
  std::optional<std::int64_t> take() {
    if (size_ == 0) return std::nullopt;
    const std::int64_t step = at_.epoch * size_ + at_.index;
    if (++at_.index == size_) at_ = {at_.epoch + 1, 0};
    return step;
  }
  element<Source> make(std::int64_t step) const { return source_[step]; }
  position state() const { return at_; }
  void set_state(position at) {
    if (at != position{}) step_of(at, size_);
    at_ = at;
  }

 private:
  Source source_;
  std::int64_t size_;
  position at_;
};

template <readable Source>
auto cursor_of(const Source& source) {
  if constexpr (stream<Source>)
    return source.cursor();
  else
    return index_cursor<Source>(source);
}
template <readable Source>
using cursor_type = decltype(cursor_of(std::declval<const Source&>()));

}  // namespace detail

/// What the elements of a dataset or stream are.
template <readable Source>
using element_of = detail::made_by<detail::cursor_type<Source>>;

/// The place of a reader: the number of elements before it, and the state of the last stage, in which those of the stages
/// before are nested.
template <class State>
struct reader_state {
  std::int64_t step = 0;
  State source;
};

/// Reads a stream in order: `for (const auto& [step, value] : reader)`.
template <class Cursor>
class stream_reader {
 public:
  using state_type = reader_state<detail::state_of<Cursor>>;
  using value_type = item<detail::made_by<Cursor>>;
  explicit stream_reader(Cursor cursor) : cursor_(std::move(cursor)) {
    if constexpr (requires { cursor_->start(); }) cursor_->start();
  }
  /// The next element and the number of those before it, or nothing at the end.
  /// errors  those of the stages; the place stays before the element, and the next call tries it again
  std::optional<value_type> next() {
    const auto before = cursor().state();
    try {
      auto ticket = cursor_->take();
      if (!ticket) return std::nullopt;
      std::optional<value_type> result(value_type{step_, cursor_->make(std::move(*ticket))});
      ++step_;
      return result;
    } catch (...) {
      cursor_->set_state(before);
      throw;
    }
  }
  /// The place after everything that was read. Save it with the model, as an entry of the metadata.
  state_type state() const { return {step_, cursor().state()}; }
  /// Goes to a place that a reader of the same pipeline had.
  /// errors  tokamax::error if no reader can have been there
  void set_state(const state_type& state) {
    if (state.step < 0) throw error("reader: step", std::to_string(state.step), "0 or more");
    cursor().set_state(state.source);
    step_ = state.step;
  }
  /// Ends the threads of the pipeline before the reader's life ends.
  /// errors  of all later calls: tokamax::error
  void close() { cursor_.reset(); }

  class iterator {
   public:
    using difference_type = std::ptrdiff_t;
    explicit iterator(stream_reader& reader) : reader_(&reader), current_(reader.next()) {}
    auto& operator*() const { return *current_; }
    iterator& operator++() {
      current_ = reader_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !current_; }

   private:
    stream_reader* reader_;
    mutable std::optional<value_type> current_;
  };
  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  Cursor& cursor() { return const_cast<Cursor&>(std::as_const(*this).cursor()); }
  const Cursor& cursor() const {
    if (!cursor_) throw error("reader", "one that is closed", "an open one");
    return *cursor_;
  }

  std::optional<Cursor> cursor_;
  std::int64_t step_ = 0;
};

/// The base of every stream.
template <class Self>
struct stream_base {
  /// A reader at the first element.
  auto from() const { return stream_reader(static_cast<const Self&>(*this).cursor()); }
  /// A reader that goes on where another one was.
  template <class State>
  auto from(const reader_state<State>& state) const {
    auto reader = from();
    reader.set_state(state);
    return reader;
  }
};

namespace detail {

// A cursor over the cursor of a source, made with the same arguments each time.
template <readable Source, template <class...> class Cursor, class... Arguments>
class staged : public stream_base<staged<Source, Cursor, Arguments...>> {
 public:
  staged(Source source, Arguments... arguments) : source_(std::move(source)), arguments_(std::move(arguments)...) {}
  const Source& source() const { return source_; }
  auto cursor() const {
    return std::apply(
        [&](const Arguments&... a) { return Cursor<cursor_type<Source>, Arguments...>(cursor_of(source_), a...); },
        arguments_);
  }

 private:
  Source source_;
  std::tuple<Arguments...> arguments_;
};

template <template <class...> class Cursor, readable Source, class... Arguments>
auto make_staged(Source source, Arguments... arguments) {
  return staged<Source, Cursor, Arguments...>(std::move(source), std::move(arguments)...);
}
template <template <class...> class Cursor, class... Arguments>
auto stream_stage(Arguments... arguments) {
  return stage{[=](auto source) { return make_staged<Cursor>(std::move(source), arguments...); }};
}

// Does it go on for ever, whatever its elements are? An index does, and so do stages over one, but for those that count.
template <class S>
inline constexpr bool has_no_end = indexed<S>;
template <class Source, template <class...> class Cursor, class... Arguments>
inline constexpr bool has_no_end<staged<Source, Cursor, Arguments...>> = has_no_end<Source>;

// The base of cursors whose `take` makes the elements, because it must see them.
template <class Element>
struct makes_at_once {
  Element make(Element element) const { return element; }
};

inline std::int64_t at_least_one(std::int64_t count, const char* what) {
  if (count < 1) throw error(what, std::to_string(count), "1 or more");
  return count;
}
// Refuses a state that no cursor has had.
inline void check_count(std::int64_t found, std::int64_t most, const char* what) {
  if (found < 0 || found > most) throw error(what, std::to_string(found), "0 to " + std::to_string(most));
}

}  // namespace detail

}  // namespace tokamax::data
