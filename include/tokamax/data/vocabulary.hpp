// tokamax/data/vocabulary.hpp: the symbols of a text and their token numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/tokens.hpp>  // tokens

#include <array>   // array
#include <span>    // span
#include <vector>  // vector

namespace tokamax::data {

/// A list of byte symbols. The token of a symbol is its index in the list.
class vocabulary {
 public:
  /// errors  tokamax::error if a symbol is there twice
  explicit vocabulary(std::string symbols) : symbols_(std::move(symbols)) {
    token_.fill(-1);
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      std::int16_t& token = token_[static_cast<unsigned char>(symbols_[i])];
      if (token >= 0) throw error("vocabulary: symbol", describe(symbols_[i]) + " twice", "distinct symbols");
      token = static_cast<std::int16_t>(i);
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(symbols_.size()); }
  const std::string& symbols() const { return symbols_; }

  /// errors  tokamax::error if `text` holds a symbol that is not in the list; the same for the other `encode`
  std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> result;
    result.reserve(text.size());
    for (const char symbol : text) result.push_back(token(symbol, "text"));
    return result;
  }
  tokens encode(const tokens& text) const {
    std::string result(text.bytes());
    for (char& symbol : result) symbol = static_cast<char>(token(symbol, text.name()));
    return tokens(std::move(result), text.name());
  }
  /// errors  tokamax::error if a token is not below `size()`
  std::string decode(std::span<const std::int32_t> tokens) const {
    std::string result;
    result.reserve(tokens.size());
    for (const std::int32_t token : tokens) {
      if (token < 0 || token >= size())
        throw error("vocabulary: token", std::to_string(token), "0 to " + std::to_string(size() - 1));
      result += symbols_[static_cast<std::size_t>(token)];
    }
    return result;
  }

 private:
  static std::string describe(char symbol) {
    if (symbol > ' ' && symbol < 127) return {'\'', symbol, '\''};
    return "byte " + std::to_string(static_cast<unsigned char>(symbol));
  }
  std::int32_t token(char symbol, const std::string& where) const {
    const std::int16_t token = token_[static_cast<unsigned char>(symbol)];
    if (token < 0)
      throw error("vocabulary: symbol", describe(symbol), "one of the " + std::to_string(size()) + " known symbols",
                  where);
    return token;
  }

  std::string symbols_;
  std::array<std::int16_t, 256> token_;  // -1 for a byte that is not a symbol
};

/// All bytes, each with its value as its token. Every text can be encoded.
inline vocabulary byte_vocabulary() {
  std::string symbols(256, '\0');
  for (std::size_t i = 0; i < 256; ++i) symbols[i] = static_cast<char>(i);
  return vocabulary(std::move(symbols));
}

/// The bytes that occur in `text`, in increasing order: the characters of an ASCII text, 65 for Tiny Shakespeare.
inline vocabulary characters(const tokens& text) {
  std::array<bool, 256> seen{};
  for (const char symbol : text.bytes()) seen[static_cast<unsigned char>(symbol)] = true;
  std::string symbols;
  for (std::size_t i = 0; i < 256; ++i) {
    if (seen[i]) symbols += static_cast<char>(i);
  }
  return vocabulary(std::move(symbols));
}

}  // namespace tokamax::data
