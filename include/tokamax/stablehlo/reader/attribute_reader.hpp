// tokamax/stablehlo/reader/attribute_reader.hpp: reads attributes of StableHLO text.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of read_text)
// tested by tests/stablehlo/reader/read_text.cpp
#pragma once

#include <tokamax/stablehlo/attributes.hpp>          // whole, word
#include <tokamax/stablehlo/reader/elements.hpp>     // elements_of_bytes
#include <tokamax/stablehlo/reader/type_reader.hpp>  // type_reader

#include <algorithm>      // sort
#include <array>          // array
#include <charconv>       // from_chars
#include <cmath>          // HUGE_VAL
#include <unordered_map>  // unordered_map

namespace tokamax::stablehlo::detail {

/// Attributes. What other dialects say is kept as text.
class attribute_reader : public type_reader {
 protected:
  using type_reader::type_reader;

  /// `{name = value, name, ...}`
  attribute_list dictionary() {
    attribute_list list;
    expect("{");
    while (!accept("}")) {
      std::string key = peek() == '"' ? quoted() : std::string(word("the name of an attribute"));
      list.add(std::move(key), accept("=") ? value_of_attribute() : attribute{});
      if (!accept(",") && !comes("}")) fail("\",\" or \"}\"");
    }
    return list;
  }
  /// A record from its fields.
  static attribute record_of(attribute_list list) {
    attribute a;
    a.is = attribute::form::record;
    for (auto& [key, v] : list.all) {
      a.names.push_back(std::move(key));
      a.items.push_back(std::move(v));
    }
    return a;
  }
  /// A value. A number is followed by its type, unless it is not `typed`.
  attribute value_of_attribute(bool typed = true) {
    const nested deeper(*this);
    attribute a;
    const char c = peek();
    // The first sign tells what kind of value it is; words are left to `named`.
    if (c == '"') {
      a.is = attribute::form::text;
      a.text = quoted();
      if (accept(":")) type();
    } else if (c == '@') {
      a.is = attribute::form::symbol;
      a.text = name('@');
      while (accept("::")) a.text += "::@" + name('@');
    } else if (c == '[') {
      a.is = attribute::form::list;
      ++at_;
      if (accept("]")) return a;
      do a.items.push_back(value_of_attribute());
      while (accept(","));
      expect("]");
    } else if (c == '{') {
      a = record_of(dictionary());
    } else if (is_digit(c) || c == '-') {
      number(a, typed);
    } else if (c == '#') {
      dialect_attribute(a);
    } else if (c == '(' || c == '!') {
      a.is = attribute::form::type;
      a.type = type();
    } else {
      named(a);
    }
    return a;
  }
  /// `1`, `1 : i64`, `1.0 : f32`, `0x7FC0 : bf16`
  void number(attribute& a, bool typed) {
    skip();
    const std::size_t begin = at_;
    while (is_word(next()) || next() == '-' || next() == '+') ++at_;
    const std::string_view digits = text_.substr(begin, at_ - begin);
    const bool real = digits.find_first_of(".") != digits.npos && !digits.starts_with("0x");
    // Without a type a number is i64 or f64, as in MLIR.
    a.type = {.is = value_type::form::number, .dtype = real ? f64 : i64};
    if (typed && accept(":")) a.type = type();
    const dtype t = a.type.dtype == dtype::none ? i64 : a.type.dtype;
    a.is = is_floating(t) ? attribute::form::real : attribute::form::integer;
    a.integer = static_cast<std::int64_t>(element_of(digits, t, begin).value);
  }
  /// The element that some digits mean.
  element_bits element_of(std::string_view digits, dtype t, std::size_t begin) {
    const char *first = digits.data(), *const last = first + digits.size();
    std::from_chars_result r{};
    element_bits e;
    // Truth values stand in lists of i1.
    if (digits == "true" || digits == "false") {
      if (t != bool_) fail_at(begin, std::string(digits), std::string("a number of ") + std::string(tokamax::name(t)));
      return {digits == "true"};
    }
    // Bits, which MLIR writes for what digits cannot say.
    if (digits.starts_with("0x")) {
      r = std::from_chars(first + 2, last, e.value, 16);
      if (is_integer(t)) e = tokamax::detail::low_bits(t, e.value);
    } else if (is_floating(t)) {
      double v = 0;
      r = std::from_chars(first, last, v);
      if (r.ec == std::errc::result_out_of_range) v = digits.find("e-") != digits.npos ? 0 : HUGE_VAL, r.ec = {};
      e = tokamax::detail::converted_to(t, v);
    } else if (digits.starts_with("-")) {
      std::int64_t v = 0;
      r = std::from_chars(first, last, v);
      e = kept_bits(t, static_cast<std::uint64_t>(v));
    } else {
      r = std::from_chars(first, last, e.value);
      e = kept_bits(t, e.value);
    }
    if (r.ec != std::errc{} || r.ptr != last)
      fail_at(begin, "\"" + std::string(digits.substr(0, 40)) + "\"",
              "a number of " + std::string(t == dtype::none ? "a known type" : tokamax::name(t)));
    return e;
  }
  /// `#stablehlo.gather<offset_dims = [0]>`, `#stablehlo<precision DEFAULT>`, `#loc1`, and those of other dialects
  void dialect_attribute(attribute& a) {
    const std::size_t begin = at_;
    const std::string called = name('#');
    // Those of StableHLO become words and records, and names are replaced by what they stand for.
    if (called == "stablehlo" || called == "chlo") {  // an enumerator
      expect("<");
      word("the name of an enumeration");
      a.is = attribute::form::word;
      a.text = word("an enumerator");
      expect(">");
    } else if (called == "stablehlo.conv") {
      expect("<");
      a = convolution_dimensions();
      expect(">");
    } else if ((called.starts_with("stablehlo.") || called.starts_with("chlo.")) && next() == '<') {
      ++at_;
      attribute_list list;
      while (!accept(">")) {
        std::string key(word("the name of a field"));
        if (accept("=")) list.add(std::move(key), value_of_attribute());
        if (!accept(",") && !comes(">")) fail("\",\" or \">\"");
      }
      a = record_of(std::move(list));
    } else if (const auto known = names_.find(called); known != names_.end() && next() != '<') {
      a = known->second;
    } else {
      if (next() == '<') in_brackets();
      if (accept(":")) type();
      a.is = attribute::form::other;
      a.text = text_.substr(begin, at_ - begin);
    }
  }
  /// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` as a record with the names of the attributes.
  attribute convolution_dimensions() {
    attribute_list list;
    // The letters and numbers of one operand. The places of the spatial axes come in the order of their numbers.
    const auto operand = [&](const std::string& called, const char* first, const char* second) {
      expect("[");
      attribute places[2], space;
      space.is = attribute::form::list;
      for (attribute& p : places) p = detail::whole(-1);
      std::vector<std::pair<std::int64_t, std::int64_t>> axes_of_space;
      for (std::int64_t k = 0; !accept("]"); ++k) {
        if (k > 0) expect(",");
        if (is_digit(peek()))
          axes_of_space.emplace_back(whole("an axis"), k);
        else if (const std::string_view letter = word("a letter"); letter == std::string_view(first, 1))
          places[0] = detail::whole(k);
        else if (letter == std::string_view(second, 1))
          places[1] = detail::whole(k);
        else if (letter != "?")
          fail("b, f, i, o or the number of an axis");
      }
      std::sort(axes_of_space.begin(), axes_of_space.end());
      for (const auto& [number_of_axis, place] : axes_of_space) space.items.push_back(detail::whole(place));
      list.add(called + (first + 1), places[0]);
      list.add(called + (second + 1), places[1]);
      list.add(called + "_spatial_dimensions", space);
    };
    operand("input", "b_batch_dimension", "f_feature_dimension");
    expect("x");
    operand("kernel", "i_input_feature_dimension", "o_output_feature_dimension");
    expect("->");
    operand("output", "b_batch_dimension", "f_feature_dimension");
    return record_of(std::move(list));
  }
  /// What begins with a word.
  void named(attribute& a) {
    skip();
    const std::size_t begin = at_;
    // Truth values, elements, lists, locations and types have words of their own; others are enumerators.
    if (accept("true") || accept("false")) {
      a.is = attribute::form::boolean;
      a.integer = text_[begin] == 't';
    } else if (accept("unit")) {
    } else if (accept("dense<")) {
      dense(a);
    } else if (accept("dense_resource<")) {
      // The data of a resource stands at the end of the text, behind four bytes of alignment.
      const std::string called = peek() == '"' ? quoted() : std::string(word("the name of a resource"));
      expect(">");
      expect(":");
      a.is = attribute::form::elements;
      a.type = type_of_elements();
      const auto found = resources_.find(called);
      if (found == resources_.end()) fail_at(begin, called, "a resource in {-# dialect_resources #-}");
      hex_elements(a, found->second.first, found->second.second, 4);
    } else if (accept("array<")) {
      a.is = attribute::form::list;
      a.type = type();
      if (accept(":") && !comes(">")) do {
          skip();
          const std::size_t at = at_;
          while (is_word(next()) || next() == '-' || next() == '+') ++at_;
          attribute item;
          item.is = is_floating(a.type.dtype) ? attribute::form::real : attribute::form::integer;
          item.type = a.type;
          item.integer = static_cast<std::int64_t>(element_of(text_.substr(at, at_ - at), a.type.dtype, at).value);
          a.items.push_back(item);
        } while (accept(","));
      expect(">");
    } else if (accept("loc")) {
      expect("(");
      balanced(")");
      expect(")");
      a.is = attribute::form::other;
      a.text = text_.substr(begin, at_ - begin);
    } else if (comes("tensor<") || comes("complex<") || comes("tuple<") || comes("index") || comes("none") ||
               dtype_named(peek_word()) != dtype::none) {
      a.is = attribute::form::type;
      a.type = type();
    } else {
      a = detail::word(word("an attribute"));
      if (next() == '<') in_brackets();
    }
  }
  /// The type behind dense elements, which must be known before them.
  value_type type_of_elements() {
    skip();
    const std::size_t begin = at_;
    const value_type t = type();
    if (!t.is_array()) fail_at(begin, std::string(text_.substr(begin, at_ - begin)), "a tensor of a known type");
    for (std::int64_t e : t.extents)
      if (e < 0) fail_at(begin, "an unknown extent", "the extents of elements");
    return t;
  }
  /// `dense<...> : tensor<...>`: the type comes last, so the elements are passed over first, and read when it is known.
  void dense(attribute& a) {
    a.is = attribute::form::elements;
    const std::size_t begin = at_;
    balanced(">");
    const std::size_t end = at_;
    expect(">");
    expect(":");
    a.type = type_of_elements();
    // Back to the elements.
    const std::size_t behind = at_;
    at_ = begin;
    if (peek() == '"') {
      const std::size_t quote = at_;
      hex_elements(a, quoted_raw(), quote, 0);
    } else {
      std::vector<element_bits> numbers;
      shape found;
      skip();
      const bool splat = at_ < end && next() != '[';
      if (at_ < end) elements(a.type, numbers, end);
      if (std::string wrong = elements_of_numbers(a.type, numbers, splat, a.elements); !wrong.empty())
        fail_at(begin, wrong, "elements of the type");
    }
    at_ = behind;
  }
  /// Numbers and lists of them, up to `end`.
  void elements(const value_type& t, std::vector<element_bits>& numbers, std::size_t end) {
    const nested deeper(*this);
    if (accept("[")) {
      if (accept("]")) return;
      do elements(t, numbers, end);
      while (accept(","));
      return expect("]");
    }
    // One number; of complex numbers two in parentheses.
    const auto one = [&] {
      skip();
      const std::size_t begin = at_;
      while (is_word(next()) || next() == '-' || next() == '+') ++at_;
      numbers.push_back(element_of(text_.substr(begin, at_ - begin), t.dtype, begin));
    };
    if (t.complex) {
      expect("(");
      one();
      expect(",");
      one();
      return expect(")");
    }
    one();
  }
  /// Elements from `0x...`; a resource has its alignment in front.
  void hex_elements(attribute& a, std::string_view hex, std::size_t begin, std::size_t leave_out) {
    if (!hex.starts_with("0x") || hex.size() % 2) fail_at(begin, "other elements", "an even number of digits after 0x");
    // Two digits a byte; 16 and more is no digit.
    static constexpr auto digits = [] {
      std::array<unsigned char, 256> t{};
      for (unsigned char& v : t) v = 255;
      for (unsigned k = 0; k < 10; ++k) t['0' + k] = static_cast<unsigned char>(k);
      for (unsigned k = 0; k < 6; ++k) t['a' + k] = t['A' + k] = static_cast<unsigned char>(10 + k);
      return t;
    }();
    const auto digit = [&](std::size_t at) -> unsigned { return digits[static_cast<unsigned char>(hex[at])]; };
    std::vector<std::byte> bytes(hex.size() / 2 - 1);
    unsigned all = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const unsigned high = digit(2 * i + 2), low = digit(2 * i + 3);
      all |= high | low;
      bytes[i] = static_cast<std::byte>(high << 4 | low);
    }
    if (all > 15) fail_at(begin, "other signs", "digits of bytes");
    const std::span<const std::byte> data = std::span(bytes).subspan(std::min(leave_out, bytes.size()));
    if (std::string wrong = elements_of_bytes(a.type, data, a.elements); !wrong.empty())
      fail_at(begin, wrong, "elements of the type");
  }

  /// The word that comes next, which stays.
  std::string_view peek_word() {
    skip();
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  std::unordered_map<std::string, attribute> names_;  ///< #name = ...
  std::unordered_map<std::string, std::pair<std::string_view, std::size_t>> resources_;

 private:
  /// What a dtype keeps of an integer.
  static element_bits kept_bits(dtype t, std::uint64_t v) {
    return t == bool_ ? element_bits{v != 0} : is_integer(t) ? tokamax::detail::low_bits(t, v) : element_bits{v};
  }
};

}  // namespace tokamax::stablehlo::detail
