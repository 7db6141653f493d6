// tokamax/text/token_table.hpp: tokens by their texts and by their ids, and numbers by keys of 64 bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/text/utf8.hpp>  // string_view

#include <bit>      // bit_ceil
#include <cstdint>  // uint64_t
#include <cstring>  // memcpy
#include <vector>   // vector

namespace tokamax::text {

/// Mixes the bits of a number.
constexpr std::uint64_t hash_bits(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0x9E3779B97F4A7C15u;
  return x ^ x >> 29;
}

/// A hash of bytes, which reads eight at a time.
inline std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = bytes.size() * 0xA0761D6478BD642Fu;
  while (bytes.size() >= 8) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes.data(), 8);
    hash = hash_bits(hash ^ eight) * 0xE7037ED1A0B428DBu;
    bytes.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes.data(), bytes.size());
  return hash_bits(hash ^ rest);
}

/// A table from keys of 64 bits to values, of a size that is known before. The key ~0 is not used.
template <class Value>
class key_table {
 public:
  explicit key_table(std::size_t most = 0) : slots_(std::bit_ceil(2 * most + 2)) {}
  /// The value of a key, new where it is not there.
  Value& operator[](std::uint64_t key) {
    slot& s = slots_[place(key)];
    s.key = key;
    return s.value;
  }
  const Value* find(std::uint64_t key) const {
    const slot& s = slots_[place(key)];
    return s.key == key ? &s.value : nullptr;
  }

 private:
  struct slot {
    std::uint64_t key = ~std::uint64_t{0};
    Value value{};
  };
  std::size_t place(std::uint64_t key) const {
    std::size_t at = hash_bits(key) & (slots_.size() - 1);
    while (slots_[at].key != key && slots_[at].key != ~std::uint64_t{0}) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  std::vector<slot> slots_;
};

/// Tokens, each with an id. Ids need not be without gaps.
class token_table {
 public:
  explicit token_table(std::size_t most = 0) : slots_(std::bit_ceil(2 * most + 2)) {}
  /// Is false, and changes nothing, if the text or the id is there.
  bool insert(std::string_view text, std::uint32_t id) {
    slot& s = slots_[place(text)];
    if (s.id >= 0 || (id < places_.size() && places_[id].begin >= 0)) return false;
    if (id >= places_.size()) places_.resize(id + std::size_t{1});
    s = {static_cast<std::uint32_t>(hash_bytes(text) >> 32), static_cast<std::int32_t>(id)};
    places_[id] = {static_cast<std::int64_t>(bytes_.size()), static_cast<std::uint32_t>(text.size())};
    bytes_ += text;
    ++count_;
    return true;
  }
  /// The id of a token, or -1.
  std::int32_t find(std::string_view text) const { return slots_[place(text)].id; }
  bool has(std::uint32_t id) const { return id < places_.size() && places_[id].begin >= 0; }
  /// The text of a token that is there.
  std::string_view text(std::uint32_t id) const {
    return std::string_view(bytes_).substr(static_cast<std::size_t>(places_[id].begin), places_[id].size);
  }
  std::size_t count() const { return count_; }
  /// One more than the greatest id.
  std::size_t ids() const { return places_.size(); }

 private:
  struct slot {
    std::uint32_t tag = 0;  // more bits of the hash, to pass over others without reading their texts
    std::int32_t id = -1;
  };
  struct place_of_text {
    std::int64_t begin = -1;
    std::uint32_t size = 0;
  };
  std::size_t place(std::string_view text) const {
    const std::uint64_t hash = hash_bytes(text);
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].id >= 0 && (slots_[at].tag != static_cast<std::uint32_t>(hash >> 32) ||
                                  this->text(static_cast<std::uint32_t>(slots_[at].id)) != text))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  std::vector<slot> slots_;
  std::vector<place_of_text> places_;  // of each id
  std::string bytes_;
  std::size_t count_ = 0;
};

/// Texts with numbers, found as the beginnings of another text.
class prefix_tree {
 public:
  /// `bytes` is the sum of the texts' sizes.
  explicit prefix_tree(std::size_t bytes = 0) : children_(bytes) {}
  /// A text that is there keeps its number.
  void insert(std::string_view text, std::int32_t number) {
    std::uint32_t node = 0;
    for (const char byte : text) {
      std::uint32_t& child = children_[key(node, byte)];
      if (child == 0) {
        child = static_cast<std::uint32_t>(numbers_.size());
        numbers_.push_back(-1);
      }
      node = child;
    }
    if (numbers_[node] < 0) numbers_[node] = number;
  }
  /// Calls f(size, number) for each text with which `text` begins, the shortest first.
  template <class F>
  void prefixes(std::string_view text, F f) const {
    std::uint32_t node = 0;
    for (std::size_t size = 0; size < text.size(); ++size) {
      const std::uint32_t* child = children_.find(key(node, text[size]));
      if (!child) return;
      node = *child;
      if (numbers_[node] >= 0) f(size + 1, numbers_[node]);
    }
  }

 private:
  static std::uint64_t key(std::uint32_t node, char byte) {
    return std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
  }
  key_table<std::uint32_t> children_;
  std::vector<std::int32_t> numbers_{-1};  // of each node
};

}  // namespace tokamax::text
