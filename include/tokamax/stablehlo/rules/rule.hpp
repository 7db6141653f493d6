// tokamax/stablehlo/rules/rule.hpp: what the rule of an operation sees of it: operands, attributes, regions and types.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/lax/fourier/complex_parts.hpp>  // complex_parts
#include <tokamax/stablehlo/reader/elements.hpp>  // element_at

namespace tokamax::stablehlo::detail {

class evaluator;
struct rule_call;
/// The values that an operation has, in terms of our functions.
using rule = values (*)(const rule_call&);

/// A rule by the name of its operation, and what it is made of, for the table of what is covered.
struct rule_entry {
  std::string_view name, through;
  rule apply;
};

/// The values of a function or region: one for each number.
using frame = std::vector<value>;

/// Reports what is wrong with an operation.
[[noreturn]] inline void refuse(const operation& o, const std::string& found, const std::string& expected,
                                error_kind kind = error_kind::file) {
  throw error(kind, o.name, found, expected, o.where.text());
}

/// The numbers of an array of integers or truth values that is known, in order.
inline std::vector<std::int64_t> numbers_of(const array& x) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < x.size(); ++i)
    list.push_back(static_cast<std::int64_t>(
        x.is_literal() ? x.literal_bits().value : element_at(x.dtype(), x.bytes() + i * size_of(x.dtype())).value));
  return list;
}
inline bool is_integer_or_bool(dtype t) { return is_integer(t) || t == bool_; }

/// One operation with its operands.
struct rule_call {
  const operation& op;
  const values& in;
  const evaluator& run;
  frame& around;
  bool lanes;  ///< scalars of the text are arrays: a body is applied to all elements at once

  /// The number of operands.
  int count() const { return static_cast<int>(in.size()); }
  /// An operand.
  const value& at(int k) const {
    if (k < 0 || k >= count()) refuse(op, std::to_string(count()) + " operands", "more");
    return in[static_cast<std::size_t>(k)];
  }
  /// An operand of real numbers.
  const array& operator[](int k) const {
    if (at(k).is_complex()) refuse(op, "an operand of complex numbers", "real ones");
    return at(k).re;
  }
  /// An operand as complex numbers.
  complex_parts parts(int k) const {
    const value& v = at(k);
    return {v.re, v.is_complex() ? v.im : zeros_like(v.re)};
  }
  /// Is any operand complex?
  bool is_complex() const {
    for (const value& v : in)
      if (v.is_complex()) return true;
    return false;
  }
  /// The type that the text gives to a result.
  const value_type& result(int k = 0) const {
    if (static_cast<std::size_t>(k) >= op.types.size())
      refuse(op, std::to_string(op.types.size()) + " results", "more");
    const value_type& t = op.types[static_cast<std::size_t>(k)];
    if (!t.is_array()) refuse(op, "a result of type " + t.other, "an array");
    return t;
  }
  /// The extents of a result, which must be known.
  const shape& extents(int k = 0) const {
    const shape& s = result(k).extents;
    for (std::int64_t e : s)
      if (e < 0) refuse(op, "an unknown extent", "known extents");
    return s;
  }
  /// The numbers of an operand, which follow from extents and constants alone.
  std::vector<std::int64_t> known(int k) const {
    const array& x = (*this)[k];
    if (!x.is_concrete() || !is_integer_or_bool(x.dtype()))
      refuse(op, "operand " + std::to_string(k) + ", which depends on data", "integers that follow from extents");
    if (x.size() > 1 << 20) refuse(op, std::to_string(x.size()) + " numbers", "a short list");
    return numbers_of(x);
  }
  /// A region by its number.
  const region& body(int k) const {
    if (static_cast<std::size_t>(k) >= op.regions.size())
      refuse(op, std::to_string(op.regions.size()) + " regions", "more");
    return op.regions[static_cast<std::size_t>(k)];
  }

  // Attributes, with what counts if there is none.
  const attribute* find(std::string_view name) const { return op.attributes.find(name); }
  /// Reports an attribute that is missing or is something else.
  [[noreturn]] void wrong(std::string_view name, const std::string& expected) const {
    refuse(
        op,
        find(name) ? "another attribute \"" + std::string(name) + "\"" : "no attribute \"" + std::string(name) + "\"",
        expected);
  }
  std::int64_t integer(std::string_view name) const {
    const attribute* const a = find(name);
    if (!a || (a->is != attribute::form::integer && a->is != attribute::form::boolean)) wrong(name, "an integer");
    return a->integer;
  }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    return find(name) ? integer(name) : otherwise;
  }
  /// A text, symbol or enumerator.
  std::string text(std::string_view name, const char* otherwise = nullptr) const {
    const attribute* const a = find(name);
    if (!a && otherwise) return otherwise;
    if (!a || a->text.empty()) wrong(name, "a text");
    return a->text;
  }
  /// A list of integers, however it is written; none if there is no such attribute.
  std::vector<std::int64_t> integers(std::string_view name) const {
    const attribute* const a = find(name);
    if (!a) return {};
    std::vector<std::int64_t> list;
    if (a->is == attribute::form::elements && is_integer_or_bool(a->type.dtype) && !a->type.complex) {
      if (a->elements.re.size() > 1 << 20) wrong(name, "a short list");
      return numbers_of(a->elements.re);
    }
    if (a->is != attribute::form::list) wrong(name, "a list of integers");
    for (const attribute& item : a->items) {
      if (item.is == attribute::form::list) {  // the pairs of a padding
        for (const attribute& inner : item.items) list.push_back(inner.integer);
        continue;
      }
      if (item.is != attribute::form::integer && item.is != attribute::form::boolean) wrong(name, "a list of integers");
      list.push_back(item.integer);
    }
    return list;
  }
  /// A list of one integer for each axis, or for anything else that there are `count` of.
  shape list(std::string_view name, int expected_count, std::int64_t otherwise) const {
    shape s;
    const std::vector<std::int64_t> given = integers(name);
    if (!given.empty() && static_cast<int>(given.size()) != expected_count)
      refuse(op, std::to_string(given.size()) + " numbers of " + std::string(name), std::to_string(expected_count));
    for (int i = 0; i < expected_count; ++i)
      s.push_back(given.empty() ? otherwise : given[static_cast<std::size_t>(i)]);
    return s;
  }
  /// Axes of an operand.
  axes axes_of(std::string_view name, int rank) const {
    axes a;
    for (std::int64_t v : integers(name)) {
      if (v < 0 || v >= rank || a.contains(v))
        refuse(op, std::to_string(v) + " among " + std::string(name),
               "axes of rank " + std::to_string(rank) + ", each once");
      a.push_back(v);
    }
    return a;
  }
};

/// Complex numbers as a value.
inline value of(const complex_parts& z) { return {z.re, z.im}; }

/// f of the parts of a value.
template <class F>
value each_part(const F& f, const value& v) {
  return {f(v.re), v.is_complex() ? f(v.im) : array()};
}

/// Values as arrays, and back to values like some others.
inline arrays flat(const values& list) {
  arrays a;
  for (const value& v : list) {
    a.push_back(v.re);
    if (v.is_complex()) a.push_back(v.im);
  }
  return a;
}
inline values unflat(const arrays& list, const std::vector<char>& complex) {
  values v;
  int k = 0;
  for (const char c : complex) {
    v.push_back({list[k], c ? list[k + 1] : array()});
    k += c ? 2 : 1;
  }
  return v;
}
inline std::vector<char> which_are_complex(const values& list) {
  std::vector<char> c;
  for (const value& v : list) c.push_back(v.is_complex());
  return c;
}

}  // namespace tokamax::stablehlo::detail
