// tokamax/text/unigram.hpp: the tokens of a word with the greatest sum of scores, by Viterbi's algorithm.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/model.hpp>  // model

#include <limits>  // numeric_limits

namespace tokamax::text {

namespace detail {
// The vocabulary of a list, whose ids are the positions.
inline token_table listed_vocabulary(const tokenizer_json& file, const std::string& where) {
  if (!file.ids.empty() || file.scores.size() != file.tokens.size())
    throw error(error_kind::file, "tokenizer: model.vocab", "a record", "a list of tokens with scores", where);
  token_table result(file.tokens.size());
  for (std::uint32_t i = 0; i < file.tokens.size(); ++i)
    if (!result.insert(file.tokens[i], i)) refuse_twice(result, file.tokens[i], i, where);
  return result;
}
// <0x0A> for a line feed.
inline std::string byte_token(char byte) {
  constexpr const char* digits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  return {'<', '0', 'x', digits[value >> 4], digits[value & 15], '>'};
}
}  // namespace detail

/// A word is the tokens with the greatest sum of scores; a character that is no token costs 10 more than the least score.
/// Unknown characters side by side are one token, or the tokens of their bytes.
/// source  Kudo 2018, arXiv:1804.10959; encode_optimized of `tokenizers`
class unigram : public model {
 public:
  unigram(const json_field& about, const tokenizer_json& file)
      : model(detail::listed_vocabulary(file, about.where())),
        scores_(file.scores),
        byte_fallback_(about["byte_fallback"].flag(false)) {
    std::size_t bytes = 0;
    for (const std::string& token : file.tokens) bytes += token.size();
    tree_ = prefix_tree(bytes);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < file.tokens.size(); ++i) {
      if (!file.tokens[i].empty()) tree_.insert(file.tokens[i], static_cast<std::int32_t>(i));
      least = std::min(least, scores_[i]);
    }
    unknown_score_ = least - 10;
    if (!about["unk_id"].absent()) {
      if (file.tokens.empty()) about["unk_id"].refuse("no unk_id, because there are no tokens");
      unknown_ = static_cast<std::int32_t>(about["unk_id"].natural(static_cast<std::uint32_t>(file.tokens.size()) - 1));
    }
  }

  void tokenize(std::string_view word, model_memory*, std::vector<word_token>& to) const override {
    const std::vector<step> best = best_steps(word);  // best[i]: the last token of the best way to byte i
    std::vector<extent> parts;
    for (std::uint32_t end = static_cast<std::uint32_t>(word.size()); end > 0;) {
      const step& s = best[end];
      const bool fuses = s.id == unknown_ && unknown_ >= 0;
      if (fuses && !parts.empty() && parts.back().unknown)
        parts.back().begin = s.begin;
      else
        parts.push_back({s.begin, end, fuses});
      end = s.begin;
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) put(word, *part, to);
  }

 private:
  struct step {
    double score = 0;
    std::uint32_t begin = 0;
    std::int32_t id = -2;  // -2 where no way leads
  };
  struct extent {
    std::uint32_t begin, end;
    bool unknown;
  };

  std::vector<step> best_steps(std::string_view word) const {
    std::vector<step> best(word.size() + 1);
    for (std::size_t at = 0; at < word.size();) {
      const double so_far = best[at].score;
      const std::size_t character = decode_utf8(word, at).length;
      bool alone = false;  // is this character a token?
      const auto reach = [&](std::size_t size, std::int32_t id, double score) {
        step& s = best[at + size];
        if (s.id == -2 || so_far + score > s.score) s = {so_far + score, static_cast<std::uint32_t>(at), id};
      };
      tree_.prefixes(word.substr(at), [&](std::size_t size, std::int32_t id) {
        reach(size, id, scores_[static_cast<std::size_t>(id)]);
        alone = alone || size == character;
      });
      if (!alone) {
        require_unknown();
        reach(character, unknown_, unknown_score_);
      }
      at += character;
    }
    return best;
  }
  void put(std::string_view word, const extent& part, std::vector<word_token>& to) const {
    const std::string_view text = word.substr(part.begin, part.end - part.begin);
    if (const std::int32_t id = vocabulary().find(text); id >= 0) {
      to.push_back({static_cast<std::uint32_t>(id), part.begin, part.end});
      return;
    }
    const std::size_t first = to.size();
    bool all = byte_fallback_;
    for (std::size_t i = 0; all && i < text.size(); ++i) {
      const std::int32_t id = vocabulary().find(detail::byte_token(text[i]));
      all = id >= 0;
      if (all) to.push_back({static_cast<std::uint32_t>(id), part.begin, part.end});
    }
    if (all) return;
    to.resize(first);
    require_unknown();
    to.push_back({static_cast<std::uint32_t>(unknown_), part.begin, part.end, true});
  }
  void require_unknown() const {
    if (unknown_ < 0)
      throw error(error_kind::file, "tokenizer: a character that is not in the vocabulary", "no unk_id",
                  "model.unk_id");
  }

  std::vector<double> scores_;
  prefix_tree tree_;
  double unknown_score_ = 0;
  std::int32_t unknown_ = -1;
  bool byte_fallback_;
};

}  // namespace tokamax::text
