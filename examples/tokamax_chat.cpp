// examples/tokamax_chat.cpp: chats with a language model, read from a folder of transformers or a GGUF file.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/models/generator.hpp>
#include <tokamax/text.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/train/device_named.hpp>

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <optional>

#include "program_main.hpp"

namespace tk = tokamax;

struct settings {
  std::filesystem::path model;
  std::optional<std::string> prompt, system;
  std::string device = "cpu";
  std::int64_t max_tokens = 512, context = 2048, threads = 0;
  tk::models::sampling how;
  std::string weights = "file";
  bool bf16 = false, plain = false, times = false;
};

void declare_options(CLI::App& app, settings& s) {
  app.add_option("model", s.model, "folder with config.json, safetensors files and a tokenizer, or a GGUF file")
      ->required();
  app.add_option("--prompt", s.prompt, "say this, and end after the answer [chat, a line at a time]");
  app.add_option("--system", s.system, "what the model is told before all else");
  app.add_option("--max-tokens", s.max_tokens, "the most tokens of an answer")->capture_default_str();
  app.add_option("--context", s.context,
                 "the most tokens of a chat, for which there is memory from the start; at most those of the training")
      ->capture_default_str();
  app.add_option("--temperature", s.how.temperature, "0 takes the most likely token")->capture_default_str();
  app.add_option("--top-k", s.how.top_k, "draw from so many likely tokens; 0 takes all")->capture_default_str();
  app.add_option("--top-p", s.how.top_p, "draw from the likely tokens of this probability together")
      ->capture_default_str();
  app.add_option("--seed", s.how.seed, "of what is drawn")->capture_default_str();
  app.add_option("--device", s.device, "where it runs: cpu, cuda, or cuda:N")->capture_default_str();
  app.add_option("--threads", s.threads, "threads; 0 takes all")->capture_default_str();
  app.add_flag("--bf16", s.bf16, "weights and cache in bfloat16, which halves the memory of floats");
  app.add_option(
         "--weights", s.weights,
         "matrices as the file has them, also in few bits; as floats; or as integers, of which 32 share a scale")
      ->check(CLI::IsMember({"file", "float", "int8", "int4"}))
      ->capture_default_str();
  app.add_flag("--plain", s.plain, "continue the text, without a chat template");
  app.add_flag("--times", s.times, "say how long it took");
}

tk::text::tokenizer tokenizer_of(const std::filesystem::path& model) {
  if (!std::filesystem::is_directory(model)) return tk::text::tokenizer::from_gguf(model);
  if (std::filesystem::exists(model / "tokenizer.json") || !std::filesystem::exists(model / "tokenizer.model"))
    return tk::text::tokenizer::from_file(model / "tokenizer.json");
  return tk::text::tokenizer::from_sentencepiece(model / "tokenizer.model", {.add_bos_token = true});
}

// Four bits are for the layers; the vocabulary keeps eight.
std::vector<tk::quant::rule> rules_of(const settings& s) {
  std::vector<tk::quant::rule> rules;
  tk::quant::rule r{.weight_qtype = tk::i8, .tile_size = 32, .packed = true, .scale_dtype = tk::f16};
  if (s.weights == "int8" || s.weights == "int4") rules.push_back(r);
  r.module_path = "blocks[*]", r.weight_qtype = tk::u4;
  if (s.weights == "int4") rules.insert(rules.begin(), r);
  return rules;
}

class chat {
 public:
  explicit chat(const settings& s)
      : settings_(s),
        tokenizer_(tokenizer_of(s.model)),
        pretrained_(tk::models::from_pretrained(
            s.model, {.dtype = s.bf16 ? tk::bf16 : tk::f32, .packed = s.weights == "file" && !s.bf16})),
        context_(std::min<std::int64_t>(s.context, pretrained_.model.config.context)),
        says_(std::move(pretrained_.model), tk::any_device(tk::train::device_named(s.device, "--device")),
              {.context = context_,
               .cache_dtype = s.bf16 ? tk::bf16 : tk::f32,
               .rules = rules_of(s),
               .packed = std::move(pretrained_.packed)}) {
    if (!s.plain) template_ = tk::text::chat_template::from_file(s.model);
    if (s.system) messages_.push_back({"system", *s.system});
  }

  /// Answers, and prints the answer while it comes.
  void answer(const std::string& to) {
    messages_.push_back({"user", to});
    const std::vector<std::int32_t> prompt =
        template_ ? tokenizer_.ids(template_->render(messages_, {.add_generation_prompt = true}), false)
                  : tokenizer_.ids(to);
    if (static_cast<std::int64_t>(prompt.size()) >= says_.context())
      throw tk::error("chat", std::to_string(prompt.size()) + " tokens",
                      fmt::format("fewer than the context {}", says_.context()));
    tk::text::decode_stream stream(tokenizer_);
    std::string said;
    const auto say = [&](const std::string& more) {
      said += more;
      fmt::print("{}", more);
      std::fflush(stdout);
    };
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    auto first = begin;
    const auto tokens =
        says_(prompt, settings_.max_tokens, settings_.how, pretrained_.end_tokens, [&](std::int32_t id) {
          if (first == begin) first = clock::now();
          say(stream.put(id));
          return true;
        });
    say(stream.finish());
    fmt::print("\n");
    messages_.push_back({"assistant", said});
    const auto seconds = [](auto from, auto till) { return std::chrono::duration<double>(till - from).count(); };
    if (settings_.times && tokens.size() > 1)
      fmt::print(stderr, "[{} tokens taken in, first token after {:.2f} s, then {:.1f} tokens/s]\n", prompt.size(),
                 seconds(begin, first), static_cast<double>(tokens.size() - 1) / seconds(first, clock::now()));
  }

 private:
  const settings& settings_;
  tk::text::tokenizer tokenizer_;
  tk::models::pretrained pretrained_;
  std::int64_t context_;
  tk::models::generator says_;
  std::optional<tk::text::chat_template> template_;
  std::vector<tk::text::chat_message> messages_;
};

int run(const settings& s) {
  if (s.max_tokens < 1) throw tk::error("--max-tokens", std::to_string(s.max_tokens), "1 or more");
  if (s.context < 2) throw tk::error("--context", std::to_string(s.context), "2 or more");
  if (s.threads < 0 || s.threads > 1024) throw tk::error("--threads", std::to_string(s.threads), "0 to 1024");
  tk::cpu_backend::set_num_threads(static_cast<int>(s.threads));
  chat with(s);
  if (s.prompt) {
    with.answer(*s.prompt);
    return 0;
  }
  std::string line;
  while (fmt::print("> "), std::fflush(stdout), std::getline(std::cin, line))
    if (!line.empty()) with.answer(line);
  fmt::print("\n");
  return 0;
}

int main(int argc, char** argv) {
  return program_main<settings>(argc, argv, "tokamax_chat", "Chats with a language model.", declare_options, run);
}
