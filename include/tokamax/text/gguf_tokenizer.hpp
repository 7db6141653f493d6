// tokamax/text/gguf_tokenizer.hpp: the tokenizer that is in a GGUF file.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/sentencepiece.cpp
#pragma once

#include <tokamax/text/gguf.hpp>                 // gguf_metadata
#include <tokamax/text/gguf_pre_tokenizers.hpp>  // gguf_pre_tokenizer_of
#include <tokamax/text/sentencepiece_file.hpp>   // sentencepiece_file
#include <tokamax/text/special_frame.hpp>        // special_frame

namespace tokamax::text {

namespace detail {

// The id of a special token of a GGUF file, or nothing.
inline std::optional<std::uint32_t> special_id_of_gguf(const gguf_metadata& file, const std::string& kind) {
  const std::string name = "tokenizer.ggml." + kind + "_token_id";
  if (!file.has(name)) return std::nullopt;
  const double id = file.get<double>(name);
  if (!(id >= 0 && id < static_cast<double>(file.get<gguf_metadata::texts>("tokenizer.ggml.tokens").size())))
    file.refuse(name, std::to_string(id), "the id of a token");
  return static_cast<std::uint32_t>(id);
}
// Special tokens that frame a text.
inline nlohmann::json frame_of_gguf(const gguf_metadata& file, const gguf_metadata::texts& tokens, bool bos = false,
                                    bool eos = false) {
  const auto added = [&](const std::string& kind, bool otherwise) -> special_frame::token {
    const std::string flag = "tokenizer.ggml.add_" + kind + "_token";
    if (!(file.has(flag) ? file.get<double>(flag) != 0 : otherwise)) return std::nullopt;
    const auto id = special_id_of_gguf(file, kind);
    if (!id) file.refuse("tokenizer.ggml." + kind + "_token_id", "nothing", "the id of a token");
    return std::pair{tokens[*id], *id};
  };
  return special_frame{added("bos", bos), added("eos", eos)}.json();
}
// Control tokens, and those of the user.
inline nlohmann::json added_of_gguf(const gguf_metadata& file, const gguf_metadata::texts& tokens) {
  nlohmann::json added = nlohmann::json::array();
  if (!file.has("tokenizer.ggml.token_type")) return added;
  const auto& types = file.get<gguf_metadata::numbers>("tokenizer.ggml.token_type");
  if (types.size() != tokens.size())
    file.refuse("tokenizer.ggml.token_type", std::to_string(types.size()) + " types", std::to_string(tokens.size()));
  for (std::uint32_t id = 0; id < tokens.size(); ++id)
    if (types[id] == 3 || types[id] == 4)
      added.push_back({{"id", id}, {"content", tokens[id]}, {"special", types[id] == 3}, {"normalized", false}});
  return added;
}

inline void read_merges(const gguf_metadata& file, tokenizer_json& to) {
  to.tokens = file.get<gguf_metadata::texts>("tokenizer.ggml.tokens");
  for (std::uint32_t id = 0; id < to.tokens.size(); ++id) to.ids.push_back(id);
  for (const std::string& merge : file.get<gguf_metadata::texts>("tokenizer.ggml.merges")) {
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string::npos) file.refuse("tokenizer.ggml.merges", merge, "two tokens with a space between");
    to.merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
}
// Merges of characters, as SentencePiece would make them: marks stand for spaces, and runs of line feeds are words.
inline tokenizer_json bpe_of_characters(const gguf_metadata& file) {
  tokenizer_json result;
  read_merges(file, result);
  const auto replace = [](const char* from, const char* to) {
    return nlohmann::json{{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
  };
  const auto unknown = special_id_of_gguf(file, "unknown");
  result.rest = {{"normalizer", replace(" ", "\xE2\x96\x81")},
                 {"pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "\n+"}}}, {"behavior", "Isolated"}}},
                 {"model", {{"type", "BPE"}, {"byte_fallback", true}, {"fuse_unk", true}}},
                 {"decoder",
                  {{"type", "Sequence"},
                   {"decoders", {replace("\xE2\x96\x81", " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}}},
                 {"post_processor", frame_of_gguf(file, result.tokens, true)},
                 {"added_tokens", added_of_gguf(file, result.tokens)}};
  if (unknown) result.rest["model"]["unk_token"] = result.tokens[*unknown];
  return result;
}
// Words of BERT, which begin with a mark there; other parts of words have none.
inline tokenizer_json wordpiece_of_gguf(const gguf_metadata& file) {
  tokenizer_json result;
  const auto& tokens = file.get<gguf_metadata::texts>("tokenizer.ggml.tokens");
  constexpr std::string_view mark = "\xE2\x96\x81";
  for (const std::string& t : tokens) {
    const bool special = t.starts_with('[') && t.ends_with(']');
    result.ids.push_back(static_cast<std::uint32_t>(result.tokens.size()));
    result.tokens.push_back(t.starts_with(mark) ? t.substr(mark.size()) : special ? t : "##" + t);
  }
  const auto token_of = [&](const std::string& kind, const char* other) -> nlohmann::json {
    auto id = special_id_of_gguf(file, kind);
    if (!id) id = special_id_of_gguf(file, other);
    if (!id) file.refuse("tokenizer.ggml." + kind + "_token_id", "nothing", "the id of a token");
    return {result.tokens[*id], *id};
  };
  result.rest = {{"normalizer", {{"type", "BertNormalizer"}}},
                 {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                 {"model",
                  {{"type", "WordPiece"},
                   {"unk_token", token_of("unknown", "unknown")[0]},
                   {"continuing_subword_prefix", "##"},
                   {"max_input_chars_per_word", 100}}},
                 {"post_processor",
                  {{"type", "BertProcessing"}, {"cls", token_of("cls", "bos")}, {"sep", token_of("seperator", "eos")}}},
                 {"decoder", {{"type", "WordPiece"}}},
                 {"added_tokens", added_of_gguf(file, result.tokens)}};
  return result;
}

}  // namespace detail

/// The tokenizer of a GGUF file, as the tokenizer.json that it was made of.
/// errors  tokamax::error of the kind `file` that names a model or a way to cut texts which is not known
inline tokenizer_json tokenizer_of(const gguf_metadata& file) {
  const std::string& model = file.get<std::string>("tokenizer.ggml.model");
  if (model == "bert") return detail::wordpiece_of_gguf(file);
  if (model == "gemma4") return detail::bpe_of_characters(file);
  if (model != "gpt2") file.refuse("tokenizer.ggml.model", model, "gpt2, llama, t5, bert or gemma4");
  const std::string& pre = file.get<std::string>("tokenizer.ggml.pre");
  const auto cuts = gguf_pre_tokenizer_of(pre);
  if (!cuts) file.refuse("tokenizer.ggml.pre", pre, gguf_pre_tokenizer_names());
  tokenizer_json result;
  detail::read_merges(file, result);
  result.rest = {{"model", {{"type", "BPE"}, {"ignore_merges", cuts->whole_words}}},
                 {"pre_tokenizer", cuts->json},
                 {"decoder", {{"type", "ByteLevel"}}},
                 {"post_processor", detail::frame_of_gguf(file, result.tokens)},
                 {"added_tokens", detail::added_of_gguf(file, result.tokens)}};
  if (cuts->composes) result.rest["normalizer"] = {{"type", "NFC"}};
  return result;
}

/// Pieces of SentencePiece in a GGUF file, whose model is `llama` (BPE) or `t5` (unigram).
inline sentencepiece_file sentencepiece_of(const gguf_metadata& file) {
  using numbers = gguf_metadata::numbers;
  sentencepiece_file result;
  const bool bpe = file.get<std::string>("tokenizer.ggml.model") == "llama";
  const auto& tokens = file.get<gguf_metadata::texts>("tokenizer.ggml.tokens");
  const auto &scores = file.get<numbers>("tokenizer.ggml.scores"),
             &types = file.get<numbers>("tokenizer.ggml.token_type");
  if (scores.size() != tokens.size() || types.size() != tokens.size())
    file.refuse("tokenizer.ggml.scores",
                std::to_string(scores.size()) + " scores and " + std::to_string(types.size()) + " types",
                std::to_string(tokens.size()));
  const std::size_t unknown = detail::special_id_of_gguf(file, "unknown").value_or(0);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    static constexpr std::array kinds{1, 2, 3, 4, 5, 6};
    if (std::find(kinds.begin(), kinds.end(), types[i]) == kinds.end())
      file.refuse("tokenizer.ggml.token_type", std::to_string(types[i]), "1 to 6");
    // Only one stands for unknown characters.
    const int kind = i == unknown ? 2 : types[i] == 2 ? 5 : static_cast<int>(types[i]);
    result.pieces.push_back({tokens[i], static_cast<float>(scores[i]), static_cast<sentencepiece_file::kind>(kind)});
  }
  const auto flag = [&](const char* name, bool otherwise) {
    const std::string key = std::string("tokenizer.ggml.") + name;
    return file.has(key) ? file.get<double>(key) != 0 : otherwise;
  };
  result.model = bpe ? sentencepiece_file::model_type::bpe : sentencepiece_file::model_type::unigram;
  result.byte_fallback = bpe;
  result.before.add_dummy_prefix = flag("add_space_prefix", true);
  result.before.remove_extra_whitespaces = flag("remove_extra_whitespaces", false);
  if (file.has("tokenizer.ggml.precompiled_charsmap"))
    for (const double byte : file.get<numbers>("tokenizer.ggml.precompiled_charsmap")) {
      if (!(byte >= -128 && byte <= 255))
        file.refuse("tokenizer.ggml.precompiled_charsmap", std::to_string(byte), "bytes");
      result.before.character_map += static_cast<char>(static_cast<unsigned char>(static_cast<int>(byte) & 255));
    }
  return result;
}

}  // namespace tokamax::text
