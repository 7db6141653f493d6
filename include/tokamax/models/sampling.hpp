// tokamax/models/sampling.hpp: the next token, by the logits of a model.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
#pragma once

#include <tokamax/base/error.hpp>       // error
#include <tokamax/random/samplers.hpp>  // uniform

#include <algorithm>  // partial_sort
#include <cmath>      // exp, isfinite
#include <span>       // span
#include <vector>     // vector

namespace tokamax::models {

/// How tokens are chosen.
struct sampling {
  double temperature = 0;  ///< below 1 sharpens the distribution; 0 takes the most likely token
  int top_k = 0;           ///< the number of most likely tokens that are left; 0: all
  double top_p = 1;        ///< of those, the fewest whose probabilities have this sum
  std::uint32_t seed = 0;
};

namespace detail {
inline void require_possible(const sampling& s) {
  const auto require = [](bool fits, const char* name, double found, const char* expected) {
    if (!fits) throw error(std::string("sampling: ") + name, std::to_string(found), expected);
  };
  require(s.temperature >= 0 && s.temperature < 1e30, "temperature", s.temperature, "0 or more");
  require(s.top_k >= 0, "top_k", s.top_k, "0 or more");
  require(s.top_p > 0 && s.top_p <= 1, "top_p", s.top_p, "more than 0, at most 1");
}
}  // namespace detail

/// A token. The one of the first greatest logit if the temperature is 0; else one that is drawn by a number of the stream of the
/// seed, which `step` counts. Tokens of equal logits are ordered by their ids, so the result is the same everywhere.
///
///   p = softmax(logits / temperature) of the tokens that top_k and top_p leave
///
/// errors  "sampling: ..." for options out of range, and "sampling: logits" if none is finite
inline std::int32_t sample(std::span<const float> logits, const sampling& s, std::int64_t step = 0) {
  detail::require_possible(s);
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i)
    if (logits[i] > logits[best] || logits[best] != logits[best]) best = i;
  if (logits.empty() || !std::isfinite(logits[best]))
    throw error("sampling: logits", logits.empty() ? "none" : "no finite number", "the logits of a model");
  if (s.temperature == 0) return static_cast<std::int32_t>(best);

  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] == logits[i]) order.push_back(static_cast<std::int32_t>(i));
  const auto logit = [&](std::int32_t i) { return logits[static_cast<std::size_t>(i)]; };
  const std::size_t kept = s.top_k > 0 ? std::min(static_cast<std::size_t>(s.top_k), order.size()) : order.size();
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [&](std::int32_t a, std::int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  order.resize(kept);
  std::vector<double> weights;
  double total = 0;
  for (const std::int32_t i : order) {
    weights.push_back(std::exp((static_cast<double>(logit(i)) - static_cast<double>(logits[best])) / s.temperature));
    total += weights.back();
  }
  double left = 0;
  std::size_t count = 0;
  while (count < weights.size() && (count == 0 || left < s.top_p * total)) left += weights[count++];
  const array drawn = random::uniform(random::fold_in(random::key(s.seed), static_cast<std::int32_t>(step)), shape{});
  double at = static_cast<double>(drawn.item()) * left;
  for (std::size_t i = 0; i < count; ++i)
    if ((at -= weights[i]) < 0) return order[i];
  return order[count - 1];
}

}  // namespace tokamax::models
