// tokamax/text/tekken.hpp: tekken.json, the tokenizer of Mistral's newer models: ranks of bytes, a pattern and special tokens.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/sentencepiece.cpp
#pragma once

#include <tokamax/text/special_frame.hpp>  // special_frame
#include <tokamax/text/tiktoken.hpp>       // ranked_vocabulary

namespace tokamax::text {

/// A file of Mistral.
struct tekken_file {
  tokenizer_json ranks;
  std::string pattern;
  nlohmann::json special_tokens = nlohmann::json::array();  ///< {"content", "id", "special"} of each

  /// The special token of a name.
  special_frame::token special(const std::string& name, const std::string& where) const {
    for (const nlohmann::json& t : special_tokens)
      if (t["content"] == name) return std::pair{name, t["id"].get<std::uint32_t>()};
    throw error(error_kind::file, "tokenizer: special_tokens", "no " + name, name, where);
  }
};

/// Reads tekken.json. Special tokens have the first ids, and ranks those behind them.
/// errors  tokamax::error of the kind `file` that names the field
/// source  github.com/mistralai/mistral-common, tokens/tokenizers/tekken.py
inline tekken_file parse_tekken(std::string_view json, const std::string& where) {
  const tokenizer_json parsed = parse_tokenizer_json(json, where);
  const json_field whole(parsed.rest, "", where), config = whole["config"];
  const std::uint32_t specials = config["default_num_special_tokens"].natural(1u << 20);
  const std::uint32_t size = config["default_vocab_size"].natural(largest_token_id);
  if (size < specials || size > json.size() + 65536)
    config["default_vocab_size"].refuse("at least default_num_special_tokens, and no more than the file can hold");
  tekken_file result;
  result.pattern = config["pattern"].text();
  const std::vector<json_field> vocab = whole["vocab"].elements();
  if (vocab.size() < size - specials) whole["vocab"].refuse(std::to_string(size - specials) + " tokens");
  detail::ranked_vocabulary made(vocab.size(), where);
  for (std::uint32_t i = 0; i < size - specials; ++i) {
    if (vocab[i]["rank"].natural(largest_token_id) != i) vocab[i]["rank"].refuse(std::to_string(i));
    const auto bytes = from_base64(vocab[i]["token_bytes"].text());
    if (!bytes || bytes->empty() || bytes->size() > detail::longest_ranked)
      vocab[i]["token_bytes"].refuse("some bytes in base 64");
    made.add(*bytes, i + specials);
  }
  result.ranks = made.finish();
  std::vector<std::string> names(specials);
  if (const json_field given = whole["special_tokens"]; !given.absent())
    for (const json_field& one : given.elements()) {
      const std::uint32_t rank = one["rank"].natural(largest_token_id);
      if (rank >= specials) one["rank"].refuse("less than default_num_special_tokens");
      names[rank] = one["token_str"].text();
    }
  for (std::uint32_t id = 0; id < specials; ++id) {
    if (names[id].empty()) names[id] = "<SPECIAL_" + std::to_string(id) + ">";
    result.special_tokens.push_back({{"content", names[id]}, {"id", id}, {"special", true}});
  }
  return result;
}

}  // namespace tokamax::text
