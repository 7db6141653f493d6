// tokamax/text/jinja/lexer.hpp: the words of a template: its texts, and what stands between {{ }} and {% %}.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/unicode.hpp>  // is_letter

#include <charconv>  // from_chars

namespace tokamax::text::jinja {

/// A word of a template. Signs and the four brackets are their own text.
struct token {
  enum class kind { data, print_begin, print_end, block_begin, block_end, name, text, integer, real, sign, end };
  kind is = kind::end;
  std::string text;
  std::uint32_t line = 0;
  std::int64_t integer = 0;
  double real = 0;
};

/// What Python's str.isspace is true of.
constexpr bool is_space(char32_t c) { return is_whitespace(c) || (c >= 0x1C && c <= 0x1F); }

/// Cuts a template into words, as Jinja does with trim_blocks and lstrip_blocks.
/// source  github.com/pallets/jinja, lexer.py
class lexer {
 public:
  lexer(std::string_view source, const std::string& where) : where_(where) {
    for (std::size_t i = 0; i < source.size(); ++i) {  // all ends of lines are alike
      const bool two = source.substr(i, 2) == "\r\n";
      source_ += source[i] == '\r' ? '\n' : source[i];
      i += two;
    }
    if (source_.ends_with('\n')) source_.pop_back();
    while (at_ < source_.size()) step();
    put(token::kind::end, "the end");
  }
  std::vector<token> tokens;

 private:
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw error(error_kind::file, "chat template: text", found, expected, where_ + ":" + std::to_string(line_));
  }
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  void advance(std::size_t size) {
    line_ += static_cast<std::uint32_t>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                   source_.begin() + static_cast<std::ptrdiff_t>(at_ + size), '\n'));
    at_ += size;
    at_line_start_ = size > 0 && source_[at_ - 1] == '\n';
  }
  void put(token::kind is, std::string text) { tokens.push_back({is, std::move(text), line_, 0, 0}); }
  // The bytes of the spaces from a place on.
  std::size_t spaces(std::size_t from) const {
    std::size_t end = from;
    while (end < source_.size()) {
      const utf8_step s = decode_utf8(source_, end);
      if (!is_space(s.code)) break;
      end += s.length;
    }
    return end - from;
  }

  // A text up to the next tag, and the beginning of the tag.
  void step() {
    std::size_t tag = at_;
    for (; tag < source_.size(); ++tag)
      if (source_[tag] == '{' && tag + 1 < source_.size() && std::string_view("{%#").find(source_[tag + 1]) < 3) break;
    std::string text = source_.substr(at_, tag - at_);
    if (tag == source_.size()) {
      put(token::kind::data, text);
      return advance(text.size());
    }
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    strip(text, sign, kind != '{');
    if (!text.empty()) put(token::kind::data, text);
    advance(tag + 2 + (sign == '-' || sign == '+') - at_);
    if (kind == '#') return comment();
    if (kind == '%' && raw()) return;
    put(kind == '{' ? token::kind::print_begin : token::kind::block_begin, kind == '{' ? "{{" : "{%");
    inside(kind == '{' ? '}' : '%');
  }
  // What stands before a tag loses its spaces: all if the tag has a minus, those of its line before a block.
  void strip(std::string& text, char sign, bool block) const {
    std::size_t keep = text.size(), line = text.rfind('\n') + 1;
    for (std::size_t i = text.size(); i > 0;) {
      do --i;
      while (i > 0 && continues_code_point(text[i]));
      if (!is_space(decode_utf8(text, i).code)) break;
      keep = i;
    }
    if (sign == '-')
      text.resize(keep);
    else if (sign != '+' && block && (line > 0 || at_line_start_) && keep <= line)
      text.resize(line);
  }
  // The end of a tag, and the spaces and ends of lines behind it that belong to it; 0 if none is here.
  std::size_t end_of_tag(std::size_t at, char first, bool plus) const {
    const std::string_view s = std::string_view(source_).substr(at);
    const char sign = s.empty() ? ' ' : s[0];
    const bool has_sign = sign == '-' || (sign == '+' && plus);
    if (s.substr(has_sign, 2) != std::string{first, '}'}) return 0;
    const std::size_t size = 2 + has_sign;
    if (sign == '-') return size + spaces(at + size);
    return size + (plus && sign != '+' && s.substr(size).starts_with('\n'));
  }
  // {# any text #}
  void comment() {
    for (std::size_t at = at_; at < source_.size(); ++at)
      if (const std::size_t size = end_of_tag(at, '#', true)) return advance(at + size - at_);
    refuse("a comment without an end", "#}");
  }
  // {% raw %} text {% endraw %}
  bool raw() {
    std::size_t at = at_ + spaces(at_);
    if (std::string_view(source_).substr(at, 3) != "raw") return false;
    at += 3, at += spaces(at);
    const bool minus = at < source_.size() && source_[at] == '-';
    if (std::string_view(source_).substr(at + minus, 2) != "%}") return false;
    at += 2 + minus;
    if (minus) at += spaces(at);
    advance(at - at_);
    for (std::size_t tag = at_; (tag = source_.find("{%", tag)) != std::string::npos; tag += 2) {
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
      std::size_t end = tag + 2 + (sign == '-' || sign == '+');
      end += spaces(end);
      if (std::string_view(source_).substr(end, 6) != "endraw") continue;
      end += 6, end += spaces(end);
      const std::size_t size = end_of_tag(end, '%', true);
      if (size == 0) continue;
      std::string text = source_.substr(at_, tag - at_);
      strip(text, sign, true);
      put(token::kind::data, text);
      advance(end + size - at_);
      return true;
    }
    refuse("raw without an end", "{% endraw %}");
  }

  // The words within a tag. A brace that is open hides its end.
  void inside(char first) {
    std::string open;
    while (at_ < source_.size()) {
      if (open.empty())
        if (const std::size_t size = end_of_tag(at_, first, first == '%')) {
          put(first == '}' ? token::kind::print_end : token::kind::block_end, first == '}' ? "}}" : "%}");
          return advance(size);
        }
      if (const std::size_t size = spaces(at_)) {
        advance(size);
        continue;
      }
      word(open);
    }
    refuse("the end of the text", first == '}' ? "}}" : "%}");
  }
  // A text, a number, a name, or a sign.
  void word(std::string& open) {
    const char c = source_[at_];
    if (c == '\'' || c == '"') return quoted(c);
    if (c >= '0' && c <= '9') return number();
    std::size_t size = 0;
    while (at_ + size < source_.size()) {
      const utf8_step s = decode_utf8(source_, at_ + size);
      const bool digit = s.code >= '0' && s.code <= '9';
      if (s.code != '_' && !(digit && size > 0) && !(s.code < 0x80 ? is_letter(s.code) : is_word(s.code))) break;
      size += s.length;
    }
    if (size > 0) {
      put(token::kind::name, source_.substr(at_, size));
      return advance(size);
    }
    for (const char* two : {"//", "**", "==", "!=", ">=", "<="})
      if (rest().starts_with(two)) size = 2;
    if (size == 0) {
      if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == std::string_view::npos)
        refuse(std::string("the character ") + source_.substr(at_, decode_utf8(source_, at_).length), "an expression");
      size = 1;
      if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
      if (c == ')' || c == ']' || c == '}') {
        if (open.empty() || open.back() != c)
          refuse(std::string(1, c), open.empty() ? "an expression" : open.substr(open.size() - 1));
        open.pop_back();
      }
    }
    put(token::kind::sign, source_.substr(at_, size));
    advance(size);
  }
  // 1_000, 0x1F, 1.5e-3
  void number() {
    std::string digits;
    std::size_t size = 0;
    const auto take = [&](auto in) {
      for (; size < rest().size(); ++size) {
        const char c = rest()[size];
        const bool between = c == '_' && size + 1 < rest().size() && in(rest()[size + 1]) && !digits.empty();
        if (!in(c) && !between) break;
        if (c != '_') digits += c;
      }
    };
    const auto decimal = [](char c) { return c >= '0' && c <= '9'; };
    int base = 10;
    if (rest().size() > 1 && rest()[0] == '0' && std::string_view("xXoObB").find(rest()[1]) < 6) {
      base = (rest()[1] | 32) == 'x' ? 16 : (rest()[1] | 32) == 'o' ? 8 : 2;
      size = 2;
      take([](char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f'); });
    } else {
      take(decimal);
    }
    bool real = false;
    const auto digit_at = [&](std::size_t i) { return i < rest().size() && decimal(rest()[i]); };
    const bool whole = base != 10 || (at_ > 0 && source_[at_ - 1] == '.');  // an index behind a dot has no fraction
    if (!whole && size < rest().size() && rest()[size] == '.' && digit_at(size + 1)) {
      real = true, digits += '.', ++size;
      take(decimal);
    }
    if (!whole && size < rest().size() && (rest()[size] | 32) == 'e') {
      const std::size_t sign = size + 1 < rest().size() && (rest()[size + 1] == '-' || rest()[size + 1] == '+');
      if (digit_at(size + 1 + sign)) {
        real = true, digits += 'e';
        if (sign && rest()[size + 1] == '-') digits += '-';
        size += 1 + sign;
        take(decimal);
      }
    }
    token t{real ? token::kind::real : token::kind::integer, std::string(rest().substr(0, size)), line_, 0, 0};
    const char* end = digits.data() + digits.size();
    const auto [stop, code] =
        real ? std::from_chars(digits.data(), end, t.real) : std::from_chars(digits.data(), end, t.integer, base);
    const bool leading_zero = !real && base == 10 && digits.size() > 1 && digits[0] == '0' && t.integer != 0;
    if (code != std::errc{} || stop != end || leading_zero) refuse(t.text, "a number of 64 bits");
    tokens.push_back(std::move(t));
    advance(size);
  }
  // A text with escapes, which may have several lines.
  void quoted(char quote) {
    std::string text;
    const std::uint32_t line = line_;
    std::size_t at = at_ + 1;
    for (;; ++at) {
      if (at >= source_.size()) refuse("a text without an end", std::string(1, quote));
      if (source_[at] == quote) break;
      if (source_[at] != '\\')
        text += source_[at];
      else if (++at < source_.size())
        at += escape(text, at);
    }
    advance(at + 1 - at_);
    tokens.push_back({token::kind::text, std::move(text), line, 0, 0});
  }
  // What stands behind a backslash; the bytes more than one that it takes.
  std::size_t escape(std::string& to, std::size_t at) const {
    const char c = source_[at];
    constexpr std::string_view letters = "nrtabfv\\'\"", plain = "\n\r\t\a\b\f\v\\'\"";
    if (const std::size_t i = letters.find(c); i != std::string_view::npos) return to += plain[i], 0;
    if (c == '\n') return 0;
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    std::uint32_t code = 0;
    const char* begin = source_.data() + at;
    if (digits > 0) {
      const char* end = begin + 1 + std::min(digits, source_.size() - at - 1);
      const auto [stop, wrong] = std::from_chars(begin + 1, end, code, 16);
      if (wrong != std::errc{} || stop != begin + 1 + digits || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        refuse("\\" + std::string(begin, end), "the digits of a character");
      return append_utf8(to, code), digits;
    }
    if (c >= '0' && c <= '7') {
      const auto stop = std::from_chars(begin, begin + std::min<std::size_t>(3, source_.size() - at), code, 8).ptr;
      return append_utf8(to, code), static_cast<std::size_t>(stop - begin) - 1;
    }
    if (c == 'N') refuse("\\N", "a character or its number");
    to += '\\';
    const std::size_t size = decode_utf8(source_, at).length;
    return to.append(source_, at, size), size - 1;
  }

  const std::string& where_;
  std::string source_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  bool at_line_start_ = true;
};

}  // namespace tokamax::text::jinja
