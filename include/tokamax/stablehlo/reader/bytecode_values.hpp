// tokamax/stablehlo/reader/bytecode_values.hpp: the strings, types and attributes of MLIR's bytecode, in the dialects VHLO and builtin.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of read_bytecode)
// tested by tests/stablehlo/reader/read_bytecode.cpp
#pragma once

#include <tokamax/stablehlo/reader/byte_cursor.hpp>  // byte_cursor
#include <tokamax/stablehlo/reader/elements.hpp>     // elements_of_bytes
#include <tokamax/stablehlo/type_text.hpp>           // type_text

#include <array>   // std::array
#include <vector>  // vector

namespace tokamax::stablehlo::detail {

/// Types by their codes in VHLO, and enumerators of attributes by code and number.
inline constexpr std::string_view vhlo_types[] = {
    "i1",   "",     "bf16",   "f16",    "f32",      "f64",        "f8E4M3FN",   "f8E5M2",        "",     "index", "i4",
    "i8",   "i16",  "i32",    "i64",    "ui4",      "ui8",        "ui16",       "ui32",          "ui64", "",      "",
    "",     "",     "",       "",       "",         "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ", "",     "i2",    "ui2",
    "none", "tf32", "f8E4M3", "f8E3M4", "f4E2M1FN", "f6E2M3FN",   "f6E3M2FN",   "f8E8M0FNU"};
struct vhlo_enumeration {
  int code;
  std::string_view enumerators[6];
};
inline constexpr vhlo_enumeration vhlo_enumerations[] = {
    {3, {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    {4, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    {7, {"FFT", "IFFT", "RFFT", "IRFFT"}},
    {11, {"DEFAULT", "HIGH", "HIGHEST"}},
    {12, {"DEFAULT", "THREE_FRY", "PHILOX"}},
    {13, {"", "UNIFORM", "NORMAL"}},
    {16, {"", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
    {19, {"DEFAULT", "HIGHEST", "TOLERANCE"}},
};

/// Reads what attributes and types refer to by number. Each is read when it is asked for.
class bytecode_values {
 protected:
  static constexpr int deepest = 100;  ///< the most attributes inside one another

  /// Strings lie behind the list of their lengths, in the reverse order.
  void read_strings(byte_cursor r) {
    const std::uint64_t n = r.count();
    std::vector<std::uint64_t> lengths;
    for (std::uint64_t i = 0; i < n; ++i) lengths.push_back(r.number());
    strings_.resize(lengths.size());
    for (std::size_t i = lengths.size(); i-- > 0;) {
      if (lengths[i] == 0) r.fail("a string of 0 bytes", "its last byte");
      const std::span<const std::byte> bytes = r.raw(lengths[i]);
      strings_[lengths.size() - 1 - i] = {reinterpret_cast<const char*>(bytes.data()), bytes.size() - 1};
    }
    if (!r.done()) r.fail("more bytes", "the end of the strings");
  }
  /// A string by its number.
  std::string_view string(byte_cursor& r) { return string_at(r, r.number()); }
  std::string_view string_at(const byte_cursor& r, std::uint64_t i) const {
    if (i >= strings_.size()) r.fail("string " + std::to_string(i), "one of " + std::to_string(strings_.size()));
    return strings_[static_cast<std::size_t>(i)];
  }
  /// Where each attribute and type begins.
  void read_offsets(byte_cursor r, const byte_cursor& data) {
    const std::uint64_t attributes = r.number(), types = r.number();
    if (attributes > r.left() || types > r.left()) r.fail("too many attributes and types", "no more than bytes");
    attribute_count_ = static_cast<std::size_t>(attributes);
    // They lie one behind the other, by dialects.
    std::size_t at = data.at();
    while (places_.size() < attributes + types) {
      const std::uint64_t dialect = r.number();
      if (dialect >= dialects_.size()) r.fail("dialect " + std::to_string(dialect), "a known one");
      for (std::uint64_t n = r.count(); n > 0; --n) {
        bool coded = false;
        const std::uint64_t bytes = r.number_and(coded);
        if (bytes > data.at() + data.left() - at)
          r.fail("an attribute of " + std::to_string(bytes) + " bytes", "fewer");
        places_.push_back({dialects_[static_cast<std::size_t>(dialect)], coded, at, static_cast<std::size_t>(bytes)});
        at += static_cast<std::size_t>(bytes);
      }
    }
    data_ = data;
  }

  /// A type by its number.
  value_type type(byte_cursor& r) { return type_at(r, r.number()); }
  value_type type_at(const byte_cursor& r, std::uint64_t i) {
    byte_cursor at = place(r, attribute_count_ + i, i > places_.size());
    const entry& e = places_[attribute_count_ + static_cast<std::size_t>(i)];
    const deeper inside(*this, at);
    if (!e.coded) return other_type(std::string(at.text()));
    const std::uint64_t code = at.number();
    return e.dialect == "vhlo" ? vhlo_type(at, code) : builtin_type(at, code);
  }
  /// A list of types.
  std::vector<value_type> types(byte_cursor& r) {
    std::vector<value_type> list;
    for (std::uint64_t n = r.count(); n > 0; --n) list.push_back(type(r));
    return list;
  }
  /// An attribute, by its number.
  attribute attribute_of(byte_cursor& r) { return attribute_at(r, r.number()); }
  attribute attribute_at(const byte_cursor& r, std::uint64_t i) {
    byte_cursor at = place(r, i, i >= attribute_count_);
    const entry& e = places_[static_cast<std::size_t>(i)];
    const deeper inside(*this, at);
    // What other dialects say does not change what is computed.
    if (!e.coded || (e.dialect != "vhlo" && e.dialect != "builtin")) {
      attribute a;
      a.is = attribute::form::other;
      if (!e.coded) a.text = at.text();
      return a;
    }
    const std::uint64_t code = at.number();
    return e.dialect == "vhlo" ? vhlo_attribute(at, code) : builtin_attribute(at, code);
  }
  std::vector<std::string_view> dialects_;

 private:
  struct entry {
    std::string_view dialect;
    bool coded;
    std::size_t begin, bytes;
  };
  /// Counts how deep attributes are inside one another while it lives: one may name itself.
  struct deeper {
    deeper(bytecode_values& v, const byte_cursor& at) : of(v) {
      if (++of.depth_ > deepest) at.fail("attributes inside of " + std::to_string(deepest) + " others", "fewer");
    }
    ~deeper() { --of.depth_; }
    deeper(const deeper&) = delete;
    bytecode_values& of;
  };
  /// The bytes of an attribute or type.
  byte_cursor place(const byte_cursor& r, std::uint64_t i, bool outside) const {
    if (outside || i >= places_.size()) r.fail("attribute or type " + std::to_string(i), "a known one");
    const entry& e = places_[static_cast<std::size_t>(i)];
    return {data_.file(), e.begin, e.begin + e.bytes, data_.section()};
  }
  /// A type that arrays do not have.
  static value_type other_type(std::string text) {
    value_type t;
    t.other = std::move(text);
    return t;
  }
  /// The type of a number, by its name.
  static value_type number_type(std::string_view called) {
    value_type t;
    if (called == "index") {  // what counts places
      t.is = value_type::form::number;
      t.dtype = i64;
      t.other = called;
      return t;
    }
    for (int k = 1; k < dtype_count; ++k)
      if (info(static_cast<dtype>(k)).stablehlo == called) t.dtype = static_cast<dtype>(k);
    if (t.dtype == dtype::none) return other_type(std::string(called));
    t.is = value_type::form::number;
    return t;
  }
  /// Extents, of which negative ones are not known, and the type of the elements.
  value_type tensor(byte_cursor& r) {
    shape s;
    for (std::uint64_t n = r.count(); n > 0; --n) {
      const std::int64_t e = r.signed_number();
      if (s.rank() == max_rank) r.fail("more axes", "at most 16");
      s.push_back(e < 0 ? -1 : e);
    }
    value_type t = type(r);
    t.is = t.dtype == dtype::none ? value_type::form::other : value_type::form::array;
    t.extents = s;
    array_type known = part_type(t);
    for (int k = 0; k < known.shape.rank(); ++k)
      if (known.shape[k] < 0) known.shape[k] = 1;
    if (t.dtype != dtype::none)
      if (const char* const wanted = unmet(known)) r.fail("a tensor of other extents", wanted);
    return t;
  }
  /// A type of VHLO, by its code.
  value_type vhlo_type(byte_cursor& r, std::uint64_t code) {
    if (code == 1) {
      value_type t = type(r);
      t.complex = true;
      if (t.dtype != f32 && t.dtype != f64) r.fail("complex numbers of other parts", "f32 or f64");
      return t;
    }
    if (code == 20 || code == 21) {
      if (code == 21) r.number();  // an encoding
      return tensor(r);
    }
    if (code == 22) return other_type("!stablehlo.token");
    if (code == 23) {
      std::string s;
      for (std::uint64_t n = r.count(); n > 0; --n) s += (s.empty() ? "" : ", ") + type_text(type(r));
      return other_type("tuple<" + s + ">");
    }
    if (code < std::size(vhlo_types) && !vhlo_types[code].empty()) return number_type(vhlo_types[code]);
    return other_type("type " + std::to_string(code) + " of VHLO");
  }
  /// A type of MLIR, by its code.
  value_type builtin_type(byte_cursor& r, std::uint64_t code) {
    // Integers have their width, and in the two lowest bits whether they have a sign.
    if (code == 0) {
      const std::uint64_t v = r.number();
      return number_type(std::string((v & 3) == 2 ? "ui" : "i") + std::to_string(v >> 2));
    }
    if (code == 1) return number_type("index");
    if (code >= 3 && code <= 6) return number_type(std::array{"bf16", "f16", "f32", "f64"}[code - 3]);
    if (code == 13) return tensor(r);
    return other_type("builtin type " + std::to_string(code));
  }
  /// A text of some kind.
  static attribute text_of(attribute::form is, std::string_view text) {
    attribute a;
    a.is = is;
    a.text = text;
    return a;
  }
  /// A list of attributes.
  attribute list(byte_cursor& r) {
    attribute a;
    a.is = attribute::form::list;
    for (std::uint64_t n = r.count(); n > 0; --n) a.items.push_back(attribute_of(r));
    return a;
  }
  /// Names with attributes.
  attribute dictionary(byte_cursor& r) {
    attribute a;
    a.is = attribute::form::record;
    for (std::uint64_t n = r.count(); n > 0; --n) {
      a.names.push_back(attribute_of(r).text);
      a.items.push_back(attribute_of(r));
    }
    return a;
  }
  /// An integer, or the bits of a float.
  attribute number(byte_cursor& r) {
    attribute a;
    a.type = type(r);
    if (a.type.dtype == dtype::none) r.fail("a number of type " + a.type.other, "a known type");
    const bool real = is_floating(a.type.dtype);
    a.is = real ? attribute::form::real : attribute::form::integer;
    const std::int64_t v = bits_of(a.type.dtype) <= 8 ? r.byte() : r.signed_number();
    a.integer =
        is_integer(a.type.dtype)
            ? static_cast<std::int64_t>(tokamax::detail::low_bits(a.type.dtype, static_cast<std::uint64_t>(v)).value)
            : v;
    if (real && bits_of(a.type.dtype) < 64) a.integer &= (std::int64_t{1} << bits_of(a.type.dtype)) - 1;
    return a;
  }
  /// Elements from their bytes.
  attribute dense(byte_cursor& r) {
    attribute a;
    a.is = attribute::form::elements;
    a.type = type(r);
    if (!a.type.is_array()) r.fail("elements of type " + a.type.other, "a known type");
    for (std::int64_t e : a.type.extents)
      if (e < 0) r.fail("an unknown extent", "the extents of elements");
    const std::span<const std::byte> bytes = r.raw(r.number());
    if (std::string wrong = elements_of_bytes(a.type, bytes, a.elements); !wrong.empty())
      r.fail(wrong, "elements of the type");
    return a;
  }
  /// An attribute of VHLO, by its code.
  attribute vhlo_attribute(byte_cursor& r, std::uint64_t code) {
    for (const vhlo_enumeration& e : vhlo_enumerations)
      if (static_cast<std::uint64_t>(e.code) == code) {
        const std::uint64_t k = r.number();
        if (k >= std::size(e.enumerators) || e.enumerators[k].empty())
          r.fail("enumerator " + std::to_string(k), "a known one");
        return text_of(attribute::form::word, e.enumerators[k]);
      }
    attribute a;
    switch (code) {
      case 1:
        return list(r);
      case 2:
        a.is = attribute::form::boolean, a.integer = r.number() != 0;
        return a;
      case 5:
        a.is = attribute::form::integer, a.integer = static_cast<std::int64_t>(r.number()), a.type = number_type("i32");
        return a;
      case 6:
        return dictionary(r);
      case 8:
      case 9:
        return number(r);
      case 14:
        return text_of(attribute::form::text, string(r));
      case 15:
        return dense(r);
      case 17: {
        a.is = attribute::form::type;
        a.type = type(r);
        return a;
      }
      default:
        break;  // aliases, accuracies and meshes do not change what is computed
    }
    return text_of(attribute::form::other, "");
  }
  /// An attribute of MLIR, by its code.
  attribute builtin_attribute(byte_cursor& r, std::uint64_t code) {
    attribute a;
    switch (code) {
      case 0:
        return list(r);
      case 1:
        return dictionary(r);
      case 2:
        return text_of(attribute::form::text, string(r));
      case 4:
      case 5:
        return text_of(attribute::form::symbol, attribute_of(r).text);
      case 6:
        a.is = attribute::form::type, a.type = type(r);
        return a;
      case 7:
        return a;
      case 8:
      case 9:
        return number(r);
      case 18:
        return dense(r);
      default:
        break;  // locations and what only MLIR itself needs
    }
    return text_of(attribute::form::other, "");
  }

  std::vector<std::string_view> strings_;
  std::vector<entry> places_;
  std::size_t attribute_count_ = 0;
  byte_cursor data_;
  int depth_ = 0;
};

}  // namespace tokamax::stablehlo::detail
