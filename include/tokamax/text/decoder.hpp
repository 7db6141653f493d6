// tokamax/text/decoder.hpp: the steps that make a text of tokens, read from a tokenizer's file.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/pre_tokenizer.hpp>  // pattern, one_character, prepend_scheme_of

namespace tokamax::text {

/// Changes a list of texts, which are put together at the end. If the flag is set, bytes that are no text stay as they are:
/// a later token may complete them.
using decode_step = std::function<void(std::vector<std::string>&, bool)>;

namespace detail {

inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}
inline std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& p : parts) all += p;
  return all;
}
// The characters of bytes as bytes; a token with others is itself.
inline void decode_bytes(std::vector<std::string>& tokens, bool raw) {
  std::string bytes;
  for (const std::string& t : tokens) {
    if (const auto decoded = bytes_of_characters(t))
      bytes += *decoded;
    else
      bytes += t;
  }
  tokens = {raw ? bytes : replace_invalid(bytes)};
}
// Takes spaces away that English does not have.
inline void clean_up(std::string& text) {
  constexpr std::array<std::array<const char*, 2>, 11> changes{{{" .", "."},
                                                                {" ?", "?"},
                                                                {" !", "!"},
                                                                {" ,", ","},
                                                                {" ' ", "'"},
                                                                {" n't", "n't"},
                                                                {" 'm", "'m"},
                                                                {" do not", " don't"},
                                                                {" 's", "'s"},
                                                                {" 've", "'ve"},
                                                                {" 're", "'re"}}};
  for (const auto& [from, to] : changes) replace_all(text, from, to);
}
// The byte of a token such as <0x0A>, or -1.
inline int byte_of_token(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  const int high = token[3] == '+' ? 0 : digit(token[3]), low = digit(token[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}
// Runs of byte tokens as a text, or as U+FFFD for each if they are none.
inline void fall_back_to_bytes(std::vector<std::string>& tokens, bool raw) {
  std::vector<std::string> result;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    if (raw || valid_utf8(bytes) == bytes.size())
      result.push_back(bytes);
    else
      result.insert(result.end(), bytes.size(), "\xEF\xBF\xBD");
    bytes.clear();
  };
  for (std::string& t : tokens) {
    if (const int byte = byte_of_token(t); byte >= 0) {
      bytes += static_cast<char>(static_cast<unsigned char>(byte));
    } else {
      flush();
      result.push_back(std::move(t));
    }
  }
  flush();
  tokens = std::move(result);
}
// Up to `start` of the character at the beginning, and `stop` at the end, are taken away.
inline void strip_character(std::string& token, const std::string& c, std::uint32_t start, std::uint32_t stop) {
  std::size_t begin = 0, end = token.size();
  for (; start > 0 && token.compare(begin, c.size(), c) == 0; --start) begin += c.size();
  for (; stop > 0 && end >= begin + c.size() && token.compare(end - c.size(), c.size(), c) == 0; --stop)
    end -= c.size();
  token = token.substr(begin, end - begin);
}
inline void decode_words(std::vector<std::string>& tokens, const std::string& prefix, bool cleans) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) {
      if (tokens[i].starts_with(prefix))
        tokens[i].erase(0, prefix.size());
      else
        tokens[i].insert(0, " ");
    }
    if (cleans) clean_up(tokens[i]);
  }
}
inline void decode_marks(std::vector<std::string>& tokens, const std::string& mark, bool prepended) {
  for (std::size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], mark, i == 0 && prepended ? "" : " ");
}
inline void decode_replaced(std::vector<std::string>& tokens, const pattern& from, const std::string& to) {
  for (std::string& t : tokens) {
    if (valid_utf8(t) != t.size()) t = replace_invalid(t);  // patterns are matched in valid texts only
    std::string result;
    from.cut(t, [&](std::size_t begin, std::size_t end, bool matched) {
      result += matched ? std::string_view(to) : std::string_view(t).substr(begin, end - begin);
    });
    t = std::move(result);
  }
}

}  // namespace detail

/// Appends the steps of a decoder.
/// errors  tokamax::error of the kind `file` that names a type which is not known
inline void add_decoder(const json_field& about, std::vector<decode_step>& to) {
  using tokens = std::vector<std::string>;
  const std::string type = about["type"].text();
  if (type == "Sequence") {
    for (const json_field& one : about["decoders"].elements()) add_decoder(one, to);
  } else if (type == "ByteLevel") {
    to.push_back(detail::decode_bytes);
  } else if (type == "WordPiece") {
    to.push_back([prefix = about["prefix"].text("##"), cleans = about["cleanup"].flag(true)](tokens& t, bool) {
      detail::decode_words(t, prefix, cleans);
    });
  } else if (type == "Metaspace") {
    to.push_back([mark = detail::one_character(about["replacement"]),
                  prepended = detail::prepend_scheme_of(about) != detail::prepend_scheme::never](tokens& t, bool) {
      detail::decode_marks(t, mark, prepended);
    });
  } else if (type == "ByteFallback") {
    to.push_back(detail::fall_back_to_bytes);
  } else if (type == "Fuse") {
    to.push_back([](tokens& t, bool) { t = {detail::joined(t)}; });
  } else if (type == "Strip") {
    to.push_back([c = detail::one_character(about["content"]), start = about["start"].natural(1u << 20),
                  stop = about["stop"].natural(1u << 20)](tokens& all, bool) {
      for (std::string& t : all) detail::strip_character(t, c, start, stop);
    });
  } else if (type == "Replace") {
    to.push_back([from = pattern_of(about["pattern"]), with = about["content"].text()](tokens& t, bool) {
      detail::decode_replaced(t, *from, with);
    });
  } else if (type == "BPEDecoder") {
    to.push_back([suffix = about["suffix"].text("</w>")](tokens& t, bool) {
      for (std::size_t i = 0; i < t.size() && !suffix.empty(); ++i)
        detail::replace_all(t[i], suffix, i + 1 == t.size() ? "" : " ");
    });
  } else {
    about["type"].refuse("Sequence, ByteLevel, WordPiece, Metaspace, ByteFallback, Fuse, Strip, Replace or BPEDecoder");
  }
}

}  // namespace tokamax::text
