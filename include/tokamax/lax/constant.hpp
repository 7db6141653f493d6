// tokamax/lax/constant.hpp: tables of numbers that are written in the program's text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/bind.hpp>  // table_of

#include <iterator>  // begin, end

namespace tokamax {

namespace detail {
/// Collects the numbers of a nested list or table, and its extents.
template <class T>
struct table_reader {
  dtype type;
  vec<element_bits> values = {};
  shape extents = {};
  bool even = true;  ///< do all rows of a level have the same length?

  template <class Row>
  constexpr void read(const Row& row, int axis) {
    if constexpr (std::is_arithmetic_v<Row>) {
      values.push_back(kept_of(row, type));
    } else {
      const std::int64_t n = std::end(row) - std::begin(row);
      if (axis == extents.rank()) extents.push_back(n);
      even = even && n == extents[axis];
      for (const auto& entry : row) read(entry, axis + 1);
    }
  }
};
template <arithmetic T, class Table>
constexpr array read_table(const Table& table, dtype type, source_line l) {
  table_reader<T> reader{type == dtype::none ? number_dtype<T> : type};
  reader.read(table, 0);
  const array_type t{reader.type, false, reader.extents};
  if (!reader.even) {
    reject(nullptr, l, "constant: rows", "different lengths", "rows of one length");
    return array(t);
  }
  return table_of(t, reader.values);
}
}  // namespace detail

/// An array of given numbers: `constant({1, 2, 3})`, `constant({{1, 2}, {3, 4}}, f64)`, or a (nested) std::array, span or
/// C array. In a function that is traced while compiling, the numbers are part of the program's read-only memory.
///
/// dtypes  `type`, or that of the numbers: i32 for integers of 64 bits and f32 for double
/// errors  "constant: rows" if rows have different lengths
template <arithmetic T>
constexpr array constant(std::initializer_list<T> values, dtype type = dtype::none,
                         source_line l = source_line::current()) {
  return detail::read_table<T>(values, type, l);
}
template <arithmetic T>
constexpr array constant(std::initializer_list<std::initializer_list<T>> rows, dtype type = dtype::none,
                         source_line l = source_line::current()) {
  return detail::read_table<T>(rows, type, l);
}
template <arithmetic T>
constexpr array constant(std::initializer_list<std::initializer_list<std::initializer_list<T>>> planes,
                         dtype type = dtype::none, source_line l = source_line::current()) {
  return detail::read_table<T>(planes, type, l);
}
namespace detail {
template <class Table>
struct number_of {
  using type = typename number_of<std::remove_cvref_t<decltype(*std::begin(std::declval<const Table&>()))>>::type;
};
template <arithmetic T>
struct number_of<T> {
  using type = T;
};
}  // namespace detail
template <class Table>
  requires(!arithmetic<Table> && requires(const Table& t) { std::begin(t); })
constexpr array constant(const Table& table, dtype type = dtype::none, source_line l = source_line::current()) {
  return detail::read_table<typename detail::number_of<Table>::type>(table, type, l);
}

}  // namespace tokamax
