// tests/serve/http/protocol.cpp: bodies as requests and their errors, and the JSON, events and metrics of answers.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/http/completion_answer.hpp>
#include <tokamax/serve/http/completion_request.hpp>
#include <tokamax/serve/http/embeddings.hpp>
#include <tokamax/serve/http/metrics_text.hpp>
#include <tokamax/serve/http/sse.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax;
using serve::ordered_json;

namespace {

// The status, field and message of the error, or "none".
std::string refusal(const auto& f) {
  try {
    f();
  } catch (const serve::http_error& e) {
    return std::to_string(e.code) + " " + e.param + ": " + e.what();
  }
  return "none";
}
serve::completion_request chat(const std::string& more) {
  return serve::read_completion(
      serve::parse_body(R"({"model":"m","messages":[{"role":"user","content":"hi"}])" + more + "}"), true);
}
serve::completion_request completion(const std::string& more) {
  return serve::read_completion(serve::parse_body(R"({"model":"m","prompt":"hi")" + more + "}"), false);
}

}  // namespace

TEST_CASE("A body becomes a request") {
  const auto c = completion(
      R"(,"n":2,"temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.1,"seed":-7,"stop":"x","stop_token_ids":[3],"max_tokens":9,)"
      R"("min_tokens":2,"presence_penalty":1,"frequency_penalty":-1,"repetition_penalty":1.1,"ignore_eos":true,"logprobs":3,"echo":true,)"
      R"("logit_bias":{"5":-100,"6":1.5},"allowed_token_ids":[5,6],"bad_words":["a","b"],"include_stop_str_in_output":true,)"
      R"("skip_special_tokens":false,"stream":true,"stream_options":{"include_usage":true},"priority":-2,"cache_salt":"s","user":"u","best_of":2)");
  CHECK(
      (c.model == "m" && c.stream && c.include_usage && c.echo && c.priority == -2 && c.cache_salt == "s" && !c.chat));
  CHECK((c.prompts.size() == 1 && c.prompts[0].text == "hi" && !c.prompts[0].ids));
  const serve::sampling_params& p = c.params;
  CHECK((p.n == 2 && p.temperature == 0.5 && p.top_p == 0.9 && p.top_k == 40 && p.min_p == 0.1 && p.seed == -7));
  CHECK((p.stop == std::vector<std::string>{"x"} && p.stop_token_ids == std::vector<std::int32_t>{3} &&
         p.max_tokens == 9));
  CHECK((p.min_tokens == 2 && p.presence_penalty == 1 && p.frequency_penalty == -1 && p.repetition_penalty == 1.1 &&
         p.ignore_eos));
  CHECK((p.logprobs == 3 && p.prompt_logprobs == 3 && p.include_stop_str_in_output && !p.skip_special_tokens));
  CHECK(p.logit_bias == std::vector<std::pair<std::int32_t, double>>{{5, -100}, {6, 1.5}});
  CHECK((p.allowed_token_ids == std::vector<std::int32_t>{5, 6} && p.bad_words == std::vector<std::string>{"a", "b"}));
  const auto plain = completion("");
  CHECK((plain.params.max_tokens == 0 && plain.params.temperature == 1 && !plain.params.seed && !plain.stream &&
         !plain.structure));
  const auto ids = serve::read_completion(serve::parse_body(R"({"prompt":[[1,2],"a",[3]]})"), false).prompts;
  CHECK((ids.size() == 3 && ids[0].ids == std::vector<std::int32_t>{1, 2} && ids[1].text == "a"));
  CHECK(serve::read_completion(serve::parse_body(R"({"prompt":[1,2]})"), false).prompts.size() == 1);

  const auto talk =
      chat(R"(,"max_completion_tokens":5,"logprobs":true,"top_logprobs":2,"temperature":null,"stop":["a","b"],)"
           R"("chat_template_kwargs":{"enable_thinking":false})");
  CHECK((talk.params.max_tokens == 5 && talk.params.logprobs == 2 && talk.params.temperature == 1 &&
         talk.params.stop.size() == 2));
  CHECK(talk.template_variables ==
        R"({"enable_thinking":false,"messages":[{"role":"user","content":"hi"}],"add_generation_prompt":true})");
  const auto parts = serve::read_completion(
      serve::parse_body(
          R"({"messages":[{"role":"developer","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
          R"({"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"z\":1,\"a\":2}"}}]},)"
          R"({"role":"tool","content":"7","tool_call_id":"1"}]})"),
      true);
  CHECK(
      parts.template_variables ==
      R"({"messages":[{"role":"system","content":"ab"},{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function",)"
      R"("function":{"name":"f","arguments":{"z":1,"a":2}}}]},{"role":"tool","content":"7","tool_call_id":"1"}],"add_generation_prompt":true})");
}

TEST_CASE("What an answer must be is read from each of the fields for it") {
  using kind = serve::structured_output::kind;
  const struct {
    const char* more;
    kind what;
    const char *text, *param;
  } rows[] = {
      {R"("response_format":{"type":"json_object"})", kind::object, "", "response_format.type"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"null"}}})",
       kind::schema, R"({"type":"null"})", "response_format.json_schema.schema"},
      {R"("structured_outputs":{"json":{"type":"null"}})", kind::schema, R"({"type":"null"})",
       "structured_outputs.json"},
      {R"("structured_outputs":{"regex":"a+"})", kind::regex, "a+", "structured_outputs.regex"},
      {R"("structured_outputs":{"json_object":true})", kind::object, "", "structured_outputs.json_object"},
      {R"("guided_json":"{\"type\":\"null\"}")", kind::schema, R"({"type":"null"})", "guided_json"},
      {R"("guided_regex":"a+")", kind::regex, "a+", "guided_regex"},
      {R"("guided_choice":["a","b"])", kind::choice, "", "guided_choice"},
      {R"("guided_grammar":"root ::= \"a\"")", kind::grammar, "root ::= \"a\"", "guided_grammar"},
  };
  for (const auto& row : rows) {
    INFO(row.more);
    const auto s = chat(std::string(",") + row.more).structure;
    REQUIRE(s);
    CHECK((s->what == row.what && s->text == row.text && s->param == row.param));
  }
  CHECK_FALSE(chat(R"(,"response_format":{"type":"text"})").structure);
}

TEST_CASE("Tools and what is wanted of them") {
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";
  using mode = serve::tool_choice::mode;
  CHECK(chat("," + tools).tools.what == mode::automatic);
  CHECK_FALSE(chat("," + tools).params.skip_special_tokens);
  CHECK_THAT(chat("," + tools).template_variables, contains(R"("tools":[{"type":"function")"));
  const auto none = chat("," + tools + R"(,"tool_choice":"none")");
  CHECK(
      (none.tools.what == mode::none && none.template_variables.find("tools") == std::string::npos && !none.structure));
  const auto named = chat("," + tools + R"(,"tool_choice":{"type":"function","function":{"name":"f"}})");
  CHECK((named.tools.forced() && named.structure->text == R"({"type":"object"})"));
  CHECK(
      chat("," + tools + R"(,"tool_choice":"required","parallel_tool_calls":false)").structure->text ==
      R"({"type":"array","minItems":1,"maxItems":16,"items":{"anyOf":[{"type":"object","properties":{"name":{"const":"f"},)"
      R"("parameters":{"type":"object"}},"required":["name","parameters"],"additionalProperties":false}]}})");
  const std::pair<std::string, const char*> wrong[] = {
      {R"("tools":[])", "400 tools: "},
      {R"("tools":[{"type":"web"}])", "400 tools[0].type: "},
      {R"("tools":[{"type":"function","function":{}}])", "400 tools[0].function.name: "},
      {R"("tools":[{"type":"function","function":{"name":"f","parameters":[]}}])",
       "400 tools[0].function.parameters: "},
      {R"("tool_choice":"required")", "400 tool_choice: "},
      {tools + R"(,"tool_choice":"any")", "400 tool_choice: "},
      {tools + R"(,"tool_choice":{"type":"function","function":{"name":"g"}})", "400 tool_choice.function.name: "},
      {tools + R"(,"tool_choice":"required","guided_regex":"a")",
       "400 guided_regex: guided_regex is not possible beside tool_choice"}};
  for (const auto& [more, message] : wrong) {
    INFO(more);
    CHECK_THAT(refusal([&, m = more] { chat("," + m); }), contains(message));
  }
}

TEST_CASE("What is wrong in a body is named") {
  const std::pair<const char*, const char*> bodies[] = {
      {"", "400 : json"},
      {"{", "400 : json"},
      {"[]", "400 : the body must be a record"},
      {"\"a\"", "the body must be a record"},
      {"null", "the body must be a record"},
      {"{\"prompt\":\"a\"} x", "400 : json"},
      {"{\"prompt\":\"\xff\"}", "400 : json"},
      {"{\"prompt\":\"a\",\"prompt\":\"b\"}", "prompt twice"},
      {"{}", "400 prompt: prompt is missing"},
      {"{\"prompt\":null}", "400 prompt: prompt is missing"},
      {"{\"prompt\":[]}", "400 prompt: prompt must be a text, a list of token ids"},
      {"{\"prompt\":{}}", "400 prompt: "},
      {"{\"prompt\":[\"a\",1]}", "400 prompt[1]: "},
      {"{\"prompt\":[1,\"a\"]}", "400 prompt[1]: "},
      {"{\"prompt\":[1.5]}", "400 prompt[0]: prompt[0] must be an integer"},
      {"{\"prompt\":[-1]}", "400 prompt[0]: "},
      {"{\"prompt\":[[]]}", "400 prompt[0]: "}};
  for (const auto& [body, message] : bodies) {
    INFO(body);
    CHECK_THAT(refusal([&, b = body] { serve::read_completion(serve::parse_body(b), false); }), contains(message));
  }
  CHECK_THAT(refusal([] { serve::parse_body(std::string(100, '[') + std::string(100, ']')); }),
             contains("json: depth"));

  const std::pair<const char*, const char*> fields[] = {
      {R"("n":0)", "400 n: n must be an integer from 1 to 128"},
      {R"("n":"2")", "400 n: "},
      {R"("n":18446744073709551615)", "400 n: "},
      {R"("temperature":"hot")", "400 temperature: temperature must be a number"},
      {R"("temperature":1e999)", "400 "},
      {R"("top_k":1.5)", "400 top_k: "},
      {R"("seed":"a")", "400 seed: "},
      {R"("max_tokens":0)", "400 max_tokens: max_tokens must be an integer from 1"},
      {R"("stop":[1])", "400 stop[0]: stop[0] must be a text"},
      {R"("stop":{})", "400 stop: "},
      {R"("stop_token_ids":["a"])", "400 stop_token_ids[0]: "},
      {R"("logit_bias":[1])", "400 logit_bias: "},
      {R"("logit_bias":{"x":1})", "400 logit_bias.x: "},
      {R"("logit_bias":{"1":"a"})", "400 logit_bias.1: "},
      {R"("stream":"yes")", "400 stream: stream must be true or false"},
      {R"("stream_options":{"include_usage":true})",
       "400 stream_options: stream_options must be absent where stream is not true"},
      {R"("stream":true,"stream_options":[])", "400 stream_options: "},
      {R"("stream":true,"stream_options":{"include_usage":1})", "400 stream_options.include_usage: "},
      {R"("temprature":1)", "400 temprature: temprature is no known field"},
      {R"("response_format":"json")", "400 response_format: "},
      {R"("response_format":{"type":"xml"})", "400 response_format.type: "},
      {R"("response_format":{"type":"json_schema"})", "400 response_format.json_schema: "},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"n"}})",
       "400 response_format.json_schema.schema: "},
      {R"("guided_regex":1)", "400 guided_regex: "},
      {R"("guided_choice":[])", "400 guided_choice: "},
      {R"("guided_regex":"a","guided_choice":["a"])",
       "400 guided_choice: guided_choice is not possible beside guided_regex"},
      {R"("structured_outputs":{"xml":1})", "400 structured_outputs.xml: "},
      {R"("user":5,"priority":"high")", "400 priority: "}};
  for (const auto& [more, message] : fields) {
    INFO(more);
    CHECK_THAT(refusal([&, m = more] { completion(std::string(",") + m); }), contains(message));
    CHECK_THAT(refusal([&, m = more] { chat(std::string(",") + m); }), contains(message));
  }
  const std::pair<const char*, const char*> of_completions[] = {
      {R"("logprobs":21)", "400 logprobs: "},
      {R"("logprobs":true)", "400 logprobs: "},
      {R"("best_of":3)", "400 best_of: best_of must be equal to n"},
      {R"("suffix":"x")", "400 suffix: "},
      {R"("messages":[])", "400 messages: messages is no known field"}};
  for (const auto& [more, message] : of_completions)
    CHECK_THAT(refusal([&, m = more] { completion(std::string(",") + m); }), contains(message));
  const std::pair<const char*, const char*> of_chats[] = {
      {R"("logprobs":1)", "400 logprobs: "},
      {R"("top_logprobs":1)", "400 top_logprobs: "},
      {R"("logprobs":true,"top_logprobs":21)", "400 top_logprobs: "},
      {R"("chat_template_kwargs":1)", "400 chat_template_kwargs: "},
      {R"("echo":true)", "400 echo: "}};
  for (const auto& [more, message] : of_chats)
    CHECK_THAT(refusal([&, m = more] { chat(std::string(",") + m); }), contains(message));

  const std::pair<const char*, const char*> messages[] = {
      {"1", "400 messages: messages must be a list of one message or more"},
      {"[]", "400 messages: "},
      {"[1]", "400 messages[0]: messages[0] must be a record"},
      {R"([{"content":"a"}])", "400 messages[0].role: "},
      {R"([{"role":"king","content":"a"}])", "400 messages[0].role: "},
      {R"([{"role":"user"}])", "400 messages[0].content: messages[0].content is missing"},
      {R"([{"role":"user","content":1}])", "400 messages[0].content: "},
      {R"([{"role":"user","content":"a"},{"role":"user","content":[{"type":"image_url","image_url":{}}]}])",
       "400 messages[1].content[0].type: "},
      {R"([{"role":"user","content":[{"type":"text"}]}])", "400 messages[0].content[0].text: "},
      {R"([{"role":"user","content":"a","x":1}])", "400 messages[0].x: "},
      {R"([{"role":"user","content":"a","tool_calls":[]}])", "400 messages[0].tool_calls: "},
      {R"([{"role":"assistant","tool_calls":[{}]}])", "400 messages[0].tool_calls[0].function: "},
      {R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}])",
       "400 messages[0].tool_calls[0].function.arguments: "}};
  for (const auto& [list, message] : messages) {
    INFO(list);
    CHECK_THAT(refusal([&, l = list] {
                 serve::read_completion(serve::parse_body("{\"messages\":" + std::string(l) + "}"), true);
               }),
               contains(message));
  }
}

TEST_CASE("Errors of the library become answers") {
  CHECK(serve::error_body(serve::http_error(404, "no", "model", "model_not_found")) ==
        R"({"error":{"message":"no","type":"invalid_request_error","param":"model","code":"model_not_found"}})");
  CHECK(serve::error_body(serve::http_error(500, "a\xff")) ==
        "{\"error\":{\"message\":\"a\xEF\xBF\xBD\",\"type\":\"server_error\",\"param\":null,\"code\":null}}");
  const auto of = [](const error& e, const char* param = "") {
    const serve::http_error h = serve::http_error_of(e, param);
    return std::to_string(h.code) + " " + h.param;
  };
  CHECK(of(error("sampling_params: top_p", "2", "at most 1")) == "400 top_p");
  CHECK(of(error("request: prompt", "9", "8")) == "400 prompt");
  CHECK(of(error("request: prompt", "9", "8"), "messages") == "400 messages");
  CHECK(of(error(error_kind::resource, "engine_thread: request", "x", "y")) == "503 ");
  CHECK(of(error(error_kind::internal, "x", "x", "y")) == "500 ");
}

TEST_CASE("Chunks and answers have the fields of the API") {
  const serve::answer_head talk{true, "id", "m", 7}, plain{false, "id", "m", 7};
  CHECK(serve::event_of(serve::role_chunk(talk, 1)) ==
        "data: "
        "{\"id\":\"id\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\",\"choices\":[{\"index\":1,"
        "\"delta\":"
        "{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
  CHECK(serve::chunk_json(talk, 0, "a\n", nullptr, nullptr)["choices"].dump() ==
        R"([{"index":0,"delta":{"content":"a\n"},"logprobs":null,"finish_reason":null}])");
  CHECK(serve::chunk_json(talk, 0, "", nullptr, "stop")["choices"].dump() ==
        R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}])");
  CHECK(
      serve::chunk_json(plain, 0, "a", nullptr, nullptr).dump() ==
      R"({"id":"id","object":"text_completion","created":7,"model":"m","choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":null}]})");
  const serve::ordered_json usage = serve::usage_chunk(talk, {5, 2, 3});
  CHECK(usage["choices"].dump() == "[]");
  CHECK(usage["usage"].dump() ==
        R"({"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":2}})");
  const std::vector<serve::place_logprobs> places{{{1, -0.5f, 1}, {{1, -0.5f, 1}, {2, -1, 2}}}, {{2, -2, 3}, {}}};
  const auto text_of = [](std::int32_t id) { return std::string(id == 1 ? "é" : "\xff"); };
  CHECK(
      serve::json_text(serve::chat_logprobs(places, text_of)["content"][0]) ==
      R"({"token":"é","logprob":-0.5,"bytes":[195,169],"top_logprobs":[{"token":"é","logprob":-0.5,"bytes":[195,169]},)"
      "{\"token\":\"\xEF\xBF\xBD\",\"logprob\":-1.0,\"bytes\":[255]}]}");
  std::size_t offset = 3;
  const ordered_json plain_logprobs = serve::completion_logprobs(places, text_of, offset);
  CHECK(plain_logprobs["text_offset"].dump() == "[3,5]");
  CHECK(plain_logprobs["token_logprobs"].dump() == "[-0.5,-2.0]");
  CHECK(offset == 6);
}

TEST_CASE("Embeddings are lists or base64") {
  for (const auto& [bytes, text] :
       {std::pair{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}})
    CHECK(serve::base64_of(bytes) == text);
  const auto read = [](const std::string& body) { return serve::read_embeddings(serve::parse_body(body)); };
  const auto asked = read(R"({"model":"m","input":["a","b"],"encoding_format":"base64","user":"u"})");
  CHECK((asked.base64 && asked.inputs.size() == 2));
  CHECK(
      serve::embeddings_json(asked, {{1, 2}, {3}}, {{1.0f}, {0.5f}}, "m").dump() ==
      R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPw=="},{"object":"embedding","index":1,"embedding":"AAAAPw=="}],)"
      R"("model":"m","usage":{"prompt_tokens":3,"total_tokens":3}})");
  CHECK_THAT(refusal([&] { read(R"({"input":"a","encoding_format":"hex"})"); }), contains("400 encoding_format: "));
  CHECK_THAT(refusal([&] { read("{}"); }), contains("400 input: "));
  CHECK_THAT(refusal([&] { serve::embeddings_json(read(R"({"input":"a","dimensions":2})"), {{1}}, {{1.0f}}, "m"); }),
             contains("400 dimensions: "));
}

TEST_CASE("Metrics are the text format of Prometheus") {
  serve::metrics_text to("model_name=" + serve::metrics_text::quoted("a\"\\\n"));
  to.gauge("g", "About g.", 0.25);
  to.counters("c_total", "About c.", "why", {{"stop", 2}, {"length", 0}});
  serve::histogram h({0.5, 1});
  for (const double v : {0.1, 0.5, 0.7, 3.0}) h.add(v);
  to.put("h", "About h.", h);
  CHECK(to.text() ==
        "# HELP g About g.\n# TYPE g gauge\ng{model_name=\"a\\\"\\\\\\n\"} 0.25\n"
        "# HELP c_total About c.\n# TYPE c_total counter\nc_total{model_name=\"a\\\"\\\\\\n\",why=\"stop\"} 2\n"
        "c_total{model_name=\"a\\\"\\\\\\n\",why=\"length\"} 0\n"
        "# HELP h About h.\n# TYPE h histogram\nh_bucket{model_name=\"a\\\"\\\\\\n\",le=\"0.5\"} 2\n"
        "h_bucket{model_name=\"a\\\"\\\\\\n\",le=\"1\"} 3\nh_bucket{model_name=\"a\\\"\\\\\\n\",le=\"+Inf\"} 4\n"
        "h_sum{model_name=\"a\\\"\\\\\\n\"} 4.3\nh_count{model_name=\"a\\\"\\\\\\n\"} 4\n");
}
