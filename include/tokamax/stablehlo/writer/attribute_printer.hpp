// tokamax/stablehlo/writer/attribute_printer.hpp: types and attributes as MLIR's text.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/reader/read_bytecode.cpp
#pragma once

#include <tokamax/base/element.hpp>         // dispatch
#include <tokamax/stablehlo/type_text.hpp>  // type_text

#include <cmath>    // isfinite
#include <cstdio>   // snprintf
#include <sstream>  // ostringstream

namespace tokamax::stablehlo::detail {

/// Attributes that MLIR wants as one record of dimension numbers.
struct record_of_numbers {
  std::string_view operation, attribute, called;
  std::string_view fields[7];
};
inline constexpr record_of_numbers records_of_numbers[] = {
    {"stablehlo.dot_general",
     "dot_dimension_numbers",
     "dot",
     {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
      "rhs_contracting_dimensions"}},
    {"stablehlo.gather",
     "dimension_numbers",
     "gather",
     {"offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map",
      "index_vector_dim"}},
    {"stablehlo.dynamic_gather",
     "dimension_numbers",
     "gather",
     {"offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map",
      "index_vector_dim"}},
    {"stablehlo.scatter",
     "scatter_dimension_numbers",
     "scatter",
     {"update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
      "scatter_dims_to_operand_dims", "index_vector_dim"}},
};
/// The enumerations of attributes that are words.
inline constexpr std::string_view enumerations[][2] = {
    {"compare_type", "comparison_type"}, {"precision_config", "precision"}, {"transpose_a", "transpose"}};

/// Writes types and attributes.
class attribute_printer {
 protected:
  /// A type as MLIR writes it.
  void type(const value_type& t) { out_ << type_text(t); }
  /// Types in parentheses.
  void types(const std::vector<value_type>& list) {
    out_ << "(";
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (k) out_ << ", ";
      type(list[k]);
    }
    out_ << ")";
  }
  /// A text with escapes for what is not a plain sign.
  void quoted(std::string_view s) {
    out_ << '"';
    for (const char c : s) {
      const auto byte = static_cast<unsigned char>(c);
      char hex[4];
      if (byte < 32 || byte > 126 || c == '"' || c == '\\') {
        std::snprintf(hex, sizeof hex, "\\%02X", byte);
        out_ << hex;
      } else {
        out_ << c;
      }
    }
    out_ << '"';
  }
  /// A name with its sign, in quotes if it has other signs than letters and digits.
  void symbol(const char* before, std::string_view s) {
    out_ << before << "@";
    // Names without quotes begin with no digit.
    bool plain = !s.empty() && !(s[0] >= '0' && s[0] <= '9');
    for (const char c : s) {
      // Letters and digits of ASCII.
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      plain = plain && (letter || c == '_' || c == '.' || c == '$' || c == ':' || c == '@');
    }
    if (plain)
      out_ << s;
    else
      quoted(s);
  }
  /// A number of a dtype: floats by their shortest digits, or by their bits where digits say less.
  void number(dtype t, std::uint64_t bits) {
    if (t == bool_) {
      out_ << (bits ? "true" : "false");
    } else if (is_floating(t)) {
      char text[40];
      // So many digits that the number reads back as itself.
      const double v = as_double({bits}, t);
      std::snprintf(text, sizeof text, "%.*e", t == f64 ? 17 : 9, v);
      if (std::isfinite(v) && (v != 0 || bits == 0))
        out_ << text;
      else
        std::snprintf(text, sizeof text, "0x%0*llX", bits_of(t) / 4, static_cast<unsigned long long>(bits)),
            out_ << text;
    } else if (is_signed(t)) {
      out_ << static_cast<std::int64_t>(bits);
    } else {
      out_ << bits;
    }
  }
  /// `dense<5>`, `dense<(1.0, 2.0)>`, or the bytes of elements that are not equal.
  void elements(const attribute& a) {
    const array &re = a.elements.re, &im = a.elements.im;
    const dtype t = a.type.dtype;
    out_ << "dense<";
    if (re.is_literal()) {
      if (a.type.complex) out_ << "(";
      number(t, re.literal_bits().value);
      if (a.type.complex) out_ << ", ", number(t, im.literal_bits().value), out_ << ")";
    } else if (t == bool_ || is_packed(t) || !a.type.other.empty()) {  // whose bytes have several forms
      list_of(re, 0, 0);
    } else if (re.size() > 0) {
      out_ << "\"0x";
      const auto each = static_cast<std::size_t>(size_of(t));
      for (std::int64_t i = 0; i < re.size(); ++i)
        for (const array* part : {&re, &im})
          if (part->exists()) hex(part->bytes() + static_cast<std::size_t>(i) * each, each);
      out_ << "\"";
    }
    out_ << "> : ";
    type(a.type);
  }
  /// Bytes, the first one first.
  void hex(const std::byte* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      out_ << "0123456789ABCDEF"[static_cast<unsigned>(bytes[i]) >> 4]
           << "0123456789ABCDEF"[static_cast<unsigned>(bytes[i]) & 15];
  }
  /// Elements as lists in brackets, from number `at` on; returns how many there were.
  std::int64_t list_of(const array& x, int axis, std::int64_t at) {
    if (axis == x.rank()) {
      dispatch(x.dtype(), [&]<dtype T>() { number(T, element_bits::of(x.data<element_t<T>>()[at]).value); });
      return 1;
    }
    out_ << "[";
    std::int64_t done = 0;
    for (std::int64_t i = 0; i < x.extent(axis); ++i) {
      if (i) out_ << ", ";
      done += list_of(x, axis + 1, at + done);
    }
    out_ << "]";
    return done;
  }
  void value_of(const attribute& a, std::string_view key) {
    switch (a.is) {
      case attribute::form::unit:
        out_ << "unit";
        break;
      case attribute::form::boolean:
        out_ << (a.integer ? "true" : "false");
        break;
      case attribute::form::integer:
      case attribute::form::real:
        number(a.type.dtype == dtype::none ? i64 : a.type.dtype, static_cast<std::uint64_t>(a.integer));
        out_ << " : ";
        if (a.type.dtype == dtype::none && a.type.other.empty())
          out_ << "i64";
        else
          type(a.type);
        break;
      case attribute::form::text:
        quoted(a.text);
        break;
      case attribute::form::symbol:
        symbol("", a.text);
        break;
      // Enumerators are written with the name of their enumeration.
      case attribute::form::word: {
        std::string_view enumeration = key;
        for (const auto& e : enumerations)
          if (e[0] == key) enumeration = e[1];
        out_ << "#stablehlo<" << enumeration << " " << a.text << ">";
        break;
      }
      case attribute::form::type:
        type(a.type);
        break;
      case attribute::form::list:
        list(a, key);
        break;
      case attribute::form::record: {
        attribute_list list;
        for (std::size_t k = 0; k < a.items.size(); ++k) list.add(a.names[k], a.items[k]);
        dictionary(list, "");
        break;
      }
      case attribute::form::elements:
        elements(a);
        break;
      case attribute::form::other:
        out_ << a.text;
        break;
    }
  }
  /// `array<i64: 1, 2>`, or other attributes in brackets.
  void list(const attribute& a, std::string_view key) {
    const bool typed = a.type.dtype != dtype::none;
    out_ << (typed ? "array<" : "[");
    // Numbers of one type have it in front.
    if (typed) type(a.type);
    if (typed && !a.items.empty()) out_ << ": ";
    for (std::size_t k = 0; k < a.items.size(); ++k) {
      if (k) out_ << ", ";
      if (typed)
        number(a.type.dtype, static_cast<std::uint64_t>(a.items[k].integer));
      else
        value_of(a.items[k], key);
    }
    out_ << (typed ? ">" : "]");
  }
  /// `[0, 1]`, the numbers of a field of a record; an integer as it is.
  void plain_numbers(const attribute& a) {
    if (a.is != attribute::form::list) {
      out_ << a.integer;
      return;
    }
    out_ << "[";
    for (std::size_t k = 0; k < a.items.size(); ++k) out_ << (k ? ", " : "") << a.items[k].integer;
    out_ << "]";
  }
  /// `[b, 0, 1, f]`
  void convolution_operand(const attribute_list& all, const std::string& operand, const char* first,
                           const char* second) {
    // Places that nobody has are question marks.
    std::vector<std::string> letters;
    const auto put = [&](std::int64_t place, std::string letter) {
      if (place < 0 || place > max_rank) return;
      if (letters.size() <= static_cast<std::size_t>(place)) letters.resize(static_cast<std::size_t>(place) + 1, "?");
      letters[static_cast<std::size_t>(place)] = std::move(letter);
    };
    for (const char* part : {first, second})
      if (const attribute* const a = all.find(operand + (part + 1))) put(a->integer, std::string(part, 1));
    if (const attribute* const space = all.find(operand + "_spatial_dimensions"))
      for (std::size_t k = 0; k < space->items.size(); ++k) put(space->items[k].integer, std::to_string(k));
    out_ << "[";
    for (std::size_t k = 0; k < letters.size(); ++k) out_ << (k ? ", " : "") << letters[k];
    out_ << "]";
  }
  /// Attributes in braces. Those that MLIR wants as a record come first.
  void dictionary(const attribute_list& list, std::string_view operation) {
    out_ << "{";
    bool first = true;
    const auto key = [&](std::string_view k) {
      out_ << (first ? "" : ", ");
      first = false;
      bool plain = !k.empty();
      for (const char c : k)
        plain = plain && (c == '_' || c == '.' || c == '$' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9'));
      if (plain)
        out_ << k;
      else
        quoted(k);
    };
    // The axes of convolutions are letters.
    const bool convolution = operation == "stablehlo.convolution";
    if (convolution) {
      key("dimension_numbers");
      out_ << " = #stablehlo.conv<";
      convolution_operand(list, "input", "b_batch_dimension", "f_feature_dimension");
      out_ << "x";
      convolution_operand(list, "kernel", "i_input_feature_dimension", "o_output_feature_dimension");
      out_ << "->";
      convolution_operand(list, "output", "b_batch_dimension", "f_feature_dimension");
      out_ << ">";
    }
    // Other dimension numbers have a record with their names.
    const record_of_numbers* record = nullptr;
    for (const record_of_numbers& r : records_of_numbers)
      if (r.operation == operation) record = &r;
    if (record) {
      key(record->attribute);
      out_ << " = #stablehlo." << record->called << "<";
      bool begun = false;
      for (const std::string_view field : record->fields)
        if (const attribute* const a = field.empty() ? nullptr : list.find(field)) {
          out_ << (begun ? ", " : "") << field << " = ";
          plain_numbers(*a);
          begun = true;
        }
      out_ << ">";
    }
    for (const auto& [name, a] : list.all) {
      bool in_record =
          convolution && (name.starts_with("input_") || name.starts_with("kernel_") || name.starts_with("output_"));
      if (record)
        for (const std::string_view field : record->fields) in_record = in_record || field == name;
      if (in_record || (a.is == attribute::form::other && a.text.empty())) continue;  // bytecode of other dialects
      key(name);
      if (a.is == attribute::form::unit) continue;
      out_ << " = ";
      if (name == "algorithm" && a.is == attribute::form::record && operation == "stablehlo.dot_general")
        fields_of("dot_algorithm", a);
      else
        value_of(a, name);
    }
    out_ << "}";
  }
  void fields_of(const char* called, const attribute& a) {
    out_ << "#stablehlo." << called << "<";
    for (std::size_t k = 0; k < a.items.size(); ++k) {
      out_ << (k ? ", " : "") << a.names[k] << " = ";
      if (a.items[k].is == attribute::form::integer)
        out_ << a.items[k].integer;
      else
        value_of(a.items[k], a.names[k]);
    }
    out_ << ">";
  }

  std::ostringstream out_;  ///< the text so far
};

}  // namespace tokamax::stablehlo::detail
