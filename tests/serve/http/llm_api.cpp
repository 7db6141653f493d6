// tests/serve/http/llm_api.cpp: each endpoint with a model that says a fixed text: answers, streams, errors, limits and metrics.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/http/llm_api.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/fake_model.hpp"
#include "support/recorded_exchange.hpp"

using namespace tokamax;
using serve::ordered_json;
using test::recorded_exchange;

namespace {

std::shared_ptr<recorded_exchange> call(serve::llm_api& api, const char* method, const std::string& path,
                                        const std::string& body = {}, const std::string& key = {}) {
  auto to = std::make_shared<recorded_exchange>();
  api({method, path, {}, body, key}, to);
  REQUIRE(to->wait());
  return to;
}
ordered_json json_of(const std::shared_ptr<recorded_exchange>& to) { return ordered_json::parse(to->body); }
// The status, the type, the field and the code of an error.
std::string error_of(const std::shared_ptr<recorded_exchange>& to) {
  const ordered_json e = json_of(to)["error"];
  CHECK(!e["message"].get<std::string>().empty());
  return std::to_string(to->code) + " " + e["type"].get<std::string>() + " " + e["param"].dump() + " " +
         e["code"].dump();
}
const std::string chat_body = R"({"model":"fake","messages":[{"role":"user","content":"hi"}])";

}  // namespace

TEST_CASE("Answers are whole") {
  test::fake_model fake;
  serve::llm_api api(fake.model(), {});
  const auto to = call(api, "POST", "/v1/chat/completions", chat_body + "}");
  const ordered_json answer = json_of(to);
  CHECK((to->code == 200 && to->type == "application/json"));
  CHECK(answer["object"] == "chat.completion");
  CHECK(answer["id"].get<std::string>().starts_with("chatcmpl-"));
  CHECK(
      answer["choices"].dump() ==
      R"([{"index":0,"message":{"role":"assistant","content":"héllo","refusal":null},"logprobs":null,"finish_reason":"stop","stop_reason":null}])");
  CHECK(answer["usage"]["total_tokens"] == 19 + 6 - 1 + 1);
  CHECK(test::byte_tokenizer().decode(fake.requests[0].prompt) == "<user>hi<assistant>");
  CHECK(fake.requests[0].params.max_tokens == 100 - 19);

  const ordered_json two =
      json_of(call(api, "POST", "/v1/completions", R"({"prompt":["ab",[66,67,68]],"n":2,"max_tokens":3})"));
  REQUIRE(two["choices"].size() == 4);
  for (int i = 0; i < 4; ++i) {
    CHECK(two["choices"][i]["index"] == i);
    CHECK(two["choices"][i]["text"] == std::to_string(i % 2) + "h");
    CHECK(two["choices"][i]["finish_reason"] == "length");
  }
  CHECK(two["usage"]["prompt_tokens"] == 5);
  CHECK(two["usage"]["completion_tokens"] == 12);
  CHECK(two["usage"]["prompt_tokens_details"]["cached_tokens"] == 2);
  CHECK(json_of(call(api, "POST", "/v1/completions", R"({"prompt":"ab"})"))["choices"][0]["text"] == "héllo");
  CHECK(fake.requests.back().params.max_tokens == 16);

  const ordered_json echo =
      json_of(call(api, "POST", "/v1/completions", R"({"prompt":"ab","echo":true,"logprobs":0})"))["choices"][0];
  CHECK(echo["text"] == "abhéllo");
  CHECK(echo["logprobs"]["tokens"].size() == 8);
  CHECK(echo["logprobs"]["token_logprobs"].dump() == "[null,-1.5,-0.5,-0.5,-0.5,-0.5,-0.5,-0.5]");
  CHECK(echo["logprobs"]["text_offset"].dump() == "[0,1,2,3,4,5,6,7]");
  const ordered_json logprobs =
      json_of(call(api, "POST", "/v1/chat/completions", chat_body + R"(,"logprobs":true})"))["choices"][0]["logprobs"];
  CHECK(logprobs["content"].size() == 6);
  CHECK(logprobs["content"][0].dump() == R"({"token":"h","logprob":-0.5,"bytes":[104],"top_logprobs":[]})");
}

TEST_CASE("Streams are as strict clients read them") {
  test::fake_model fake;
  serve::llm_api api(fake.model(), {});
  for (const bool usage : {false, true}) {
    const auto to =
        call(api, "POST", "/v1/chat/completions",
             chat_body + R"(,"stream":true,"n":2)" + (usage ? R"(,"stream_options":{"include_usage":true}})" : "}"));
    REQUIRE(to->streams);
    auto events = to->events();
    if (usage) {
      CHECK(events.back()["choices"].empty());
      CHECK(events.back()["usage"]["completion_tokens"] == 14);
      events.pop_back();
    }
    std::string texts[2];
    int roles[2] = {}, ends[2] = {};
    for (const ordered_json& e : events) {
      CHECK(e["object"] == "chat.completion.chunk");
      CHECK(e["id"] == events[0]["id"]);
      CHECK(e.contains("usage") == usage);
      REQUIRE(e["choices"].size() == 1);
      const ordered_json& choice = e["choices"][0];
      const int i = choice["index"].get<int>();
      CHECK(ends[i] == 0);  // nothing follows the end
      if (choice["delta"].contains("role")) {
        CHECK((roles[i]++ == 0 && texts[i].empty() && choice["delta"]["content"] == ""));
      } else if (choice["finish_reason"].is_null()) {
        CHECK(roles[i] == 1);
        texts[i] += choice["delta"]["content"].get<std::string>();
      } else {
        CHECK(choice["delta"].empty());
        CHECK(choice["finish_reason"] == "stop");
        ++ends[i];
      }
    }
    for (int i = 0; i < 2; ++i) CHECK((roles[i] == 1 && ends[i] == 1 && texts[i] == std::to_string(i) + "héllo"));
  }
  const auto plain =
      call(api, "POST", "/v1/completions", R"({"prompt":"ab","stream":true,"max_tokens":2,"echo":true,"logprobs":1})")
          ->events();
  std::string text;
  for (const ordered_json& e : plain) text += e["choices"][0]["text"].get<std::string>();
  CHECK(text == "abh");  // the second byte of a character is not there yet
  CHECK(plain.back()["choices"][0]["finish_reason"] == "length");
}

TEST_CASE("Tools are called in the model's own form, or because they must be") {
  test::fake_model fake;
  serve::llm_api api(fake.model(), {});
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}},)"
      R"({"type":"function","function":{"name":"g"}}])";
  const std::string form = "<think>hm</think>So:<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>";
  const struct {
    std::string says;
    const char *choice, *content, *reasoning, *calls, *finish;
  } rows[] = {{form, R"("auto")", "\"So:\"", "\"hm\"", R"([{"name":"f","arguments":"{\"a\":1}"}])", "tool_calls"},
              {form, R"("none")", R"("So:<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>")", "\"hm\"",
               "[]", "stop"},
              {R"({"a":1})", R"({"type":"function","function":{"name":"f"}})", "null", "null",
               R"([{"name":"f","arguments":"{\"a\":1}"}])", "tool_calls"},
              {R"([{"name":"f","parameters":{"a":1}},{"name":"g","parameters":{}}])", R"("required")", "null", "null",
               R"([{"name":"f","arguments":"{\"a\":1}"},{"name":"g","arguments":"{}"}])", "tool_calls"},
              {R"([{"name":)", R"("required")", R"("[{\"name\":")", "null", "[]", "stop"}};
  for (const auto& row : rows) {
    INFO(row.choice);
    fake.says = row.says;
    const std::string body = chat_body + tools + R"(,"tool_choice":)" + row.choice;
    const ordered_json whole = json_of(call(api, "POST", "/v1/chat/completions", body + "}"))["choices"][0];
    const auto functions = [](const ordered_json& calls) {
      ordered_json all = ordered_json::array();
      for (const ordered_json& c : calls) all.push_back(c["function"]);
      return all.dump();
    };
    CHECK(whole["message"]["content"].dump() == row.content);
    CHECK(whole["message"].value("reasoning_content", ordered_json()).dump() == row.reasoning);
    CHECK(functions(whole["message"].value("tool_calls", ordered_json::array())) == row.calls);
    CHECK(whole["finish_reason"] == row.finish);
    std::string content, reasoning;
    ordered_json calls = ordered_json::array(), last;
    for (const ordered_json& e : call(api, "POST", "/v1/chat/completions", body + R"(,"stream":true})")->events()) {
      last = e["choices"][0];
      const ordered_json& delta = last["delta"];
      content += delta.value("content", ""), reasoning += delta.value("reasoning_content", "");
      for (const ordered_json& c : delta.value("tool_calls", ordered_json::array())) {
        CHECK(c["index"] == calls.size());
        calls.push_back(c);
      }
    }
    CHECK((content.empty() ? "null" : ordered_json(content).dump()) == row.content);
    CHECK((reasoning.empty() ? "null" : ordered_json(reasoning).dump()) == row.reasoning);
    CHECK(functions(calls) == row.calls);
    CHECK((last["finish_reason"] == row.finish && last["delta"].empty()));
  }
}

TEST_CASE("Errors have their status and their field") {
  test::fake_model fake;
  serve::llm_api api(fake.model(), {.most_waiting = 3});
  const auto chat = [&](const std::string& more) {
    return error_of(call(api, "POST", "/v1/chat/completions", chat_body + more + "}"));
  };
  const auto complete = [&](const std::string& body) { return error_of(call(api, "POST", "/v1/completions", body)); };
  const std::string invalid = " invalid_request_error ";
  CHECK(error_of(call(api, "GET", "/")) == "404" + invalid + R"(null "not_found")");
  CHECK(error_of(call(api, "GET", "/v1/completions")) == "405" + invalid + R"(null "method_not_allowed")");
  CHECK(error_of(call(api, "POST", "/health")) == "405" + invalid + R"(null "method_not_allowed")");
  CHECK(complete("{") == "400" + invalid + R"(null "invalid_json")");
  CHECK(complete(R"({"prompt":"a","model":"gpt-4"})") == "404" + invalid + R"("model" "model_not_found")");
  CHECK(complete(R"({"prompt":""})") == "400" + invalid + R"("prompt" null)");
  CHECK(complete(R"({"prompt":")" + std::string(200, 'a') + "\"}") ==
        "400" + invalid + R"("prompt" "context_length_exceeded")");
  CHECK(complete(R"({"prompt":"a","max_tokens":100})") ==
        "400" + invalid + R"("max_tokens" "context_length_exceeded")");
  CHECK_THAT(call(api, "POST", "/v1/completions", R"({"prompt":"a","max_tokens":100})")->body,
             contains("the model takes 100 tokens; the prompt has 1 and the answer may have 100"));
  CHECK(chat(R"(,"top_p":0)") == "400" + invalid + R"("top_p" null)");
  CHECK(chat(R"(,"logit_bias":{"999":1})") == "400" + invalid + R"("logit_bias" null)");
  CHECK(chat(R"(,"temprature":0)") == "400" + invalid + R"("temprature" "unknown_field")");
  CHECK(chat(R"(,"guided_json":{"not":1})") == "400" + invalid + R"("guided_json" "invalid_structure")");
  CHECK(error_of(call(api, "POST", "/v1/embeddings", R"({"input":"a"})")) == "400" + invalid + R"("model" null)");
  CHECK(error_of(call(api, "POST", "/detokenize", R"({"tokens":[1e3]})")) == "400" + invalid + R"("tokens[0]" null)");
  CHECK(error_of(call(api, "POST", "/tokenize", "{}")) == "400" + invalid + R"("prompt" null)");
  fake.fails = error(error_kind::internal, "kernel", "x", "y");
  CHECK(chat("") == "500 server_error null null");
  fake.fails = error(error_kind::resource, "engine_thread: request", "one more", "none: it drains");
  CHECK(chat(R"(,"stream":true)") == R"(503 service_unavailable_error null "overloaded")");
  fake.fails.reset();
  fake.stats.waiting = 3;
  CHECK(chat("") == R"(429 rate_limit_error null "overloaded")");
  fake.stats.waiting = 2;
  CHECK(call(api, "POST", "/v1/chat/completions", chat_body + "}")->code == 200);

  serve::llm_api locked(fake.model(), {.api_keys = {"one", "two"}});
  for (const char* key : {"", "Bearer ", "Bearer on", "Bearer onee", "Basic one", "Bearer one two"})
    CHECK(error_of(call(locked, "GET", "/v1/models", {}, key)) == R"(401 authentication_error null "invalid_api_key")");
  for (const char* key : {"Bearer one", "Bearer two"}) CHECK(call(locked, "GET", "/v1/models", {}, key)->code == 200);
  CHECK(call(locked, "GET", "/health")->code == 200);
}

TEST_CASE("What the engine fails at, or takes too long for, is an error at any place of an answer") {
  test::fake_model fake;
  fake.holds = true;
  {
    serve::llm_api api(fake.model(), {});
    for (const bool streams : {false, true}) {
      auto to = std::make_shared<recorded_exchange>();
      api({"POST", "/v1/chat/completions", {}, chat_body + (streams ? R"(,"stream":true})" : "}"), {}}, to);
      REQUIRE(to->wait(false));
      auto [r, hear] = fake.held.begin()->second;
      fake.held.clear();
      hear({.id = r.id, .finish = serve::finish_reason::error, .request_finished = true, .error = "a kernel failed"});
      REQUIRE(to->wait());
      if (streams)
        CHECK(to->events().back()["error"]["message"] == "a kernel failed");
      else
        CHECK(error_of(to) == "500 server_error null null");
    }
    auto gone = std::make_shared<recorded_exchange>();
    api({"POST", "/v1/completions", {}, R"({"prompt":["a","b"]})", {}}, gone);
    REQUIRE(gone->wait(false));
    gone->gone();
    CHECK(fake.aborted.size() == 2);
  }
  serve::llm_api late(fake.model(), {.most_seconds = 0.01});
  const auto to = call(late, "POST", "/v1/completions", R"({"prompt":"a"})");
  CHECK(error_of(to) == R"(408 invalid_request_error null "timeout")");
  const auto aborted = [&] {
    const std::lock_guard lock(fake.mutex);
    return fake.aborted.size();
  };
  for (int i = 0; i < 2000 && aborted() < 3; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(aborted() == 3);
}

TEST_CASE("Tokens, models, health, version and metrics") {
  test::fake_model fake;
  serve::llm_api api(fake.model(), {});
  CHECK(call(api, "POST", "/tokenize", R"({"prompt":"ab","return_token_strs":true})")->body ==
        R"({"count":2,"max_model_len":100,"tokens":[65,66],"token_strs":["a","b"]})");
  CHECK(json_of(call(api, "POST", "/tokenize",
                     R"({"messages":[{"role":"user","content":"a"}],"add_generation_prompt":false})"))["count"] == 7);
  CHECK(call(api, "POST", "/detokenize", R"({"tokens":[65,66]})")->body == R"({"prompt":"ab"})");
  const std::string model =
      R"({"id":"fake","object":"model","created":7,"owned_by":"tokamax","root":"fake","parent":null,"max_model_len":100})";
  CHECK(call(api, "GET", "/v1/models")->body == R"({"object":"list","data":[)" + model + "]}");
  CHECK(call(api, "GET", "/v1/models/fake")->body == model);
  CHECK(call(api, "GET", "/v1/models/other")->code == 404);
  CHECK(json_of(call(api, "GET", "/version"))["version"] == std::string(version));
  CHECK(json_of(call(api, "GET", "/health"))["status"] == "ok");
  fake.step_age = 61;
  CHECK(call(api, "GET", "/health")->code == 503);

  fake.stats = {.running = 2, .waiting = 1, .blocks = 8, .used_blocks = 2, .prefix_queries = 30, .prefix_hits = 20};
  fake.stats.finished = {0, 5, 1, 0, 0};
  call(api, "POST", "/v1/completions", R"({"prompt":"ab"})");
  call(api, "POST", "/v1/completions", "{");
  const std::string text = call(api, "GET", "/metrics")->body, labels = R"({model_name="fake",engine="0")";
  for (const auto& [line, value] :
       {std::pair<std::string, const char*>{"vllm:num_requests_running" + labels + "}", "2"},
        {"vllm:num_requests_waiting" + labels + "}", "1"},
        {"vllm:kv_cache_usage_perc" + labels + "}", "0.25"},
        {"vllm:prefix_cache_hits_total" + labels + "}", "20"},
        {"vllm:request_success_total" + labels + ",finished_reason=\"stop\"}", "5"},
        {"vllm:time_to_first_token_seconds_count" + labels + "}", "1"},
        {"vllm:time_to_first_token_seconds_sum" + labels + "}", "2"},
        {"vllm:request_queue_time_seconds_bucket" + labels + ",le=\"0.75\"}", "0"},
        {"vllm:request_queue_time_seconds_bucket" + labels + ",le=\"1\"}", "1"},
        {"vllm:request_generation_tokens_sum" + labels + "}", "6"},
        {"tokamax:http_errors_total" + labels + ",status=\"400\"}", "1"}})
    CHECK_THAT(text, contains("\n" + line + " " + value + "\n"));
}

TEST_CASE("An encoder embeds texts, and continues none") {
  test::fake_model fake;
  serve::served_model m = fake.model();
  m.submit = nullptr;
  m.embed = [](const std::vector<std::vector<std::int32_t>>& texts) {
    std::vector<std::vector<float>> rows;
    for (const auto& t : texts) rows.push_back({static_cast<float>(t.size()), 0.5f});
    return rows;
  };
  serve::llm_api api(std::move(m), {});
  const ordered_json answer = json_of(call(api, "POST", "/v1/embeddings", R"({"model":"fake","input":["a","bcd"]})"));
  CHECK(answer["data"][1]["embedding"].dump() == "[3.0,0.5]");
  CHECK(answer["usage"]["total_tokens"] == 4);
  CHECK(error_of(call(api, "POST", "/v1/completions", R"({"prompt":"a"})")) ==
        R"(400 invalid_request_error "model" null)");
  CHECK(error_of(call(api, "POST", "/v1/embeddings", R"({"input":[""]})")) ==
        R"(400 invalid_request_error "input" "context_length_exceeded")");
}
