// tests/serve/http/openai.cpp: a tiny model behind the API: answers, streams and structure; and its folder for the client of OpenAI.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/serve/http/llm_api.hpp>
#include <tokamax/serve/http/served_engine.hpp>

#include <cstdlib>

#include "support/byte_tokenizer.hpp"
#include "support/catch.hpp"
#include "support/json_schema_check.hpp"
#include "support/recorded_exchange.hpp"
#include "support/tiny_models.hpp"

using namespace tokamax;
using serve::ordered_json;
using test::recorded_exchange;

namespace {

// A Llama of random weights with a vocabulary of bytes and some words, as transformers would write it.
void write_model(const std::filesystem::path& folder) {
  test::tiny_model m("llama");
  const std::int64_t vocabulary = 320;
  for (checkpoint::named_array& t : m.tensors)
    if (t.name == "lm_head.weight" || t.name == "model.embed_tokens.weight")
      t.value = test::tiny_tensor(t.name, {vocabulary, 32}, false);
  m.config.set("vocab_size", vocabulary);
  m.config.set("max_position_embeddings", 1024);
  m.config.set("eos_token_id", 0);
  m.config.set("bos_token_id", 0);
  m.write(folder);
  const std::string_view texts[] = {
      "the name of the thing is \"name\": {\"a\": [true, false, null]} and the other one too"};
  std::ofstream(folder / "tokenizer.json") << text::train_bpe(texts, {.vocab_size = vocabulary});
  std::ofstream(folder / "chat_template.jinja") << "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor "
                                                   "%}{% if add_generation_prompt %}<assistant>{% endif %}";
}

std::shared_ptr<recorded_exchange> begin(serve::llm_api& api, const std::string& path, const std::string& body) {
  auto to = std::make_shared<recorded_exchange>();
  api({"POST", path, {}, body, {}}, to);
  return to;
}
ordered_json answer(serve::llm_api& api, const std::string& path, const std::string& body) {
  const auto to = begin(api, path, body);
  REQUIRE(to->wait());
  INFO(to->body);
  REQUIRE(to->code == 200);
  return ordered_json::parse(to->body);
}

}  // namespace

TEST_CASE("A model behind the API") {
  const temporary_folder own;
  const auto folder = own.path / "tiny";
  write_model(folder);
  const auto words = text::tokenizer::from_file(folder / "tokenizer.json");
  serve::engine_thread engine(
      serve::engine(models::from_pretrained(folder), words, cpu, {.cache_blocks = 64, .max_num_seqs = 8}));
  {
    serve::llm_api api(serve::model_of(engine, "tiny", words, text::chat_template::from_file(folder)), {});
    const std::string chat = R"({"messages":[{"role":"user","content":"Hello"}],"temperature":0,"max_tokens":20)";
    const ordered_json whole = answer(api, "/v1/chat/completions", chat + "}");
    const std::string text = whole["choices"][0]["message"]["content"];
    CHECK(whole["usage"]["prompt_tokens"] == std::ssize(words.ids("<user>Hello\n<assistant>", false)));
    CHECK(answer(api, "/v1/chat/completions", chat + "}")["choices"] == whole["choices"]);  // from the cache

    std::vector<std::shared_ptr<recorded_exchange>> streams;  // beside each other
    for (int i = 0; i < 12; ++i) streams.push_back(begin(api, "/v1/chat/completions", chat + R"(,"stream":true})"));
    for (const auto& to : streams) {
      REQUIRE(to->wait());
      std::string said;
      for (const ordered_json& e : to->events()) said += e["choices"][0]["delta"].value("content", "");
      CHECK(said == text);
    }

    const char* const schemas[] = {
        R"({"type":"object","properties":{"name":{"type":"string","maxLength":6},"n":{"type":"integer","minimum":-5,"maximum":50}},"required":["name","n"]})",
        R"({"type":"array","items":{"enum":["a",true,{"b":1}]},"minItems":1,"maxItems":4})",
        R"({"anyOf":[{"type":"null"},{"type":"boolean"}]})"};
    for (const char* schema : schemas)
      for (int seed = 0; seed < 5; ++seed) {
        const ordered_json choice =
            answer(api, "/v1/chat/completions",
                   R"({"messages":[{"role":"user","content":"Hello"}],"temperature":2,"max_tokens":300,"seed":)" +
                       std::to_string(seed) + R"(,"guided_json":)" + schema + "}")["choices"][0];
        CHECK(choice["finish_reason"] == "stop");
        const auto s = ordered_json::parse(schema);
        CHECK(test::validates(ordered_json::parse(choice["message"]["content"].get<std::string>()), s, s));
      }
    const ordered_json two =
        answer(api, "/v1/completions", R"({"prompt":"a","n":3,"guided_choice":["yes","no"],"temperature":2,"seed":1})");
    for (const ordered_json& c : two["choices"]) CHECK((c["text"] == "yes" || c["text"] == "no"));

    const ordered_json logprobs =
        answer(api, "/v1/completions",
               R"({"prompt":"the","echo":true,"logprobs":2,"max_tokens":4,"temperature":0})")["choices"][0];
    std::string joined;
    for (const ordered_json& t : logprobs["logprobs"]["tokens"]) joined += t.get<std::string>();
    CHECK(logprobs["text"].get<std::string>().starts_with("the"));
    CHECK(logprobs["logprobs"]["tokens"].size() == logprobs["logprobs"]["token_logprobs"].size());

    auto gone = begin(api, "/v1/completions", R"({"prompt":"the","max_tokens":900,"ignore_eos":true})");
    REQUIRE(gone->wait(false));
    gone->gone();
    REQUIRE(gone->wait());
    CHECK(gone->code == 503);  // which nobody reads
    const serve::engine_stats s = engine.stats();
    CHECK((s.running == 0 && s.waiting == 0 && s.used_blocks == 0));
    CHECK(s.finished[static_cast<std::size_t>(serve::finish_reason::abort)] == 1);
    engine.stop();
  }
}

TEST_CASE("Writes the model that check_openai.py talks to", "[.openai]") {
  const char* const folder = std::getenv("TOKAMAX_OPENAI");
  REQUIRE(folder);
  write_model(folder);
}
