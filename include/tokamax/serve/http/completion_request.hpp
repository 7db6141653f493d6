// tokamax/serve/http/completion_request.hpp: what a client asks for at /v1/completions and /v1/chat/completions.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// tested by tests/serve/http/protocol.cpp
#pragma once

#include <tokamax/serve/grammar/structured_output.hpp>  // structured_output
#include <tokamax/serve/http/chat_messages.hpp>         // read_chat
#include <tokamax/serve/http/sampling_fields.hpp>       // read_sampling
#include <tokamax/serve/http/tools.hpp>                 // read_tools

namespace tokamax::serve {

/// A prompt, as a text or as tokens.
struct prompt_input {
  std::string text;
  std::optional<std::vector<std::int32_t>> ids;
};

/// What a client wants, before the model has seen it.
struct completion_request {
  bool chat = false;
  std::string model;
  std::vector<prompt_input> prompts;  ///< of completions
  std::string template_variables;     ///< of a chat: what its template sees, as JSON
  bool stream = false, include_usage = false, echo = false;
  int priority = 0;
  std::string cache_salt;
  sampling_params params;
  std::optional<structured_output> structure;
  tool_choice tools;
};

namespace detail {

// One prompt or a list, of texts and of tokens.
inline std::vector<prompt_input> read_prompts(body_fields& from, const std::string& name, std::size_t most) {
  const ordered_json& v = from.need(name);
  if (v.is_string()) return {{v.get<std::string>(), {}}};
  if (!v.is_array() || v.empty() || (!v[0].is_number() && v.size() > most))
    from.refuse(name, "a text, a list of token ids, or a list of 1 to " + std::to_string(most) + " of these");
  if (v[0].is_number()) return {{{}, from.ids_of(v, name)}};
  std::vector<prompt_input> all;
  for (const ordered_json& one : v) {
    const std::string at = name + "[" + std::to_string(all.size()) + "]";
    if (one.is_string())
      all.push_back({one.get<std::string>(), {}});
    else if (one.is_array() && !one.empty())
      all.push_back({{}, from.ids_of(one, at)});
    else
      from.refuse(at, "a text, or a list of token ids");
  }
  return all;
}

// One of the ways to say what the answer must be: those of OpenAI, and those of vLLM.
inline void read_structure(body_fields& from, completion_request& to) {
  using kind = structured_output::kind;
  const auto put = [&](structured_output s) {
    if (to.structure) throw http_error(400, s.param + " is not possible beside " + to.structure->param, s.param);
    to.structure = std::move(s);
  };
  const auto read = [&](body_fields& f, const std::string& prefix) {
    if (const ordered_json* const v = f.find(prefix + "json")) {
      if (!v->is_object() && !v->is_boolean() && !v->is_string()) f.refuse(prefix + "json", "a JSON schema");
      put({kind::schema, v->is_string() ? v->get<std::string>() : json_text(*v), {}, f.path(prefix + "json")});
    }
    if (f.find(prefix + "regex")) put({kind::regex, f.text(prefix + "regex", {}), {}, f.path(prefix + "regex")});
    if (f.find(prefix + "grammar"))
      put({kind::grammar, f.text(prefix + "grammar", {}), {}, f.path(prefix + "grammar")});
    if (const ordered_json* const v = f.find(prefix + "choice")) {
      if (!v->is_array() || v->empty()) f.refuse(prefix + "choice", "a list of texts");
      put({kind::choice, {}, f.texts(prefix + "choice", 10'000), f.path(prefix + "choice")});
    }
  };
  if (const ordered_json* const v = from.find("response_format")) {
    body_fields format(*v, from.path("response_format"));
    const std::string type = format.text("type", {});
    if (type == "json_object") {
      put({kind::object, {}, {}, format.path("type")});
    } else if (type == "json_schema") {
      body_fields schema(format.need("json_schema"), format.path("json_schema"));
      schema.ignore({"name", "description", "strict"});
      const ordered_json& s = schema.need("schema");
      if (!s.is_object() && !s.is_boolean()) schema.refuse("schema", "a JSON schema");
      put({kind::schema, json_text(s), {}, schema.path("schema")});
      schema.require_known();
    } else if (type != "text") {
      format.refuse("type", "text, json_object or json_schema");
    }
    format.ignore({"json_schema"});
    format.require_known();
  }
  if (const ordered_json* const v = from.find("structured_outputs")) {
    body_fields inner(*v, from.path("structured_outputs"));
    read(inner, "");
    if (inner.boolean("json_object", false)) put({kind::object, {}, {}, inner.path("json_object")});
    inner.require_known();
  }
  read(from, "guided_");
}

}  // namespace detail

/// Reads a body of /v1/chat/completions, if `chat`, or else of /v1/completions.
/// errors  http_error 400 with the path of the field
inline completion_request read_completion(const ordered_json& body, bool chat) {
  body_fields from(body);
  completion_request to;
  to.chat = chat;
  to.model = from.text("model", {});
  if (chat) {
    to.tools = read_tools(from);
    to.template_variables = read_chat(from, to.tools.tools);
  } else {
    to.prompts = detail::read_prompts(from, "prompt", 2048);
  }
  to.params = read_sampling(from, chat);
  to.stream = from.boolean("stream", false);
  if (const ordered_json* const v = from.find("stream_options")) {
    if (!to.stream) from.refuse("stream_options", "absent where stream is not true");
    body_fields options(*v, from.path("stream_options"));
    to.include_usage = options.boolean("include_usage", false);
    options.ignore({"include_obfuscation"});
    options.require_known();
  }
  to.priority = static_cast<int>(from.integer("priority", INT32_MIN, INT32_MAX).value_or(0));
  to.cache_salt = from.text("cache_salt", {});
  detail::read_structure(from, to);
  if (to.tools.forced()) {
    if (to.structure)
      throw http_error(400, to.structure->param + " is not possible beside tool_choice", to.structure->param);
    to.structure = {structured_output::kind::schema, json_text(to.tools.schema()), {}, "tools"};
  } else if (to.tools.what == tool_choice::mode::automatic) {
    to.params.skip_special_tokens = false;  // marks of calls may be special tokens
  }
  if (!chat) {
    to.echo = from.boolean("echo", false);
    if (to.echo && to.params.logprobs) to.params.prompt_logprobs = to.params.logprobs;
    if (from.integer("best_of", 1, 128).value_or(to.params.n) != to.params.n) from.refuse("best_of", "equal to n");
    if (!from.text("suffix", {}).empty()) from.refuse("suffix", "absent: the model only continues texts");
  }
  from.ignore({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"});
  from.require_known();
  return to;
}

}  // namespace tokamax::serve
