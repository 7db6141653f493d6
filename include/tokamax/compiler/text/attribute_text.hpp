// tokamax/compiler/text/attribute_text.hpp: attributes, constants and types of a graph's nodes as text.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/text/parse.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/op.hpp>             // graph, op

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <algorithm>  // replace
  #include <charconv>   // to_chars
  #include <sstream>    // ostringstream
  #include <string>     // string

namespace tokamax::detail {

/// An integer, or a dynamic extent: "3", "n", "4n+1".
inline std::string extent_text(std::int64_t e) {
  if (!is_dyn(e) || !decoded(e).ok) return std::to_string(e);
  std::ostringstream s;
  write_extent(s, e);
  return s.str();
}
template <class Integers>
std::string list_text(const Integers& list) {
  std::string s = "[";
  for (std::int64_t v : list) s.append(s.size() > 1 ? "," : "").append(extent_text(v));
  return s + "]";
}
inline std::string type_text(const array_type& t) {
  return std::string(t.weak ? "weak " : "").append(name(t.dtype)).append(list_text(t.shape));
}

/// The name of an op in a text: "add", "pure_callback<scale>". Operands begin at the first parenthesis.
inline std::string op_text(const op& o) {
  std::string s(o.name);
  if (!o.variant.empty()) s.append("<").append(o.variant).append(">");
  std::replace(s.begin(), s.end(), '(', '{');
  return s;
}

/// A text in quotes. What a line of text cannot hold is written as \n or as the two digits of a byte, \x1b.
inline std::string quoted(std::string_view text) {
  constexpr const char* digits = "0123456789abcdef";
  std::string s = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      s.append("\\").append(1, c);
    else if (c == '\n')
      s += "\\n";
    else if (byte < 32 || byte == 127)
      s.append("\\x").append(1, digits[byte / 16]).append(1, digits[byte % 16]);
    else
      s += c;
  }
  return s + "\"";
}

/// The shortest digits that read back as this element, or else its bits in hexadecimal.
inline std::string element_text(element_bits v, dtype t) {
  if (is_signed(t)) return std::to_string(static_cast<std::int64_t>(v.value));
  if (!is_floating(t)) return std::to_string(v.value);
  const double x = as_double(v, t);
  char buffer[32];
  const auto end = bits_of(t) <= 32 ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(x)).ptr
                                    : std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
  if (x == x) return {buffer, end};
  const std::string bits(buffer, std::to_chars(buffer, buffer + sizeof buffer, v.value, 16).ptr);
  return "0x" + bits;
}

/// The text of one attribute. `w` points to its words.
inline std::string attribute_text(const attribute_field& f, const std::int64_t* w) {
  const auto of_parts = [&](char open, char close, const char* separator, int count, const auto& part) {
    std::string s(1, open);
    for (int k = 0; k < count; ++k) s.append(k ? separator : "").append(part(k));
    return s + close;
  };
  switch (f.kind) {
    case attribute_kind::boolean:
      return *w ? "true" : "false";
    case attribute_kind::real:
      return element_text({static_cast<std::uint64_t>(*w)}, f64);
    case attribute_kind::dtype:
      return std::string(name(static_cast<dtype>(*w)));
    case attribute_kind::enumerator:
    case attribute_kind::algorithm:
      if (*w >= 0 && *w < f.enumerators.count() && !f.enumerators[*w].empty()) return std::string(f.enumerators[*w]);
      return std::to_string(*w);
    case attribute_kind::body:
      return "body " + std::to_string(*w);
    case attribute_kind::shape:
    case attribute_kind::axes:
    case attribute_kind::permutation:
      return list_text(words(w + 1, static_cast<std::size_t>(*w)));
    case attribute_kind::type: {
      array_type t;
      unpack_value(w, t);
      return type_text(t);
    }
    case attribute_kind::text:
    case attribute_kind::axis_name: {
      text_attribute t;
      unpack_value(w, t);
      return quoted(t.view());
    }
    case attribute_kind::list: {
      const attribute_field& element = f.parts[0];
      const auto count = static_cast<int>(*w++);
      return of_parts('[', ']', element.kind == attribute_kind::integer ? "," : ", ", count, [&](int) {
        const std::int64_t* const begin = w;
        w += words_of_field(element, w);
        return attribute_text(element, begin);
      });
    }
    case attribute_kind::record: {
      const vec<const std::int64_t*> places = places_of(f.parts, w);
      return of_parts('{', '}', ", ", f.parts.count(), [&](int k) {
        return std::string(f.parts[k].name).append("=").append(attribute_text(f.parts[k], places[k]));
      });
    }
    case attribute_kind::integer:
    case attribute_kind::axis:
      break;
  }
  return extent_text(*w);
}

/// The attributes of an op that do not have their default values: `, axis=1, keep=true`. Bodies are always written.
inline std::string attributes_text(const op& o, const std::int64_t* w, int count) {
  if (count == 0) return {};
  if (!o.attributes.describe) return ", words=" + list_text(words(w, static_cast<std::size_t>(count)));
  const attribute_list list = o.attributes.describe();
  const vec<const std::int64_t*> places = places_of(list.fields, w),
                                 usual = places_of(list.fields, list.defaults.data());
  std::string s;
  for (int k = 0; k < list.fields.count(); ++k) {
    const attribute_field& f = list.fields[k];
    const int n = words_of_field(f, places[k]);
    bool same = n == words_of_field(f, usual[k]) && f.kind != attribute_kind::body;
    for (int i = 0; same && i < n; ++i) same = places[k][i] == usual[k][i];
    if (!same) s.append(", ").append(f.name).append("=").append(attribute_text(f, places[k]));
  }
  return s;
}
inline std::string attributes_text(const graph& g, const node& n) {
  return attributes_text(*n.op, g.words_of(n), n.word_count);
}

}  // namespace tokamax::detail
#endif
