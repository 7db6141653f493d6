// tokamax/serve/http/completion_call.hpp: hears what an engine says to one request of HTTP, and answers it, whole or as a stream.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// tested by tests/serve/http/llm_api.cpp
#pragma once

#include <tokamax/serve/http/api_metrics.hpp>   // api_metrics
#include <tokamax/serve/http/exchange.hpp>      // exchange
#include <tokamax/serve/http/served_model.hpp>  // served_model
#include <tokamax/serve/http/sse.hpp>           // event_of

namespace tokamax::serve {

/// One request of HTTP, which is a request of the engine for each of its prompts. Any thread may call it.
class completion_call {
 public:
  completion_call(std::shared_ptr<exchange> to, answer_head head, const completion_request& asked,
                  std::vector<std::vector<std::int32_t>> prompts, bool reasons, const served_model& model,
                  api_metrics& metrics)
      : to_(std::move(to)),
        head_(std::move(head)),
        params_(asked.params),
        stream_(asked.stream),
        include_usage_(asked.include_usage),
        echo_(asked.echo),
        tools_(asked.tools),
        prompts_(std::move(prompts)),
        model_(model),
        metrics_(metrics),
        choices_(prompts_.size() * static_cast<std::size_t>(params_.n)),
        open_(prompts_.size()) {
    const bool calls = tools_.what == tool_choice::mode::automatic;
    if (head_.chat && !asked.structure)
      for (choice& c : choices_) c.splitter.emplace(calls, reasons);
  }

  /// The id of the engine's request for a prompt.
  std::string id(std::size_t prompt) const { return head_.id + "-" + std::to_string(prompt); }
  /// Aborts what the engine does for it, and answers with e.
  void fail(const http_error& e) {
    {
      const std::lock_guard lock(mutex_);
      finish_with(e);
    }
    abort();
  }
  /// Frees what the engine has for it.
  void abort() {
    for (std::size_t i = 0; i < prompts_.size(); ++i) model_.abort(id(i));
  }
  /// Begins the stream, if it is one: all requests of the engine are accepted.
  void begin() {
    const std::lock_guard lock(mutex_);
    begin_stream();
  }
  bool done() const {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  /// What is new of an answer to a prompt. If it has failed, the other prompts are given up.
  void hear(std::size_t prompt, const request_output& o) {
    if (!take(prompt, o) && prompts_.size() > 1) abort();
  }

 private:
  struct choice {
    bool begun = false;
    std::optional<answer_splitter> splitter;  // of a chat that is held to no structure
    std::string forced;                       // what is said of calls that must be
    answer_parts said;                        // of a stream, the calls only
    ordered_json logprobs;
    std::size_t offset = 0;  // bytes of tokens with log-probabilities so far
    request_output last;
  };

  // False: the request has failed now.
  bool take(std::size_t prompt, const request_output& o) {
    const std::lock_guard lock(mutex_);
    const std::size_t index = prompt * static_cast<std::size_t>(params_.n) + static_cast<std::size_t>(o.index);
    if (o.finish != finish_reason::none) metrics_.finished(o);
    if (done_) return true;
    if (o.finish == finish_reason::error || o.finish == finish_reason::abort) {
      finish_with(error_of(o));
      return false;
    }
    begin_stream();
    choice& c = choices_[index];
    const bool ends = o.finish != finish_reason::none;
    ordered_json logprobs = logprobs_of(prompt, o, c);
    answer_parts fresh = parts_of(c, o.text, ends);
    if (echo_ && !c.begun) fresh.content.insert(0, prompt_text(prompt));
    c.begun = true;
    if (ends) count(o);
    if (stream_) {
      put_chunks(static_cast<int>(index), c, fresh, std::move(logprobs));
      if (ends) {
        ordered_json last =
            chunk_json(head_, static_cast<int>(index), {}, nullptr, finish_json(o.finish, !c.said.calls.empty()));
        last["choices"][0]["stop_reason"] = stop_reason_json(o);
        put(std::move(last));
      }
    } else {
      c.said.reasoning += fresh.reasoning, c.said.content += fresh.content;
      append(c.logprobs, std::move(logprobs));
      c.said.calls.insert(c.said.calls.end(), fresh.calls.begin(), fresh.calls.end());
      if (ends) c.last = o;
    }
    if (o.request_finished && --open_ == 0) finish();
    return true;
  }
  static http_error error_of(const request_output& o) {
    if (o.finish == finish_reason::abort) return {503, "the request was aborted"};
    return {o.error_kind == error_kind::argument ? 400 : o.error_kind == error_kind::resource ? 503 : 500, o.error};
  }
  // What of some text may be said now.
  answer_parts parts_of(choice& c, const std::string& text, bool ends) const {
    if (tools_.forced()) {
      c.forced += text;
      if (!ends) return {};
      answer_parts all{.calls = tools_.calls_of(c.forced)};
      if (all.calls.empty()) all.content = c.forced;  // it was cut off
      return all;
    }
    if (!c.splitter) return {.content = text};
    answer_parts fresh = c.splitter->put(text);
    if (!ends) return fresh;
    const answer_parts rest = c.splitter->finish();
    fresh.reasoning += rest.reasoning, fresh.content += rest.content;
    fresh.calls.insert(fresh.calls.end(), rest.calls.begin(), rest.calls.end());
    return fresh;
  }
  void put_chunks(int index, choice& c, const answer_parts& fresh, ordered_json logprobs) {
    if (!fresh.reasoning.empty()) put(delta_chunk(head_, index, "reasoning_content", fresh.reasoning));
    if (!fresh.content.empty() || !logprobs.is_null())
      put(chunk_json(head_, index, fresh.content, std::move(logprobs), nullptr));
    for (const tool_call& one : fresh.calls) {
      const std::size_t number = c.said.calls.size();
      ordered_json call = tool_call_json(one, head_.call_id(index, number));
      call["index"] = number;
      put(delta_chunk(head_, index, "tool_calls", ordered_json::array({std::move(call)})));
      c.said.calls.push_back(one);
    }
  }
  std::string prompt_text(std::size_t prompt) const { return model_.words->decode(prompts_[prompt]); }
  // An error before this has a status of its own.
  void begin_stream() {
    if (begun_ || done_ || !stream_) return;
    begun_ = true;
    to_->begin_events();
    if (head_.chat)
      for (std::size_t i = 0; i < choices_.size(); ++i) put(role_chunk(head_, static_cast<int>(i)));
  }
  void put(ordered_json chunk) {
    if (include_usage_) chunk["usage"] = nullptr;
    to_->put(event_of(chunk));
  }
  ordered_json logprobs_of(std::size_t prompt, const request_output& o, choice& c) const {
    if (!params_.logprobs) return nullptr;
    if (head_.chat) return o.logprobs.empty() ? ordered_json() : chat_logprobs(o.logprobs, model_.text_of);
    ordered_json all;
    if (echo_ && !c.begun) {  // nothing is known of the first token of a prompt
      const std::string first = model_.text_of(prompts_[prompt].front());
      all = {{"tokens", {first}}, {"token_logprobs", {nullptr}}, {"top_logprobs", {nullptr}}, {"text_offset", {0}}};
      c.offset = first.size();
      append(all, completion_logprobs(o.prompt_logprobs, model_.text_of, c.offset));
    }
    if (!o.logprobs.empty()) append(all, completion_logprobs(o.logprobs, model_.text_of, c.offset));
    return all;
  }
  // Appends the lists of a record to those of another.
  static void append(ordered_json& to, ordered_json more) {
    if (to.is_null()) {
      to = std::move(more);
    } else if (!more.is_null()) {
      for (auto& [name, list] : more.items())
        for (auto& one : list) to[name].push_back(std::move(one));
    }
  }
  // A prompt counts once, whatever the number of its answers.
  void count(const request_output& o) {
    if (o.index == 0) {
      usage_.prompt_tokens += o.usage.prompt_tokens;
      usage_.cached_tokens += o.usage.cached_tokens;
    }
    usage_.completion_tokens += o.usage.completion_tokens;
  }
  void finish() {
    done_ = true;
    if (stream_) {
      if (include_usage_) to_->put(event_of(usage_chunk(head_, usage_)));
      to_->put(last_event);
      to_->end();
    } else {
      ordered_json answer = head_.json(false);
      ordered_json& all = answer["choices"] = ordered_json::array();
      for (choice& c : choices_)
        all.push_back(choice_json(head_, static_cast<int>(all.size()), c.said, std::move(c.logprobs), c.last));
      answer["usage"] = usage_json(usage_);
      to_->answer(200, json_text(answer));
    }
    to_.reset();
  }
  void finish_with(const http_error& e) {
    if (done_) return;
    done_ = true;
    metrics_.refused(e.code);
    if (begun_) {
      to_->put("data: " + error_body(e) + "\n\n" + last_event);
      to_->end();
    } else {
      to_->answer(e.code, error_body(e));
    }
    to_.reset();
  }

  mutable std::mutex mutex_;
  std::shared_ptr<exchange> to_;
  answer_head head_;
  sampling_params params_;
  bool stream_, include_usage_, echo_, begun_ = false, done_ = false;
  tool_choice tools_;
  std::vector<std::vector<std::int32_t>> prompts_;
  const served_model& model_;
  api_metrics& metrics_;
  std::vector<choice> choices_;
  std::size_t open_;  // prompts whose answers are not whole
  token_usage usage_;
};

}  // namespace tokamax::serve
