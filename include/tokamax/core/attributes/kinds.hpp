// tokamax/core/attributes/kinds.hpp: the kinds of attributes, and the C++ types that stand for them in options records.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/attributes/pack.cpp
#pragma once

#include <tokamax/base/tree/reflect.hpp>               // fields of records
#include <tokamax/core/attributes/dot_algorithm.hpp>   // dot_algorithm
#include <tokamax/core/attributes/text_attribute.hpp>  // text_attribute, axis_name
#include <tokamax/core/type.hpp>                       // array_type, shape, axes

#include <type_traits>  // is_enum_v

namespace tokamax {

/// What an attribute is. The C++ type of a field in the options record tells its kind, and passes find facts by it: the
/// bodies of an op, the algorithm of its products, the axis along which it joins, the name of its axis.
enum class attribute_kind : std::uint8_t {
  integer,      ///< an integer, which may be a dynamic extent
  boolean,      ///< bool
  real,         ///< double
  dtype,        ///< dtype
  enumerator,   ///< an enum, whose enumerators are found by the compiler
  algorithm,    ///< dot_algorithm
  axis,         ///< axis_number
  body,         ///< body_index
  shape,        ///< shape
  axes,         ///< axes
  permutation,  ///< permutation
  type,         ///< array_type
  text,         ///< text_attribute
  axis_name,    ///< axis_name
  list,         ///< vec of any other kind, also of lists
  record,       ///< a struct of other kinds
};

/// The number of an axis of an operand, as a field of an options record.
struct axis_number {
  int value = 0;
  constexpr axis_number() = default;
  constexpr axis_number(int v) : value(v) {}
  constexpr operator int() const { return value; }
};

/// The number of a graph among the bodies of the trace, as a field of an options record. A vec of them is a list of bodies,
/// which stands before other lists.
struct body_index {
  std::int64_t value = 0;
  constexpr body_index() = default;
  constexpr body_index(std::int64_t v) : value(v) {}
  constexpr operator std::int64_t() const { return value; }
};

namespace detail {
template <class T>
inline constexpr bool is_list_attribute = false;
template <class T>
inline constexpr bool is_list_attribute<vec<T>> = true;

template <class T>
consteval attribute_kind kind_of_attribute() {
  using enum attribute_kind;
  if constexpr (std::is_same_v<T, bool>)
    return boolean;
  else if constexpr (std::is_integral_v<T>)
    return integer;
  else if constexpr (std::is_same_v<T, double>)
    return real;
  else if constexpr (std::is_same_v<T, tokamax::dtype>)
    return dtype;
  else if constexpr (std::is_same_v<T, dot_algorithm>)
    return algorithm;
  else if constexpr (std::is_enum_v<T>)
    return enumerator;
  else if constexpr (std::is_same_v<T, axis_number>)
    return axis;
  else if constexpr (std::is_same_v<T, body_index>)
    return body;
  else if constexpr (std::is_same_v<T, tokamax::shape>)
    return shape;
  else if constexpr (std::is_same_v<T, tokamax::axes>)
    return axes;
  else if constexpr (std::is_same_v<T, tokamax::permutation>)
    return permutation;
  else if constexpr (std::is_same_v<T, array_type>)
    return type;
  else if constexpr (std::is_same_v<T, tokamax::axis_name>)
    return axis_name;
  else if constexpr (std::is_same_v<T, text_attribute>)
    return text;
  else if constexpr (is_list_attribute<T>)
    return list;
  else {
    static_assert(aggregate_record<T>,
                  "tokamax: attributes are numbers, enums, shapes, text_attribute, vec and structs of these");
    return record;
  }
}

/// The number of words of an attribute whose type tells it, or -1.
template <class T>
consteval int fixed_words() {
  constexpr attribute_kind kind = kind_of_attribute<T>();
  if constexpr (kind < attribute_kind::shape)
    return 1;
  else if constexpr (kind != attribute_kind::record)
    return -1;
  else {
    const T record{};
    return visit_fields(record, []<class... Fields>(const Fields&...) {
      int all = 0;
      ((all = all < 0 || fixed_words<Fields>() < 0 ? -1 : all + fixed_words<Fields>()), ...);
      return all;
    });
  }
}
}  // namespace detail

}  // namespace tokamax
