// tokamax/serve/http/chat_messages.hpp: the messages of a chat as its template sees them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/protocol.cpp
#pragma once

#include <tokamax/serve/http/body_fields.hpp>  // body_fields

namespace tokamax::serve {

namespace detail {

// Templates take texts, so the parts of a content are joined.
inline std::string content_text(const ordered_json& v, const std::string& path) {
  if (v.is_string()) return v.get<std::string>();
  if (!v.is_array()) throw http_error(400, path + " must be a text, or a list of parts", path);
  std::string all;
  for (std::size_t i = 0; i < v.size(); ++i) {
    body_fields part(v[i], path + "[" + std::to_string(i) + "]");
    if (part.text("type", {}) != "text") part.refuse("type", "text: the model takes in nothing else");
    part.need("text");
    all += part.text("text", {});
    part.require_known();
  }
  return all;
}

// Arguments of calls come as texts of JSON, and templates take records.
inline ordered_json tool_calls_of(const ordered_json& v, const std::string& path) {
  if (!v.is_array()) throw http_error(400, path + " must be a list", path);
  ordered_json calls = v;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    body_fields call(calls[i], at);
    body_fields function(call.need("function"), at + ".function");
    if (function.text("name", {}).empty()) function.refuse("name", "the name of a function");
    const std::string arguments = function.text("arguments", "{}");
    const ordered_json parsed = ordered_json::parse(arguments.empty() ? "{}" : arguments, nullptr, false);
    if (!parsed.is_object()) function.refuse("arguments", "a text of a JSON record");
    calls[i]["function"]["arguments"] = parsed;
  }
  return calls;
}

// A message with the fields that templates know.
inline ordered_json read_message(const ordered_json& v, const std::string& path) {
  body_fields from(v, path);
  std::string role = from.text("role", {});
  if (role == "developer") role = "system";  // the newer word
  if (role != "system" && role != "user" && role != "assistant" && role != "tool")
    from.refuse("role", "system, developer, user, assistant or tool");
  ordered_json to{{"role", role}};
  const ordered_json* const calls = from.find("tool_calls");
  if (calls && role != "assistant") from.refuse("tool_calls", "absent: only an assistant calls tools");
  const ordered_json* const content = from.find("content");
  if (!content && !calls) from.need("content");
  to["content"] = content ? content_text(*content, from.path("content")) : "";
  if (calls) to["tool_calls"] = tool_calls_of(*calls, from.path("tool_calls"));
  for (const char* name : {"name", "tool_call_id", "reasoning_content"})
    if (from.find(name)) to[name] = from.text(name, {});
  from.ignore({"refusal", "audio", "annotations", "function_call"});
  from.require_known();
  return to;
}

}  // namespace detail

/// What the template of a chat sees, as a JSON record: messages, tools unless they are null, add_generation_prompt, and
/// chat_template_kwargs.
inline std::string read_chat(body_fields& from, const ordered_json& tools) {
  const ordered_json& messages = from.need("messages");
  if (!messages.is_array() || messages.empty()) from.refuse("messages", "a list of one message or more");
  ordered_json to = ordered_json::object();
  if (const ordered_json* const more = from.find("chat_template_kwargs")) {
    if (!more->is_object()) from.refuse("chat_template_kwargs", "a record");
    to = *more;
  }
  ordered_json& all = to["messages"] = ordered_json::array();
  for (const ordered_json& one : messages)
    all.push_back(detail::read_message(one, "messages[" + std::to_string(all.size()) + "]"));
  if (!tools.is_null()) to["tools"] = tools;
  to["add_generation_prompt"] = from.boolean("add_generation_prompt", true);
  return json_text(to);
}

}  // namespace tokamax::serve
