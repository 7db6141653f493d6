// tokamax/text/tiktoken.hpp: files of ranks as tiktoken has them, as the vocabulary and merges of a byte pair encoding.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/byte_level.hpp>      // byte_character
#include <tokamax/text/precompiled.hpp>     // from_base64
#include <tokamax/text/token_table.hpp>     // token_table
#include <tokamax/text/tokenizer_json.hpp>  // tokenizer_json

#include <charconv>  // from_chars

namespace tokamax::text {

namespace detail {

inline constexpr std::size_t longest_ranked = 4096;  // the longest in use has 128 bytes

// Calls f(bytes, rank) for each line "base64 rank".
template <class F>
void each_rank(std::string_view lines, const std::string& where, F f) {
  for (std::size_t begin = 0, number = 1; begin < lines.size(); ++number) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    std::string_view line = lines.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t space = std::min(line.find(' '), line.size());
    const auto bytes = from_base64(line.substr(0, space));
    std::uint32_t rank = 0;
    const auto [stop, code] =
        std::from_chars(line.data() + std::min(space + 1, line.size()), line.data() + line.size(), rank);
    const bool valid = code == std::errc{} && stop == line.data() + line.size() && rank <= largest_token_id;
    if (!bytes || bytes->empty() || bytes->size() > longest_ranked || !valid || rank > lines.size() + 65536)
      throw error(error_kind::file, "tokenizer: line " + std::to_string(number), std::string(line),
                  "bytes in base 64, a space and a rank", where);
    f(*bytes, rank);
  }
}

// Makes a vocabulary of bytes and their ranks. The id of a token is its rank, and two tokens merge if together they are one.
class ranked_vocabulary {
 public:
  ranked_vocabulary(std::size_t most, const std::string& where) : table_(most), where_(where) {}
  void add(const std::string& bytes, std::uint32_t id) {
    if (!table_.insert(bytes, id))
      throw error(error_kind::file, "tokenizer: ranks", "the rank " + std::to_string(id) + " or its token twice",
                  "distinct tokens and ranks", where_);
    std::string characters;
    for (const char byte : bytes) append_utf8(characters, byte_character(static_cast<unsigned char>(byte)));
    made_.tokens.push_back(std::move(characters));
    made_.ids.push_back(id);
  }
  tokenizer_json finish() {
    for (unsigned byte = 0; byte < 256; ++byte)
      if (table_.find(std::string(1, static_cast<char>(static_cast<unsigned char>(byte)))) < 0)
        throw error(error_kind::file, "tokenizer: ranks", "no token of the byte " + std::to_string(byte), "all bytes",
                    where_);
    for (const std::uint32_t id : made_.ids) {
      const std::string_view both = table_.text(id);
      for (std::size_t size = 1; size < both.size(); ++size) {
        const std::int32_t left = table_.find(both.substr(0, size)), right = table_.find(both.substr(size));
        if (left >= 0 && right >= 0)
          made_.ranked_merges.push_back({static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right), id});
      }
    }
    return std::move(made_);
  }

 private:
  tokenizer_json made_;
  token_table table_;
  const std::string& where_;
};

}  // namespace detail

/// The vocabulary of a file of ranks.
/// errors  tokamax::error of the kind `file` if a line is another one, a token or rank is there twice, or a byte is no token
/// source  github.com/openai/tiktoken
inline tokenizer_json parse_tiktoken(std::string_view lines, const std::string& where) {
  detail::ranked_vocabulary made(static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')) + 1, where);
  detail::each_rank(lines, where, [&](const std::string& bytes, std::uint32_t rank) { made.add(bytes, rank); });
  return made.finish();
}

}  // namespace tokamax::text
