// tokamax/core/schema.hpp: names and kinds of an op's attributes, so that graphs can be printed and read.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/parse.cpp
#pragma once

#include <tokamax/base/dtype.hpp>         // dtype
#include <tokamax/base/shape.hpp>         // shape
#include <tokamax/base/tree/reflect.hpp>  // field names
#include <tokamax/base/vec.hpp>           // vec

#include <string_view>  // string_view
#include <type_traits>  // is_same_v
#include <utility>      // index_sequence

namespace tokamax {

/// How many words an attribute has, and their meaning. Enumerators other than dtypes are kept as integers.
enum class attribute_kind : std::uint8_t {
  integer,  ///< one word
  boolean,  ///< one word
  real,     ///< the bits of a double
  dtype,    ///< one word
  list,     ///< the number of integers, then the integers
  rest,     ///< all integers that are left; the last attribute
};

struct attribute_field {
  std::string_view name;
  attribute_kind kind = attribute_kind::integer;
};

/// The fields of an options record in the order of its attribute words, and the words of a default-made record.
struct attribute_schema {
  vec<attribute_field> fields;
  vec<std::int64_t> defaults;
};

namespace detail {
template <class T>
attribute_kind kind_of_attribute() {
  if constexpr (std::is_same_v<T, shape>)
    return attribute_kind::list;
  else if constexpr (std::is_same_v<T, vec<std::int64_t>>)
    return attribute_kind::rest;
  else if constexpr (std::is_same_v<T, double>)
    return attribute_kind::real;
  else if constexpr (std::is_same_v<T, bool>)
    return attribute_kind::boolean;
  else
    return std::is_same_v<T, dtype> ? attribute_kind::dtype : attribute_kind::integer;
}
template <class Options, std::size_t... Index>
vec<attribute_field> attribute_fields(std::index_sequence<Index...>) {
  const Options o{};
  return visit_fields(o, [](const auto&... field) {
    return vec<attribute_field>{
        {name_of_field<Options, Index>(), kind_of_attribute<std::remove_cvref_t<decltype(field)>>()}...};
  });
}
/// The number of words of a field that starts at `w`.
constexpr int words_of_field(attribute_kind kind, const std::int64_t* w, int left) {
  return kind == attribute_kind::list ? 1 + static_cast<int>(*w) : kind == attribute_kind::rest ? left : 1;
}
}  // namespace detail

}  // namespace tokamax
