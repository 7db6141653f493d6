// tokamax/text/gguf_pre_tokenizers.hpp: how texts are cut, by the names that GGUF files have for it.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/tokenizer_json.hpp>  // json

#include <algorithm>    // find
#include <string_view>  // string_view

namespace tokamax::text {

/// A pre-tokenizer as in tokenizer.json. Words that are tokens may be taken whole, and texts may be composed before (NFC).
struct gguf_pre_tokenizer {
  nlohmann::json json;
  bool whole_words = false, composes = false;
};

namespace detail {

struct gguf_names {
  std::vector<std::string_view> names;  // of llama.cpp
  bool whole_words, composes;
  std::vector<std::string_view> splits;  // patterns, or names of other steps
};
inline const std::vector<gguf_names>& all_gguf_names() {
  static constexpr std::string_view llama3 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view gpt4o =
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view tekken =
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view qwen2 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view qwen35 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view deepseek3 =
      R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view ideographs = "[一-龥\u0800-一가-\uD7FF]+";
  static constexpr std::string_view cased_letters =
      "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-"
      "ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-"
      "𐳲𑢠-𑣟𞤀-𞥃]+";
  static const std::vector<gguf_names> all{
      {{"gpt-2", "mpt", "olmo", "phi-2", "exaone"}, false, false, {"bytes of words"}},
      {{"smollm", "starcoder", "refact", "command-r"}, false, false, {"digits", "bytes of words"}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "glm4"}, true, false, {llama3, "bytes"}},
      {{"chatglm-bpe", "dbrx", "smaug-bpe"}, false, false, {llama3, "bytes"}},
      {{"qwen2", "deepseek-r1-qwen", "megrez"}, false, true, {qwen2, "bytes"}},
      {{"qwen35"}, false, false, {qwen35, "bytes"}},
      {{"gpt-4o", "llama4"}, false, false, {gpt4o, "bytes"}},
      {{"tekken"}, true, false, {tekken, "bytes"}},
      {{"deepseek-v3"}, false, false, {"\\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+", deepseek3, "bytes"}},
      {{"deepseek-llm"},
       false,
       false,
       {"[\r\n]", cased_letters, "\\s?[!-/:-~！-／：-～‘-‟　-。]+", "\\s+$", ideographs, "digits", "bytes"}},
      {{"deepseek-coder"}, false, false, {"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", ideographs, "digits", "bytes"}},
      {{"falcon"}, false, false, {"punctuation", "bytes of words", "runs of digits", "[0-9][0-9][0-9]"}},
  };
  return all;
}
inline nlohmann::json step_of_gguf(std::string_view name) {
  if (name.starts_with("bytes"))
    return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", name == "bytes of words"}};
  if (name == "punctuation") return {{"type", "Punctuation"}, {"behavior", "Contiguous"}};
  if (name.ends_with("digits")) return {{"type", "Digits"}, {"individual_digits", name == "digits"}};
  return {{"type", "Split"}, {"pattern", {{"Regex", name}}}, {"behavior", "Isolated"}, {"invert", false}};
}

}  // namespace detail

/// The pre-tokenizer of a name, or nothing if that is not known.
inline std::optional<gguf_pre_tokenizer> gguf_pre_tokenizer_of(const std::string& name) {
  for (const detail::gguf_names& g : detail::all_gguf_names()) {
    if (std::find(g.names.begin(), g.names.end(), name) == g.names.end()) continue;
    nlohmann::json steps = nlohmann::json::array();
    for (const std::string_view split : g.splits) steps.push_back(detail::step_of_gguf(split));
    return gguf_pre_tokenizer{{{"type", "Sequence"}, {"pretokenizers", steps}}, g.whole_words, g.composes};
  }
  return std::nullopt;
}

/// All names that are known.
inline std::string gguf_pre_tokenizer_names() {
  std::string result;
  for (const detail::gguf_names& g : detail::all_gguf_names())
    for (const std::string_view name : g.names) result += (result.empty() ? "" : ", ") + std::string(name);
  return result;
}

}  // namespace tokamax::text
