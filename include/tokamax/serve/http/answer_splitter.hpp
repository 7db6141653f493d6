// tokamax/serve/http/answer_splitter.hpp: what a model says as reasoning, content and calls of tools, while it says it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/serve/http/http_error.hpp>  // ordered_json

#include <algorithm>  // min, max
#include <vector>     // vector

namespace tokamax::serve {

/// A call of a tool, whose arguments are a text of JSON.
struct tool_call {
  std::string name, arguments;
};

/// Parts of an answer: what is new of each.
struct answer_parts {
  std::string reasoning = {}, content = {};
  std::vector<tool_call> calls = {};
};

/// Knows the forms in which models call tools, by their marks:
///
///   <tool_call>{"name": "f", "arguments": {}}</tool_call>            Hermes, Qwen
///   <|python_tag|>{"name": "f", "parameters": {}}, or without mark   Llama 3
///   [TOOL_CALLS][{"name": "f", "arguments": {}}], or without mark    Mistral
///   <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f ```json {} ```<｜tool▁call▁end｜>   DeepSeek
///
/// and reasoning between <think> and </think>. A call is told when it is whole; one that is no JSON stays content.
class answer_splitter {
 public:
  /// `tools`: may the answer call any? `reasons`: has the prompt opened <think> already?
  explicit answer_splitter(bool tools, bool reasons = false)
      : tools_(tools), state_(reasons ? state::reasoning : state::begin) {}

  /// What can be said behind some more text.
  answer_parts put(std::string_view more) {
    rest_ += more;
    answer_parts out;
    while (step(out, false)) {}
    return out;
  }
  /// What is left at the end.
  answer_parts finish() {
    answer_parts out;
    while (step(out, true)) {}
    (state_ == state::reasoning ? out.reasoning : out.content) += rest_;
    rest_.clear();
    return out;
  }

 private:
  enum class state { begin, reasoning, content, call, list, deepseek };
  static constexpr std::string_view think = "<think>", end_think = "</think>", begin_call = "<tool_call>",
                                    end_call = "</tool_call>", begin_list = "[TOOL_CALLS]", python = "<|python_tag|>",
                                    begin_calls = "<｜tool▁calls▁begin｜>", end_calls = "<｜tool▁calls▁end｜>",
                                    begin_one = "<｜tool▁call▁begin｜>", separator = "<｜tool▁sep｜>",
                                    end_one = "<｜tool▁call▁end｜>";

  // The bytes at the end of a text with which a mark may begin.
  static std::size_t open_bytes(std::string_view text, std::string_view mark) {
    for (std::size_t n = std::min(mark.size() - 1, text.size()); n > 0; --n)
      if (text.ends_with(mark.substr(0, n))) return n;
    return 0;
  }
  static std::string_view without_space(std::string_view text) {
    const std::size_t at = text.find_first_not_of(" \t\r\n");
    return at == text.npos ? std::string_view() : text.substr(at);
  }
  void move_on(std::size_t bytes, state to) { rest_.erase(0, bytes), state_ = to; }

  // Says or skips a part of the rest. False: it waits for more.
  bool step(answer_parts& out, bool all) {
    switch (state_) {
      case state::begin:
        return step_begin(all);
      case state::reasoning: {
        const std::size_t at = rest_.find(end_think);
        const std::size_t said = at != rest_.npos ? at : rest_.size() - open_bytes(rest_, end_think);
        out.reasoning += rest_.substr(0, said);
        if (at == rest_.npos) return rest_.erase(0, said), false;
        rest_.erase(0, at + end_think.size());
        state_ = state::begin;
        thought_ = true;
        return true;
      }
      case state::content:
        return step_content(out);
      case state::call: {
        const std::size_t at = rest_.find(end_call);
        if (at == rest_.npos && !all) return false;
        const std::string text = rest_.substr(0, at);
        if (!put_calls(out, text))
          out.content += std::string(begin_call) + rest_.substr(0, at == rest_.npos ? at : at + end_call.size());
        move_on(at == rest_.npos ? rest_.size() : at + end_call.size(), state::content);
        return !rest_.empty();
      }
      case state::list:
        if (!all) return false;
        if (put_calls(out, rest_)) rest_.clear();
        state_ = state::content;
        return false;
      case state::deepseek:
        return step_deepseek(out);
    }
    return false;
  }
  // At the beginning stand reasoning, or a call without a mark.
  bool step_begin(bool all) {
    if (thought_) rest_.erase(0, rest_.size() - without_space(rest_).size());  // what parts it from the reasoning
    const std::string_view text = without_space(rest_);
    if (text.starts_with(think)) {
      move_on(rest_.size() - text.size() + think.size(), state::reasoning);
      return true;
    }
    const bool may_think = think.starts_with(text),
               may_call = tools_ && (text.starts_with('{') || text.starts_with('['));
    if (!all && (text.empty() || may_think)) return false;
    if (!may_call) return state_ = state::content, true;
    // {"name" or [{"name" are the first words of a call.
    std::string words;
    for (const char c : text.substr(0, 64))
      if (c != ' ' && c != '\n' && c != '\t' && c != '\r') words += c;
    for (const std::string_view mark : {std::string_view("{\"name\":"), std::string_view("[{\"name\":")}) {
      if (words.starts_with(mark)) return state_ = state::list, true;
      if (!all && mark.starts_with(words)) return false;
    }
    return state_ = state::content, true;
  }
  bool step_content(answer_parts& out) {
    std::size_t at = rest_.npos, open = 0;
    std::string_view found;
    if (tools_)
      for (const std::string_view mark : {begin_call, begin_list, python, begin_calls}) {
        if (const std::size_t place = rest_.find(mark); place < at) at = place, found = mark;
        open = std::max(open, open_bytes(rest_, mark));
      }
    const std::size_t said = at != rest_.npos ? at : rest_.size() - open;
    out.content += rest_.substr(0, said);
    if (at == rest_.npos) return rest_.erase(0, said), false;
    move_on(at + found.size(), found == begin_call    ? state::call
                               : found == begin_calls ? state::deepseek
                                                      : state::list);
    return true;
  }
  bool step_deepseek(answer_parts& out) {
    const std::size_t begin = rest_.find(begin_one), end = rest_.find(end_one), last = rest_.find(end_calls);
    if (last != rest_.npos && (begin == rest_.npos || last < begin)) {
      move_on(last + end_calls.size(), state::content);
      return true;
    }
    if (begin == rest_.npos || end == rest_.npos) return false;
    const std::string text = rest_.substr(begin + begin_one.size(), end - begin - begin_one.size());
    const std::size_t middle = text.find(separator), brace = text.find('{'), close = text.rfind('}');
    if (middle != text.npos && brace != text.npos && close != text.npos && brace < close) {
      std::string name = text.substr(middle + separator.size(),
                                     text.find_first_of("\n`{", middle + separator.size()) - middle - separator.size());
      const std::string arguments = text.substr(brace, close + 1 - brace);
      if (ordered_json::accept(arguments)) out.calls.push_back({std::move(name), arguments});
    }
    rest_.erase(0, end + end_one.size());
    return true;
  }
  // One call or a list of calls.
  static bool put_calls(answer_parts& out, std::string_view text) {
    const ordered_json v = ordered_json::parse(text, nullptr, false);
    if (v.is_discarded()) return false;
    std::vector<tool_call> calls;
    for (const ordered_json& one : v.is_array() ? v : ordered_json::array({v})) {
      if (!one.is_object() || !one.contains("name") || !one["name"].is_string()) return false;
      const char* const key = one.contains("arguments") ? "arguments" : "parameters";
      const ordered_json arguments = one.contains(key) ? one[key] : ordered_json::object();
      calls.push_back({one["name"].get<std::string>(),
                       arguments.is_string() ? arguments.get<std::string>() : json_text(arguments)});
    }
    out.calls.insert(out.calls.end(), calls.begin(), calls.end());
    return !calls.empty();
  }

  bool tools_, thought_ = false;
  state state_;
  std::string rest_;  // what is not said yet
};

}  // namespace tokamax::serve
