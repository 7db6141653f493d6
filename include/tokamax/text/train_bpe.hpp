// tokamax/text/train_bpe.hpp: a tokenizer made of texts.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
#pragma once

#include <tokamax/text/tokenizer.hpp>  // TOKAMAX_TEXT_COMPILED_ONCE

#if defined(TOKAMAX_TEXT_COMPILED_ONCE)
  #include <tokamax/text/bpe_trainer.hpp>  // bpe_trainer
#endif

namespace tokamax::text {

struct bpe_training_options {
  std::size_t vocab_size = 30000;
  std::uint64_t min_frequency = 0;                              ///< how often a pair must occur
  std::vector<std::string> special_tokens = {"<|endoftext|>"};  ///< they have the first ids
  std::string pattern = {};  ///< a regular expression that cuts texts into words; none: that of GPT-2
};

/// The text of tokenizer.json for a byte pair encoding of bytes, trained on texts. `tokenizer::from_json` reads it, and so does
/// `transformers`. It has the 256 bytes, and then merges of the most frequent pairs of neighbours within words.
/// errors  tokamax::error of the kind `argument` if a text is not UTF-8, or the size is less than the special tokens and the bytes
std::string train_bpe(std::span<const std::string_view> texts, const bpe_training_options& options = {});

#if defined(TOKAMAX_TEXT_COMPILED_ONCE)
namespace detail {

// The fields of tokenizer.json that cut texts into words: GPT-2's pattern, or another one.
inline nlohmann::json trained_pre_tokenizer(const std::string& pattern) {
  nlohmann::json bytes{
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", pattern.empty()}};
  if (pattern.empty()) return bytes;
  const nlohmann::json split{
      {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}};
}
// Special tokens have the first ids, and bytes the next, in the order of their characters.
inline nlohmann::json first_tokens(bpe_trainer& to, const std::vector<std::string>& special_tokens) {
  nlohmann::json added = nlohmann::json::array();
  for (const std::string& special : special_tokens) {
    if (special.empty() || to.token(special) != added.size())
      throw error("train_bpe: special_tokens", special.empty() ? "an empty one" : special + " twice", "distinct texts");
    added.push_back({{"id", added.size()},
                     {"content", special},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  std::vector<char32_t> bytes(byte_characters.begin(), byte_characters.end());
  std::sort(bytes.begin(), bytes.end());
  for (const char32_t c : bytes) {
    std::string one;
    append_utf8(one, c);
    to.token(one);
  }
  return added;
}
inline void count_words(bpe_trainer& to, std::string_view text, const pre_tokenizer& cut) {
  if (valid_utf8(text) != text.size() || text.size() > normalized_text::most_bytes)
    throw error("train_bpe: text", std::to_string(text.size()) + " bytes that are not UTF-8, or too many",
                "UTF-8 of at most " + std::to_string(normalized_text::most_bytes) + " bytes");
  normalized_text t(text);
  for (const text_step& step : cut.steps) step(t);
  characters_of_bytes(t);
  for (const piece& p : t.pieces()) to.count(t.text(p));
}

}  // namespace detail

TOKAMAX_TEXT_COMPILED_ONCE std::string train_bpe(std::span<const std::string_view> texts,
                                                 const bpe_training_options& options) {
  const std::size_t least = 256 + options.special_tokens.size();
  if (options.vocab_size < least || options.vocab_size > largest_token_id)
    throw error("train_bpe: vocab_size", std::to_string(options.vocab_size),
                "from " + std::to_string(least) + " to " + std::to_string(largest_token_id));
  const std::string where = "train_bpe";
  const nlohmann::json cut = detail::trained_pre_tokenizer(options.pattern);
  pre_tokenizer pre;
  add_pre_tokenizer(json_field(cut, "pattern", where), pre);
  bpe_trainer trainer;
  const nlohmann::json added = detail::first_tokens(trainer, options.special_tokens);
  for (const std::string_view text : texts) detail::count_words(trainer, text, pre);
  trainer.train(options.vocab_size, options.min_frequency);
  nlohmann::json vocab = nlohmann::json::object(), merges = nlohmann::json::array();
  for (std::size_t id = 0; id < trainer.tokens.size(); ++id) vocab[trainer.tokens[id]] = id;
  for (const auto& [left, right] : trainer.merges) merges.push_back({trainer.tokens[left], trainer.tokens[right]});
  const nlohmann::json model{{"type", "BPE"},
                             {"dropout", nullptr},
                             {"unk_token", nullptr},
                             {"continuing_subword_prefix", nullptr},
                             {"end_of_word_suffix", nullptr},
                             {"fuse_unk", false},
                             {"byte_fallback", false},
                             {"ignore_merges", false},
                             {"vocab", vocab},
                             {"merges", merges}};
  const nlohmann::json bytes = detail::trained_pre_tokenizer("");
  return nlohmann::json{{"version", "1.0"},        {"truncation", nullptr}, {"padding", nullptr},
                        {"added_tokens", added},   {"normalizer", nullptr}, {"pre_tokenizer", cut},
                        {"post_processor", bytes}, {"decoder", bytes},      {"model", model}}
      .dump();
}
#endif

}  // namespace tokamax::text
