// examples/tokamax_embed.cpp: sentences as rows of numbers, or in the order in which they are like a question.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/models/bert_from_pretrained.hpp>
#include <tokamax/models/sentence_encoder.hpp>
#include <tokamax/text.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <iostream>
#include <optional>

#include "program_main.hpp"

namespace tk = tokamax;

struct settings {
  std::filesystem::path model;
  std::optional<std::string> query;
  std::size_t top = 10;
};

// The tokenizer as the file has it, but whole sentences: how long they may be the encoder says.
tk::text::tokenizer tokenizer_of(const std::filesystem::path& folder) {
  auto json = tk::checkpoint::json_record::from_file(folder / "tokenizer.json");
  for (const char* name : {"truncation", "padding"}) json.remove(name);
  return tk::text::tokenizer::from_json(json.text(), json.where());
}
std::int64_t longest_of(const std::filesystem::path& folder) {
  const auto file = folder / "sentence_bert_config.json";
  return std::filesystem::exists(file) ? tk::checkpoint::json_record::from_file(file).get<int>("max_seq_length", 0) : 0;
}

void declare_options(CLI::App& app, settings& s) {
  app.add_option("model", s.model, "folder with config.json, safetensors files and tokenizer.json of an encoder")
      ->required();
  app.add_option("--query", s.query, "the question");
  app.add_option("--top", s.top, "the most lines that are printed for a question")->capture_default_str();
}

int run(const settings& s) {
  const tk::text::tokenizer tokenizer = tokenizer_of(s.model);
  tk::models::sentence_encoder embed(tk::models::bert_from_pretrained(s.model).model, tk::cpu, longest_of(s.model));
  std::vector<std::string> lines;
  std::vector<std::vector<std::int32_t>> ids;
  for (std::string line; std::getline(std::cin, line);)
    if (!line.empty()) ids.push_back(tokenizer.ids(line)), lines.push_back(std::move(line));
  const tk::array rows = embed(ids);  // [lines, width]
  if (s.query) {
    const tk::array alike = tk::matmul(rows, tk::reshape(embed({tokenizer.ids(*s.query)}), {embed.config().width}));
    const tk::array order = tk::argsort(alike, 0, true);
    for (std::size_t i = 0; i < std::min(s.top, lines.size()); ++i) {
      const auto line = static_cast<std::size_t>(order.values<std::int32_t>()[i]);
      fmt::print("{:.3f} {}\n", alike.values<float>()[line], lines[line]);
    }
    return 0;
  }
  const auto width = static_cast<std::size_t>(embed.config().width);
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (std::size_t k = 0; k < width; ++k)
      fmt::print("{:.9g}{}", rows.values<float>()[i * width + k], k + 1 == width ? '\n' : ' ');
  return 0;
}

int main(int argc, char** argv) {
  return program_main<settings>(
      argc, argv, "tokamax_embed",
      "Prints a row of numbers for each line of the standard input, or the lines that are most like a question.",
      declare_options, run);
}
