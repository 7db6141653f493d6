// tokamax/text/jinja/value_filters.hpp: filters of single values: JSON, numbers, and texts in another form.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/sequence_filters.hpp>  // by_path

namespace tokamax::text::jinja::detail {

// JSON as `transformers` writes it: characters stay as they are, unless ensure_ascii asks for ASCII.
inline value json_of(limits& run, const value& v, const bound_arguments& a) {
  json_style style;
  style.ascii = a.flag(0, false);
  if (a.has(1) && !a[1].is_none()) {
    style.indent = a[1].text() ? *a[1].text() : std::string();
    if (!a[1].text()) style.indent = *repeated(run, " ", a.integer(1, 0)).text();
    style.comma = ",";
  }
  if (a.has(2) && !a[2].is_none()) {
    const sequence* two = a[2].places();
    if (!two || two->items.size() != 2 || !two->items[0].text() || !two->items[1].text())
      refuse_type(run, "tojson", a[2], "two texts as separators");
    style.comma = *two->items[0].text(), style.colon = *two->items[1].text();
  }
  style.sorted = a.flag(3, false);
  return run.text(to_json(run, v, style));
}
// Spaces, or another text, before each line but the first; also before that, and before empty ones, if it is asked for.
inline value indented(limits& run, const std::string& s, const bound_arguments& a) {
  const std::string by = a.has(0) && a[0].text() ? *a[0].text() : *repeated(run, " ", a.integer(0, 4)).text();
  const bool blank = a.flag(2, false);
  const std::string with_end = s + "\n";
  std::string result = a.flag(1, false) ? by : "";
  const std::vector<std::string_view> lines = lines_of(with_end);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result += "\n";
    if (i > 0 && (blank || !lines[i].empty())) result += by;
    result += lines[i];
    if (result.size() > limits::most_bytes) run.spend_bytes(result.size());
  }
  return run.text(std::move(result));
}
// The filter `title` knows other words than the method.
inline value titled(limits& run, const std::string& s) {
  std::string result;
  bool inside = false;
  run.spend(s.size() / 4);
  for_each_code(s, [&](char32_t c, std::size_t) {
    const bool between = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    append_case(result, c, inside ? letter_case::lower : letter_case::upper);
    inside = !between;
  });
  return run.text(std::move(result));
}
// A number that a text begins and ends with, but for spaces; nothing if it is none.
template <class T>
std::optional<T> parsed(const std::string& s, int base = 10) {
  std::string digits(stripped(s, nullptr));
  for (std::size_t i = 1; i + 1 < digits.size(); ++i)  // 1_000
    if (digits[i] == '_' && std::isalnum(static_cast<unsigned char>(digits[i - 1])) &&
        std::isalnum(static_cast<unsigned char>(digits[i + 1])))
      digits.erase(i, 1);
  std::string_view rest = digits;
  if (rest.starts_with('+') && !rest.starts_with("+-")) rest.remove_prefix(1);
  T result{};
  std::from_chars_result r{};
  if constexpr (std::is_integral_v<T>)
    r = std::from_chars(rest.data(), rest.data() + rest.size(), result, base);
  else
    r = std::from_chars(rest.data(), rest.data() + rest.size(), result);
  if (r.ec != std::errc{} || r.ptr != rest.data() + rest.size()) return std::nullopt;
  return result;
}
// The integer that a number or a text begins with, or another value where it is none.
inline value as_int(limits& run, const value& v, const bound_arguments& a) {
  const value otherwise = a.get(0, std::int64_t{0});
  require_defined(run, v);
  if (const auto i = as_integer(v)) return *i;
  std::optional<double> d;
  if (v.real()) d = *v.real();
  if (const std::string* s = v.text()) {
    if (const auto i = parsed<std::int64_t>(*s, static_cast<int>(std::clamp<std::int64_t>(a.integer(1, 10), 2, 36))))
      return *i;
    d = parsed<double>(*s);
  }
  if (!d || !std::isfinite(*d)) return otherwise;
  if (std::fabs(*d) >= 9.2e18) run.refuse("int", text_of_real(*d), "integers of 64 bits", error_kind::resource);
  return static_cast<std::int64_t>(*d);
}
inline value as_float(limits& run, const value& v, const bound_arguments& a) {
  require_defined(run, v);
  if (const auto d = as_real(v)) return *d;
  if (const std::string* s = v.text())
    if (const auto d = parsed<double>(*s)) return *d;
  return a.get(0, 0.0);
}
// To a number of digits; ties go to the even digit, as Python's round() does.
inline value rounded(limits& run, const value& v, const bound_arguments& a) {
  const auto x = as_real(v);
  if (!x) refuse_type(run, "round", v, "a number");
  const std::string how = a.has(1) ? a.text(1) : "common";
  const std::int64_t digits = a.integer(0, 0);
  if ((how != "common" && how != "ceil" && how != "floor") || digits < 0 || digits > 15)
    run.refuse("round", how + " to " + std::to_string(digits) + " digits", "common, ceil or floor, to 0 to 15 digits");
  if (how != "common") {
    const double scale = std::pow(10.0, static_cast<double>(digits));
    return (how == "ceil" ? std::ceil(*x * scale) : std::floor(*x * scale)) / scale;
  }
  if (v.integer()) return *v.integer();
  std::array<char, 400> text{};  // the decimal digits of a double are exact, so that ties are ties
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), *x, std::chars_format::fixed, static_cast<int>(digits)).ptr;
  double result = 0;
  std::from_chars(text.data(), end, result);
  return result;
}

inline value absolute(limits& run, const value& v) {
  const auto x = as_real(v);
  if (!x) refuse_type(run, "abs", v, "a number");
  return *x < 0 ? arithmetic(run, "*", v, std::int64_t{-1}) : v.flag() ? value(*as_integer(v)) : v;
}
// Keys and values; none of what is not defined.
inline value item_pairs(limits& run, const value& v) {
  if (v.is_undefined()) return run.list({}, sequence::kind::generator);
  if (!v.dict()) refuse_type(run, "items", v, "a dict");
  return run.list(items_of(run, call_of_dict(run, v, "items", {})), sequence::kind::generator);
}
inline value joined_by(limits& run, const value& v, const bound_arguments& a) {
  std::vector<value> items = items_of(run, v);
  if (a.has(1) && !a[1].is_none())
    for (value& one : items) one = by_path(run, one, a[1]);
  return joined(run, items, a.has(0) ? to_text(run, a[0]) : "");
}
// Only what Python calls an attribute, which a key of a dict is not.
inline value attribute_by_name(limits& run, const value& v, const bound_arguments& a) {
  return v.dict() ? method(run, v, a.text(0)).value_or(missing(v, a.text(0))) : attribute(run, v, a.text(0));
}
// What is not defined is another value, and so is all that is not true if it is asked for.
inline value defaulted(limits&, const value& v, const bound_arguments& a) {
  return v.is_undefined() || (a.flag(1, false) && !truth(v)) ? a.get(0, "") : v;
}

}  // namespace tokamax::text::jinja::detail
