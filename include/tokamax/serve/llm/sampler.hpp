// tokamax/serve/llm/sampler.hpp: the next token of an answer, by the logits of a model and the parameters of a request.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
#pragma once

#include <tokamax/serve/llm/draw.hpp>  // draw

#include <map>  // map

namespace tokamax::serve {

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
