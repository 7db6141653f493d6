// tokamax/text/tokenizer.hpp: texts as tokens and back, by the file tokenizer.json of a model.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
#pragma once

#include <tokamax/text/encoding.hpp>  // encoding

#include <filesystem>   // path
#include <memory>       // shared_ptr
#include <optional>     // optional
#include <span>         // span
#include <string_view>  // string_view
#include <utility>      // pair

// A program that links `tokamax::text` defines TOKAMAX_SEPARATE_TEXT: it sees declarations only, and neither the JSON library
// nor PCRE2 and utf8proc. The library is one file that defines TOKAMAX_INSTANTIATE_TEXT, and needs no library of kernels.
#if defined(TOKAMAX_INSTANTIATE_TEXT)
  #define TOKAMAX_TEXT_COMPILED_ONCE
#elif !defined(TOKAMAX_SEPARATE_TEXT)
  #define TOKAMAX_TEXT_COMPILED_ONCE inline
#endif
#if defined(TOKAMAX_TEXT_COMPILED_ONCE)
  #include <tokamax/text/tokenizer_parts.hpp>  // tokenizer_parts
#endif

namespace tokamax::text {

namespace detail {
struct tokenizer_parts;
}

/// What a file of ranks does not say: the program that uses tiktoken has it in its code.
struct tiktoken_options {
  std::string pattern;  ///< a regular expression of Rust's fancy-regex, which cuts texts into words
  std::vector<std::pair<std::string, std::int32_t>> special_tokens;  ///< with their ids
};

/// What stands around texts, if special tokens are asked for, where a file does not say it.
struct frame_options {
  bool add_bos_token = false, add_eos_token = false;  ///< <s> before, and </s> behind
};

/// A tokenizer, read from a file. Copies share what was read, and any number of threads may use it at once.
///
/// It gives what the Python package `tokenizers` gives for the same file: ids, offsets in characters, type ids, masks, and the
/// text of ids. BPE, WordPiece, Unigram and WordLevel are known, with their normalizers, pre-tokenizers, post-processors and
/// decoders; a type that is not known is an error with its name.
class tokenizer {
 public:
  /// Reads tokenizer.json.
  /// errors  tokamax::error of the kind `file` if it cannot be read, is not of the format, or has a type that is not known
  static tokenizer from_file(const std::filesystem::path& path);
  /// The same for the text of such a file, which messages call `where`.
  static tokenizer from_json(std::string_view json, const std::string& where = "tokenizer.json");
  /// Reads a file of ranks as tiktoken has them: a line "base64 rank" for each token, whose id is the rank.
  /// errors  as from_file, and if the pattern or a special token is not possible
  static tokenizer from_tiktoken(const std::filesystem::path& path, const tiktoken_options& options);
  /// Reads a model file of SentencePiece: BPE, unigram, words or characters. It gives what the library itself gives.
  /// errors  as from_file, with the number of a field of the protocol buffer
  static tokenizer from_sentencepiece(const std::filesystem::path& path, const frame_options& options = {});
  /// Reads tekken.json of Mistral's models. As there, special tokens are not found in texts.
  static tokenizer from_tekken(const std::filesystem::path& path, const frame_options& options = {});
  /// Reads the tokenizer in a GGUF file: gpt2 (BPE of bytes), llama and t5 (SentencePiece) or bert. The tensors are not read.
  /// errors  as from_file; a model or a pre-tokenizer that is not known is named
  static tokenizer from_gguf(const std::filesystem::path& path);

  /// The tokens of a text, framed by the special tokens that the file says if `special_tokens`.
  /// errors  tokamax::error of the kind `argument` if the text is not UTF-8 or has more than 2^30 bytes
  encoding encode(std::string_view text, bool special_tokens = true) const;
  /// The tokens of two texts, such as a question and an answer.
  encoding encode(std::string_view first, std::string_view second, bool special_tokens) const;
  /// The ids alone, which takes less time.
  std::vector<std::int32_t> ids(std::string_view text, bool special_tokens = true) const;

  /// The text of ids. Ids that no token has are left out, and so are special tokens if `skip_special_tokens`.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens = true) const;
  /// The same with bytes that are no text as they are, and not as U+FFFD: other ids may complete them.
  std::string decode_bytes(std::span<const std::int32_t> ids, bool skip_special_tokens = true) const;

  /// The id of a token, added ones included, and the other way round.
  std::optional<std::int32_t> id_of(std::string_view token) const;
  std::optional<std::string> token_of(std::int32_t id) const;
  /// One more than the greatest id: the rows that an embedding must have.
  std::int32_t size() const;
  /// Is it an added token that is special, such as one that ends a text?
  bool is_special(std::int32_t id) const;

 private:
  explicit tokenizer(std::shared_ptr<const detail::tokenizer_parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const detail::tokenizer_parts> parts_;
};

#if defined(TOKAMAX_TEXT_COMPILED_ONCE)
TOKAMAX_TEXT_COMPILED_ONCE tokenizer tokenizer::from_json(std::string_view json, const std::string& where) {
  return tokenizer(std::make_shared<const detail::tokenizer_parts>(parse_tokenizer_json(json, where), where));
}
TOKAMAX_TEXT_COMPILED_ONCE tokenizer tokenizer::from_file(const std::filesystem::path& path) {
  return from_json(read_file(path, detail::tokenizer_parts::most_bytes), path.string());
}
TOKAMAX_TEXT_COMPILED_ONCE tokenizer tokenizer::from_gguf(const std::filesystem::path& path) {
  const gguf_metadata file(path);
  const std::string where = path.string(), model = file.get<std::string>("tokenizer.ggml.model");
  if (model != "llama" && model != "t5")
    return tokenizer(std::make_shared<const detail::tokenizer_parts>(tokenizer_of(file), where));
  const auto& tokens = file.get<gguf_metadata::texts>("tokenizer.ggml.tokens");
  return tokenizer(std::make_shared<const detail::tokenizer_parts>(
      sentencepiece_of(file), detail::frame_of_gguf(file, tokens, model == "llama", model == "t5"),
      detail::added_of_gguf(file, tokens), where));
}
TOKAMAX_TEXT_COMPILED_ONCE tokenizer tokenizer::from_sentencepiece(const std::filesystem::path& path,
                                                                   const frame_options& options) {
  const std::string where = path.string();
  const sentencepiece_file file = parse_sentencepiece(read_file(path, detail::tokenizer_parts::most_bytes), where);
  special_frame frame;
  if (options.add_bos_token) frame.begin = file.control(file.bos_piece, where);
  if (options.add_eos_token) frame.end = file.control(file.eos_piece, where);
  return tokenizer(std::make_shared<const detail::tokenizer_parts>(file, frame.json(), nlohmann::json::array(), where));
}
TOKAMAX_TEXT_COMPILED_ONCE tokenizer tokenizer::from_tekken(const std::filesystem::path& path,
                                                            const frame_options& options) {
  const std::string where = path.string();
  const tekken_file file = parse_tekken(read_file(path, detail::tokenizer_parts::most_bytes), where);
  special_frame frame;
  if (options.add_bos_token) frame.begin = file.special("<s>", where);
  if (options.add_eos_token) frame.end = file.special("</s>", where);
  return tokenizer(std::make_shared<const detail::tokenizer_parts>(file, frame.json(), where));
}
TOKAMAX_TEXT_COMPILED_ONCE tokenizer tokenizer::from_tiktoken(const std::filesystem::path& path,
                                                              const tiktoken_options& options) {
  nlohmann::json added = nlohmann::json::array();
  for (const auto& [content, id] : options.special_tokens)
    added.push_back({{"content", content}, {"id", id}, {"special", true}});
  const std::string where = path.string();
  const tokenizer_json ranks = parse_tiktoken(read_file(path, detail::tokenizer_parts::most_bytes), where);
  return tokenizer(std::make_shared<const detail::tokenizer_parts>(ranks, options.pattern, added, where));
}
TOKAMAX_TEXT_COMPILED_ONCE encoding tokenizer::encode(std::string_view text, bool special_tokens) const {
  return parts_->encode(std::span(&text, 1), special_tokens);
}
TOKAMAX_TEXT_COMPILED_ONCE encoding tokenizer::encode(std::string_view first, std::string_view second,
                                                      bool special_tokens) const {
  const std::string_view both[] = {first, second};
  return parts_->encode(both, special_tokens);
}
TOKAMAX_TEXT_COMPILED_ONCE std::vector<std::int32_t> tokenizer::ids(std::string_view text, bool special_tokens) const {
  return parts_->ids(text, special_tokens);
}
TOKAMAX_TEXT_COMPILED_ONCE std::string tokenizer::decode(std::span<const std::int32_t> ids,
                                                         bool skip_special_tokens) const {
  return parts_->decode(ids, skip_special_tokens, false);
}
TOKAMAX_TEXT_COMPILED_ONCE std::string tokenizer::decode_bytes(std::span<const std::int32_t> ids,
                                                               bool skip_special_tokens) const {
  return parts_->decode(ids, skip_special_tokens, true);
}
TOKAMAX_TEXT_COMPILED_ONCE std::optional<std::int32_t> tokenizer::id_of(std::string_view token) const {
  return parts_->id_of(token);
}
TOKAMAX_TEXT_COMPILED_ONCE std::optional<std::string> tokenizer::token_of(std::int32_t id) const {
  return parts_->token_of(id);
}
TOKAMAX_TEXT_COMPILED_ONCE std::int32_t tokenizer::size() const { return parts_->size(); }
TOKAMAX_TEXT_COMPILED_ONCE bool tokenizer::is_special(std::int32_t id) const { return parts_->is_special(id); }
#endif

}  // namespace tokamax::text
