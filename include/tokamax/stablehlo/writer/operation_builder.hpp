// tokamax/stablehlo/writer/operation_builder.hpp: adds operations to a list, with values that are numbered within a function.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/write.cpp
#pragma once

#include <tokamax/stablehlo/attributes.hpp>       // list_of, word
#include <tokamax/stablehlo/reader/elements.hpp>  // elements_of_numbers

namespace tokamax::stablehlo::detail {

/// The type of an array, and the same with other extents.
inline value_type value_of(const array_type& t) {
  return {.is = value_type::form::array, .dtype = t.dtype, .extents = t.shape};
}
inline array_type with_shape(const array_type& t, const shape& s) { return {t.dtype, false, s}; }
/// Pairs of low and high padding as dense elements.
inline attribute pairs_of(const shape& low, const shape& high) {
  attribute a;
  a.is = attribute::form::elements;
  a.type = {.is = value_type::form::array, .dtype = i64, .extents = {low.rank(), 2}};
  // Two numbers for each axis.
  std::vector<element_bits> numbers;
  for (int i = 0; i < low.rank(); ++i)
    for (const std::int64_t v : {low[i], high[i]}) numbers.push_back({static_cast<std::uint64_t>(v)});
  elements_of_numbers(a.type, numbers, false, a.elements);
  return a;
}

/// A value of a function that is written: its number and its type.
struct written {
  int number = -1;
  array_type type{};
};

/// Appends operations to a list of a function.
class operation_builder {
 public:
  operation_builder(function& f, std::vector<operation>& to) : f_(f), to_(to) {}
  /// The same function, another list: that of a region.
  operation_builder into(std::vector<operation>& list) const { return {f_, list}; }
  /// The function that is written.
  function& of_function() const { return f_; }
  /// The operation that was added last.
  operation& last() { return to_.back(); }

  /// Attributes by name.
  using attributes = std::vector<std::pair<std::string, attribute>>;
  /// An operation with any number of results.
  std::vector<written> add_all(std::string name, const std::vector<written>& operands,
                               const std::vector<array_type>& results, attributes with = {},
                               std::vector<region> regions = {}) {
    operation o;
    o.name = std::move(name);
    for (const written& w : operands) o.operands.push_back(w.number);
    std::vector<written> out;
    for (const array_type& t : results) {
      o.types.push_back(value_of(t));
      o.results.push_back(f_.value_count);
      out.push_back({f_.value_count++, {t.dtype, false, t.shape}});
    }
    for (auto& [key, a] : with) o.attributes.add(key, std::move(a));
    o.regions = std::move(regions);
    to_.push_back(std::move(o));
    return out;
  }
  /// One with a single result.
  written add(std::string name, const std::vector<written>& operands, const array_type& result, attributes with = {},
              std::vector<region> regions = {}) {
    return add_all(std::move(name), operands, {result}, std::move(with), std::move(regions))[0];
  }
  /// The end of a region.
  void give_back(const std::vector<written>& results, const char* name = "stablehlo.return") {
    add_all(name, results, {});
  }

  /// A constant.
  written elements(const value& v, const array_type& t) {
    attribute a;
    a.is = attribute::form::elements;
    a.type = value_of(t);
    a.elements = size(t.shape) ? v : value{array::uninitialized({t.dtype, false, t.shape}), {}};
    return add("stablehlo.constant", {}, t, {{"value", std::move(a)}});
  }
  /// One number in every element.
  written constant(double v, const array_type& t) { return elements({array(v, {t.dtype, false, t.shape}), {}}, t); }
  /// x in another dtype, if it has another one.
  written convert(const written& x, dtype to) {
    // Nothing is written for what changes nothing.
    if (x.type.dtype == to) return x;
    return add("stablehlo.convert", {x}, {to, false, x.type.shape});
  }
  /// x with other extents, if it has others.
  written reshape(const written& x, const shape& s) {
    if (x.type.shape == s) return x;
    return add("stablehlo.reshape", {x}, with_shape(x.type, s));
  }
  /// Each axis of x becomes one of s.
  written broadcast(const written& x, const shape& s, const axes& dimensions) {
    return add("stablehlo.broadcast_in_dim", {x}, with_shape(x.type, s),
               {{"broadcast_dimensions", list_of(dimensions)}});
  }
  /// A comparison by its direction.
  written compare(const written& a, const written& b, std::string_view how, bool total_order = false) {
    const dtype t = a.type.dtype;
    // Floats compare with NaN as in IEEE 754, or in total order.
    const std::string_view type = total_order      ? "TOTALORDER"
                                  : is_floating(t) ? "FLOAT"
                                  : is_signed(t)   ? "SIGNED"
                                                   : "UNSIGNED";
    return add("stablehlo.compare", {a, b}, {bool_, false, a.type.shape},
               {{"compare_type", word(type)}, {"comparison_direction", word(how)}});
  }
  /// a where a condition holds, and b elsewhere.
  written select(const written& which, const written& a, const written& b) {
    return add("stablehlo.select", {which, a, b}, a.type);
  }
  /// A region of two scalars, or of pairs of them: `body` adds its operations and returns the results.
  template <class Body>
  region scalars(const std::vector<array_type>& types, const Body& body) {
    region r;
    std::vector<written> arguments;
    for (const array_type& t : types) {
      // Bodies take scalars, whatever the operands are.
      const array_type scalar{t.dtype, false, {}};
      r.arguments.push_back(f_.value_count);
      r.types.push_back(value_of(scalar));
      arguments.push_back({f_.value_count++, scalar});
    }
    operation_builder inside = into(r.operations);
    inside.give_back(body(inside, arguments));
    return r;
  }
  /// The region of one operation on two scalars.
  region combine(const std::string& name, dtype t) {
    return scalars({{t, false, {}}, {t, false, {}}}, [&](operation_builder& b, const std::vector<written>& in) {
      return std::vector<written>{b.add(name, in, in[0].type)};
    });
  }

 private:
  function& f_;
  std::vector<operation>& to_;
};

}  // namespace tokamax::stablehlo::detail
