// tokamax/text/bpe.hpp: byte pair encoding: symbols are merged in pairs, the pair of the best rank first.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/byte_level.hpp>  // bytes_of_characters
#include <tokamax/text/unigram.hpp>     // model, byte_token

#include <algorithm>  // push_heap
#include <array>      // array

namespace tokamax::text {

namespace detail {

inline constexpr std::uint32_t no_merge = ~0u;

// What a pair of tokens is merged to, and how soon.
struct pair_merge {
  std::uint32_t rank = no_merge, id = 0;
};

// A word's symbols while they are merged: bytes from `begin` on, and their neighbours.
struct symbol {
  std::uint32_t id, begin, previous, next;
};

// The tokens of words that occurred, in places by their hashes. A later word takes the place of an earlier one.
struct bpe_memory : model_memory {
  struct entry {
    std::uint64_t hash = 0;
    std::uint32_t key = 0, key_size = 0, first = 0, count = 0;
  };
  static constexpr std::size_t places = 1u << 14, longest_key = 64, most_bytes = 1u << 21;
  std::vector<entry> entries = std::vector<entry>(places);
  std::string keys;
  std::vector<word_token> tokens;
  std::vector<symbol> symbols;
  struct candidate {
    std::uint32_t rank, at, id;
    bool operator<(const candidate& c) const {
      return rank != c.rank ? rank > c.rank : at > c.at;
    }  // the best is on top
  };
  std::vector<candidate> heap;

  void remember(std::string_view word, std::uint64_t hash, std::span<const word_token> result) {
    if (keys.size() + tokens.size() * sizeof(word_token) > most_bytes) {
      keys.clear();
      tokens.clear();
      std::fill(entries.begin(), entries.end(), entry{});
    }
    entries[hash % places] = {hash, static_cast<std::uint32_t>(keys.size()), static_cast<std::uint32_t>(word.size()),
                              static_cast<std::uint32_t>(tokens.size()), static_cast<std::uint32_t>(result.size())};
    keys += word;
    tokens.insert(tokens.end(), result.begin(), result.end());
  }
};

}  // namespace detail

/// Byte pair encoding. Where a pre-tokenizer makes characters of bytes and changes nothing else (`of_bytes`), words are the
/// bytes themselves.
/// source  Sennrich et al. 2016, arXiv:1508.07909; BPE of `tokenizers`
class bpe : public model {
 public:
  bpe(const json_field& about, const tokenizer_json& file, bool of_bytes)
      : model(vocabulary_of(file, about.where())), merges_(file.merges.size() + file.ranked_merges.size()) {
    if (!about["dropout"].absent() && about["dropout"].value() != 0.0)
      about["dropout"].refuse("no dropout, because results do not depend on chance");
    prefix_ = about["continuing_subword_prefix"].text("");
    suffix_ = about["end_of_word_suffix"].text("");
    unknown_ = about["unk_token"].absent() ? std::nullopt : std::optional(about["unk_token"].text());
    fuses_unknown_ = about["fuse_unk"].flag(false);
    byte_fallback_ = about["byte_fallback"].flag(false);
    whole_words_ = about["ignore_merges"].flag(false);
    read_merges(file, about.where());
    for (const auto& [left, right, both] : file.ranked_merges) merges_[key(left, right)] = {both, both};
    if (of_bytes && prefix_.empty() && suffix_.empty()) read_bytes();
  }
  /// Are words bytes, and not the characters that stand for them?
  bool of_bytes() const { return of_bytes_; }

  std::unique_ptr<model_memory> memory() const override { return std::make_unique<detail::bpe_memory>(); }

  void tokenize(std::string_view word, model_memory* memory, std::vector<word_token>& to) const override {
    auto& m = static_cast<detail::bpe_memory&>(*memory);
    if (word.size() > detail::bpe_memory::longest_key) return merge(word, m, to);
    const std::uint64_t hash = hash_bytes(word);
    const detail::bpe_memory::entry& e = m.entries[hash % detail::bpe_memory::places];
    if (e.hash == hash && std::string_view(m.keys).substr(e.key, e.key_size) == word && !word.empty()) {
      to.insert(to.end(), m.tokens.begin() + e.first, m.tokens.begin() + e.first + e.count);
      return;
    }
    const std::size_t first = to.size();
    merge(word, m, to);
    m.remember(word, hash, std::span(to).subspan(first));
  }

 private:
  void read_merges(const tokenizer_json& file, const std::string& where) {
    std::string both;
    for (std::size_t rank = 0; rank < file.merges.size(); ++rank) {
      const auto& [left, right] = file.merges[rank];
      if (right.size() < prefix_.size())
        throw error(error_kind::file, "tokenizer: model.merges", right, "the prefix " + prefix_, where);
      both = left;
      both += std::string_view(right).substr(prefix_.size());
      const std::int32_t l = vocabulary().find(left), r = vocabulary().find(right), b = vocabulary().find(both);
      if (l < 0 || r < 0 || b < 0)
        throw error(error_kind::file, "tokenizer: model.merges",
                    "no token " + (l < 0   ? left
                                   : r < 0 ? right
                                           : both),
                    "tokens of the vocabulary", where);
      merges_[key(static_cast<std::uint32_t>(l), static_cast<std::uint32_t>(r))] = {static_cast<std::uint32_t>(rank),
                                                                                    static_cast<std::uint32_t>(b)};
    }
  }
  void read_bytes() {
    std::string one;
    for (unsigned byte = 0; byte < 256; ++byte) {
      one.clear();
      append_utf8(one, byte_character(static_cast<unsigned char>(byte)));
      const std::int32_t id = vocabulary().find(one);
      if (id < 0) return;
      byte_ids_[byte] = static_cast<std::uint32_t>(id);
    }
    of_bytes_ = true;
    if (!whole_words_) return;
    words_ = token_table(vocabulary().count());
    for (std::uint32_t id = 0; id < vocabulary().ids(); ++id)
      if (vocabulary().has(id))
        if (const auto bytes = bytes_of_characters(vocabulary().text(id))) words_.insert(*bytes, id);
  }
  static std::uint64_t key(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32 | right; }
  detail::pair_merge merge_of(std::uint32_t left, std::uint32_t right) const {
    const detail::pair_merge* found = merges_.find(key(left, right));
    return found ? *found : detail::pair_merge{};
  }

  void merge(std::string_view word, detail::bpe_memory& m, std::vector<word_token>& to) const {
    const auto size = static_cast<std::uint32_t>(word.size());
    if (whole_words_)
      if (const std::int32_t id = (of_bytes_ ? words_ : vocabulary()).find(word); id >= 0) {
        to.push_back({static_cast<std::uint32_t>(id), 0, size});
        return;
      }
    m.symbols.clear();
    std::uint32_t end = size;  // of the symbols; skipped characters make it less
    if (of_bytes_)
      for (std::uint32_t i = 0; i < size; ++i)
        m.symbols.push_back({byte_ids_[static_cast<unsigned char>(word[i])], i, 0, 0});
    else
      end = read_symbols(word, m.symbols);
    const auto count = static_cast<std::uint32_t>(m.symbols.size());
    if (count > most_scanned)
      merge_by_heap(m);
    else if (count > 1)
      merge_by_scan(m.symbols);
    for (std::size_t i = 0; i < m.symbols.size(); ++i)
      to.push_back({m.symbols[i].id, m.symbols[i].begin, i + 1 < m.symbols.size() ? m.symbols[i + 1].begin : end});
  }

  // The symbols of a word's characters, and the end of the last one. Unknown characters are the unknown token, or skipped.
  std::uint32_t read_symbols(std::string_view word, std::vector<detail::symbol>& symbols) const {
    std::uint32_t end = 0;
    const auto add = [&](std::uint32_t id, std::size_t bytes) {
      symbols.push_back({id, end, 0, 0});
      end += static_cast<std::uint32_t>(bytes);
    };
    std::size_t unknown_bytes = 0;  // that wait for others to be one token with them
    const auto flush = [&] {
      if (unknown_bytes > 0) add(unknown_id(*unknown_), unknown_bytes);
      unknown_bytes = 0;
    };
    std::string part;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t bytes = decode_utf8(word, at).length;
      part = at > 0 ? prefix_ : std::string();
      part += word.substr(at, bytes);
      if (at + bytes == word.size()) part += suffix_;
      at += bytes;
      if (const std::int32_t id = vocabulary().find(part); id >= 0) {
        flush();
        add(static_cast<std::uint32_t>(id), bytes);
      } else if (byte_fallback_ && add_bytes(part, add)) {
        continue;
      } else if (unknown_) {
        if (!fuses_unknown_) flush();
        unknown_bytes += bytes;
      }
    }
    flush();
    return end;
  }
  template <class F>
  bool add_bytes(std::string_view part, F add) const {
    for (const char byte : part)
      if (vocabulary().find(detail::byte_token(byte)) < 0) return false;
    for (const char byte : part) add(static_cast<std::uint32_t>(vocabulary().find(detail::byte_token(byte))), 1);
    return true;
  }

  // Short words: the best pair is looked for among all.
  void merge_by_scan(std::vector<detail::symbol>& symbols) const {
    std::array<detail::pair_merge, most_scanned> pairs;  // of a symbol and the next
    std::size_t count = symbols.size();
    for (std::size_t i = 0; i + 1 < count; ++i) pairs[i] = merge_of(symbols[i].id, symbols[i + 1].id);
    for (;;) {
      std::size_t best = 0;
      for (std::size_t i = 1; i + 1 < count; ++i)
        if (pairs[i].rank < pairs[best].rank) best = i;
      if (count < 2 || pairs[best].rank == detail::no_merge) break;
      symbols[best].id = pairs[best].id;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
      std::copy(pairs.begin() + best + 1, pairs.begin() + count - 1, pairs.begin() + best);
      --count;
      if (best + 1 < count) pairs[best] = merge_of(symbols[best].id, symbols[best + 1].id);
      if (best > 0) pairs[best - 1] = merge_of(symbols[best - 1].id, symbols[best].id);
    }
  }
  // Long words: pairs wait in a heap, and those that are not there any more are passed over. O(n log n).
  void merge_by_heap(detail::bpe_memory& m) const {
    auto& s = m.symbols;
    const auto count = static_cast<std::uint32_t>(s.size());
    constexpr std::uint32_t gone = ~0u;
    m.heap.clear();
    const auto offer = [&](std::uint32_t at) {
      if (s[at].next == count) return;
      const detail::pair_merge merged = merge_of(s[at].id, s[s[at].next].id);
      if (merged.rank == detail::no_merge) return;
      m.heap.push_back({merged.rank, at, merged.id});
      std::push_heap(m.heap.begin(), m.heap.end());
    };
    for (std::uint32_t i = 0; i < count; ++i) s[i].previous = i - 1, s[i].next = i + 1;
    for (std::uint32_t i = 0; i + 1 < count; ++i) offer(i);
    while (!m.heap.empty()) {
      const detail::bpe_memory::candidate best = m.heap.front();
      std::pop_heap(m.heap.begin(), m.heap.end());
      m.heap.pop_back();
      detail::symbol& left = s[best.at];
      if (left.id == gone || left.next == count || merge_of(left.id, s[left.next].id).id != best.id ||
          merge_of(left.id, s[left.next].id).rank == detail::no_merge)
        continue;
      s[left.next].id = gone;
      left.id = best.id;
      left.next = s[left.next].next;
      if (left.next < count) s[left.next].previous = best.at;
      offer(best.at);
      if (best.at > 0) offer(left.previous);
    }
    std::erase_if(s, [](const detail::symbol& one) { return one.id == gone; });
  }

  static constexpr std::size_t most_scanned = 32;
  key_table<detail::pair_merge> merges_;
  std::string prefix_, suffix_;
  std::optional<std::string> unknown_;
  bool fuses_unknown_ = false, byte_fallback_ = false, whole_words_ = false, of_bytes_ = false;
  std::array<std::uint32_t, 256> byte_ids_{};
  token_table words_;  // of bytes, for whole words
};

}  // namespace tokamax::text
