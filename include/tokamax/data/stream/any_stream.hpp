// tokamax/data/stream/any_stream.hpp: a stream whose type says only what its elements are.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/base/tree/reflect.hpp>   // fields
#include <tokamax/data/stream/stream.hpp>  // stream_base

#include <memory>  // shared_ptr
#include <vector>  // vector

namespace tokamax::data {

namespace detail {

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

// A state as words: the integers of its fields, and the lengths of its lists.
template <class T>
void to_words(const T& value, std::vector<std::int64_t>& to) {
  if constexpr (std::integral<T>) {
    to.push_back(static_cast<std::int64_t>(value));
  } else if constexpr (is_list<T>) {
    to.push_back(static_cast<std::int64_t>(value.size()));
    for (const auto& one : value) to_words(one, to);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::apply([&](const auto&... one) { (to_words(one, to), ...); }, value);
  } else {
    std::apply([&](const auto&... field) { (to_words(field, to), ...); }, fields(value));
  }
}
// Reads them from `at` on, and moves it behind them.
template <class T>
void from_words(const std::vector<std::int64_t>& from, std::size_t& at, T& value) {
  const auto next = [&] {
    if (at >= from.size()) throw error("any_stream: words of a state", std::to_string(from.size()), "more");
    return from[at++];
  };
  if constexpr (std::integral<T>) {
    value = static_cast<T>(next());
  } else if constexpr (is_list<T>) {
    const std::int64_t size = next();
    check_count(size, static_cast<std::int64_t>(from.size()), "any_stream: length of a list");
    value.resize(static_cast<std::size_t>(size));
    for (auto& one : value) from_words(from, at, one);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::apply([&](auto&... one) { (from_words(from, at, one), ...); }, value);
  } else {
    std::apply([&](auto&... field) { (from_words(from, at, field), ...); }, fields(value));
  }
}

template <class Element>
struct cursor_model {
  virtual ~cursor_model() = default;
  virtual std::optional<Element> take() = 0;
  virtual std::vector<std::int64_t> state() const = 0;
  virtual void set_state(const std::vector<std::int64_t>& words) = 0;
};
template <class Element, class Cursor>
struct cursor_holder final : cursor_model<Element> {
  explicit cursor_holder(Cursor c) : cursor(std::move(c)) {}
  std::optional<Element> take() override {
    auto ticket = cursor.take();
    if (!ticket) return std::nullopt;
    return cursor.make(std::move(*ticket));
  }
  std::vector<std::int64_t> state() const override {
    std::vector<std::int64_t> words;
    to_words(cursor.state(), words);
    return words;
  }
  void set_state(const std::vector<std::int64_t>& words) override {
    auto state = cursor.state();
    std::size_t at = 0;
    from_words(words, at, state);
    if (at != words.size())
      throw error("any_stream: words of a state", std::to_string(words.size()), std::to_string(at));
    cursor.set_state(state);
  }
  Cursor cursor;
};

template <class Element>
class any_cursor : public makes_at_once<Element> {
 public:
  explicit any_cursor(std::unique_ptr<cursor_model<Element>> model) : model_(std::move(model)) {}
  std::optional<Element> take() { return model_->take(); }
  std::vector<std::int64_t> state() const { return model_->state(); }
  void set_state(const std::vector<std::int64_t>& words) { model_->set_state(words); }

 private:
  std::unique_ptr<cursor_model<Element>> model_;
};

}  // namespace detail

/// Any stream or dataset with such elements, for pipelines that are put together when the program runs and for headers. Its
/// state is a list of numbers. Work before it is done by one thread.
template <class Element>
class any_stream : public stream_base<any_stream<Element>> {
 public:
  template <readable Source>
    requires(!std::same_as<Source, any_stream>)
  any_stream(Source source) : make_(std::make_shared<maker<Source>>(std::move(source))) {}
  auto cursor() const { return detail::any_cursor<Element>(make_->cursor()); }

 private:
  struct base {
    virtual ~base() = default;
    virtual std::unique_ptr<detail::cursor_model<Element>> cursor() const = 0;
  };
  template <class Source>
  struct maker final : base {
    explicit maker(Source s) : source(std::move(s)) {}
    std::unique_ptr<detail::cursor_model<Element>> cursor() const override {
      return std::make_unique<detail::cursor_holder<Element, detail::cursor_type<Source>>>(detail::cursor_of(source));
    }
    Source source;
  };
  std::shared_ptr<const base> make_;
};

}  // namespace tokamax::data
