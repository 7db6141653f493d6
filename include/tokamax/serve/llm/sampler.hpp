// tokamax/serve/llm/sampler.hpp: the next token of an answer, by the logits of a model and the parameters of a request.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
#pragma once

#include <tokamax/serve/llm/output.hpp>   // place_logprobs
#include <tokamax/serve/llm/request.hpp>  // sampling_params

#include <algorithm>  // partial_sort
#include <limits>     // infinity
#include <map>        // map

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
  const auto most = static_cast<double>(logits[best]);
  const auto weight = [&](float logit) { return std::exp((static_cast<double>(logit) - most) / p.temperature); };
  const bool few = p.top_k > 0 || p.top_p < 1;
  std::vector<std::int32_t> order;
  std::vector<double> weights;
  if (few) {
    order = detail::ordered(logits, p.top_k > 0 ? static_cast<std::size_t>(p.top_k) : logits.size());
    for (const std::int32_t i : order) weights.push_back(weight(logits[static_cast<std::size_t>(i)]));
    while (weights.back() < p.min_p) weights.pop_back();  // the first one is 1
  } else {
    weights.resize(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      weights[i] = logits[i] > detail::no_logit ? weight(logits[i]) : 0;
      if (weights[i] < p.min_p) weights[i] = 0;
    }
  }
  double total = 0;
  for (const double w : weights) total += w;
  if (p.top_p < 1) {
    double left = 0;
    std::size_t count = 0;
    while (count < weights.size() && (count == 0 || left < p.top_p * total)) left += weights[count++];
    weights.resize(count), total = left;
  }
  double at = uniform * total;
  std::size_t last = few ? 0 : best;  // where rounding leaves nothing
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    last = i;
    if ((at -= weights[i]) < 0) break;
  }
  return few ? order[last] : static_cast<std::int32_t>(last);
}

/// The log-probability of a token, and of the `top` likeliest ones (-1: of all), by logits [vocabulary].
///
///   logprob = logit - log(sum of exp(logits))
inline place_logprobs logprobs_of(std::span<const float> logits, std::int32_t chosen, int top) {
  const float most = logits[detail::greatest(logits)];
  double total = 0;
  for (const float x : logits)
    if (x > detail::no_logit) total += std::exp(static_cast<double>(x - most));
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

/// Chooses the tokens of one answer, and remembers of them what penalties ask.
/// source  vllm.v1.sample.sampler
class sampler {
 public:
  /// `ends` are the tokens that end the answer, `bad` sequences of tokens that are not said, `answer` the number of the answer.
  sampler(const sampling_params& p, std::vector<std::int32_t> ends, std::vector<std::vector<std::int32_t>> bad,
          std::uint64_t seed, int answer, sampler_function own = {}, std::shared_ptr<token_filter> filter = {})
      : params_(&p),
        ends_(std::move(ends)),
        bad_(std::move(bad)),
        seed_(seed),
        answer_(answer),
        own_(std::move(own)),
        filter_(std::move(filter)) {
    changes_ = filter_ || own_ || !bad_.empty() || !p.allowed_token_ids.empty() || !p.logit_bias.empty() ||
               p.min_tokens > 0 || counts();
  }

  /// The token behind `prompt` and `said`. `logits` [vocabulary] stay as they are.
  /// errors  "sampler: logits" if nothing is allowed, "sampler: token" for one of the user's sampler that is none or that the filter
  ///         refuses, and what these throw
  std::int32_t operator()(std::span<const float> logits, std::span<const std::int32_t> prompt,
                          std::span<const std::int32_t> said) {
    const double uniform = params_->temperature == 0 && !own_
                               ? 0
                               : detail::uniform_of(seed_, static_cast<std::uint64_t>(answer_), said.size());
    if (!changes_) return draw(logits, *params_, uniform);
    std::vector<float> x(logits.begin(), logits.end());
    change(x, prompt, said);
    const std::int32_t id = own_ ? own_(x, sampler_state{prompt, said, *params_, uniform}) : draw(x, *params_, uniform);
    if (id < 0 || static_cast<std::size_t>(id) >= x.size())
      throw error("sampler: token", "id " + std::to_string(id), "0 to " + std::to_string(x.size() - 1));
    return id;
  }

 private:
  bool counts() const {
    return params_->presence_penalty != 0 || params_->frequency_penalty != 0 || params_->repetition_penalty != 1;
  }
  void change(std::vector<float>& x, std::span<const std::int32_t> prompt, std::span<const std::int32_t> said) {
    const auto forbid = [&](std::int32_t id) { x[static_cast<std::size_t>(id)] = detail::no_logit; };
    if (filter_) {
      std::vector<std::uint64_t> bits((x.size() + 63) / 64);
      filter_->allowed(bits);
      for (std::size_t i = 0; i < x.size(); ++i)
        if (!(bits[i / 64] >> i % 64 & 1)) x[i] = detail::no_logit;
    }
    if (!params_->allowed_token_ids.empty()) {
      std::vector<float> kept(x.size(), detail::no_logit);
      for (const std::int32_t id : params_->allowed_token_ids)
        kept[static_cast<std::size_t>(id)] = x[static_cast<std::size_t>(id)];
      x = std::move(kept);
    }
    for (const auto& words : bad_)
      if (words.size() - 1 <= said.size() &&
          std::equal(words.begin(), words.end() - 1, said.end() - static_cast<std::ptrdiff_t>(words.size() - 1)))
        forbid(words.back());
    if (static_cast<std::int64_t>(said.size()) < params_->min_tokens)
      for (const std::int32_t id : ends_) forbid(id);
    for (const auto& [id, bias] : params_->logit_bias) x[static_cast<std::size_t>(id)] += static_cast<float>(bias);
    if (counts()) penalise(x, prompt, said);
  }
  void penalise(std::vector<float>& x, std::span<const std::int32_t> prompt, std::span<const std::int32_t> said) {
    if (heard_ == 0)
      for (const std::int32_t id : prompt) times_.try_emplace(id, 0);
    heard_ = heard_ == 0 ? 1 : heard_;
    for (; heard_ <= said.size(); ++heard_) ++times_[said[heard_ - 1]];
    const auto repetition = static_cast<float>(params_->repetition_penalty);
    for (const auto& [id, times] : times_) {
      float& logit = x[static_cast<std::size_t>(id)];
      logit = logit > 0 ? logit / repetition : logit * repetition;
      if (times > 0) logit -= static_cast<float>(params_->frequency_penalty * times + params_->presence_penalty);
    }
  }

  const sampling_params* params_;
  std::vector<std::int32_t> ends_;
  std::vector<std::vector<std::int32_t>> bad_;
  std::uint64_t seed_;
  int answer_;
  sampler_function own_;
  std::shared_ptr<token_filter> filter_;
  bool changes_ = false;
  std::size_t heard_ = 0;                   // one more than the tokens that are counted
  std::map<std::int32_t, int> times_ = {};  // of the tokens of prompt and answer: how often the answer has them
};

}  // namespace tokamax::serve
