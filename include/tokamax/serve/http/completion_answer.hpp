// tokamax/serve/http/completion_answer.hpp: what a model says, as the JSON of completions, whole and in chunks.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/protocol.cpp
#pragma once

#include <tokamax/serve/http/answer_splitter.hpp>  // answer_parts
#include <tokamax/serve/http/http_error.hpp>       // ordered_json
#include <tokamax/serve/llm/output.hpp>            // place_logprobs

#include <functional>  // function

namespace tokamax::serve {

/// The bytes of a token in a text.
using token_text = std::function<std::string(std::int32_t)>;

/// What all answers to one request have in common.
struct answer_head {
  bool chat = false;
  std::string id, model;
  std::int64_t created = 0;

  std::string call_id(int index, std::size_t call) const {
    return "call-" + id + "-" + std::to_string(index) + "-" + std::to_string(call);
  }
  ordered_json json(bool chunk) const {
    const char* const object = !chat ? "text_completion" : chunk ? "chat.completion.chunk" : "chat.completion";
    return {{"id", id}, {"object", object}, {"created", created}, {"model", model}};
  }
};

/// {"content": [{"token", "logprob", "bytes", "top_logprobs"}]}, as chats have it.
inline ordered_json chat_logprobs(const std::vector<place_logprobs>& places, const token_text& text_of) {
  const auto one = [&](const token_logprob& t) {
    const std::string bytes = text_of(t.id);
    ordered_json numbers = ordered_json::array();
    for (const char c : bytes) numbers.push_back(static_cast<unsigned char>(c));
    return ordered_json{{"token", bytes}, {"logprob", t.logprob}, {"bytes", numbers}};
  };
  ordered_json content = ordered_json::array();
  for (const place_logprobs& place : places) {
    ordered_json top = ordered_json::array();
    for (const token_logprob& t : place.top) top.push_back(one(t));
    content.push_back(one(place.chosen));
    content.back()["top_logprobs"] = std::move(top);
  }
  return {{"content", std::move(content)}};
}

/// {"tokens", "token_logprobs", "top_logprobs", "text_offset"}, as completions have it. Offsets count bytes from `offset` on, which goes on.
inline ordered_json completion_logprobs(const std::vector<place_logprobs>& places, const token_text& text_of,
                                        std::size_t& offset) {
  ordered_json tokens = ordered_json::array(), numbers = tokens, tops = tokens, offsets = tokens;
  for (const place_logprobs& place : places) {
    const std::string bytes = text_of(place.chosen.id);
    tokens.push_back(bytes);
    numbers.push_back(place.chosen.logprob);
    offsets.push_back(offset);
    offset += bytes.size();
    ordered_json top = ordered_json::object();
    for (const token_logprob& t : place.top) top[text_of(t.id)] = t.logprob;
    top[bytes] = place.chosen.logprob;
    tops.push_back(std::move(top));
  }
  return {{"tokens", tokens}, {"token_logprobs", numbers}, {"top_logprobs", tops}, {"text_offset", offsets}};
}

/// Why an answer has ended, in the words of the API; null while it goes on.
inline ordered_json finish_json(finish_reason r, bool calls = false) {
  if (calls && r == finish_reason::stop) return "tool_calls";
  return r == finish_reason::none ? ordered_json() : ordered_json(serve::name(r));
}
/// The text or token of the request that ended an answer.
inline ordered_json stop_reason_json(const request_output& o) {
  if (const auto* id = std::get_if<std::int32_t>(&o.stop_reason)) return *id;
  if (const auto* text = std::get_if<std::string>(&o.stop_reason)) return *text;
  return nullptr;
}
/// Counts of tokens, of which some were in the cache.
inline ordered_json usage_json(const token_usage& u) {
  return {{"prompt_tokens", u.prompt_tokens},
          {"completion_tokens", u.completion_tokens},
          {"total_tokens", u.prompt_tokens + u.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", u.cached_tokens}}}};
}

/// A chunk of a stream with one choice. `logprobs` may be null.
inline ordered_json chunk_json(const answer_head& head, int index, const std::string& text, ordered_json logprobs,
                               ordered_json finish) {
  ordered_json choice{{"index", index}};
  if (head.chat)
    choice["delta"] = text.empty() && !finish.is_null() ? ordered_json::object() : ordered_json{{"content", text}};
  else
    choice["text"] = text;
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = std::move(finish);
  ordered_json chunk = head.json(true);
  chunk["choices"] = ordered_json::array({std::move(choice)});
  return chunk;
}
/// The first chunk of a choice of a chat.
inline ordered_json role_chunk(const answer_head& head, int index) {
  ordered_json chunk = chunk_json(head, index, {}, nullptr, nullptr);
  chunk["choices"][0]["delta"] = {{"role", "assistant"}, {"content", ""}};
  return chunk;
}
/// A chunk whose delta has another field of a message.
inline ordered_json delta_chunk(const answer_head& head, int index, const char* field, ordered_json value) {
  ordered_json chunk = chunk_json(head, index, {}, nullptr, nullptr);
  chunk["choices"][0]["delta"] = {{field, std::move(value)}};
  return chunk;
}
/// A call of a tool as the API has it.
inline ordered_json tool_call_json(const tool_call& c, const std::string& id) {
  return {{"id", id}, {"type", "function"}, {"function", {{"name", c.name}, {"arguments", c.arguments}}}};
}
/// The last chunk, without choices.
inline ordered_json usage_chunk(const answer_head& head, const token_usage& u) {
  ordered_json chunk = head.json(true);
  chunk["choices"] = ordered_json::array();
  chunk["usage"] = usage_json(u);
  return chunk;
}

/// A choice of a whole answer.
inline ordered_json choice_json(const answer_head& head, int index, const answer_parts& said, ordered_json logprobs,
                                const request_output& last) {
  ordered_json choice{{"index", index}};
  if (head.chat) {
    ordered_json& message =
        choice["message"] = {{"role", "assistant"}, {"content", said.content}, {"refusal", nullptr}};
    if (said.content.empty() && !said.calls.empty()) message["content"] = nullptr;
    if (!said.reasoning.empty()) message["reasoning_content"] = said.reasoning;
    for (const tool_call& c : said.calls)
      message["tool_calls"].push_back(
          tool_call_json(c, head.call_id(index, message.contains("tool_calls") ? message["tool_calls"].size() : 0)));
  } else {
    choice["text"] = said.content;
  }
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = finish_json(last.finish, !said.calls.empty());
  choice["stop_reason"] = stop_reason_json(last);
  return choice;
}

}  // namespace tokamax::serve
