// tokamax/backend/systolic/fact.hpp: a number of a machine, with where it comes from.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/chip.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::systolic_backend {

/// How a number became known. Predictions are as good as the worst number that they use.
enum class provenance {
  measured,   ///< read from a counter on the chip, by the source named
  published,  ///< stated by the maker, or in documents of JAX
  derived,    ///< follows from measured or published numbers, in the way that the source says
  fitted,     ///< chosen so that the model meets published times: those times then prove nothing
  guessed,    ///< taken from another chip, or from nothing: a placeholder until somebody measures
  chosen      ///< a machine that does not exist may have any number
};

constexpr std::string_view name_of(provenance p) {
  constexpr std::string_view names[] = {"measured", "published", "derived", "fitted", "guessed", "chosen"};
  return names[static_cast<int>(p)];
}

/// A number and its source. It converts to the number, so that formulas read as formulas.
struct fact {
  double value = 0;
  provenance from = provenance::guessed;
  std::string_view source = "not known";

  constexpr operator double() const { return value; }
};

/// The number as an integer, for counts and sizes.
constexpr long long count_of(const fact& f) { return static_cast<long long>(f.value); }

}  // namespace tokamax::systolic_backend
