// tokamax/compiler/attribute_text.hpp: attributes, constants and types of a graph's nodes as text.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/parse.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/op.hpp>             // graph, op

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <charconv>  // to_chars
  #include <sstream>   // ostringstream
  #include <string>    // string

namespace tokamax::detail {

inline std::string digits_of(double v) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr};
}
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
inline std::string attribute_text(attribute_kind kind, const std::int64_t* w, int count) {
  switch (kind) {
    case attribute_kind::boolean:
      return *w ? "true" : "false";
    case attribute_kind::real:
      return digits_of(std::bit_cast<double>(*w));
    case attribute_kind::dtype:
      return std::string(name(static_cast<dtype>(*w)));
    case attribute_kind::list:
      return list_text(words(w + 1, static_cast<std::size_t>(count - 1)));
    case attribute_kind::rest:
      return list_text(words(w, static_cast<std::size_t>(count)));
    case attribute_kind::integer:
      break;
  }
  return extent_text(*w);
}

/// The attributes of an op that do not have their default values: `, axis=1, keep=true`. Bodies are always written.
inline std::string attributes_text(const op& o, const std::int64_t* w, int left) {
  if (left == 0) return {};
  if (!o.attributes) return ", words=" + list_text(words(w, static_cast<std::size_t>(left)));
  const int bodies = o.bodies.of(left);
  const attribute_schema schema = o.attributes();
  const std::int64_t* usual = schema.defaults.data();
  int usual_left = schema.defaults.count(), place = 0;
  std::string s;
  for (const attribute_field& f : schema.fields) {
    const int count = words_of_field(f.kind, w, left), usual_count = words_of_field(f.kind, usual, usual_left);
    bool same = count == usual_count && place++ >= bodies;
    for (int i = 0; same && i < count; ++i) same = w[i] == usual[i];
    if (!same) s.append(", ").append(f.name).append("=").append(attribute_text(f.kind, w, count));
    w += count, left -= count, usual += usual_count, usual_left -= usual_count;
  }
  return s;
}
inline std::string attributes_text(const graph& g, const node& n) {
  return attributes_text(*n.op, g.words_of(n), n.word_count);
}

}  // namespace tokamax::detail
#endif
