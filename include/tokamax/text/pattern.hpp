// tokamax/text/pattern.hpp: regular expressions as `tokenizers` reads them, matched by PCRE2.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
#pragma once

#include <tokamax/text/utf8.hpp>  // error, decode_utf8

#if !__has_include(<pcre2.h>)
  #error "tokamax: found no pcre2.h, expected the library PCRE2 (Debian: libpcre2-dev) for tokamax/text"
#endif
#if !defined(PCRE2_CODE_UNIT_WIDTH)
  #define PCRE2_CODE_UNIT_WIDTH 0  // functions are called by their whole names
#endif
#include <pcre2.h>

#include <algorithm>  // min
#include <array>      // array
#include <memory>     // unique_ptr

namespace tokamax::text {

namespace detail {

// The pattern in PCRE2's language. Where Oniguruma means something else by the same characters, that is put in another way:
// \s is the property White_Space, \w has marks, \h is a hexadecimal digit. What has no other way is refused.
class translated_pattern {
 public:
  translated_pattern(std::string_view source, bool possessive_counts, const std::string& where)
      : source_(source), where_(where), possessive_counts_(possessive_counts) {
    for (at_ = 0; at_ < source_.size();) step();
  }
  std::string result;

 private:
  static constexpr const char* spaces =
      R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
  static constexpr const char* words =
      R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";

  [[noreturn]] void refuse(const std::string& found) const {
    throw error(error_kind::file, "tokenizer: pattern " + std::string(source_), found,
                "what Oniguruma and PCRE2 both know", where_);
  }
  void step() {
    const char c = source_[at_];
    if (c == '\\') return escape();
    if (in_class_) {
      if (c == '[') refuse("a class within a class");
      if (source_.substr(at_, 2) == "&&") refuse("&& in a class");
      if (c == ']') in_class_ = false;
    } else if (c == '[') {
      in_class_ = true;
      result += c, ++at_;
      if (at_ < source_.size() && source_[at_] == '^') result += '^', ++at_;
      if (at_ < source_.size() && source_[at_] == ']') result += "\\]", ++at_;
      return;
    } else if (c == '{' && !possessive_counts_) {
      const std::size_t end = source_.find('}', at_);
      if (end != std::string_view::npos && source_.substr(end, 2) == "}+") refuse("a count followed by +");
    }
    result += c, ++at_;
  }
  void escape() {
    if (at_ + 1 == source_.size()) refuse("a backslash at the end");
    const char c = source_[at_ + 1];
    at_ += 2;
    const auto set = [&](bool negated, const char* members) {
      if (in_class_ && negated) refuse(std::string("\\") + c + " in a class");
      result += in_class_ ? members : std::string(negated ? "[^" : "[") + members + "]";
    };
    switch (c) {
      case 's':
        return set(false, spaces);
      case 'S':
        return set(true, spaces);
      case 'w':
        return set(false, words);
      case 'W':
        return set(true, words);
      case 'h':
        return set(false, "0-9a-fA-F");
      case 'H':
        return set(true, "0-9a-fA-F");
      case 'R':
      case 'X':
      case 'K':
      case 'G':
      case 'g':
      case 'k':
      case 'y':
      case 'Y':
      case 'C':
      case 'Q':
      case 'E':
      case 'N':
        refuse(std::string("\\") + c);
      default:
        result += '\\', result += c;
    }
    if ((c == 'p' || c == 'P' || c == 'x') && at_ < source_.size() && source_[at_] == '{') {
      const std::size_t end = std::min(source_.find('}', at_), source_.size() - 1);
      result += source_.substr(at_, end + 1 - at_);
      at_ = end + 1;
    }
  }

  std::string_view source_;
  const std::string& where_;
  bool possessive_counts_;
  std::size_t at_ = 0;
  bool in_class_ = false;
};

}  // namespace detail

/// Whose regular expressions these are: `tokenizers` has Oniguruma, and tiktoken has Rust's fancy-regex.
enum class pattern_language { oniguruma, rust };

/// A compiled pattern. It may be used by many threads at once.
class pattern {
 public:
  /// errors  tokamax::error of the kind `file` if the expression is wrong, or means something else to PCRE2
  pattern(std::string_view expression, const std::string& where,
          pattern_language language = pattern_language::oniguruma) {
    const bool rust = language == pattern_language::rust;
    const std::string text = detail::translated_pattern(expression, rust, where).result;
    const std::uint32_t lines = rust ? PCRE2_DOLLAR_ENDONLY : PCRE2_MULTILINE;  // what ^ and $ mean
    int number = 0;
    PCRE2_SIZE at = 0;
    code_.reset(pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(text.data()), text.size(),
                                PCRE2_UTF | PCRE2_UCP | lines | PCRE2_NEVER_BACKSLASH_C, &number, &at, nullptr));
    if (!code_) {
      std::array<unsigned char, 200> message{};
      pcre2_get_error_message_8(number, message.data(), message.size());
      throw error(error_kind::file, "tokenizer: pattern " + std::string(expression),
                  reinterpret_cast<const char*>(message.data()), "a regular expression", where);
    }
    compiled_ = pcre2_jit_compile_8(code_.get(), PCRE2_JIT_COMPLETE) == 0;
  }
  /// A pattern that is a text itself.
  static pattern literal(std::string_view text, const std::string& where) {
    if (text.empty()) throw error(error_kind::file, "tokenizer: pattern", "an empty text", "a text", where);
    pattern result;
    result.literal_ = text;
    return result;
  }

  /// Calls f(begin, end, matched) for the matches in a valid text and for what is between them, in order.
  /// errors  tokamax::error of the kind `resource` if the pattern needs too many steps
  template <class F>
  void cut(std::string_view text, F f) const {
    std::size_t done = 0;
    each(text, [&](std::size_t begin, std::size_t end) {
      if (begin > done) f(done, begin, false);
      f(begin, end, true);
      done = end;
    });
    if (done < text.size()) f(done, text.size(), false);
  }

 private:
  pattern() = default;
  struct free_code {
    void operator()(pcre2_code_8* code) const { pcre2_code_free_8(code); }
  };
  struct free_match {
    void operator()(pcre2_match_data_8* data) const { pcre2_match_data_free_8(data); }
  };

  template <class F>
  void each(std::string_view text, F f) const {
    if (!literal_.empty()) {
      for (std::size_t at = 0; (at = text.find(literal_, at)) != std::string_view::npos; at += literal_.size())
        f(at, at + literal_.size());
      return;
    }
    const std::unique_ptr<pcre2_match_data_8, free_match> data(pcre2_match_data_create_8(1, nullptr));
    if (!data) throw std::bad_alloc();
    const PCRE2_SIZE* found = pcre2_get_ovector_pointer_8(data.get());
    std::size_t last_end = std::string_view::npos;
    for (std::size_t at = 0; at <= text.size();) {
      if (!next(text, at, data.get())) return;
      if (found[0] == found[1]) {  // an empty match, which does not stand right behind another one
        if (found[1] != last_end) f(found[0], found[1]);
        at = found[1] + (found[1] < text.size() ? decode_utf8(text, found[1]).length : 1);
      } else {
        f(found[0], found[1]);
        at = found[1];
      }
      last_end = found[1];
    }
  }
  bool next(std::string_view text, std::size_t at, pcre2_match_data_8* data) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR8>(text.data());
    int status = PCRE2_ERROR_JIT_STACKLIMIT;
    if (compiled_) status = pcre2_jit_match_8(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK, data, nullptr);
    if (status == PCRE2_ERROR_JIT_STACKLIMIT)
      status = pcre2_match_8(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, nullptr);
    if (status == PCRE2_ERROR_NOMATCH) return false;
    if (status < 0) {
      std::array<unsigned char, 200> message{};
      pcre2_get_error_message_8(status, message.data(), message.size());
      throw error(error_kind::resource, "tokenizer: pattern", reinterpret_cast<const char*>(message.data()),
                  "a match in bounded time", "byte " + std::to_string(at));
    }
    return true;
  }

  std::unique_ptr<pcre2_code_8, free_code> code_;
  bool compiled_ = false;
  std::string literal_;
};

}  // namespace tokamax::text
