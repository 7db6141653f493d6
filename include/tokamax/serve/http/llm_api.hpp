// tokamax/serve/http/llm_api.hpp: the endpoints of OpenAI's API for one model, and those of vLLM beside them.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
#pragma once

#include <tokamax/base/version.hpp>                // version
#include <tokamax/serve/http/completion_call.hpp>  // completion_call
#include <tokamax/serve/http/embeddings.hpp>       // read_embeddings
#include <tokamax/serve/http/worker.hpp>           // worker

#include <atomic>  // atomic
#include <list>    // list

namespace tokamax::serve {

struct api_options {
  std::vector<std::string> api_keys = {};  ///< one of them opens the paths below /v1; none: they are open
  std::int64_t most_waiting = 1024;        ///< answers that wait; more are refused with 429
  double most_seconds = 3600;              ///< of a request; then it is aborted
  double most_step_age = 60;               ///< of an engine in good health
};

/// A handler for `http_server`: chats, completions, embeddings, tokens, models, health and metrics. A path or field that is not known,
/// or of the wrong type, is an error of status 400 to 499 that names it.
class llm_api {
 public:
  llm_api(served_model m, api_options o)
      : model_(std::move(m)), options_(std::move(o)), worker_(1024, [this] { end_late_calls(); }) {}

  void operator()(http_request r, std::shared_ptr<exchange> to) {
    try {
      const route& at = route_of(r);
      if (at.slow) {
        const auto job = [this, &at, request = std::move(r), to] { answer(at, request, to); };
        if (!worker_.add(job)) throw http_error(429, "too many requests wait", {}, "overloaded");
      } else {
        answer(at, r, to);
      }
    } catch (const http_error& e) {
      refuse(*to, e);
    }
  }

 private:
  using answerer = void (llm_api::*)(const http_request&, const std::shared_ptr<exchange>&);
  struct route {
    const char *method, *path;
    answerer answers;
    bool slow;  // does it take so long that the worker does it?
  };

  // The function for a path, if the key and the method are right.
  const route& route_of(const http_request& r) const {
    static const route routes[] = {{"POST", "/v1/chat/completions", &llm_api::chat, true},
                                   {"POST", "/v1/completions", &llm_api::completions, true},
                                   {"POST", "/v1/embeddings", &llm_api::embeddings, true},
                                   {"GET", "/v1/models", &llm_api::models, false},
                                   {"POST", "/tokenize", &llm_api::tokenize, true},
                                   {"POST", "/detokenize", &llm_api::detokenize, true},
                                   {"GET", "/health", &llm_api::health, false},
                                   {"GET", "/version", &llm_api::version_of_library, false},
                                   {"GET", "/metrics", &llm_api::metrics, false}};
    static const route one_model = {"GET", "/v1/models/", &llm_api::model, false};
    if (r.path.starts_with("/v1")) require_key(r.authorization);
    if (r.method == "GET" && r.path.starts_with(one_model.path)) return one_model;
    bool known = false;
    for (const route& one : routes) {
      if (r.path != one.path) continue;
      if (r.method == one.method) return one;
      known = true;
    }
    if (known) throw http_error(405, r.method + " is not possible at " + r.path, {}, "method_not_allowed");
    throw http_error(404, "there is nothing at " + r.path, {}, "not_found");
  }
  // Whatever an endpoint throws is an answer.
  void answer(const route& at, const http_request& r, const std::shared_ptr<exchange>& to) {
    try {
      (this->*at.answers)(r, to);
    } catch (const http_error& e) {
      refuse(*to, e);
    } catch (const error& e) {
      refuse(*to, http_error_of(e));
    } catch (const std::bad_alloc&) {
      refuse(*to, http_error(503, "out of memory", {}, "overloaded"));
    } catch (const std::exception& e) {
      refuse(*to, http_error(500, e.what()));
    }
  }
  void refuse(exchange& to, const http_error& e) {
    metrics_.refused(e.code);
    to.answer(e.code, error_body(e));
  }
  // All keys are compared whole, so that the time says nothing of them.
  void require_key(const std::string& authorization) const {
    if (options_.api_keys.empty()) return;
    constexpr std::string_view scheme = "Bearer ";
    bool found = false;
    const std::string given = authorization.starts_with(scheme) ? authorization.substr(scheme.size()) : "";
    for (const std::string& key : options_.api_keys) {
      std::size_t differ = key.size() ^ given.size();
      for (std::size_t i = 0; i < given.size(); ++i)
        differ |= static_cast<unsigned char>(given[i] ^ (key.empty() ? 1 : key[i % key.size()]));
      found |= differ == 0;
    }
    if (!found) throw http_error(401, "the API key is missing or wrong", {}, "invalid_api_key");
  }
  void require_model(const std::string& name) const {
    if (name.empty() || name == model_.name) return;
    throw http_error(404, "found the model '" + name + "', expected '" + model_.name + "'", "model", "model_not_found");
  }
  const text::tokenizer& words() const {
    if (!model_.words) throw http_error(400, "the model has no tokenizer, so prompts must be token ids", "prompt");
    return *model_.words;
  }

  // Texts and their tokens.
  std::string chat_text(const std::string& variables) const {
    if (!model_.chat) throw http_error(400, "the model has no chat template", "messages");
    try {
      return model_.chat->render_json(variables).text;
    } catch (const error& e) {
      throw http_error_of(e, "messages");
    }
  }
  std::vector<std::int32_t> ids_of(const prompt_input& p, bool special_tokens) const {
    return p.ids ? *p.ids : words().ids(p.text, special_tokens);
  }

  void chat(const http_request& r, const std::shared_ptr<exchange>& to) { complete(r, to, true); }
  void completions(const http_request& r, const std::shared_ptr<exchange>& to) { complete(r, to, false); }
  // All is read and checked before the engine hears of the first prompt.
  void complete(const http_request& r, const std::shared_ptr<exchange>& to, bool chat) {
    completion_request asked = read_completion(parse_body(r.body), chat);
    require_model(asked.model);
    if (!model_.submit)
      throw http_error(400, "the model " + model_.name + " embeds texts, and continues none", "model");
    const std::string param = chat ? "messages" : "prompt";
    std::vector<std::vector<std::int32_t>> prompts;
    bool reasons = false;  // does the prompt end where the model is to reason?
    if (chat) {
      const std::string text = chat_text(asked.template_variables);
      reasons = std::string_view(text).substr(0, text.find_last_not_of(" \n") + 1).ends_with("<think>");
      prompts.push_back(words().ids(text, false));
    }
    for (const prompt_input& p : asked.prompts) prompts.push_back(ids_of(p, true));
    if (asked.echo) words();
    for (const auto& ids : prompts) require_room(std::ssize(ids), asked, param);
    std::shared_ptr<token_filter> mask;
    if (asked.structure) mask = structure_of(*asked.structure);
    if (model_.stats().waiting >= options_.most_waiting)
      throw http_error(429, "too many requests wait", {}, "overloaded");

    answer_head head{chat,
                     (chat ? "chatcmpl-" : "cmpl-") + std::to_string(model_.created) + "-" + std::to_string(++calls_),
                     model_.name, static_cast<std::int64_t>(std::time(nullptr))};
    const auto call = std::make_shared<completion_call>(to, std::move(head), asked, prompts, reasons, model_, metrics_);
    try {
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        request q{.id = call->id(i), .prompt = std::move(prompts[i]), .params = asked.params};
        if (q.params.max_tokens == 0) q.params.max_tokens = chat ? model_.max_model_len - std::ssize(q.prompt) : 16;
        if (asked.params.max_tokens == 0) q.params.max_tokens = std::max(q.params.max_tokens, q.params.min_tokens);
        q.priority = asked.priority;
        q.cache_salt = asked.cache_salt;
        if (mask) q.token_mask = mask->clone();
        model_.submit(std::move(q), [call, i](const request_output& o) { call->hear(i, o); });
      }
    } catch (const error& e) {
      return call->fail(http_error_of(e, e.subject.starts_with("request: prompt") ? param : ""));
    }
    call->begin();
    to->when_gone([call] { call->abort(); });
    remember(call);
  }
  // What a prompt leaves for the answer is known before the engine sees it.
  void require_room(std::int64_t size, const completion_request& asked, const std::string& param) const {
    if (size == 0) throw http_error(400, param + " must have a token or more", param);
    const std::int64_t most = model_.max_model_len, wanted = std::max<std::int64_t>(asked.params.max_tokens, 1);
    if (size + wanted > most)
      throw http_error(400,
                       "the model takes " + std::to_string(most) + " tokens; the prompt has " + std::to_string(size) +
                           " and the answer may have " + std::to_string(wanted),
                       size >= most ? param : "max_tokens", "context_length_exceeded");
  }
  std::shared_ptr<token_filter> structure_of(const structured_output& s) const {
    if (!model_.structure) throw http_error(400, s.param + " is not possible for this model", s.param);
    try {
      return model_.structure(s);
    } catch (const error& e) {
      throw http_error(400, e.what(), s.param, "invalid_structure");
    }
  }

  void embeddings(const http_request& r, const std::shared_ptr<exchange>& to) {
    const embeddings_request asked = read_embeddings(parse_body(r.body));
    require_model(asked.model);
    if (!model_.embed) throw http_error(400, "the model " + model_.name + " continues texts, and embeds none", "model");
    std::vector<std::vector<std::int32_t>> inputs;
    for (const prompt_input& p : asked.inputs) {
      inputs.push_back(ids_of(p, true));
      if (inputs.back().empty() || std::ssize(inputs.back()) > model_.max_model_len)
        throw http_error(400,
                         "the input has " + std::to_string(inputs.back().size()) + " tokens, expected 1 to " +
                             std::to_string(model_.max_model_len),
                         "input", "context_length_exceeded");
    }
    to->answer(200, json_text(embeddings_json(asked, inputs, model_.embed(inputs), model_.name)));
  }
  void tokenize(const http_request& r, const std::shared_ptr<exchange>& to) {
    const ordered_json body = parse_body(r.body);
    body_fields from(body);
    require_model(from.text("model", {}));
    const bool special = from.boolean("add_special_tokens", true), texts = from.boolean("return_token_strs", false);
    if (!from.find("messages")) from.need("prompt");
    const std::vector<std::int32_t> ids = from.find("messages")
                                              ? words().ids(chat_text(read_chat(from, read_tools(from).tools)), false)
                                              : words().ids(from.text("prompt", {}), special);
    from.require_known();
    ordered_json answer{{"count", ids.size()}, {"max_model_len", model_.max_model_len}, {"tokens", ids}};
    if (texts)
      for (const std::int32_t id : ids) answer["token_strs"].push_back(words().token_of(id).value_or(""));
    to->answer(200, json_text(answer));
  }
  void detokenize(const http_request& r, const std::shared_ptr<exchange>& to) {
    const ordered_json body = parse_body(r.body);
    body_fields from(body);
    require_model(from.text("model", {}));
    from.need("tokens");
    const std::vector<std::int32_t> ids = from.ids("tokens");
    from.require_known();
    to->answer(200, json_text({{"prompt", words().decode(ids, false)}}));
  }
  ordered_json model_json() const {
    return {{"id", model_.name},
            {"object", "model"},
            {"created", model_.created},
            {"owned_by", "tokamax"},
            {"root", model_.name},
            {"parent", nullptr},
            {"max_model_len", model_.max_model_len}};
  }
  void models(const http_request&, const std::shared_ptr<exchange>& to) {
    to->answer(200, json_text({{"object", "list"}, {"data", {model_json()}}}));
  }
  void model(const http_request& r, const std::shared_ptr<exchange>& to) {
    require_model(r.path.substr(std::string_view("/v1/models/").size()));
    to->answer(200, json_text(model_json()));
  }
  // The engine is well if it did something a short time ago, or had nothing to do.
  void health(const http_request&, const std::shared_ptr<exchange>& to) {
    const double age = model_.step_age ? model_.step_age() : 0;
    const bool well = age <= options_.most_step_age;
    to->answer(well ? 200 : 503,
               json_text({{"status", well ? "ok" : "the engine does not answer"}, {"step_age", age}}));
  }
  void version_of_library(const http_request&, const std::shared_ptr<exchange>& to) {
    to->answer(200, json_text({{"version", version}}));
  }
  void metrics(const http_request&, const std::shared_ptr<exchange>& to) {
    to->answer(200, metrics_.text(model_.name, model_.stats ? model_.stats() : engine_stats()),
               "text/plain; version=0.0.4; charset=utf-8");
  }

  // Calls that are not done, with their last moment.
  void remember(std::shared_ptr<completion_call> call) {
    const auto most = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(options_.most_seconds));
    const std::lock_guard lock(mutex_);
    late_.emplace_back(std::chrono::steady_clock::now() + most, std::move(call));
  }
  void end_late_calls() {
    std::vector<std::shared_ptr<completion_call>> ends;
    {
      const std::lock_guard lock(mutex_);
      const auto now = std::chrono::steady_clock::now();
      for (auto i = late_.begin(); i != late_.end();) {
        if (!i->second->done() && now < i->first) {
          ++i;
          continue;
        }
        if (!i->second->done()) ends.push_back(i->second);
        i = late_.erase(i);
      }
    }
    for (const auto& call : ends) call->fail(http_error(408, "the answer took too long", {}, "timeout"));
  }

  served_model model_;
  api_options options_;
  api_metrics metrics_;
  std::atomic<std::uint64_t> calls_ = 0;
  std::mutex mutex_;
  std::list<std::pair<std::chrono::steady_clock::time_point, std::shared_ptr<completion_call>>> late_;
  worker worker_;  // the last, so that its thread ends first
};

}  // namespace tokamax::serve
