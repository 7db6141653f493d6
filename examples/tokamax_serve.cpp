// examples/tokamax_serve.cpp: serves a language model or an encoder over HTTP, as clients of OpenAI expect it.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <tokamax/models/bert_from_pretrained.hpp>
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/models/sentence_encoder.hpp>
#include <tokamax/serve/http.hpp>
#include <tokamax/text.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <ctime>
#include <optional>

#include "program_main.hpp"

namespace tk = tokamax;

struct settings {
  std::filesystem::path model;
  std::string name;
  tk::serve::server_options http;
  tk::serve::api_options api;
  tk::serve::engine_options engine;
  std::int64_t threads = 0;
  std::uint64_t cache = std::uint64_t{1} << 30;
  double most_seconds = 3600;
  std::string weights = "file";
  bool bf16 = false, by_priority = false;
};

void declare_options(CLI::App& app, settings& s) {
  app.add_option("model", s.model, "folder with config.json, safetensors files and a tokenizer, or a GGUF file")
      ->required();
  app.add_option("--served-model-name", s.name, "how clients call the model [the name of the file or folder]");
  app.add_option("--host", s.http.address, "the address to listen at; 0.0.0.0 for all")->capture_default_str();
  app.add_option("--port", s.http.port, "the port; 0 takes any that is free")->capture_default_str();
  app.add_option("--api-key", s.api.api_keys, "a key that clients must send; may be given several times");
  app.add_option("--threads", s.threads, "threads that compute; 0 takes all")->capture_default_str();
  app.add_option("--cache", s.cache, "memory of the cache of keys and values, such as 1GiB [1GiB]")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--max-model-len", s.engine.max_model_len,
                 "the most tokens of prompt and answer; 0: as many as the model has learned and the cache holds")
      ->capture_default_str();
  app.add_option("--max-num-seqs", s.engine.max_num_seqs, "the most answers at once")->capture_default_str();
  app.add_option("--max-num-batched-tokens", s.engine.max_num_batched_tokens, "the most tokens that a step takes in")
      ->capture_default_str();
  app.add_option("--max-waiting", s.api.most_waiting, "answers that wait; more are refused")->capture_default_str();
  app.add_option("--max-body", s.http.most_body, "bytes of a request")->capture_default_str();
  app.add_option("--max-seconds", s.most_seconds, "of a request")->capture_default_str();
  app.add_flag("--priority", s.by_priority, "smaller priorities of requests come first");
  app.add_flag("--bf16", s.bf16, "weights and cache in bfloat16, which halves the memory of floats");
  app.add_option("--weights", s.weights, "matrices as the file has them, also in few bits, or as floats")
      ->check(CLI::IsMember({"file", "float"}))
      ->capture_default_str();
}

tk::text::tokenizer tokenizer_of(const std::filesystem::path& model) {
  if (!std::filesystem::is_directory(model)) return tk::text::tokenizer::from_gguf(model);
  if (std::filesystem::exists(model / "tokenizer.json") || !std::filesystem::exists(model / "tokenizer.model"))
    return tk::text::tokenizer::from_file(model / "tokenizer.json");
  return tk::text::tokenizer::from_sentencepiece(model / "tokenizer.model", {.add_bos_token = true});
}

// A model without a template completes texts, and its chats are refused.
std::optional<tk::text::chat_template> template_of(const std::filesystem::path& model) try {
  return tk::text::chat_template::from_file(model);
} catch (const tk::error& e) {
  fmt::print(stderr, "tokamax_serve: no chats: {}\n", e.what());
  return std::nullopt;
}

std::string name_of(const settings& s) {
  if (!s.name.empty()) return s.name;
  return s.model.has_filename() ? s.model.filename().string() : s.model.parent_path().filename().string();
}

// Serves until the last answer has ended behind a signal.
int serve(const settings& s, tk::serve::served_model model, tk::serve::engine_thread* engine) {
  tk::serve::api_options api_options = s.api;
  api_options.most_seconds = s.most_seconds;
  const std::string name = model.name;
  std::optional<tk::serve::llm_api> api(std::in_place, std::move(model), api_options);
  tk::serve::http_server server(s.http, [&](tk::serve::http_request r, std::shared_ptr<tk::serve::exchange> to) {
    (*api)(std::move(r), std::move(to));
  });
  server.stop_by_signal([] { fmt::print(stderr, "tokamax_serve: ends when the last answer has\n"); });
  fmt::print("tokamax_serve: {} at http://{}:{}\n", name, s.http.address, server.port());
  std::fflush(stdout);
  server.run();
  if (engine) engine->stop();
  api.reset();  // what it holds of the server ends before the server does
  return 0;
}

int serve_encoder(const settings& s) {
  tk::serve::served_model model{.name = name_of(s), .created = static_cast<std::int64_t>(std::time(nullptr))};
  const auto file = s.model / "sentence_bert_config.json";
  const std::int64_t longest =
      std::filesystem::exists(file) ? tk::checkpoint::json_record::from_file(file).get<int>("max_seq_length", 0) : 0;
  auto json = tk::checkpoint::json_record::from_file(s.model / "tokenizer.json");
  for (const char* field : {"truncation", "padding"}) json.remove(field);  // how long texts may be the encoder says
  model.words = tk::text::tokenizer::from_json(json.text(), json.where());
  const auto embed =
      std::make_shared<tk::models::sentence_encoder>(tk::models::bert_from_pretrained(s.model).model, tk::cpu, longest);
  model.max_model_len = longest == 0 ? embed->config().context : longest;
  model.embed = [embed](const std::vector<std::vector<std::int32_t>>& texts) {
    const tk::array rows = (*embed)(texts);
    const auto values = rows.values<float>();
    const auto width = static_cast<std::ptrdiff_t>(embed->config().width);
    std::vector<std::vector<float>> all;
    for (auto at = values.begin(); at != values.end(); at += width) all.emplace_back(at, at + width);
    return all;
  };
  return serve(s, std::move(model), nullptr);
}

int serve_decoder(const settings& s) {
  const tk::text::tokenizer words = tokenizer_of(s.model);
  std::optional<tk::text::chat_template> chat = template_of(s.model);
  tk::serve::engine_options o = s.engine;
  o.cache_bytes = static_cast<std::int64_t>(s.cache);
  o.cache_dtype = s.bf16 ? tk::bf16 : tk::f32;
  if (s.by_priority) o.policy = tk::serve::schedule_policy::priority;
  tk::serve::engine_thread engine(
      tk::serve::engine(tk::models::from_pretrained(
                            s.model, {.dtype = s.bf16 ? tk::bf16 : tk::f32, .packed = s.weights == "file" && !s.bf16}),
                        words, tk::cpu, o));
  return serve(s, tk::serve::model_of(engine, name_of(s), words, std::move(chat)), &engine);
}

int run(const settings& s) {
  if (s.threads < 0 || s.threads > 1024) throw tk::error("--threads", std::to_string(s.threads), "0 to 1024");
  if (s.cache == 0) throw tk::error("--cache", "0", "1 byte or more");
  tk::cpu_backend::set_num_threads(static_cast<int>(s.threads));
  const auto config = s.model / "config.json";
  const bool encodes = std::filesystem::exists(config) &&
                       tk::checkpoint::json_record::from_file(config).get<std::string>("model_type", "") == "bert";
  return encodes ? serve_encoder(s) : serve_decoder(s);
}

int main(int argc, char** argv) {
  return program_main<settings>(argc, argv, "tokamax_serve", "Serves a language model over HTTP.", declare_options,
                                run);
}
