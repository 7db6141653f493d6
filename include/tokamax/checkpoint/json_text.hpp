// tokamax/checkpoint/json_text.hpp: plain records read straight from the bytes of a JSON text.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/checkpoint/json_text.cpp
#pragma once

#include <tokamax/checkpoint/json_value.hpp>  // json_value, json_limits

#include <algorithm>  // find
#include <array>      // array
#include <bit>        // countr_zero
#include <charconv>   // from_chars
#include <cmath>      // abs
#include <cstring>    // memcpy

namespace tokamax::checkpoint {

namespace detail {

// Reads a text that is as `json_value` wants it, into the same values, ten times as fast: no value of the library of JSON is
// made in between. At anything unusual it stops, right or wrong; then `json_value` must read the text, and it has the errors.
class json_text {
 public:
  explicit json_text(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  // The whole text. After `false` the value may have any content.
  template <class T>
  bool whole(T& value) {
    if (static_cast<std::size_t>(end_ - at_) > limits_.bytes || !read(value)) return false;
    space();
    return at_ == end_;
  }

 private:
  // The names of a record that nobody asked for: none may be there twice.
  struct other_names {
    std::array<std::string_view, 32> all;
    std::size_t count = 0;
    bool add(std::string_view name) {
      const auto end = all.begin() + static_cast<std::ptrdiff_t>(count);
      if (count == all.size() || std::find(all.begin(), end, name) != end) return false;
      all[count++] = name;
      return true;
    }
  };

  template <class T>
  bool read(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = peek() == 't';
      return counted() && word(value ? "true" : "false");
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number_of{};
      if (!read(number_of)) return false;
      value = static_cast<T>(number_of);
      return true;
    } else if constexpr (std::is_arithmetic_v<T>) {
      return counted() && number(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return counted() && text(value);
    } else if constexpr (is_vector<T>) {
      value.clear();
      return list([&] { return read(value.emplace_back()); });
    } else if constexpr (is_tuple<T>) {
      return std::apply([&](auto&... each) { return tuple(each...); }, value);
    } else {
      static_assert(tokamax::record<T>,
                    "tokamax: JSON is read into numbers, texts, vectors, tuples and plain structs of those");
      return record(value, std::make_index_sequence<field_count<T>>{});
    }
  }
  template <class... T>
  bool tuple(T&... each) {
    bool first = true;
    const auto one = [&](auto& value) { return (std::exchange(first, false) || take(',')) && read(value); };
    return open('[') && (one(each) && ...) && close(']');
  }
  template <class T, std::size_t... Index>
  bool record(T& value, std::index_sequence<Index...>) {
    std::array<bool, sizeof...(Index) + 1> found{};
    std::size_t count = 0;
    other_names others;
    const bool fits = members([&](std::string_view name) {
      bool known = false, right = false;
      [[maybe_unused]] const auto field = [&](std::size_t index, auto& into) {
        known = true;
        right = !std::exchange(found[index], true) && read(into);
        ++count;
      };
      ((!known && name == field_name<T, Index> ? field(Index, std::get<Index>(fields(value))) : void()), ...);
      return known ? right : others.add(name) && skip();
    });
    return fits && count == sizeof...(Index);
  }

  // Any value, which has to be JSON too.
  bool skip() {
    switch (peek()) {
      case '{': {
        other_names names;
        return members([&](std::string_view name) { return names.add(name) && skip(); });
      }
      case '[':
        return list([&] { return skip(); });
      case '"':
        return counted() && text(unused_);
      case 't':
        return counted() && word("true");
      case 'f':
        return counted() && word("false");
      case 'n':
        return counted() && word("null");
      default: {
        double unused = 0;
        return counted() && number(unused);
      }
    }
  }
  bool list(const auto& element) {
    if (!open('[')) return false;
    if (peek() == ']') return close(']');
    do {
      if (!element()) return false;
    } while (take(','));
    return close(']');
  }
  bool members(const auto& value_of) {
    if (!open('{')) return false;
    if (peek() == '}') return close('}');
    do {
      std::string_view name;
      if (!plain_name(name) || !counted() || !take(':') || !value_of(name)) return false;
    } while (take(','));
    return close('}');
  }
  // Values and depth are counted as `json_limits` has them, so that a text beyond them is left to be refused.
  bool open(char bracket) { return ++depth_ <= limits_.depth && counted() && take(bracket); }
  bool close(char bracket) {
    --depth_;
    return take(bracket);
  }
  bool counted() { return ++values_ <= limits_.values; }

  void space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  char peek() {
    space();
    return at_ == end_ ? '\0' : *at_;
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view expected) {
    if (!std::string_view(at_, end_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }

  // A number of JSON's grammar, which is narrower than that of from_chars.
  template <class Number>
  bool number(Number& value) {
    space();
    const char* at = at_;
    bool integer = true;
    const auto one_of = [&](std::string_view letters) {
      return at != end_ && letters.find(*at) != letters.npos && (++at, true);
    };
    const auto digits = [&] {
      const char* const begin = at;
      while (at != end_ && *at >= '0' && *at <= '9') ++at;
      return at != begin;
    };
    one_of("-");
    if (!one_of("0") && !digits()) return false;
    if (one_of(".") && (integer = false, !digits())) return false;
    if (one_of("eE") && (integer = false, one_of("+-"), !digits())) return false;
    std::conditional_t<std::is_integral_v<Number>, Number, double> found{};
    const auto [end, failure] = std::from_chars(at_, at, found);
    if (failure != std::errc() || end != at) return false;
    if constexpr (std::is_integral_v<Number>) {
      if (!integer) return false;
    } else if (std::abs(found) > static_cast<double>(std::numeric_limits<Number>::max())) {
      return false;
    }
    value = static_cast<Number>(found);
    at_ = at;
    return true;
  }

  // The first character from `at` on that is a quote, a backslash, a control or no ASCII. Of eight bytes at once, those below
  // the first such byte leave the highest bits of the sums alone.
  const char* end_of_plain(const char* at) const {
    constexpr std::uint64_t ones = 0x0101010101010101u;
    for (; end_ - at >= 8; at += 8) {
      std::uint64_t bytes;
      std::memcpy(&bytes, at, 8);
      const std::uint64_t found =
          (bytes | (bytes - ones * 0x20) | ((bytes ^ ones * '"') - ones) | ((bytes ^ ones * '\\') - ones)) &
          ones * 0x80;
      if (found != 0) return at + std::countr_zero(found) / 8;
    }
    while (at != end_ && static_cast<unsigned char>(*at) - 0x20u < 0x60 && *at != '"' && *at != '\\') ++at;
    return at;
  }
  // A name without escapes and of ASCII, as nearly all are.
  bool plain_name(std::string_view& name) {
    if (!take('"')) return false;
    const char* const end = end_of_plain(at_);
    if (end == end_ || *end != '"') return false;
    name = {at_, end};
    at_ = end + 1;
    return true;
  }
  // Most of a text is copied in long pieces; escapes and characters beyond ASCII come one by one.
  bool text(std::string& to) {
    if (!take('"')) return false;
    to.clear();
    for (;;) {
      const char* const end = end_of_plain(at_);
      to.append(at_, end);
      at_ = end;
      if (at_ == end_) return false;
      if (*at_ == '"') return ++at_, true;
      if (!(*at_ == '\\' ? escape(to) : character(to))) return false;
    }
  }
  // A character of two to four bytes of UTF-8.
  // source  Unicode 15, table 3-7
  bool character(std::string& to) {
    const auto byte = [&](std::ptrdiff_t i) { return i < end_ - at_ ? static_cast<unsigned char>(at_[i]) : 0u; };
    const unsigned first = byte(0);
    const std::ptrdiff_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (size == 0 || byte(1) < least || byte(1) > most) return false;
    for (std::ptrdiff_t i = 2; i < size; ++i)
      if ((byte(i) & 0xc0) != 0x80) return false;
    to.append(at_, static_cast<std::size_t>(size));
    at_ += size;
    return true;
  }
  bool escape(std::string& to) {
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    if (end_ - at_ < 2) return false;
    const char letter = at_[1];
    at_ += 2;
    if (const std::size_t found = letters.find(letter); found != letters.npos) return to += meanings[found], true;
    std::uint32_t code = 0, low = 0;
    if (letter != 'u' || !four_digits(code)) return false;
    if (code >= 0xd800 && code < 0xe000) {  // one half of a pair
      if (code >= 0xdc00 || !word("\\u") || !four_digits(low) || low < 0xdc00 || low > 0xdfff) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    const auto put = [&](std::uint32_t byte) { to += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (code < 0x80) return put(code), true;
    if (code < 0x800) {
      put(0xc0 | code >> 6);
    } else {
      if (code < 0x10000) {
        put(0xe0 | code >> 12);
      } else {
        put(0xf0 | code >> 18);
        put(0x80 | (code >> 12 & 63));
      }
      put(0x80 | (code >> 6 & 63));
    }
    put(0x80 | (code & 63));
    return true;
  }
  bool four_digits(std::uint32_t& value) {
    if (end_ - at_ < 4) return false;
    const auto [end, failure] = std::from_chars(at_, at_ + 4, value, 16);
    if (failure != std::errc() || end != at_ + 4) return false;
    at_ += 4;
    return true;
  }

  const char *at_, *end_;
  json_limits limits_;
  std::size_t values_ = 0, depth_ = 0;
  std::string unused_;
};

}  // namespace detail

/// The value that a JSON text holds: what `json_value::parse(text, where).as<T>(name, where)` is, in a tenth of the time.
/// `where` is a text, or makes one if it is called.
/// errors  those of json_value
template <class T, class Where>
T parse_json_as(std::string_view text, const std::string& name, const Where& where) {
  T value{};
  if (detail::json_text(text).whole(value)) return value;
  std::string place;
  if constexpr (requires { where(); })
    place = where();
  else
    place = where;
  return json_value::parse(text, place).template as<T>(name, place);
}

}  // namespace tokamax::checkpoint
