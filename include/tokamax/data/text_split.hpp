// tokamax/data/text_split.hpp: the front of a text to train on, the rest to validate on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/tokens.hpp>  // tokens

namespace tokamax::data {

struct text_split_options {
  double train = 0.9;  ///< share of the tokens, rounded down
};

struct train_and_validation {
  tokens train, validation;
};

/// Splits a text in two: `auto [train, validation] = text_split(text("input.txt"));`
/// errors  tokamax::error if the share is not between 0 and 1, or one part would be empty
inline train_and_validation text_split(const tokens& all, text_split_options options = {}) {
  if (!(options.train > 0 && options.train < 1))
    throw error("text_split: share to train on", std::to_string(options.train), "above 0 and below 1", all.name());
  const auto front = static_cast<std::int64_t>(static_cast<double>(all.size()) * options.train);
  if (front < 1 || front >= all.size())
    throw error("text_split: tokens to train on", std::to_string(front) + " of " + std::to_string(all.size()),
                "at least one in each part", all.name());
  return {all.part(0, front, all.name() + ", training part"),
          all.part(front, all.size() - front, all.name() + ", validation part")};
}

}  // namespace tokamax::data
