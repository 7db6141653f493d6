// tokamax/compiler/text/text_reader.hpp: reads the parts of a graph's text: words, numbers, types and attributes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/text/parse.cpp
// umbrella: no (part of parse)
#pragma once

#include <tokamax/base/extent_text.hpp>              // extent_reader
#include <tokamax/compiler/text/attribute_text.hpp>  // type_text

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <algorithm>  // min
  #include <charconv>   // from_chars
  #include <string>     // string
  #include <vector>     // vector

namespace tokamax::detail {

/// Reads a text from its beginning on. What is not as expected is reported with its line and column.
class text_reader {
 protected:
  explicit text_reader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(const std::string& expected, std::string found = {}) const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < at_; ++i) text_[i] == '\n' ? (++line, column = 1) : ++column;
    if (found.empty()) found = at_ == text_.size() ? "the end" : std::string(text_.substr(at_, 1));
    if (found == "\n") found = "the end of the line";
    throw error(error_kind::file, "graph", found, expected,
                "line " + std::to_string(line) + ", column " + std::to_string(column));
  }
  /// Reports an error in the text that begins at `begin`.
  [[noreturn]] void fail_at(std::size_t begin, const std::string& expected, const std::string& found) {
    at_ = begin;
    fail(expected, found);
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_spaces() {
    while (peek() == ' ') ++at_;
  }
  /// Goes on to what is not a space, on this line or a later one.
  void skip_blank() {
    while (peek() == ' ' || peek() == '\n') ++at_;
  }
  /// Goes behind `s` if it comes next on the line.
  bool accept(std::string_view s) {
    skip_spaces();
    if (text_.substr(at_, s.size()) != s) return false;
    at_ += s.size();
    return true;
  }
  void expect(std::string_view s) {
    if (!accept(s)) fail("\"" + std::string(s) + "\"");
  }
  void end_line() {
    skip_spaces();
    if (peek() != '\n') fail("the end of the line");
    ++at_;
  }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  /// The name of an op: everything up to its operands.
  std::string_view name_of_op() {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '(' && text_[at_] != '\n') ++at_;
    return text_.substr(begin, at_ - begin);
  }
  /// Letters, digits and underlines; empty if none come next.
  std::string_view word() {
    skip_spaces();
    const std::size_t begin = at_;
    while (is_word(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  /// What follows up to a space or the end of the line.
  std::string_view rest_of_word() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(" \n", at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }
  /// The scope of a node, as `append_scope` writes it; an empty one if there is none.
  node_scope read_scope(graph& g) {
    node_scope s;
    if (accept("in ")) s.name = g.names.read(0, peek() == '"' ? quoted_text() : std::string(rest_of_word()));
    if (accept("using ")) s.decisions = g.decided.find_or_add(rest_of_word());
    return s;
  }
  template <class T>
  T number(const char* expected, int base = 10) {
    skip_spaces();
    T v{};
    const char* const begin = text_.data() + at_;
    std::from_chars_result r{};
    if constexpr (std::is_floating_point_v<T>)
      r = std::from_chars(begin, text_.data() + text_.size(), v);
    else
      r = std::from_chars(begin, text_.data() + text_.size(), v, base);
    if (r.ec != std::errc{}) fail(expected);
    at_ += static_cast<std::size_t>(r.ptr - begin);
    return v;
  }
  int place(const char* expected) {
    const std::size_t begin = at_;
    const auto v = number<std::int64_t>(expected);
    if (v < 0 || v > 1 << 30) fail_at(begin, expected, std::to_string(v));
    return static_cast<int>(v);
  }
  /// An integer or a dynamic extent: "-1", "n", "4n+1".
  std::int64_t extent() {
    skip_spaces();
    const std::size_t begin = at_;
    extent_reader reader(text_.substr(begin));
    if (const std::int64_t e = reader.sum(); is_dyn(e)) return at_ += reader.length(), e;
    const auto v = number<std::int64_t>("an integer");
    if (at_ < begin + reader.length()) fail_at(begin, "an extent", "one that is too large");
    return v;
  }
  /// A list of integers, as its words.
  words list() {
    words w;
    expect("[");
    if (accept("]")) return w;
    do w.push_back(extent());
    while (accept(","));
    expect("]");
    return w;
  }
  dtype read_dtype() {
    skip_spaces();
    const std::size_t begin = at_;
    const std::string_view s = word();
    for (int t = 0; t < dtype_count; ++t)
      if (name(static_cast<dtype>(t)) == s) return static_cast<dtype>(t);
    fail_at(begin, "a dtype", std::string(s));
  }
  array_type type() {
    array_type t;
    t.weak = accept("weak ");
    skip_spaces();
    const std::size_t begin = at_;
    t.dtype = read_dtype();
    const words w = list();
    if (w.count() > max_rank) fail_at(begin, "at most 16 axes", std::to_string(w.count()));
    for (std::int64_t e : w) t.shape.push_back(e);
    if (const char* const wanted = unmet(t); wanted || t.dtype == dtype::none)
      fail_at(begin, wanted ? wanted : "the dtype of an array", type_text(t));
    return t;
  }
  element_bits element(dtype t) {
    if (accept("0x")) return {number<std::uint64_t>("bits", 16)};
    if (is_floating(t))  // the digits are the shortest ones in f32 or f64
      return converted_to(t, bits_of(t) <= 32 ? number<float>("a number") : number<double>("a number"));
    if (t == u64) return {number<std::uint64_t>("an integer")};
    return {static_cast<std::uint64_t>(number<std::int64_t>("an integer"))};
  }
  /// A text in quotes, as `quoted` writes it.
  std::string quoted_text() {
    expect("\"");
    std::string s;
    while (peek() != '"') {
      char c = peek();
      if (c == '\0' || c == '\n') fail("\"");
      ++at_;
      if (c == '\\') {
        c = peek();
        ++at_;
        if (c == 'n') c = '\n';
        if (c == 'x') {
          const std::string_view digits = text_.substr(at_, 2);
          unsigned byte = 0;
          const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
          if (r.ec != std::errc{} || r.ptr != digits.data() + 2) fail("two digits of a byte");
          c = static_cast<char>(byte);
          at_ += 2;
        }
      }
      s += c;
    }
    ++at_;
    return s;
  }

  /// Reads `axis=1, keep=true)` if there are `more` than operands. Attributes that are not written have their defaults.
  words read_attributes(const op& kind, bool more) {
    attribute_list list;
    if (kind.attributes.describe) list = kind.attributes.describe();
    const bool plain = !kind.attributes.describe;
    if (plain) list.fields.push_back({"words", attribute_kind::list, false, {}, {attribute_field{}}});
    if (plain) list.defaults.push_back(0);
    const vec<const std::int64_t*> usual = places_of(list.fields, list.defaults.data());
    std::vector<words> parts;
    for (int k = 0; k < list.fields.count(); ++k)
      parts.emplace_back(usual[k], static_cast<std::size_t>(words_of_field(list.fields[k], usual[k])));
    std::vector<bool> given(parts.size());
    while (more) {
      read_field(list.fields, parts, given, "an operand or attribute of " + std::string(kind.name));
      more = accept(",");
      if (!more) expect(")");
    }
    words all = joined(list.fields, parts);
    return plain ? words(all.data() + 1, all.size() - 1) : all;
  }

 private:
  /// Reads `axis=1`, for a field that was not given before.
  void read_field(const vec<attribute_field>& fields, std::vector<words>& parts, std::vector<bool>& given,
                  const std::string& expected) {
    skip_spaces();
    const std::size_t begin = at_;
    const std::string_view called = word();
    int k = 0;
    while (k < fields.count() && fields[k].name != called) ++k;
    const auto place = static_cast<std::size_t>(k);
    if (k == fields.count() || given[place]) fail_at(begin, expected, std::string(called));
    given[place] = true;
    expect("=");
    parts[place] = read_attribute(fields[k]);
  }
  /// The words of a record, from those of its fields.
  static words joined(const vec<attribute_field>& fields, const std::vector<words>& parts) {
    words all;
    for (const bool fixed : {true, false})
      for (int k = 0; k < fields.count(); ++k)
        if (fields[k].fixed == fixed)
          for (std::int64_t v : parts[static_cast<std::size_t>(k)]) all.push_back(v);
    return all;
  }
  /// The words of one attribute.
  words read_attribute(const attribute_field& f) {
    words w;
    skip_spaces();
    const std::size_t begin = at_;
    switch (f.kind) {
      case attribute_kind::boolean:
        if (accept("true")) return {1};
        expect("false");
        return {0};
      case attribute_kind::real:
        return {static_cast<std::int64_t>(element(f64).value)};
      case attribute_kind::dtype:
        return {static_cast<std::int64_t>(read_dtype())};
      case attribute_kind::enumerator:
      case attribute_kind::algorithm:
        return {enumerator(f)};
      case attribute_kind::body:
        expect("body ");
        return {number<std::int64_t>("the number of a body")};
      case attribute_kind::shape:
      case attribute_kind::axes:
      case attribute_kind::permutation:
        for (std::int64_t v : list()) w.push_back(v);
        if (w.count() > max_rank) fail_at(begin, "at most 16 integers", std::to_string(w.count()));
        return with_count(w.count(), w);
      case attribute_kind::type:
        pack_value(w, type());
        return w;
      case attribute_kind::text:
      case attribute_kind::axis_name:
        pack_value(w, text_attribute(quoted_text()));
        return w;
      case attribute_kind::list:
        return elements(f.parts[0]);
      case attribute_kind::record:
        return record(f);
      case attribute_kind::integer:
      case attribute_kind::axis:
        break;
    }
    return {extent()};
  }
  /// An enumerator by its name, or by its number if it has no name.
  std::int64_t enumerator(const attribute_field& f) {
    if ((peek() >= '0' && peek() <= '9') || peek() == '-') return number<std::int64_t>("an integer");
    const std::size_t begin = at_;
    const std::string_view called = word();
    std::string expected = "one of";
    for (int k = 0; k < f.enumerators.count(); ++k) {
      if (!f.enumerators[k].empty() && f.enumerators[k] == called) return k;
      expected.append(" ").append(f.enumerators[k]);
    }
    fail_at(begin, expected, std::string(called));
  }
  static words with_count(int count, const words& values) {
    words w{count};
    for (std::int64_t v : values) w.push_back(v);
    return w;
  }
  words elements(const attribute_field& element) {
    words w;
    int count = 0;
    expect("[");
    if (!accept("]")) {
      do {
        for (std::int64_t v : read_attribute(element)) w.push_back(v);
        ++count;
      } while (accept(","));
      expect("]");
    }
    return with_count(count, w);
  }
  /// `{axis=1, keep=true}`, with every field of the record.
  words record(const attribute_field& f) {
    std::vector<words> parts(f.parts.size());
    std::vector<bool> given(parts.size());
    expect("{");
    for (int k = 0; k < f.parts.count(); ++k) {
      if (k > 0) expect(",");
      read_field(f.parts, parts, given, "a field of " + std::string(f.name));
    }
    expect("}");
    return joined(f.parts, parts);
  }

 protected:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tokamax::detail
#endif
