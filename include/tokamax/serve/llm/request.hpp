// tokamax/serve/llm/request.hpp: what a client asks of a language model: a prompt, and how tokens are chosen.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <cmath>       // isfinite
#include <cstdint>     // int32_t
#include <functional>  // function
#include <memory>      // shared_ptr
#include <optional>    // optional
#include <span>        // span
#include <string>      // string
#include <utility>     // pair
#include <vector>      // vector

namespace tokamax::serve {

/// How the tokens of an answer are chosen, and where it ends. Names and meanings are those of vLLM.
struct sampling_params {
  int n = 1;                      ///< the number of answers, whose streams of random numbers differ
  double presence_penalty = 0;    ///< is taken from the logits of tokens that the answer has; -2 to 2
  double frequency_penalty = 0;   ///< the same for each time that it has the token; -2 to 2
  double repetition_penalty = 1;  ///< divides logits above 0, and multiplies others, of tokens of prompt and answer
  double temperature = 1;         ///< 0 takes the most likely token
  double top_p = 1;               ///< of the most likely tokens, the fewest whose probabilities have this sum
  int top_k = 0;                  ///< the number of most likely tokens that are left; 0 or -1: all
  double min_p = 0;               ///< the least probability of a token, as a part of the greatest one
  std::optional<std::int64_t> seed = {};          ///< of what is drawn; without one, the engine takes another each time
  std::vector<std::string> stop = {};             ///< texts at which the answer ends
  std::vector<std::int32_t> stop_token_ids = {};  ///< tokens at which it ends, beside those of the model
  bool ignore_eos = false;                        ///< does it go on behind the tokens at which the model ends?
  std::int64_t max_tokens = 16;                   ///< the most tokens of an answer
  std::int64_t min_tokens = 0;                    ///< before so many, no token or text ends it
  std::optional<int> logprobs = {};  ///< log-probabilities of its tokens, and of so many of the likeliest; -1: of all
  std::optional<int> prompt_logprobs = {};                       ///< the same of the tokens of the prompt
  bool include_stop_str_in_output = false;                       ///< is what ended the answer in its text?
  std::vector<std::pair<std::int32_t, double>> logit_bias = {};  ///< is added to logits; -100 to 100
  std::vector<std::int32_t> allowed_token_ids = {};              ///< if there are any, no others are said
  std::vector<std::string> bad_words = {};                       ///< words that are not said
  bool skip_special_tokens = true;                               ///< are special tokens left out of the text?
};

/// Which tokens may follow, such as those that a grammar allows. Each answer has one of its own.
struct token_filter {
  virtual ~token_filter() = default;
  /// Sets bit id % 64 of word id / 64 for each token that may follow, those that may end the answer included, and clears the others.
  virtual void allowed(std::span<std::uint64_t> bits) = 0;
  /// Goes on behind a token. False: it may not follow, and the answer ends with an error.
  virtual bool accept(std::int32_t token) = 0;
  /// May nothing follow? The answer ends then.
  virtual bool finished() const = 0;
  /// One in the same state, for the next answer to the same prompt.
  virtual std::shared_ptr<token_filter> clone() const = 0;
};

/// What a sampler may look at beside the logits.
struct sampler_state {
  std::span<const std::int32_t> prompt, said;  ///< the tokens so far
  const sampling_params& params;
  double uniform;  ///< a number in [0, 1) that belongs to the seed and the position
};

/// A sampler of the user: the token that follows. It may change the logits, which have been through masks, bias and penalties.
using sampler_function = std::function<std::int32_t(std::span<float> logits, const sampler_state& state)>;

/// A prompt to be continued.
struct request {
  std::string id = {};                    ///< a name of the caller's, which no other unfinished request has
  std::vector<std::int32_t> prompt = {};  ///< at least one token
  sampling_params params = {};
  int priority = 0;                               ///< smaller ones come first, if the policy is by priority
  std::string cache_salt = {};                    ///< blocks are shared only among requests of the same salt
  std::shared_ptr<token_filter> token_mask = {};  ///< or none
  sampler_function sampler = {};                  ///< in place of the engine's
};

/// Throws unless each number is possible for a model of so many tokens.
/// errors  tokamax::error of the kind `argument` whose subject is "sampling_params: " and the name of the field
inline void validate(const sampling_params& p, std::int64_t vocabulary) {
  const auto require = [](bool fits, const char* field, const auto& found, const std::string& expected) {
    if (fits) return;
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(found)>>)
      throw error(std::string("sampling_params: ") + field, std::to_string(found), expected);
    else
      throw error(std::string("sampling_params: ") + field, found, expected);
  };
  const auto within = [&](double low, double value, double high, const char* field, const char* expected) {
    require(low <= value && value <= high, field, value, expected);
  };
  const auto token = [&](const char* field, std::int32_t id) {
    require(0 <= id && id < vocabulary, field, "id " + std::to_string(id), "0 to " + std::to_string(vocabulary - 1));
  };
  require(p.n >= 1 && p.n <= 1024, "n", p.n, "1 to 1024");
  within(-2, p.presence_penalty, 2, "presence_penalty", "-2 to 2");
  within(-2, p.frequency_penalty, 2, "frequency_penalty", "-2 to 2");
  require(p.repetition_penalty > 0 && std::isfinite(p.repetition_penalty), "repetition_penalty", p.repetition_penalty,
          "more than 0");
  require(p.temperature >= 0 && std::isfinite(p.temperature), "temperature", p.temperature, "0 or more");
  require(p.top_p > 0 && p.top_p <= 1, "top_p", p.top_p, "more than 0, at most 1");
  require(p.top_k >= -1, "top_k", p.top_k, "-1 or more");
  within(0, p.min_p, 1, "min_p", "0 to 1");
  for (const std::string& s : p.stop) require(!s.empty(), "stop", "an empty text", "texts of one byte or more");
  for (const std::int32_t id : p.stop_token_ids) token("stop_token_ids", id);
  require(p.max_tokens >= 1, "max_tokens", p.max_tokens, "1 or more");
  require(p.min_tokens >= 0 && p.min_tokens <= p.max_tokens, "min_tokens", p.min_tokens,
          "0 to max_tokens, " + std::to_string(p.max_tokens));
  require(p.logprobs.value_or(0) >= -1, "logprobs", p.logprobs.value_or(0), "-1 or more");
  require(p.prompt_logprobs.value_or(0) >= -1, "prompt_logprobs", p.prompt_logprobs.value_or(0), "-1 or more");
  for (const auto& [id, bias] : p.logit_bias) {
    token("logit_bias", id);
    within(-100, bias, 100, "logit_bias", "-100 to 100");
  }
  for (const std::int32_t id : p.allowed_token_ids) token("allowed_token_ids", id);
  for (const std::string& w : p.bad_words) require(!w.empty(), "bad_words", "an empty text", "words");
}

}  // namespace tokamax::serve
