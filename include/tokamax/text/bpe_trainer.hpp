// tokamax/text/bpe_trainer.hpp: finds the merges of a byte pair encoding: the most frequent pair of neighbours, again and again.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/train_bpe.cpp
#pragma once

#include <tokamax/text/token_table.hpp>  // hash_bits
#include <tokamax/text/utf8.hpp>         // for_each_code

#include <map>            // map
#include <queue>          // priority_queue
#include <set>            // set
#include <unordered_map>  // unordered_map

namespace tokamax::text {

/// Counts words, and merges their symbols. Ties go to the pair of the least ids.
/// source  Sennrich et al. 2016, arXiv:1508.07909; BpeTrainer of `tokenizers`
class bpe_trainer {
 public:
  std::vector<std::string> tokens;                              ///< by their ids
  std::vector<std::pair<std::uint32_t, std::uint32_t>> merges;  ///< ids of two tokens, in order

  std::uint32_t token(const std::string& text) {
    const auto [at, fresh] = ids_.emplace(text, static_cast<std::uint32_t>(tokens.size()));
    if (fresh) tokens.push_back(text);
    return at->second;
  }
  void count(std::string_view word) { ++words_[std::string(word)]; }

  /// Makes tokens of the characters of all words, and then of pairs until there are `size` tokens.
  void train(std::size_t size, std::uint64_t least_count) {
    std::set<char32_t> alphabet;
    for (const auto& [word, unused] : words_) for_each_code(word, [&](char32_t c, std::size_t) { alphabet.insert(c); });
    for (const char32_t c : alphabet) {
      std::string one;
      append_utf8(one, c);
      token(one);
    }
    read_words();
    while (tokens.size() < size && !waiting_.empty()) {
      const candidate best = waiting_.top();
      waiting_.pop();
      if (const std::int64_t now = pairs_[best.pair].count; now != best.count) {
        if (now > 0) waiting_.push({now, best.pair});
        continue;
      }
      if (best.count < static_cast<std::int64_t>(std::max<std::uint64_t>(least_count, 1))) break;
      const auto [left, right] = best.pair;
      merges.push_back(best.pair);
      merge(best.pair, token(tokens[left] + tokens[right]));
    }
  }

 private:
  using pair = std::pair<std::uint32_t, std::uint32_t>;
  struct hash_of_pair {
    std::size_t operator()(const pair& p) const { return hash_bits(std::uint64_t{p.first} << 32 | p.second); }
  };
  struct candidate {
    std::int64_t count;
    bpe_trainer::pair pair;
    bool operator<(const candidate& c) const { return count != c.count ? count < c.count : pair > c.pair; }
  };
  struct occurrences {
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  // that have it, or had it
  };
  struct counted_word {
    std::vector<std::uint32_t> symbols;
    std::int64_t count;
  };

  void read_words() {
    for (const auto& [word, count] : words_) {
      counted_word w{{}, count};
      for_each_code(word, [&](char32_t c, std::size_t) {
        std::string one;
        append_utf8(one, c);
        w.symbols.push_back(token(one));
      });
      const auto number = static_cast<std::uint32_t>(counted_.size());
      for (std::size_t i = 1; i < w.symbols.size(); ++i) change({w.symbols[i - 1], w.symbols[i]}, count, number);
      counted_.push_back(std::move(w));
    }
    words_.clear();
    for (const auto& [p, o] : pairs_) waiting_.push({o.count, p});
  }
  void change(const pair& p, std::int64_t by, std::uint32_t word) {
    occurrences& o = pairs_[p];
    o.count += by;
    if (by > 0 && (o.words.empty() || o.words.back() != word)) o.words.push_back(word);
  }
  void merge(const pair& p, std::uint32_t both) {
    std::set<pair> fresh;
    const std::vector<std::uint32_t> numbers = std::move(pairs_[p].words);
    for (const std::uint32_t number : std::set<std::uint32_t>(numbers.begin(), numbers.end())) {
      auto& [s, count] = counted_[number];
      const auto put = [&](const pair& neighbours) {
        change(neighbours, count, number);
        fresh.insert(neighbours);
      };
      std::size_t kept = 0;  // symbols in front that are done
      for (std::size_t i = 0; i < s.size(); ++i) {
        if (s[i] != p.first || i + 1 == s.size() || s[i + 1] != p.second) {
          s[kept++] = s[i];
          continue;
        }
        if (kept > 0) change({s[kept - 1], p.first}, -count, number), put({s[kept - 1], both});
        if (i + 2 < s.size()) change({p.second, s[i + 2]}, -count, number), put({both, s[i + 2]});
        s[kept++] = both;
        ++i;
      }
      s.resize(kept);
    }
    for (const pair& f : fresh)
      if (const std::int64_t count = pairs_[f].count; count > 0) waiting_.push({count, f});
  }

  std::map<std::string, std::int64_t> words_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<counted_word> counted_;
  std::unordered_map<pair, occurrences, hash_of_pair> pairs_;
  std::priority_queue<candidate> waiting_;
};

}  // namespace tokamax::text
