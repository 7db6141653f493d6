// tokamax/serve/http/sampling_fields.hpp: how tokens are chosen, as clients of OpenAI and vLLM write it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/protocol.cpp
#pragma once

#include <tokamax/serve/http/body_fields.hpp>  // body_fields
#include <tokamax/serve/llm/request.hpp>       // sampling_params

#include <charconv>  // from_chars

namespace tokamax::serve {

namespace detail {

inline std::vector<std::pair<std::int32_t, double>> read_logit_bias(body_fields& from) {
  std::vector<std::pair<std::int32_t, double>> all;
  const ordered_json* const v = from.find("logit_bias");
  if (!v) return all;
  if (!v->is_object()) from.refuse("logit_bias", "a record of token ids and numbers");
  for (const auto& [key, bias] : v->items()) {
    std::int32_t id = -1;
    const auto [end, e] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (e != std::errc() || end != key.data() + key.size() || id < 0 || !bias.is_number())
      from.refuse("logit_bias." + key, "the id of a token and a number");
    all.emplace_back(id, bias.get<double>());
  }
  return all;
}

}  // namespace detail

/// The parameters, whose defaults are those of the API. `max_tokens` stays 0 where the client says nothing, and ranges that the model
/// decides are left to `validate`.
inline sampling_params read_sampling(body_fields& from, bool chat) {
  sampling_params p;
  const auto integer = [&](const char* name, std::int64_t otherwise, std::int64_t least, std::int64_t most) {
    return from.integer(name, least, most).value_or(otherwise);
  };
  p.n = static_cast<int>(integer("n", 1, 1, 128));
  p.presence_penalty = from.number("presence_penalty", 0);
  p.frequency_penalty = from.number("frequency_penalty", 0);
  p.repetition_penalty = from.number("repetition_penalty", 1);
  p.temperature = from.number("temperature", 1);
  p.top_p = from.number("top_p", 1);
  p.top_k = static_cast<int>(integer("top_k", 0, -1, INT32_MAX));
  p.min_p = from.number("min_p", 0);
  p.seed = from.integer("seed", INT64_MIN, INT64_MAX);
  p.stop = from.texts("stop", 64);
  p.stop_token_ids = from.ids("stop_token_ids");
  p.ignore_eos = from.boolean("ignore_eos", false);
  p.max_tokens = integer("max_tokens", 0, 1, INT32_MAX);
  if (chat) p.max_tokens = integer("max_completion_tokens", p.max_tokens, 1, INT32_MAX);
  p.min_tokens = integer("min_tokens", 0, 0, INT32_MAX);
  p.include_stop_str_in_output = from.boolean("include_stop_str_in_output", false);
  p.skip_special_tokens = from.boolean("skip_special_tokens", true);
  p.logit_bias = detail::read_logit_bias(from);
  p.allowed_token_ids = from.ids("allowed_token_ids");
  p.bad_words = from.texts("bad_words", 1024);
  if (chat) {
    const bool wanted = from.boolean("logprobs", false);
    const auto top = from.integer("top_logprobs", 0, 20);
    if (top && !wanted) from.refuse("top_logprobs", "absent where logprobs is not true");
    if (wanted) p.logprobs = static_cast<int>(top.value_or(0));
  } else if (const auto top = from.integer("logprobs", 0, 20)) {
    p.logprobs = static_cast<int>(*top);
  }
  return p;
}

}  // namespace tokamax::serve
