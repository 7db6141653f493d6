// tests/serve/llm/request.cpp: a parameter that is not possible is refused by its name.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/llm/request.hpp>

#include <limits>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax::serve;

TEST_CASE("parameters that are possible pass") {
  for (const sampling_params& p : std::vector<sampling_params>{
           {},
           {.n = 4, .presence_penalty = -2, .frequency_penalty = 2, .repetition_penalty = 0.1},
           {.temperature = 0, .top_p = 1e-9, .top_k = -1, .min_p = 1},
           {.stop = {"a", "\n"}, .stop_token_ids = {0, 9}, .max_tokens = 1, .min_tokens = 1},
           {.logprobs = 0, .prompt_logprobs = -1, .logit_bias = {{0, -100}, {9, 100}}, .allowed_token_ids = {3}}})
    CHECK_NOTHROW(validate(p, 10));
}

TEST_CASE("others are refused by the name of the field, with what was found and what is possible") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  struct row {
    sampling_params p;
    const char* text;
  };
  for (const row& r : std::vector<row>{
           {{.n = 0}, "sampling_params: n: found 0, expected 1 to 1024"},
           {{.n = 1025}, "n: found 1025"},
           {{.presence_penalty = 2.5}, "presence_penalty: found 2.5"},
           {{.presence_penalty = nan}, "presence_penalty: found nan"},
           {{.frequency_penalty = -2.1}, "frequency_penalty: found -2.1"},
           {{.repetition_penalty = 0}, "repetition_penalty: found 0"},
           {{.repetition_penalty = inf}, "repetition_penalty: found inf"},
           {{.temperature = -0.1}, "temperature: found -0.1"},
           {{.temperature = nan}, "temperature: found nan"},
           {{.temperature = inf}, "temperature: found inf"},
           {{.top_p = 0}, "top_p: found 0"},
           {{.top_p = 1.01}, "top_p: found 1.01"},
           {{.top_k = -2}, "top_k: found -2"},
           {{.min_p = -0.5}, "min_p: found -0.5"},
           {{.min_p = 1.5}, "min_p: found 1.5"},
           {{.stop = {"a", ""}}, "stop: found an empty text"},
           {{.stop_token_ids = {10}}, "stop_token_ids: found id 10, expected 0 to 9"},
           {{.stop_token_ids = {-1}}, "stop_token_ids: found id -1"},
           {{.max_tokens = 0}, "max_tokens: found 0"},
           {{.min_tokens = -1}, "min_tokens: found -1"},
           {{.max_tokens = 3, .min_tokens = 4}, "min_tokens: found 4, expected 0 to max_tokens, 3"},
           {{.logprobs = -2}, "sampling_params: logprobs: found -2"},
           {{.prompt_logprobs = -2}, "prompt_logprobs: found -2"},
           {{.logit_bias = {{10, 1}}}, "logit_bias: found id 10"},
           {{.logit_bias = {{1, 101}}}, "logit_bias: found 101"},
           {{.logit_bias = {{1, nan}}}, "logit_bias: found nan"},
           {{.allowed_token_ids = {-5}}, "allowed_token_ids: found id -5"},
           {{.bad_words = {""}}, "bad_words: found an empty text"},
       }) {
    CAPTURE(r.text);
    CHECK_THROWS_WITH(validate(r.p, 10), contains(r.text));
  }
}
