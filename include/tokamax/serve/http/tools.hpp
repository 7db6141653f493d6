// tokamax/serve/http/tools.hpp: the tools that a chat may call, and whether it must.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/protocol.cpp
#pragma once

#include <tokamax/serve/http/answer_splitter.hpp>  // tool_call
#include <tokamax/serve/http/body_fields.hpp>      // body_fields

namespace tokamax::serve {

/// The tools of a request, and what it wants of them.
struct tool_choice {
  enum class mode { none, automatic, required, named };
  mode what = mode::none;
  ordered_json tools;  ///< as templates see them, or null
  std::string name;    ///< of the tool that must be called

  /// Must the answer be a call? Then it is held to `schema`, and is no text of the model's own form.
  bool forced() const { return what == mode::required || what == mode::named; }
  /// The arguments of the named tool, or a list of one call or more of any.
  ordered_json schema() const {
    ordered_json calls = ordered_json::array();
    for (const ordered_json& one : tools) {
      const ordered_json& f = one["function"];
      ordered_json arguments = f.contains("parameters") ? f["parameters"] : ordered_json{{"type", "object"}};
      if (what == mode::named && f["name"] == name) return arguments;
      calls.push_back({{"type", "object"},
                       {"properties", {{"name", {{"const", f["name"]}}}, {"parameters", std::move(arguments)}}},
                       {"required", {"name", "parameters"}},
                       {"additionalProperties", false}});
    }
    return {{"type", "array"}, {"minItems", 1}, {"maxItems", 16}, {"items", {{"anyOf", std::move(calls)}}}};
  }
  /// The calls in an answer that `schema` has held; none if it was cut off.
  std::vector<tool_call> calls_of(const std::string& answer) const {
    const ordered_json v = ordered_json::parse(answer, nullptr, false);
    if (v.is_discarded()) return {};
    if (what == mode::named) return {{name, answer}};
    std::vector<tool_call> calls;
    for (const ordered_json& one : v) calls.push_back({one["name"].get<std::string>(), json_text(one["parameters"])});
    return calls;
  }
};

/// Reads `tools` and `tool_choice`.
/// errors  http_error 400 with the path of the field
inline tool_choice read_tools(body_fields& from) {
  using mode = tool_choice::mode;
  tool_choice to;
  const ordered_json *const tools = from.find("tools"), *const choice = from.find("tool_choice");
  from.boolean("parallel_tool_calls", true);
  if (tools && (!tools->is_array() || tools->empty() || tools->size() > 128))
    from.refuse("tools", "a list of 1 to 128 tools");
  for (std::size_t i = 0; tools && i < tools->size(); ++i) {
    body_fields tool((*tools)[i], from.path("tools") + "[" + std::to_string(i) + "]");
    if (tool.text("type", {}) != "function") tool.refuse("type", "function");
    body_fields function(tool.need("function"), tool.path("function"));
    if (function.text("name", {}).empty()) function.refuse("name", "the name of a function");
    if (const ordered_json* const p = function.find("parameters"); p && !p->is_object())
      function.refuse("parameters", "a JSON schema");
  }
  if (choice && choice->is_object()) {
    body_fields named(*choice, from.path("tool_choice"));
    body_fields function(named.need("function"), named.path("function"));
    to.what = mode::named, to.name = function.text("name", {});
    const auto is_it = [&](const ordered_json& one) { return one["function"]["name"] == to.name; };
    if (!tools || std::none_of(tools->begin(), tools->end(), is_it))
      function.refuse("name", "the name of one of the tools");
  } else {
    const std::string word = from.text("tool_choice", tools ? "auto" : "none");
    if (word != "none" && word != "auto" && word != "required")
      from.refuse("tool_choice", "none, auto, required or the name of a function");
    if (word == "required" && !tools) from.refuse("tool_choice", "none or auto where there are no tools");
    to.what = !tools || word == "none" ? mode::none : word == "auto" ? mode::automatic : mode::required;
  }
  if (tools && to.what != mode::none) to.tools = *tools;
  return to;
}

}  // namespace tokamax::serve
