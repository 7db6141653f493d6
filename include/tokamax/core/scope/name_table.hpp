// tokamax/core/scope/name_table.hpp: the names of the parts of a program, kept once each and numbered.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/vec.hpp>  // vec

#include <cstdint>      // int64_t
#include <string_view>  // string_view

namespace tokamax {

/// The text of a name.
struct name_text : vec<char> {
  using vec<char>::vec;
  constexpr std::string_view view() const { return {data(), size()}; }
  constexpr operator std::string_view() const { return view(); }
};

/// Names such as `blocks[3].attend`, of any length. A name is a number: that of its last part, which knows the name around
/// it. Equal names have equal numbers, and 0 is the name of the whole program, which is empty.
///
/// A part is a field or a word, which follows a dot, or stands in brackets, as an element or a key does. The text of a name is
/// that of `for_each_leaf_with_path`.
class name_table {
 public:
  constexpr int count() const { return parts_.count(); }
  constexpr bool empty() const { return parts_.empty(); }
  constexpr bool has(int name) const { return name == 0 || (name > 0 && name < count()); }

  /// The field or word `text` of the part `around`. The characters must outlive the table, as those of literals do.
  constexpr int field(int around, std::string_view text) { return find_or_add(around, {.text = text}); }
  /// Element `index` of the part `around`.
  constexpr int element(int around, std::int64_t index) { return find_or_add(around, {.index = index}); }
  /// The value of a map with the key `text`, whose characters are copied. A key that is no word stands in quotes.
  constexpr int key(int around, std::string_view text) {
    bool word = !text.empty();
    for (const char c : text) word = word && c != '.' && c != '[' && c != ']' && c != '"' && c != '*' && c != ' ';
    if (word) return find_or_add(around, {.text = text}, true);
    vec<char> quoted{'[', '"'};
    for (const char c : text) quoted.push_back(c);
    quoted.push_back('"');
    quoted.push_back(']');
    return find_or_add(around, {.bracket = true, .text = {quoted.data(), quoted.size()}}, true);
  }
  /// A name within `around` that is given as text, whose characters are copied: "attend", "blocks[3].attend".
  constexpr int read(int around, std::string_view text) {
    for (std::size_t at = 0, end = 0; !text.empty(); at = end + (text[end] == '.')) {
      const std::string_view rest = text.substr(at);
      const bool bracket = rest.starts_with('[') && (at == 0 || text[at - 1] != '.');
      end = at + (bracket ? length_of_bracket(rest) : length_of_word(rest));
      const std::string_view word = text.substr(at, end - at);
      const std::int64_t index = bracket ? number_in(word) : -1;
      around = index >= 0 ? element(around, index) : find_or_add(around, {.bracket = bracket, .text = word}, true);
      if (end == text.size()) break;
    }
    return around;
  }
  /// The name that has the number `name` in `from`, within `around`. A name that begins with the parts of `around` already is
  /// kept as it is.
  constexpr int import(int around, const name_table& from, int name) {
    vec<int> parts;
    for (; name; name = from.parts_[name].around) parts.push_back(name);
    if (begins_with(from, parts, around)) around = 0;
    for (int k = parts.count() - 1; k >= 0; --k) {
      part p = from.parts_[parts[k]];
      p.text = from.text_of(p);
      around = find_or_add(around, {.bracket = p.bracket, .index = p.index, .text = p.text}, true);
    }
    return around;
  }
  /// The same in one table: `name` as it is if it begins with the parts of `around`, and else within it.
  constexpr int join(int around, int name) {
    if (around == 0 || is_within(name, around)) return name;
    vec<int> parts;
    for (; name; name = parts_[name].around) parts.push_back(name);
    for (int k = parts.count() - 1; k >= 0; --k) {
      const part p = parts_[parts[k]];
      around = find_or_add(
          around, {.bracket = p.bracket, .index = p.index, .begin = p.begin, .length = p.length, .text = p.text});
    }
    return around;
  }
  /// The name around `name`, so many levels further out.
  constexpr int around(int name, int levels = 1) const {
    for (; levels > 0 && name; --levels) name = parts_[name].around;
    return name;
  }

  /// Appends the text of a name.
  constexpr void append(vec<char>& to, int name) const {
    if (!name) return;
    const part& p = parts_[name];
    append(to, p.around);
    if (p.index >= 0) {
      to.push_back('[');
      append_number(to, p.index);
      return to.push_back(']');
    }
    if (p.around && !p.bracket) to.push_back('.');
    for (const char c : text_of(p)) to.push_back(c);
  }
  constexpr name_text text(int name) const {
    name_text s;
    append(s, name);
    return s;
  }

 private:
  struct part {
    int around = 0;             // the name that it is a part of
    int first = 0, last = 0;    // its own parts, a list
    int next = 0;               // the next part of the same name
    bool ascending = true;      // its parts are elements in ascending order, so that a greater one is new
    bool bracket = false;       // follows without a dot
    std::int64_t index = -1;    // of an element
    int begin = 0, length = 0;  // its characters in `chars_`, if `text` is empty
    std::string_view text{};
  };

  constexpr std::string_view text_of(const part& p) const {
    return p.length ? std::string_view(chars_.data() + p.begin, static_cast<std::size_t>(p.length)) : p.text;
  }
  constexpr bool same(const part& a, const part& b) const {
    return a.index == b.index && a.bracket == b.bracket && (a.index >= 0 || text_of(a) == text_of(b));
  }
  constexpr int find_or_add(int around, part p, bool copied = false) {
    if (parts_.empty()) parts_.push_back({});
    const int last = parts_[around].last;
    const bool ascends = p.index >= 0 && parts_[around].ascending && (!last || parts_[last].index < p.index);
    if (!ascends) {
      for (int k = parts_[around].first; k; k = parts_[k].next)
        if (same(parts_[k], p)) return k;
      parts_[around].ascending = false;
    }
    if (copied && !p.text.empty()) {
      p.begin = chars_.count();
      p.length = static_cast<int>(p.text.size());
      for (const char c : p.text) chars_.push_back(c);
      p.text = {};
    }
    p.around = around;
    parts_.push_back(p);
    const int id = parts_.count() - 1;
    (last ? parts_[last].next : parts_[around].first) = id;
    parts_[around].last = id;
    return id;
  }
  constexpr bool is_within(int name, int around) const {
    while (name > around) name = parts_[name].around;  // a part has a greater number than the name around it
    return name == around;
  }
  /// Do the parts of a name of another table, the last one first, begin with those of `around`?
  constexpr bool begins_with(const name_table& from, const vec<int>& parts, int around) const {
    vec<int> own;
    for (; around; around = parts_[around].around) own.push_back(around);
    if (own.count() > parts.count()) return false;
    for (int k = 1; k <= own.count(); ++k) {
      const part &a = parts_[own[own.count() - k]], &b = from.parts_[parts[parts.count() - k]];
      if (a.index != b.index || a.bracket != b.bracket || text_of(a) != from.text_of(b)) return false;
    }
    return true;
  }
  static constexpr std::size_t length_of_word(std::string_view text) {
    const std::size_t end = text.find_first_of(".[", text.starts_with('[') ? 1 : 0);
    return end < text.size() ? end : text.size();
  }
  /// The length of `[3]` or `["a key"]` at the beginning of a text; all of the text if the bracket is not closed.
  static constexpr std::size_t length_of_bracket(std::string_view text) {
    const std::string_view close = text.starts_with("[\"") ? "\"]" : "]";
    for (std::size_t at = text.find(close, close.size()); at < text.size(); at = text.find(close, at + 1)) {
      const std::size_t end = at + close.size();
      if (end == text.size() || text[end] == '.' || text[end] == '[') return end;
    }
    return text.size();
  }
  /// The number in "[12]" if it is written as elements are; else -1.
  static constexpr std::int64_t number_in(std::string_view part) {
    if (part.size() < 3 || part.size() > 20 || !part.ends_with(']') || (part[1] == '0' && part.size() > 3)) return -1;
    std::int64_t n = 0;
    for (const char c : part.substr(1, part.size() - 2)) {
      if (c < '0' || c > '9') return -1;
      n = 10 * n + (c - '0');
    }
    return n;
  }
  static constexpr void append_number(vec<char>& s, std::int64_t n) {
    if (n >= 10) append_number(s, n / 10);
    s.push_back(static_cast<char>('0' + n % 10));
  }

  vec<part> parts_;  // the first one is the whole program
  vec<char> chars_;
};

}  // namespace tokamax
