// tokamax/runtime/program/symbol_values.hpp: the values that symbols have in a call, and the arguments that say so.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/symbolic.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/type.hpp>           // fits

#include <algorithm>  // fill_n
#include <string>     // string

namespace tokamax::detail {

/// The symbols of one call, found in its arguments one after the other.
class symbol_values {
 public:
  /// All symbols have the value `known`, or none has a value yet.
  explicit symbol_values(std::int64_t known = -1) { std::fill_n(values_, max_symbols, known); }
  /// Does argument number `argument` have a leaf of this type?
  bool fits(const array_type& expected, const array_type& given, std::size_t argument);
  /// The type with the values of its symbols, as far as they are known: "f32[n,2] where n = 3 by argument 0".
  std::string text(const array_type& expected) const;
  /// The values. Symbols that no argument has are 1.
  const std::int64_t* found();

 private:
  std::int64_t values_[max_symbols];
  std::size_t by_[max_symbols] = {};
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE bool symbol_values::fits(const array_type& expected, const array_type& given,
                                               std::size_t argument) {
  if (expected == given) return true;
  bool known[max_symbols];
  for (int s = 0; s < max_symbols; ++s) known[s] = values_[s] >= 0;
  const bool fit = tokamax::fits(expected, given, values_);
  for (int s = 0; s < max_symbols; ++s)
    if (!known[s]) by_[s] = argument;
  return fit;
}
TOKAMAX_COMPILED_ONCE std::string symbol_values::text(const array_type& expected) const {
  std::string s(message(expected).view());
  const char* before = " where ";
  for (int k = 0; k < max_symbols; ++k) {
    bool has = false;
    for (const std::int64_t e : expected.shape) has = has || (is_dyn(e) && decoded(e).has_symbol(k));
    if (!has || values_[k] < 0) continue;
    s.append(before).append(1, static_cast<char>(first_symbol + k)).append(" = ").append(std::to_string(values_[k]));
    s.append(" by argument ").append(std::to_string(by_[k]));
    before = ", ";
  }
  return s;
}
TOKAMAX_COMPILED_ONCE const std::int64_t* symbol_values::found() {
  for (std::int64_t& v : values_)
    if (v < 0) v = 1;
  return values_;
}
#endif

}  // namespace tokamax::detail
