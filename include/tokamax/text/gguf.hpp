// tokamax/text/gguf.hpp: what a GGUF file says of its model before the tensors, and the tokenizer that is in it.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/base/file.hpp>                // input_file
#include <tokamax/text/sentencepiece_file.hpp>  // sentencepiece_file
#include <tokamax/text/special_frame.hpp>       // special_frame
#include <tokamax/text/tokenizer_json.hpp>      // tokenizer_json

#include <map>      // map
#include <variant>  // variant

namespace tokamax::text {

/// The names and values at the beginning of a GGUF file, of versions 2 and 3.
/// source  github.com/ggml-org/ggml, docs/gguf.md
class gguf_metadata {
 public:
  using texts = std::vector<std::string>;
  using numbers = std::vector<double>;
  using value = std::variant<double, std::string, texts, numbers>;

  /// errors  tokamax::error of the kind `file` if it is no such file, ends too soon, or has a name twice
  explicit gguf_metadata(const std::filesystem::path& path) : file_(path) {
    if (bytes(4) != "GGUF") refuse("magic", "other bytes", "GGUF");
    if (const auto version = natural(4); version < 2 || version > 3)
      refuse("version", std::to_string(version), "2 or 3");
    natural(8);  // the number of tensors
    const std::uint64_t count = natural(8);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string name = text();
      if (values_.count(name)) refuse("name", name + " twice", "distinct names");
      value v = any(natural(4));
      values_.emplace(std::move(name), std::move(v));
    }
  }
  bool has(const std::string& name) const { return values_.count(name) > 0; }
  /// The value of a name, which must be there and of this type.
  template <class T>
  const T& get(const std::string& name) const {
    const auto at = values_.find(name);
    if (at == values_.end()) refuse(name, "nothing", "a value");
    const T* found = std::get_if<T>(&at->second);
    if (!found)
      refuse(name, "a value of another type",
             "a " + std::string(std::is_same_v<T, double>        ? "number"
                                : std::is_same_v<T, std::string> ? "text"
                                                                 : "list"));
    return *found;
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& found, const std::string& expected) const {
    throw error(error_kind::file, "gguf: " + what, found, expected, file_.path().string());
  }

 private:
  // Lists are read through a buffer; no memory is taken for more than the file holds.
  std::string bytes(std::uint64_t size) {
    if (size > file_.size() - offset_) refuse("bytes", "the end of the file", std::to_string(size) + " more bytes");
    std::string result;
    while (result.size() < size) {
      if (at_ == buffer_.size()) fill();
      const std::size_t part =
          std::min<std::size_t>(buffer_.size() - at_, static_cast<std::size_t>(size) - result.size());
      result.append(buffer_, at_, part);
      at_ += part;
    }
    offset_ += size;
    return result;
  }
  void fill() {
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(file_.size() - read_, 1u << 18)));
    file_.read(read_, std::as_writable_bytes(std::span(buffer_)));
    read_ += buffer_.size();
    at_ = 0;
  }
  std::uint64_t natural(std::size_t size) {
    const std::string b = bytes(size);
    std::uint64_t result = 0;
    for (std::size_t i = size; i-- > 0;) result = result << 8 | static_cast<unsigned char>(b[i]);
    return result;
  }
  std::string text() { return bytes(natural(8)); }
  static constexpr std::array<std::size_t, 13> sizes{1, 1, 2, 2, 4, 4, 4,
                                                     1, 0, 0, 8, 8, 8};  // of numbers, by their types
  static constexpr std::uint64_t text_type = 8, list_type = 9;
  double number(std::uint64_t type) {
    const std::size_t size = type < sizes.size() ? sizes[type] : 0;
    if (size == 0) refuse("type", std::to_string(type), "a type of numbers");
    const std::uint64_t bits = natural(size);
    if (type == 6) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (type == 12) return std::bit_cast<double>(bits);
    const bool has_sign = type == 1 || type == 3 || type == 5 || type == 11;
    const auto shift = static_cast<unsigned>(64 - 8 * size);
    return has_sign ? static_cast<double>(static_cast<std::int64_t>(bits << shift) >> shift)
                    : static_cast<double>(bits);
  }
  value any(std::uint64_t type) {
    if (type == text_type) return text();
    if (type != list_type) return number(type);
    const std::uint64_t element = natural(4), count = natural(8);
    if (count > file_.size() - offset_)
      refuse("list", std::to_string(count) + " elements", "at most the bytes of the file");
    if (element == text_type) {
      texts all;
      for (std::uint64_t i = 0; i < count; ++i) all.push_back(text());
      return all;
    }
    numbers all;
    for (std::uint64_t i = 0; i < count; ++i) all.push_back(number(element));
    return all;
  }

  input_file file_;
  std::string buffer_;
  std::size_t at_ = 0;                   // in the buffer
  std::uint64_t offset_ = 0, read_ = 0;  // in the file: of the next byte, and behind the buffer
  std::map<std::string, value> values_;
};

namespace detail {

// How texts are cut, by the name that llama.cpp gives it; nothing if that is not known.
inline std::optional<nlohmann::json> cuts_of_gguf(const std::string& name, bool& whole_words, bool& composes) {
  using json = nlohmann::json;
  const auto split = [](const char* expression) {
    return json{{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
  };
  const auto of_bytes = [](bool cuts) {
    return json{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", cuts}};
  };
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
  };
  const auto sequence = [](json steps) { return json{{"type", "Sequence"}, {"pretokenizers", std::move(steps)}}; };
  if (is({"gpt-2", "mpt", "olmo", "phi-2", "exaone"})) return of_bytes(true);
  if (is({"smollm", "starcoder", "refact", "command-r"}))
    return sequence({{{"type", "Digits"}, {"individual_digits", true}}, of_bytes(true)});
  if (is({"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"})) {
    whole_words = true;
    return sequence(
        {split(
             R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
         of_bytes(false)});
  }
  if (is({"qwen2", "deepseek-r1-qwen"})) {
    composes = true;
    return sequence(
        {split(
             R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
         of_bytes(false)});
  }
  return std::nullopt;
}

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
  using texts = gguf_metadata::texts;
  const std::string& model = file.get<std::string>("tokenizer.ggml.model");
  if (model == "bert") return detail::wordpiece_of_gguf(file);
  if (model != "gpt2") file.refuse("tokenizer.ggml.model", model, "gpt2, llama, t5 or bert");
  const std::string& pre = file.get<std::string>("tokenizer.ggml.pre");
  bool whole_words = false, composes = false;
  const auto cuts = detail::cuts_of_gguf(pre, whole_words, composes);
  if (!cuts)
    file.refuse(
        "tokenizer.ggml.pre", pre,
        "gpt-2, mpt, olmo, phi-2, exaone, smollm, starcoder, refact, command-r, llama-bpe, llama3, llama-v3, falcon3, "
        "pixtral, qwen2 or deepseek-r1-qwen");
  tokenizer_json result;
  result.tokens = file.get<texts>("tokenizer.ggml.tokens");
  for (std::uint32_t id = 0; id < result.tokens.size(); ++id) result.ids.push_back(id);
  for (const std::string& merge : file.get<texts>("tokenizer.ggml.merges")) {
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string::npos) file.refuse("tokenizer.ggml.merges", merge, "two tokens with a space between");
    result.merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  result.rest = {{"model", {{"type", "BPE"}, {"ignore_merges", whole_words}}},
                 {"pre_tokenizer", *cuts},
                 {"decoder", {{"type", "ByteLevel"}}},
                 {"post_processor", detail::frame_of_gguf(file, result.tokens)},
                 {"added_tokens", detail::added_of_gguf(file, result.tokens)}};
  if (composes) result.rest["normalizer"] = {{"type", "NFC"}};
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
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    static constexpr std::array kinds{1, 2, 3, 4, 5, 6};
    if (std::find(kinds.begin(), kinds.end(), types[i]) == kinds.end())
      file.refuse("tokenizer.ggml.token_type", std::to_string(types[i]), "1 to 6");
    // Tokens of the user are found before, as control tokens are.
    const int kind = types[i] == 4 ? 3 : static_cast<int>(types[i]);
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
    for (const double byte : file.get<numbers>("tokenizer.ggml.precompiled_charsmap"))
      result.before.character_map += static_cast<char>(static_cast<unsigned char>(static_cast<int>(byte) & 255));
  return result;
}

}  // namespace tokamax::text
