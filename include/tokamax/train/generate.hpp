// tokamax/train/generate.hpp: continue a text with a model, one token after the other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/random/samplers.hpp>  // categorical

#include <algorithm>  // copy
#include <vector>     // vector

namespace tokamax::train {

/// How tokens are drawn.
struct generate_options {
  int count = 300;           ///< tokens to add
  double temperature = 0.8;  ///< below 1 sharpens the distribution; 0 takes the most likely token
  std::uint32_t seed = 0;
};

/// The prompt with generated tokens after it. `logits(ids)` maps i32 [1, context] to [1, context, vocabulary]. It gets
/// the last `context` tokens; if there are fewer, token 0 fills the rest, which a causal model does not see.
/// Each token costs a call with the whole context; nothing is kept from one to the next.
template <class Logits>
std::vector<std::int32_t> generate(const Logits& logits, std::vector<std::int32_t> prompt, std::int64_t context,
                                   generate_options o = {}) {
  const random::key key = random::key(o.seed);
  if (prompt.empty()) prompt.push_back(0);
  for (int n = 0; n < o.count; ++n) {
    const auto seen = std::min(static_cast<std::int64_t>(prompt.size()), context);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(context), 0);
    std::copy(prompt.end() - seen, prompt.end(), ids.begin());
    const array y = logits(array::from(std::span<const std::int32_t>(ids), {1, context}));
    const std::int64_t vocabulary = y.extent(2);
    const float* last = y.template data<float>() + (seen - 1) * vocabulary;
    const array row = array::from(std::span<const float>(last, last + vocabulary), {vocabulary});
    const array token =
        o.temperature > 0 ? random::categorical(random::fold_in(key, n), row / o.temperature) : argmax(row);
    prompt.push_back(token.values<std::int32_t>()[0]);
  }
  return prompt;
}

}  // namespace tokamax::train
