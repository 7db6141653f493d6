// tokamax/serve/llm/output.hpp: what a step says: new text and tokens of an answer, and why it has ended.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// tested by tests/serve/llm/engine.cpp
#pragma once

#include <tokamax/base/error.hpp>               // error_kind
#include <tokamax/serve/llm/request_times.hpp>  // request_times

#include <cstdint>  // int32_t
#include <string>   // string
#include <variant>  // variant
#include <vector>   // vector

namespace tokamax::serve {

enum class finish_reason : std::uint8_t { none, stop, length, abort, error };
constexpr const char* name(finish_reason r) {
  constexpr const char* names[] = {"none", "stop", "length", "abort", "error"};
  return names[static_cast<int>(r)];
}

/// A token, the logarithm of its probability, and how many tokens are at least as likely, itself included.
struct token_logprob {
  std::int32_t id = 0;
  float logprob = 0;
  int rank = 1;
};

/// Those of a place in a text, by the model's logits as they are: before masks, bias, penalties and temperature.
struct place_logprobs {
  token_logprob chosen;            ///< the token that stands there
  std::vector<token_logprob> top;  ///< the likeliest ones, as many as were asked for
};

struct token_usage {
  std::int64_t prompt_tokens = 0;      ///< of the request
  std::int64_t cached_tokens = 0;      ///< of these, those that were in the cache already
  std::int64_t completion_tokens = 0;  ///< of this answer so far
};

/// What is new of one answer.
struct request_output {
  std::string id = {};    ///< of the request
  int index = 0;          ///< of the answer: 0 to n - 1
  std::string text = {};  ///< what follows the text so far: valid UTF-8. Without a tokenizer there is none
  std::vector<std::int32_t> token_ids = {};   ///< what follows the tokens so far; one that ends the answer is the last
  std::vector<place_logprobs> logprobs = {};  ///< of these, if they were asked for
  std::vector<place_logprobs> prompt_logprobs =
      {};  ///< with the first tokens of answer 0, of the prompt's tokens from the second on
  finish_reason finish = finish_reason::none;  ///< why the answer has ended; none: it goes on
  std::variant<std::monostate, std::int32_t, std::string> stop_reason =
      {};  ///< the id or text of the request that ended it
  token_usage usage = {};
  request_times times = {};
  bool request_finished = false;  ///< was this the last output of all answers of the request?
  std::string error = {};         ///< what went wrong, if finish is `error`
  tokamax::error_kind error_kind = tokamax::error_kind::internal;
};

}  // namespace tokamax::serve
