// tokamax/stablehlo/attributes.hpp: makes attributes: numbers, truth values, enumerators and lists.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/reader/read_text.cpp
#pragma once

#include <tokamax/stablehlo/module.hpp>  // attribute

namespace tokamax::stablehlo::detail {

/// `1 : i64`
inline attribute whole(std::int64_t v) {
  attribute a;
  a.is = attribute::form::integer;
  a.integer = v;
  a.type = {.is = value_type::form::number, .dtype = i64};
  return a;
}
/// `true`
inline attribute truth(bool v) {
  attribute a;
  a.is = attribute::form::boolean;
  a.integer = v;
  return a;
}
/// An enumerator.
inline attribute word(std::string_view text) {
  attribute a;
  a.is = attribute::form::word;
  a.text = text;
  return a;
}
/// `array<i64: ...>`
template <class List>
attribute list_of(const List& numbers) {
  attribute a;
  a.is = attribute::form::list;
  a.type = {.is = value_type::form::number, .dtype = i64};
  for (const std::int64_t v : numbers) a.items.push_back(whole(v));
  return a;
}
}  // namespace tokamax::stablehlo::detail
