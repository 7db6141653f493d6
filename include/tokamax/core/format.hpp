// tokamax/core/format.hpp: arrays as arguments of fmt::format and fmt::print.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (fmt takes longer to read than all of core)
// tested by tests/core/print.cpp
#pragma once

#include <tokamax/core/print.hpp>  // to_string

#include <fmt/core.h>  // formatter

#include <concepts>  // derived_from

/// `fmt::print("{}", x)` for an array, a tensor or a key: what `to_string` gives, with fmt's options for strings.
template <std::derived_from<tokamax::array> Array>
struct fmt::formatter<Array> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const Array& x, Context& context) const {
    const std::string s = tokamax::to_string(x);
    return fmt::formatter<fmt::string_view>::format(fmt::string_view(s.data(), s.size()), context);
  }
};
