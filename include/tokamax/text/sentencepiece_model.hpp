// tokamax/text/sentencepiece_model.hpp: the pieces of a normalised text, by the four models of SentencePiece.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/sentencepiece.cpp
#pragma once

#include <tokamax/text/sentencepiece_file.hpp>  // sentencepiece_file
#include <tokamax/text/unigram.hpp>             // byte_token

#include <cfloat>  // FLT_MIN
#include <map>     // map
#include <queue>   // priority_queue

namespace tokamax::text {

/// Pieces, with those of the user that are always whole. A run of unknown characters is one token, or its bytes.
/// source  github.com/google/sentencepiece, bpe_model.cc, unigram_model.cc, word_model.cc and char_model.cc
class sentencepiece_model : public model {
 public:
  using kind = sentencepiece_file::kind;

  sentencepiece_model(const sentencepiece_file& file, const std::string& where)
      : model(vocabulary_of(file, where)),
        type_(file.model),
        byte_fallback_(file.byte_fallback),
        spaces_behind_words_(file.spaces_behind_words) {
    std::size_t all = 0, own = 0;
    for (const auto& p : file.pieces) {
      all += in_texts(p.is) ? p.text.size() : 0;
      own += p.is == kind::user_defined ? p.text.size() : 0;
    }
    pieces_ = prefix_tree(all), own_ = prefix_tree(own);
    for (std::size_t i = 0; i < file.pieces.size(); ++i) {
      const auto& p = file.pieces[i];
      const auto id = static_cast<std::int32_t>(i);
      if (!(p.score > -1e30f && p.score < 1e30f))
        refuse("the score " + std::to_string(p.score) + " of " + p.text, "a number", where);
      kinds_.push_back(p.is), scores_.push_back(p.score);
      if (in_texts(p.is)) pieces_.insert(p.text, id);
      if (p.is == kind::user_defined) own_.insert(p.text, id);
      if (p.is == kind::normal) least_ = std::min(least_, p.score);
      if (p.is == kind::normal) greatest_ = std::max(greatest_, p.score);
      if (p.is == kind::unknown) {
        if (unknown_ >= 0) refuse("two unknown pieces", "one", where);
        unknown_ = id;
      }
    }
    if (unknown_ < 0) refuse("no unknown piece", "one", where);
    if (type_ == sentencepiece_file::model_type::bpe) read_pairs(file);
    for (unsigned b = 0; b < 256 && byte_fallback_; ++b) {
      const std::int32_t id = vocabulary().find(detail::byte_token(static_cast<char>(static_cast<unsigned char>(b))));
      if (id < 0 || kinds_[static_cast<std::size_t>(id)] != kind::byte)
        refuse("no piece of the byte " + std::to_string(b), "all 256", where);
      bytes_[b] = static_cast<std::uint32_t>(id);
    }
  }
  /// The bytes of the longest piece of the user with which a text begins; 0 if there is none.
  std::size_t own_piece(std::string_view text) const {
    std::size_t result = 0;
    own_.prefixes(text, [&](std::size_t size, std::int32_t) { result = size; });
    return result;
  }

  void tokenize(std::string_view word, model_memory*, std::vector<word_token>& to) const override {
    std::vector<word_token> parts;
    switch (type_) {
      case sentencepiece_file::model_type::unigram:
        by_scores(word, parts);
        break;
      case sentencepiece_file::model_type::bpe:
        by_merges(word, parts);
        break;
      case sentencepiece_file::model_type::word:
        words(word, parts);
        break;
      default:
        for (std::size_t at = 0; at < word.size();) at += put(word, at, symbol_size(word, at), parts);
    }
    bool after_unknown = false;
    for (const word_token& t : parts) {
      const bool unknown = static_cast<std::int32_t>(t.id) == unknown_;
      if (unknown && byte_fallback_) {
        for (std::uint32_t i = t.begin; i < t.end; ++i)  // the last byte stands for the character
          to.push_back({bytes_[static_cast<unsigned char>(word[i])], t.begin, i + 1 == t.end ? t.end : t.begin});
      } else if (unknown && after_unknown) {
        to.back().end = t.end;
      } else {
        to.push_back({t.id, t.begin, t.end, unknown});
      }
      after_unknown = unknown;
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& found, const std::string& expected, const std::string& where) {
    throw error(error_kind::file, "sentencepiece: pieces", found, expected, where);
  }
  static bool in_texts(kind k) { return k == kind::normal || k == kind::user_defined || k == kind::unused; }
  static token_table vocabulary_of(const sentencepiece_file& file, const std::string& where) {
    token_table result(file.pieces.size());
    for (std::uint32_t i = 0; i < file.pieces.size(); ++i)
      if (!result.insert(file.pieces[i].text, i)) refuse(file.pieces[i].text + " twice", "distinct pieces", where);
    return result;
  }
  bool is(std::int32_t id, kind k) const { return kinds_[static_cast<std::size_t>(id)] == k; }
  // The piece of a text, or -1.
  std::int32_t find(std::string_view text) const {
    const std::int32_t id = vocabulary().find(text);
    return id >= 0 && in_texts(kinds_[static_cast<std::size_t>(id)]) ? id : -1;
  }
  std::size_t put(std::string_view word, std::size_t begin, std::size_t size, std::vector<word_token>& to) const {
    const std::int32_t id = vocabulary().find(word.substr(begin, size));
    to.push_back({static_cast<std::uint32_t>(id < 0 ? unknown_ : id), static_cast<std::uint32_t>(begin),
                  static_cast<std::uint32_t>(begin + size)});
    return size;
  }
  // A piece of the user, or a character.
  std::size_t symbol_size(std::string_view word, std::size_t at) const {
    const std::size_t own = own_piece(word.substr(at));
    return own > 0 ? own : std::min(code_point_size(word[at]), word.size() - at);
  }
  void words(std::string_view word, std::vector<word_token>& to) const {
    constexpr std::string_view mark = "\xE2\x96\x81";
    for (std::size_t at = 0; at < word.size();) {
      std::size_t end = word.find(mark, at + (spaces_behind_words_ ? 0 : 1));
      end = end == std::string_view::npos ? word.size() : end + (spaces_behind_words_ ? mark.size() : 0);
      at += put(word, at, end - at, to);
    }
  }

  // The way of the greatest sum of scores. Sums are rounded to floats, as ties depend on it.
  void by_scores(std::string_view word, std::vector<word_token>& to) const {
    struct step {
      float score = 0;
      std::int32_t begin = -1, id = -1;
    };
    std::vector<step> best(word.size() + 1);
    const float unknown_score = least_ - 10.0f;
    for (std::size_t at = 0; at < word.size();) {
      const float so_far = best[at].score;
      const std::size_t character = std::min(code_point_size(word[at]), word.size() - at);
      bool alone = false;
      const auto reach = [&](std::size_t size, std::int32_t id, double score) {
        step& s = best[at + size];
        const auto sum = static_cast<float>(score + so_far);
        if (s.begin < 0 || sum > s.score) s = {sum, static_cast<std::int32_t>(at), id};
      };
      pieces_.prefixes(word.substr(at), [&](std::size_t size, std::int32_t id) {
        if (is(id, kind::unused)) return;
        const double own = static_cast<double>(static_cast<float>(size) * greatest_) - 0.1;
        reach(size, id, is(id, kind::user_defined) ? own : scores_[static_cast<std::size_t>(id)]);
        alone = alone || size == character;
      });
      if (!alone) {
        step& s = best[at + character];
        const float sum = unknown_score + so_far;
        if (s.begin < 0 || sum > s.score) s = {sum, static_cast<std::int32_t>(at), unknown_};
      }
      at += character;
    }
    for (std::int32_t end = static_cast<std::int32_t>(word.size()); end > 0;
         end = best[static_cast<std::size_t>(end)].begin) {
      const step& s = best[static_cast<std::size_t>(end)];
      to.push_back(
          {static_cast<std::uint32_t>(s.id), static_cast<std::uint32_t>(s.begin), static_cast<std::uint32_t>(end)});
    }
    std::reverse(to.begin(), to.end());
  }

  // Neighbours that together are a piece are joined, the piece of the greatest score first. Pieces that are not used are cut again.
  void by_merges(std::string_view word, std::vector<word_token>& to) const {
    struct symbol {
      std::int32_t previous, next, id;  // the id is -1 of a character that is no piece
      bool whole;
      std::string_view text;
    };
    struct pair {
      std::uint64_t order;  // the rank of the score, and then that of the place, the first one being the best
      std::int32_t right, id;
      bool operator<(const pair& p) const { return order < p.order; }
      std::int32_t left() const { return static_cast<std::int32_t>(~static_cast<std::uint32_t>(order)); }
    };
    std::vector<symbol> symbols;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t own = own_piece(word.substr(at)), size = symbol_size(word, at);
      const auto i = static_cast<std::int32_t>(symbols.size());
      symbols.push_back({i - 1, i + 1, find(word.substr(at, size)), own > 0, word.substr(at, size)});
      at += size;
    }
    if (symbols.empty()) return;
    symbols.back().next = -1;
    std::priority_queue<pair> waiting;
    std::map<std::string_view, std::size_t> cuts;  // of pieces that are not used: the size of the left part
    const auto of = [&](std::int32_t i) -> symbol& { return symbols[static_cast<std::size_t>(i)]; };
    const auto offer = [&](std::int32_t left, std::int32_t right) {
      if (left < 0 || right < 0) return;
      const symbol &l = of(left), &r = of(right);
      if (l.whole || r.whole) return;
      const std::string_view both(l.text.data(), l.text.size() + r.text.size());
      const std::int32_t id = joined(l.id, r.id, both);
      if (id < 0) return;
      const std::uint64_t rank = ranks_[static_cast<std::size_t>(id)];
      waiting.push({rank << 32 | ~static_cast<std::uint32_t>(left), right, id});
      if (is(id, kind::unused)) cuts[both] = l.text.size();
    };
    for (std::int32_t i = 1; i < static_cast<std::int32_t>(symbols.size()); ++i) offer(i - 1, i);
    while (!waiting.empty()) {
      const pair top = waiting.top();
      waiting.pop();
      symbol &left = of(top.left()), &right = of(top.right);
      const std::size_t size = vocabulary().text(static_cast<std::uint32_t>(top.id)).size();
      if (left.text.empty() || right.text.empty() || left.text.size() + right.text.size() != size) continue;
      left.text = {left.text.data(), size};
      left.id = top.id;
      left.next = right.next;
      if (right.next >= 0) of(right.next).previous = top.left();
      right.text = {};
      offer(left.previous, top.left());
      offer(top.left(), left.next);
    }
    for (std::int32_t i = 0; i >= 0; i = of(i).next) {
      const symbol& one = of(i);
      const auto begin = static_cast<std::uint32_t>(one.text.data() - word.data());
      if (one.id >= 0 && !is(one.id, kind::unused))
        to.push_back({static_cast<std::uint32_t>(one.id), begin, begin + static_cast<std::uint32_t>(one.text.size())});
      else
        put_cut(word, one.text, cuts, to);
    }
  }
  // The piece that two make together, or -1.
  std::int32_t joined(std::int32_t left, std::int32_t right, std::string_view both) const {
    if (left < 0 || right < 0) return joins_strangers_ ? find(both) : -1;
    const std::int32_t* id = pairs_.find(key(left, right));
    return id ? *id : -1;
  }
  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  // All ways to make a piece of two, so that texts need not be looked up while they are merged.
  void read_pairs(const sentencepiece_file& file) {
    std::vector<float> scores = scores_;
    std::sort(scores.begin(), scores.end());
    for (const float score : scores_)
      ranks_.push_back(
          static_cast<std::uint32_t>(std::lower_bound(scores.begin(), scores.end(), score) - scores.begin()));
    std::size_t most = 0;
    const auto each = [&](auto f) {
      for (const auto& p : file.pieces)
        for (std::size_t at = 1; in_texts(p.is) && at < p.text.size(); ++at)
          if (!continues_code_point(p.text[at]))
            f(std::string_view(p.text).substr(0, at), std::string_view(p.text).substr(at), p);
    };
    each([&](auto, auto, auto&) { ++most; });
    pairs_ = key_table<std::int32_t>(most);
    each([&](std::string_view left, std::string_view right, const auto& p) {
      const std::int32_t l = find(left), r = find(right);
      if (l >= 0 && r >= 0)
        pairs_[key(l, r)] = find(p.text);
      else if (code_point_size(left[0]) == left.size() || code_point_size(right[0]) == right.size())
        joins_strangers_ = true;
    });
  }
  // A piece, or the parts of one that is not used.
  void put_cut(std::string_view word, std::string_view piece, const std::map<std::string_view, std::size_t>& cuts,
               std::vector<word_token>& to) const {
    std::vector<std::string_view> stack{piece};
    while (!stack.empty()) {
      const std::string_view text = stack.back();
      stack.pop_back();
      const std::int32_t id = vocabulary().find(text);
      const auto cut = id >= 0 && is(id, kind::unused) ? cuts.find(text) : cuts.end();
      if (cut == cuts.end()) {
        put(word, static_cast<std::size_t>(text.data() - word.data()), text.size(), to);
      } else {
        stack.push_back(text.substr(cut->second));
        stack.push_back(text.substr(0, cut->second));
      }
    }
  }

  sentencepiece_file::model_type type_;
  bool byte_fallback_, spaces_behind_words_;
  prefix_tree pieces_, own_;
  key_table<std::int32_t> pairs_;  // what two pieces make together
  bool joins_strangers_ = false;   // is there a piece with a character that is no piece?
  std::vector<kind> kinds_;
  std::vector<float> scores_;
  std::vector<std::uint32_t> ranks_;            // of the scores, the least first
  float least_ = FLT_MAX, greatest_ = FLT_MIN;  // of normal pieces, as there
  std::int32_t unknown_ = -1;
  std::array<std::uint32_t, 256> bytes_{};
};

}  // namespace tokamax::text
