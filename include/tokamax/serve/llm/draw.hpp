// tokamax/serve/llm/draw.hpp: a token that is drawn by logits, and log-probabilities.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// tested by tests/serve/llm/sampler.cpp
#pragma once

#include <tokamax/serve/llm/output.hpp>   // place_logprobs
#include <tokamax/serve/llm/request.hpp>  // sampling_params

#include <algorithm>  // partial_sort
#include <bit>        // bit_cast
#include <limits>     // infinity

namespace tokamax::serve {

namespace detail {

constexpr float no_logit = -std::numeric_limits<float>::infinity();

/// A number in [0, 1) of 53 bits, that belongs to a seed, an answer and a place in it.
inline double uniform_of(std::uint64_t seed, std::uint64_t answer, std::uint64_t place) {
  std::uint64_t z = seed;
  for (const std::uint64_t word : {answer, place}) {
    z += (word + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
  }
  return static_cast<double>(z >> 11) * 0x1p-53;
}

/// The first of the greatest logits. What is not a number is none.
/// errors  "sampler: logits" if none is finite
inline std::size_t greatest(std::span<const float> logits) {
  std::size_t best = 0;
  float most = no_logit;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > most) most = logits[i], best = i;
  if (!std::isfinite(most))
    throw error("sampler: logits", logits.empty() ? "none" : "no finite number", "a token that is allowed");
  return best;
}

/// The numbers of the `count` greatest logits in order; of equal ones, the smaller number comes first.
inline std::vector<std::int32_t> ordered(std::span<const float> logits, std::size_t count) {
  std::vector<std::int32_t> order;
  order.reserve(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > no_logit) order.push_back(static_cast<std::int32_t>(i));
  count = std::min(count, order.size());
  const auto logit = [&](std::int32_t i) { return logits[static_cast<std::size_t>(i)]; };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::int32_t a, std::int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  order.resize(count);
  return order;
}

/// exp(x) of x <= 0, to 2 units in the last place, by operations that compilers do for eight numbers at once. Below -87 it is 0.
inline float exp_of_negative(float x) {
  const float bounded = x > -87.0f ? x : -87.0f;
  const float n = (bounded * 1.44269504f + 12582912.0f) - 12582912.0f;  // the nearest integer
  const float r = bounded - n * 0.693359375f - n * -2.12194440e-4f;
  float y = 1.9875691500e-4f * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  const float power = std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
  return x > -87.0f ? y * power : 0.0f;
}

/// The weights exp((logit - most) * scale) [vocabulary], of which those below `least` become 0, and their sum.
inline double weigh(std::span<const float> logits, float most, float scale, float least, std::vector<float>& weights) {
  weights.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float w = exp_of_negative((logits[i] - most) * scale);
    weights[i] = w >= least ? w : 0.0f;  // what is not a number has none
  }
  double sums[8] = {};
  for (std::size_t i = 0; i < weights.size(); ++i) sums[i % 8] += static_cast<double>(weights[i]);
  double total = 0;
  for (const double s : sums) total += s;
  return total;
}

}  // namespace detail

/// The token that is drawn by `uniform`, a number in [0, 1).
///
///   p = softmax(logits / temperature) of the tokens that min_p, top_k and top_p leave, in this order
///
/// A temperature of 0 takes the first of the greatest logits.
/// errors  "sampler: logits" if none is finite
inline std::int32_t draw(std::span<const float> logits, const sampling_params& p, double uniform) {
  const std::size_t best = detail::greatest(logits);
  if (p.temperature == 0) return static_cast<std::int32_t>(best);
  std::vector<float> weights;
  double total = detail::weigh(logits, logits[best], static_cast<float>(std::min(1 / p.temperature, 1e30)),
                               static_cast<float>(p.min_p), weights);
  const auto weight = [&](std::int32_t id) { return static_cast<double>(weights[static_cast<std::size_t>(id)]); };
  std::vector<std::int32_t> order;  // those that are left; none: all, by their numbers
  if (p.top_k > 0) {
    order = detail::ordered(logits, static_cast<std::size_t>(p.top_k));
    total = 0;
    for (const std::int32_t id : order) total += weight(id);
  }
  for (std::size_t some = 256; p.top_p < 1; some *= 8) {  // a few tokens have nearly all of the sum in most cases
    if (p.top_k <= 0) order = detail::ordered(logits, some);
    double left = 0;
    std::size_t count = 0;
    while (count < order.size() && (count == 0 || left < p.top_p * total)) left += weight(order[count++]);
    if (left < p.top_p * total && p.top_k <= 0 && some < logits.size()) continue;
    order.resize(count), total = left;
    break;
  }
  double at = uniform * total;
  auto last = static_cast<std::int32_t>(best);  // where rounding leaves nothing
  const std::size_t count = order.empty() ? weights.size() : order.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t id = order.empty() ? static_cast<std::int32_t>(i) : order[i];
    if (weight(id) == 0) continue;
    last = id;
    if ((at -= weight(id)) < 0) break;
  }
  return last;
}

/// The log-probability of a token, and of the `top` likeliest ones (-1: of all), by logits [vocabulary].
///
///   logprob = logit - log(sum of exp(logits))
inline place_logprobs logprobs_of(std::span<const float> logits, std::int32_t chosen, int top) {
  const float most = logits[detail::greatest(logits)];
  std::vector<float> weights;
  const double total = detail::weigh(logits, most, 1, 0, weights);
  const double shift = static_cast<double>(most) + std::log(total);
  const auto of = [&](std::int32_t id, int rank) {
    const float x = logits[static_cast<std::size_t>(id)];
    return token_logprob{id, static_cast<float>(static_cast<double>(x) - shift), rank};
  };
  const float own = logits[static_cast<std::size_t>(chosen)];
  place_logprobs result{
      of(chosen, static_cast<int>(1 + std::count_if(logits.begin(), logits.end(), [&](float x) { return x > own; }))),
      {}};
  for (const std::int32_t id : detail::ordered(logits, top < 0 ? logits.size() : static_cast<std::size_t>(top)))
    result.top.push_back(of(id, static_cast<int>(result.top.size()) + 1));
  return result;
}

}  // namespace tokamax::serve
