// tokamax/serve/grammar/regex.hpp: regular expressions as sets of texts.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/grammar/regex.cpp
#pragma once

#include <tokamax/base/error.hpp>                // error
#include <tokamax/serve/grammar/expression.hpp>  // expression
#include <tokamax/text/utf8.hpp>                 // decode_utf8

#include <functional>  // function

namespace tokamax::serve {

/// Alternatives, groups, classes, escapes and counts. Look-around, references, word boundaries and flags are refused with their place, and
/// so are anchors but at the ends of the whole. \d, \w and \s are those of ASCII. A count that is lazy has the same texts.
class regex_parser {
 public:
  /// `one_of` makes an expression of a set of characters.
  using set_function = std::function<expression(std::vector<code_range>)>;
  regex_parser(std::string_view source, set_function one_of) : text_(source), one_of_(std::move(one_of)) {}

  /// Texts that match from their beginning to their end, or, if `anywhere`, with any characters around the match unless there are ^ and $.
  /// errors  tokamax::error with the byte of what is not possible
  expression parse(bool anywhere) {
    if (text_.size() > most_bytes)
      throw error("regex", std::to_string(text_.size()) + " bytes", "at most " + std::to_string(most_bytes));
    std::vector<expression> all;
    const expression any = repeat(one_of_({{0, last_code}}), 0);
    do {
      const bool begins = take('^');
      expression e = terms();
      const bool ends = take('$');
      std::vector<expression> parts;
      if (anywhere && !begins) parts.push_back(any);
      parts.push_back(std::move(e));
      if (anywhere && !ends) parts.push_back(any);
      all.push_back(joined(std::move(parts)));
    } while (take('|'));
    if (at_ != text_.size()) refuse("a regular expression");
    return any_of(std::move(all));
  }

 private:
  static constexpr int deepest = 100, most_times = 10'000;
  static constexpr std::size_t most_bytes = std::size_t{1} << 16;

  bool done() const { return at_ == text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  [[noreturn]] void refuse(const std::string& expected) const {
    throw error("regex",
                done() ? "the end" : "'" + std::string(text_.substr(at_, 8)) + "' at byte " + std::to_string(at_),
                expected);
  }
  // One code point of the pattern.
  char32_t code() {
    if (done()) refuse("a character");
    const text::utf8_step step = text::decode_utf8(text_, at_);
    if (!step.valid) refuse("UTF-8");
    at_ += step.length;
    return step.code;
  }

  // What stands between ( and ), then terms between |, then a term and its counts.
  expression alternatives() {
    if (++depth_ > deepest) refuse("at most " + std::to_string(deepest) + " groups within each other");
    std::vector<expression> all;
    do all.push_back(terms());
    while (take('|'));
    --depth_;
    return any_of(std::move(all));
  }
  expression terms() {
    std::vector<expression> parts;
    while (!done() && peek() != '|' && peek() != ')') {
      if (peek() == '$' && (at_ + 1 == text_.size() || text_[at_ + 1] == '|')) break;
      parts.push_back(counted(term()));
    }
    return joined(std::move(parts));
  }
  expression term() {
    if (take('(')) {
      if (take('?')) {
        const bool named = take('P') || peek() == '<';
        if (named && take('<')) {
          if (peek() == '=' || peek() == '!') refuse("a group without look-around");
          while (!done() && peek() != '>') ++at_;
          if (!take('>')) refuse("> behind the name of a group");
        } else if (!take(':')) {
          refuse("a group without look-around and flags");
        }
      }
      expression e = alternatives();
      if (!take(')')) refuse(")");
      return e;
    }
    if (take('[')) return one_of_(set());
    if (take('.')) return one_of_(all_but({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}));
    if (take('\\')) return one_of_(escape());
    if (const char c = peek(); c == '^' || c == '$' || c == '*' || c == '+' || c == '?' || c == ')')
      refuse("a character; anchors stand at the ends of the whole");
    const char32_t c = code();
    return one_of_({{c, c}});
  }
  // A term with the counts behind it.
  expression counted(expression e) {
    for (;;) {
      int least = 0, most = expression::no_limit;
      if (take('*')) {
      } else if (take('+')) {
        least = 1;
      } else if (take('?')) {
        most = 1;
      } else if (peek() == '{' && at_ + 1 < text_.size() && text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9') {
        ++at_;
        least = most = number();
        if (take(',')) most = peek() == '}' ? expression::no_limit : number();
        if (!take('}') || (most != expression::no_limit && most < least)) refuse("a count such as {2,4}");
      } else {
        return e;
      }
      if (peek() == '+') refuse("a count that gives back what it has taken");
      take('?');
      e = repeat(std::move(e), least, most);
    }
  }
  // A count within braces.
  int number() {
    int n = 0;
    const std::size_t begin = at_;
    for (; peek() >= '0' && peek() <= '9'; ++at_)
      if ((n = n * 10 + (peek() - '0')) > most_times) refuse("a count of at most " + std::to_string(most_times));
    if (at_ == begin) refuse("a number");
    return n;
  }

  static std::vector<code_range> digits() { return {{'0', '9'}}; }
  static std::vector<code_range> word() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }
  static std::vector<code_range> space() { return {{'\t', '\r'}, {' ', ' '}}; }
  // What other libraries may count to these classes, so that no complement has it.
  static std::vector<code_range> other_space() {
    return {{0x1C, 0x1F},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
            {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  }
  static std::vector<code_range> both(std::vector<code_range> a, const std::vector<code_range>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  // The set of an escape, behind its backslash.
  std::vector<code_range> escape() {
    const std::size_t begin = at_;
    const char32_t c = code();
    const auto one = [](char32_t v) { return std::vector<code_range>{{v, v}}; };
    switch (c) {
      case 'd':
        return digits();
      case 'w':
        return word();
      case 's':
        return space();
      case 'D':
        return all_but(both(digits(), {{0x80, last_code}}));
      case 'W':
        return all_but(both(word(), {{0x80, last_code}}));
      case 'S':
        return all_but(both(space(), other_space()));
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 't':
        return one('\t');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case '0':
        return one(0);
      case 'x':
        return one(hex(2));
      case 'u':
        return one(hex(4));
      default:
        break;
    }
    if (c < 0x80 && ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))) {
      at_ = begin;
      refuse("an escape of a character or of d, w, s, D, W, S, n, r, t, f, v, x, u");
    }
    return one(c);
  }
  // The code point of an escape by its number.
  char32_t hex(int size) {
    char32_t value = 0;
    for (int i = 0; i < size; ++i, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) refuse(std::to_string(size) + " hexadecimal digits");
      value = value * 16 + static_cast<char32_t>(digit);
    }
    return value;
  }
  // What stands between [ and ].
  std::vector<code_range> set() {
    const bool others = take('^');
    std::vector<code_range> ranges;
    bool first = true;
    while (first || peek() != ']') {
      if (done()) refuse("]");
      first = false;
      std::vector<code_range> low = class_item();
      if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']' && low.size() == 1 &&
          low[0].first == low[0].last) {
        ++at_;
        const std::vector<code_range> high = class_item();
        if (high.size() != 1 || high[0].first != high[0].last || high[0].first < low[0].first)
          refuse("a range of characters");
        low[0].last = high[0].first;
      }
      ranges = both(std::move(ranges), low);
    }
    ++at_;
    return others ? all_but(std::move(ranges)) : without_overlap(std::move(ranges));
  }
  std::vector<code_range> class_item() {
    if (take('\\')) {
      if (take('b')) return {{'\b', '\b'}};
      return escape();
    }
    const char32_t c = code();
    return {{c, c}};
  }

  std::string_view text_;
  set_function one_of_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

/// The texts that a regular expression matches as a whole.
inline grammar_rules regex_grammar(std::string_view source) {
  grammar_rules g;
  g.add("regex", regex_parser(source, [](std::vector<code_range> r) { return codes(std::move(r)); }).parse(false));
  return g;
}

}  // namespace tokamax::serve
