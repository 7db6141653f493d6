// tokamax/text/model.hpp: what makes tokens of a word, and the models that look up whole words or their parts.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/token_table.hpp>     // token_table
#include <tokamax/text/tokenizer_json.hpp>  // json_field

#include <memory>  // unique_ptr

namespace tokamax::text {

/// A token of a word: its id and bytes. If `own`, its text is these bytes, and not the text of the id.
struct word_token {
  std::uint32_t id, begin, end;
  bool own = false;
};

/// Memory that a model uses again for each word. One thread uses it at a time.
struct model_memory {
  virtual ~model_memory() = default;
};

/// Makes tokens of words. It may be used by many threads at once, each with a memory of its own.
class model {
 public:
  explicit model(token_table vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~model() = default;
  virtual std::unique_ptr<model_memory> memory() const { return nullptr; }
  /// Appends the tokens of a word.
  virtual void tokenize(std::string_view word, model_memory* memory, std::vector<word_token>& to) const = 0;
  const token_table& vocabulary() const { return vocabulary_; }

 protected:
  /// The id of the token for what is unknown.
  std::uint32_t unknown_id(const std::string& token) const {
    const std::int32_t id = vocabulary_.find(token);
    if (id < 0)
      throw error(error_kind::file, "tokenizer: a word that is not in the vocabulary", "no token " + token,
                  "a token for unknown words in the vocabulary");
    return static_cast<std::uint32_t>(id);
  }

 private:
  token_table vocabulary_;
};

/// Says which of a token and its id is there before.
[[noreturn]] inline void refuse_twice(const token_table& table, const std::string& token, std::uint32_t id,
                                      const std::string& where) {
  const bool text = table.find(token) >= 0;
  throw error(error_kind::file, "tokenizer: model.vocab", (text ? token : "the id " + std::to_string(id)) + " twice",
              text ? "distinct tokens" : "an id for each token", where);
}

/// The vocabulary of a file, of which each token has an id of its own.
inline token_table vocabulary_of(const tokenizer_json& file, const std::string& where) {
  if (file.ids.size() != file.tokens.size())
    throw error(error_kind::file, "tokenizer: model.vocab", "a list of tokens with scores",
                "a record of tokens with ids", where);
  token_table result(file.tokens.size());
  for (std::size_t i = 0; i < file.tokens.size(); ++i)
    if (!result.insert(file.tokens[i], file.ids[i])) refuse_twice(result, file.tokens[i], file.ids[i], where);
  return result;
}

/// A word is a token.
class word_level : public model {
 public:
  word_level(const json_field& about, const tokenizer_json& file)
      : model(vocabulary_of(file, about.where())), unknown_(about["unk_token"].text()) {}
  void tokenize(std::string_view word, model_memory*, std::vector<word_token>& to) const override {
    const std::int32_t id = vocabulary().find(word);
    to.push_back(
        {id < 0 ? unknown_id(unknown_) : static_cast<std::uint32_t>(id), 0, static_cast<std::uint32_t>(word.size())});
  }

 private:
  std::string unknown_;
};

/// A word is the longest token with which it begins, and so on with the rest, whose tokens have a prefix.
/// source  Devlin et al. 2018, arXiv:1810.04805; WordPiece of `tokenizers`
class wordpiece : public model {
 public:
  wordpiece(const json_field& about, const tokenizer_json& file)
      : model(vocabulary_of(file, about.where())),
        unknown_(about["unk_token"].text()),
        prefix_(about["continuing_subword_prefix"].text()),
        most_characters_(about["max_input_chars_per_word"].natural(1u << 20)) {
    for (const std::string& token : file.tokens) longest_ = std::max(longest_, token.size());
  }
  void tokenize(std::string_view word, model_memory*, std::vector<word_token>& to) const override {
    const std::size_t first = to.size();
    const auto characters = std::count_if(word.begin(), word.end(), [](char c) { return !continues_code_point(c); });
    const bool known = static_cast<std::size_t>(characters) <= most_characters_ && cut(word, to);
    if (known) return;
    to.resize(first);
    to.push_back({unknown_id(unknown_), 0, static_cast<std::uint32_t>(word.size())});
  }

 private:
  bool cut(std::string_view word, std::vector<word_token>& to) const {
    std::string part;
    for (std::size_t begin = 0; begin < word.size();) {
      part = begin > 0 ? prefix_ : std::string();
      const std::size_t prefix = part.size();
      part += word.substr(begin, longest_);
      std::int32_t id = -1;
      for (; part.size() > prefix; part.pop_back()) {
        const std::size_t end = begin + part.size() - prefix;
        if (end < word.size() && continues_code_point(word[end])) continue;
        if ((id = vocabulary().find(part)) >= 0) break;
      }
      if (id < 0) return false;
      const std::size_t end = begin + part.size() - prefix;
      to.push_back(
          {static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
      begin = end;
    }
    return true;
  }

  std::string unknown_, prefix_;
  std::size_t most_characters_, longest_ = 0;
};

}  // namespace tokamax::text
