// tokamax/stablehlo/reader/text_cursor.hpp: goes through a text, and says where something is not as expected.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of read_text)
// tested by tests/stablehlo/reader/read_text.cpp
#pragma once

#include <tokamax/stablehlo/module.hpp>  // position

#include <algorithm>    // min
#include <charconv>     // from_chars
#include <string_view>  // string_view

namespace tokamax::stablehlo::detail {

/// Words, numbers and signs of a text.
class text_cursor {
 public:
  explicit text_cursor(std::string_view text) : text_(text) {}

 protected:
  static constexpr int deepest = 200;  ///< the most lists, records and regions inside one another

  /// The line and column of an offset. Offsets are asked for in increasing order, but for errors.
  position position_at(std::size_t offset) {
    if (offset < seen_) seen_ = 0, seen_position_ = {1, 1};
    for (; seen_ < offset; ++seen_)
      text_[seen_] == '\n' ? (++seen_position_.line, seen_position_.column = 1) : ++seen_position_.column;
    return seen_position_;
  }
  /// Where the next sign is.
  position here() { return skip(), position_at(at_); }
  /// Reports what was found at an offset.
  [[noreturn]] void fail_at(std::size_t offset, const std::string& found, const std::string& expected) {
    throw error(error_kind::file, "stablehlo", found, expected, position_at(offset).text());
  }
  /// Reports that something else comes next than was expected.
  [[noreturn]] void fail(const std::string& expected) {
    skip();
    if (at_ >= text_.size()) fail_at(text_.size(), "the end of the text", expected);
    std::size_t end = at_ + 1;
    while (is_word(text_[at_]) && end < text_.size() && is_word(text_[end]) && end < at_ + 40) ++end;
    fail_at(at_, "\"" + std::string(text_.substr(at_, end - at_)) + "\"", expected);
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  /// May this sign be a part of a word? Names of attributes have dots, and those of values dollars.
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' || c == '.';
  }
  /// Goes to what is neither space nor comment.
  void skip() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      // A comment ends with its line.
      if (c == '/' && text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
        if (at_ == text_.size()) return;
      } else if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
        return;
      }
    }
  }
  /// The next sign that is neither space nor comment; 0 at the end.
  char peek() { return skip(), at_ < text_.size() ? text_[at_] : '\0'; }
  /// The same without going on.
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  /// Goes behind `s` if it comes next. A word must end where s ends.
  bool accept(std::string_view s) {
    if (!comes(s)) return false;
    at_ += s.size();
    return true;
  }
  /// The same without going on.
  bool comes(std::string_view s) {
    skip();
    return text_.substr(at_, s.size()) == s &&
           !(is_word(s.back()) && at_ + s.size() < text_.size() && is_word(text_[at_ + s.size()]));
  }
  /// Goes behind `s`, which must come next.
  void expect(std::string_view s) {
    if (!accept(s)) fail("\"" + std::string(s) + "\"");
  }
  /// Letters, digits, underlines, dollars and dots.
  std::string_view word(const char* expected) {
    skip();
    const std::size_t begin = at_;
    while (is_word(next())) ++at_;
    if (begin == at_) fail(expected);
    return text_.substr(begin, at_ - begin);
  }
  /// The name of a value, type, attribute or symbol, without its sign; a symbol may be in quotes.
  std::string name(char sign) {
    skip();
    if (next() != sign) fail(std::string("\"") + sign + "\"");
    ++at_;
    if (sign == '@' && next() == '"') return quoted();
    const std::size_t begin = at_;
    while (is_word(next()) || next() == '-') ++at_;
    if (at_ - begin > 1 && text_[at_ - 1] == '-') --at_;  // the "-" of an arrow
    if (begin == at_) fail("a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  /// A decimal integer with or without a sign.
  std::int64_t whole(const char* expected) {
    skip();
    std::int64_t v = 0;
    const char* const begin = text_.data() + at_;
    const auto r = std::from_chars(begin, text_.data() + text_.size(), v);
    if (r.ec != std::errc{}) fail(expected);
    at_ += static_cast<std::size_t>(r.ptr - begin);
    return v;
  }
  /// What stands between quotes, without escapes.
  std::string_view quoted_raw() {
    expect("\"");
    const std::size_t begin = at_;
    // Long texts are numbers without escapes.
    std::size_t quote = text_.find('"', at_);
    while (true) {
      if (quote == text_.npos) at_ = text_.size(), fail_at(begin - 1, "a text without an end", "\"");
      const std::size_t escape = text_.substr(0, quote).find('\\', at_);
      if (escape == text_.npos) break;
      at_ = std::min(escape + 2, text_.size());
      if (quote < at_) quote = text_.find('"', at_);
    }
    at_ = quote + 1;
    return text_.substr(begin, quote - begin);
  }
  /// The same with its escapes: \0A, \n, \t, \" and \\.
  std::string quoted() {
    const std::string_view raw = quoted_raw();
    std::string s;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '\\' || i + 1 == raw.size()) {
        s += raw[i];
        continue;
      }
      unsigned byte = 0;
      const char c = raw[++i];
      if (i + 1 < raw.size() && std::from_chars(raw.data() + i, raw.data() + i + 2, byte, 16).ptr == raw.data() + i + 2)
        s += static_cast<char>(byte), ++i;
      else
        s += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
    return s;
  }
  /// What stands up to a sign of `ends` that is in no brackets and no quotes.
  std::string_view balanced(std::string_view ends) {
    skip();
    const std::size_t begin = at_;
    for (int open = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      const bool arrow = c == '>' && at_ > begin && text_[at_ - 1] == '-';
      if (open == 0 && !arrow && ends.find(c) != std::string_view::npos) break;
      if (c == '"') {
        quoted_raw();
        --at_;
      } else if (c == '<' || c == '(' || c == '[' || c == '{') {
        ++open;
      } else if (c == ')' || c == ']' || c == '}' || (c == '>' && !arrow)) {
        if (--open < 0) break;
      }
    }
    return text_.substr(begin, at_ - begin);
  }
  /// Counts how deep parts are inside one another while it lives.
  struct nested {
    explicit nested(text_cursor& c) : cursor(c) {
      if (++cursor.depth_ > deepest) cursor.fail("at most " + std::to_string(deepest) + " parts inside one another");
    }
    // Errors leave it, too.
    ~nested() { --cursor.depth_; }
    nested(const nested&) = delete;
    text_cursor& cursor;
  };

  // The text, and how far it has been read.
  std::string_view text_;
  std::size_t at_ = 0;

 private:
  int depth_ = 0;
  // Lines are counted from the offset that was asked for last.
  std::size_t seen_ = 0;
  position seen_position_{1, 1};
};

}  // namespace tokamax::stablehlo::detail
