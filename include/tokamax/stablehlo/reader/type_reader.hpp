// tokamax/stablehlo/reader/type_reader.hpp: reads types of StableHLO text.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of read_text)
// tested by tests/stablehlo/reader/read_text.cpp
#pragma once

#include <tokamax/stablehlo/reader/elements.hpp>     // part_type
#include <tokamax/stablehlo/reader/text_cursor.hpp>  // text_cursor

#include <charconv>       // from_chars
#include <unordered_map>  // unordered_map

namespace tokamax::stablehlo::detail {

/// Types. Those of other dialects are kept as text.
class type_reader : public text_cursor {
 protected:
  using text_cursor::text_cursor;

  /// The dtype of a name in StableHLO; none if arrays do not have it.
  static dtype dtype_named(std::string_view s) {
    for (int t = 1; t < dtype_count; ++t)
      if (info(static_cast<dtype>(t)).stablehlo == s) return static_cast<dtype>(t);
    return dtype::none;
  }
  value_type type() {
    const nested deeper(*this);
    skip();
    const std::size_t begin = at_;
    value_type t;
    // A tensor of known or unknown extents; an encoding behind a comma changes nothing that is computed.
    if (accept("tensor<")) {
      t.is = value_type::form::array;
      if (!accept("*")) extents(t.extents);
      element_type(t);
      if (accept(",")) balanced(">");
      expect(">");
      if (t.dtype != dtype::none)
        if (const char* const wanted = unmet_extents(t)) fail_at(begin, "a tensor of other extents", wanted);
      if (t.dtype == dtype::none) t.other = text_.substr(begin, at_ - begin);
      return t;
    }
    // Functions, types of dialects and numbers.
    if (peek() == '(') {  // a function
      do type_list();
      while (accept("->"));
    } else if (peek() == '!') {
      ++at_;
      word("the name of a type");
      if (next() == '<') in_brackets();
      if (const auto known = type_names_.find(std::string(text_.substr(begin + 1, at_ - begin - 1)));
          known != type_names_.end())
        return known->second;
    } else {
      element_type(t);
      if (t.dtype != dtype::none) t.is = value_type::form::number;
    }
    if (t.dtype == dtype::none) t.other = text_.substr(begin, at_ - begin);
    return t;
  }
  /// One type, or several in parentheses.
  std::vector<value_type> type_list() {
    std::vector<value_type> types;
    if (!accept("(")) return {type()};
    if (accept(")")) return types;
    do types.push_back(type());
    while (accept(","));
    expect(")");
    return types;
  }
  /// What stands between `<` and `>`.
  void in_brackets() {
    expect("<");
    balanced(">");
    expect(">");
  }
  std::unordered_map<std::string, value_type> type_names_;  ///< !name = ...

 private:
  /// What is wrong with the extents, or null. Unknown ones count as 1.
  static const char* unmet_extents(const value_type& t) {
    array_type known = part_type(t);
    for (int k = 0; k < known.shape.rank(); ++k)
      if (known.shape[k] < 0) known.shape[k] = 1;
    return unmet(known);
  }
  /// `4x?x`
  void extents(shape& s) {
    skip();
    while (is_digit(next()) || next() == '?') {
      const std::size_t begin = at_;
      std::int64_t v = -1;
      // An extent that the program learns when it runs.
      if (next() == '?') {
        ++at_;
      } else {
        const auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
        if (r.ec != std::errc{}) fail_at(begin, "a number that is too large", "an extent");
        at_ = static_cast<std::size_t>(r.ptr - text_.data());
      }
      if (next() != 'x') fail("\"x\"");
      ++at_;
      if (s.rank() == max_rank) fail_at(begin, "more axes", "at most 16");
      s.push_back(v);
    }
  }
  /// `f32`, `complex<f32>`, `!quant.uniform<...>`
  void element_type(value_type& t) {
    // Complex numbers have parts of f32 or f64.
    if (accept("complex<")) {
      element_type(t);
      t.complex = true;
      if (t.dtype != f32 && t.dtype != f64) t.dtype = dtype::none;
      return expect(">");
    }
    if (peek() == '!') {
      ++at_;
      word("the name of a type");
    } else {
      const std::string_view s = word("a type");
      t.dtype = s == "index" ? i64 : dtype_named(s);  // what counts places
      if (s == "index") t.other = s;
    }
    if (next() == '<') in_brackets();
  }
};

}  // namespace tokamax::stablehlo::detail
