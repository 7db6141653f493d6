// tokamax/text/jinja/print.hpp: values as texts: what Python's str and repr give, and JSON.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/operators.hpp>  // refuse_type
#include <tokamax/text/unicode.hpp>          // is_other

#include <array>     // array
#include <charconv>  // to_chars
#include <cmath>     // isnan, isinf
#include <optional>  // optional

namespace tokamax::text::jinja {

/// The shortest digits that give a number again, as Python writes them.
inline std::string text_of_real(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  std::array<char, 40> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), x, std::chars_format::scientific).ptr;
  std::string all(digits.data(), static_cast<std::size_t>(end - digits.data()));
  const std::size_t e = all.find('e');
  const int exponent = std::stoi(all.substr(e + 1));
  if (exponent < -4 || exponent >= 16) return all;
  end = std::to_chars(digits.data(), digits.data() + digits.size(), x, std::chars_format::fixed).ptr;
  all.assign(digits.data(), static_cast<std::size_t>(end - digits.data()));
  return all.find('.') == std::string::npos ? all + ".0" : all;
}

namespace detail {

inline void append_hex(std::string& to, char32_t code, int digits) {
  for (int i = digits - 1; i >= 0; --i) to += "0123456789abcdef"[code >> 4 * i & 15];
}
// A text in quotes, with escapes for what is not printed.
inline void append_quoted(std::string& to, const std::string& s) {
  const char quote = s.find('\'') != std::string::npos && s.find('"') == std::string::npos ? '"' : '\'';
  to += quote;
  for_each_code(s, [&](char32_t c, std::size_t) {
    const bool printed = c < 0x7F ? c >= 0x20 : !is_other(c) && !is_whitespace(c);
    if (c == static_cast<unsigned char>(quote) || c == '\\') to += '\\';
    if (printed) return append_utf8(to, c);
    to += '\\';
    if (c == '\n' || c == '\r' || c == '\t')
      to += c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
    else if (c < 0x100)
      to += 'x', append_hex(to, c, 2);
    else if (c < 0x10000)
      to += 'u', append_hex(to, c, 4);
    else
      to += 'U', append_hex(to, c, 8);
  });
  to += quote;
}

// Numbers, texts, lists, tuples and dicts; within lists, texts stand in quotes. What has no text that is known is refused.
inline void append_text(limits& run, std::string& to, const value& v, bool quoted) {
  run.spend(1);
  if (v.is_undefined()) {
    if (quoted) to += "Undefined";
  } else if (v.is_none()) {
    to += "None";
  } else if (const bool* b = v.flag()) {
    to += *b ? "True" : "False";
  } else if (const std::int64_t* i = v.integer()) {
    to += std::to_string(*i);
  } else if (const double* d = v.real()) {
    to += text_of_real(*d);
  } else if (const std::string* s = v.text()) {
    run.spend_bytes(to.size() + s->size() > limits::most_bytes ? limits::most_bytes + 1 : s->size());
    quoted ? append_quoted(to, *s) : void(to += *s);
  } else if (const sequence* l = v.list(); l && l->is <= sequence::kind::tuple) {
    const bool is_list = l->is == sequence::kind::list;
    to += is_list ? '[' : '(';
    for (const value& item : l->items) {
      if (&item != l->items.data()) to += ", ";
      append_text(run, to, item, true);
    }
    if (!is_list && l->items.size() == 1) to += ',';
    to += is_list ? ']' : ')';
  } else if (const dictionary* dict = v.dict()) {
    to += '{';
    for (const auto& item : dict->items) {
      if (&item != dict->items.data()) to += ", ";
      append_text(run, to, item.first, true);
      to += ": ";
      append_text(run, to, item.second, true);
    }
    to += '}';
  } else {
    refuse_type(run, "print", v, "a value whose text is known");
  }
}

}  // namespace detail

/// What {{ value }} prints.
inline std::string to_text(limits& run, const value& v) {
  if (const std::string* s = v.text()) {
    run.spend_bytes(s->size());
    return *s;
  }
  std::string result;
  detail::append_text(run, result, v, false);
  return result;
}

/// How JSON is written.
struct json_style {
  bool ascii = false, sorted = false;
  std::optional<std::string> indent;  ///< of a level; none: on one line
  std::string comma = ", ", colon = ": ";
};

namespace detail {

// A text of JSON: quotes, backslashes and controls have escapes.
inline void append_json_text(std::string& to, const std::string& s, bool ascii) {
  to += '"';
  for_each_code(s, [&](char32_t c, std::size_t) {
    constexpr std::string_view plain = "\"\\\n\r\t\f\b", letters = "\"\\nrtfb";
    const std::size_t at = c < 0x80 ? plain.find(static_cast<char>(c)) : std::string_view::npos;
    const auto unit = [&](char32_t u) { to += "\\u", append_hex(to, u, 4); };
    if (at != std::string_view::npos)
      to += '\\', to += letters[at];
    else if (c >= 0x20 && (!ascii || c < 0x7F))
      append_utf8(to, c);
    else if (c < 0x10000)
      unit(c);
    else
      unit(0xD800 + ((c - 0x10000) >> 10)), unit(0xDC00 + ((c - 0x10000) & 0x3FF));
  });
  to += '"';
}

// Keys that are no texts become texts, as in Python.
inline void append_json(limits& run, std::string& to, const value& v, const json_style& style, std::size_t level) {
  run.spend(1);
  const auto each = [&](std::size_t count, char open, char close, auto put) {
    to += open;
    const auto line = [&](std::size_t depth) {
      if (!style.indent) return;
      run.spend_bytes(to.size() + depth * style.indent->size() > limits::most_bytes ? limits::most_bytes + 1 : depth);
      to += '\n';
      for (std::size_t i = 0; i < depth; ++i) to += *style.indent;
    };
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) to += style.comma;
      line(level + 1);
      put(i);
    }
    if (count > 0) line(level);
    to += close;
  };
  if (v.is_none()) {
    to += "null";
  } else if (const bool* b = v.flag()) {
    to += *b ? "true" : "false";
  } else if (const double* d = v.real(); d && !std::isfinite(*d)) {
    to += std::isnan(*d) ? "NaN" : *d < 0 ? "-Infinity" : "Infinity";
  } else if (v.integer() || v.real()) {
    append_text(run, to, v, false);
  } else if (const std::string* s = v.text()) {
    run.spend_bytes(to.size() + s->size() > limits::most_bytes ? limits::most_bytes + 1 : s->size());
    append_json_text(to, *s, style.ascii);
  } else if (const sequence* l = v.list(); l && l->is <= sequence::kind::tuple) {
    each(l->items.size(), '[', ']', [&](std::size_t i) { append_json(run, to, l->items[i], style, level + 1); });
  } else if (const dictionary* dict = v.dict()) {
    auto items = dict->items;
    if (style.sorted)
      std::stable_sort(items.begin(), items.end(), [&](auto& x, auto& y) { return less(run, x.first, y.first); });
    each(items.size(), '{', '}', [&](std::size_t i) {
      const value& key = items[i].first;
      std::string name;
      if (!key.text()) append_json(run, name, key, style, 0);
      append_json_text(to, key.text() ? *key.text() : name, style.ascii);
      to += style.colon;
      append_json(run, to, items[i].second, style, level + 1);
    });
  } else {
    refuse_type(run, "tojson", v, "a value of JSON");
  }
}

}  // namespace detail

/// What json.dumps gives.
inline std::string to_json(limits& run, const value& v, const json_style& style) {
  std::string result;
  detail::append_json(run, result, v, style, 0);
  return result;
}

}  // namespace tokamax::text::jinja
