// tokamax/stablehlo/module.hpp: what StableHLO programs are made of: functions of operations with attributes and regions.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that read StableHLO include it)
// tested by tests/stablehlo/reader/read_text.cpp
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <string>   // string
#include <utility>  // pair
#include <vector>   // vector

namespace tokamax::stablehlo {

/// Where something stands in the text or bytes that were read. `line` is 0 for bytecode, whose `column` is a byte.
struct position {
  int line = 0, column = 0;
  std::string text() const {
    return line ? "line " + std::to_string(line) + ", column " + std::to_string(column)
                : "byte " + std::to_string(column);
  }
};

/// The type of a value, or of the numbers of an attribute.
struct value_type {
  enum class form : std::uint8_t { array, number, other };
  form is = form::other;
  bool complex = false;                         ///< of numbers whose parts have the dtype
  tokamax::dtype dtype = tokamax::dtype::none;  ///< none: a type that arrays do not have
  shape extents{};                              ///< -1: an extent that is known when the program runs
  std::string other{};  ///< the text of a type that is no array, or of unknown elements; `index` of i64

  bool is_array() const { return is == form::array && dtype != tokamax::dtype::none; }
  bool operator==(const value_type& o) const = default;
};

/// A value of a program: an array, or the two parts of an array of complex numbers.
struct value {
  array re, im;  ///< im does not exist in real values
  bool is_complex() const { return im.exists(); }
};
using values = std::vector<value>;

/// The value of an attribute.
struct attribute {
  enum class form : std::uint8_t {
    unit,
    boolean,
    integer,
    real,
    text,
    symbol,
    word,
    type,
    list,
    record,
    elements,
    other
  };
  form is = form::unit;
  std::int64_t integer = 0;          ///< of an integer or a truth value; the bits of a float
  std::string text{};                ///< of a text, a symbol, a word (an enumerator), or of anything else
  value_type type{};                 ///< of a type, a number and elements; of a list: that of `array<i64: ...>`
  std::vector<attribute> items{};    ///< of a list or record
  std::vector<std::string> names{};  ///< of a record, one for each item
  value elements{};                  ///< of dense elements; equal ones are kept as one literal
};

/// Attributes by name, in the order of the text.
struct attribute_list {
  std::vector<std::pair<std::string, attribute>> all;

  const attribute* find(std::string_view name) const {
    for (const auto& [key, a] : all)
      if (key == name) return &a;
    return nullptr;
  }
  void add(std::string name, attribute a) { all.emplace_back(std::move(name), std::move(a)); }
};

struct operation;

/// A list of operations with values of its own, which ends with a return of its results.
struct region {
  std::vector<int> arguments{};     ///< numbers of values
  std::vector<value_type> types{};  ///< of the arguments
  std::vector<operation> operations;
};

/// One operation of a function. Values are numbered within the function.
struct operation {
  std::string name{};  ///< with its dialect: "stablehlo.add"
  std::vector<int> operands{}, results{};
  std::vector<value_type> types{};  ///< of the results
  attribute_list attributes{};
  std::vector<region> regions{};
  position where{};
};

/// A function by its name.
struct function {
  std::string name{};
  bool is_public = true, has_body = false;
  region body{};
  std::vector<value_type> results{};
  std::vector<attribute_list> argument_attributes{}, result_attributes{};
  std::vector<std::string> argument_names{};
  int value_count = 0;
  position where{};
};

/// All functions of a program.
struct program_module {
  std::string name{};
  std::string file{};  ///< the path that it was read from; empty for a text
  attribute_list attributes{};
  std::vector<function> functions{};

  const function* find(std::string_view name_of_function) const {
    for (const function& f : functions)
      if (f.name == name_of_function) return &f;
    return nullptr;
  }
};

}  // namespace tokamax::stablehlo
