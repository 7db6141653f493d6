// tests/support/grammar_checks.hpp: which texts a grammar has, and texts that its masks lead to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/serve/grammar/byte_states.hpp>     // byte_states
#include <tokamax/serve/grammar/grammar_filter.hpp>  // grammar_filter

#include <random>  // mt19937

#include "support/catch.hpp"

namespace tokamax::test {

/// Does a grammar have a text as a whole?
inline bool has_text(serve::byte_states& states, std::string_view text) {
  std::int32_t s = states.start();
  for (const char c : text)
    if ((s = states.next(s, static_cast<std::uint8_t>(c))) == serve::byte_states::dead) return false;
  return states.accepts(s);
}
inline bool has_text(const serve::grammar_rules& g, std::string_view text) {
  serve::byte_states states{serve::byte_program(g)};
  return has_text(states, text);
}

/// Checks texts that a grammar has, and texts that it has not.
inline void check_texts(const serve::grammar_rules& g, const std::vector<std::string>& yes,
                        const std::vector<std::string>& no) {
  serve::byte_states states{serve::byte_program(g)};
  for (const auto& [texts, expected] : {std::pair(&yes, true), std::pair(&no, false)})
    for (const std::string& text : *texts) {
      INFO(text);
      CHECK(has_text(states, text) == expected);
    }
}

/// The bytes as tokens, tokens that JSON is full of, and the end token 0.
inline std::shared_ptr<const serve::vocabulary> small_vocabulary() {
  std::vector<std::string> bytes(1);
  for (int b = 0; b < 256; ++b) bytes.push_back(std::string(1, static_cast<char>(b)));
  for (const char* t :
       {"{\"",  "\": ", "\",",  "\"}",  "}}",  "]}",    ", \"", "true", "false", "null", "12", "00", "  ",
        "\n  ", "é",    "日本", "\xC3", "\\n", "\\u00", "ab",   "name", "1.5",   "-",    "e+", "[]", "{}"})
    bytes.push_back(t);
  bytes.push_back("ab");  // two tokens of the same bytes
  bytes.push_back("");    // a special token
  return std::make_shared<const serve::vocabulary>(std::move(bytes), std::vector<std::int32_t>{0});
}

/// The ids in a mask.
inline std::vector<std::int32_t> ids_of(const std::vector<std::uint64_t>& bits) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < bits.size() * 64; ++i)
    if (bits[i / 64] >> i % 64 & 1) ids.push_back(static_cast<std::int32_t>(i));
  return ids;
}

/// A text of tokens that masks allow, drawn at random until the end. Behind `most` tokens the end, or a byte that is short, comes first.
inline std::optional<std::string> random_walk(const std::shared_ptr<serve::token_masks>& masks,
                                              const serve::vocabulary& v, std::mt19937& random, int most = 400) {
  serve::grammar_filter f(masks);
  std::string text;
  std::vector<std::uint64_t> bits((v.bytes.size() + 63) / 64);
  for (int i = 0; i < 20 * most; ++i) {
    f.allowed(bits);
    const std::vector<std::int32_t> ids = ids_of(bits);
    if (ids.empty()) return std::nullopt;
    std::int32_t id = ids[random() % ids.size()];
    if (i > most / 4)  // what closes values is taken when it can be
      for (const char* c : {"\"", "}", "]"})
        if (const auto at = std::find_if(ids.begin(), ids.end(),
                                         [&](std::int32_t t) { return v.bytes[static_cast<std::size_t>(t)] == c; });
            at != ids.end() && random() % 4 != 0)
          id = *at;
    if (i > most / 4 && ids[0] == 0) id = 0;
    if (!f.accept(id)) return std::nullopt;
    if (id == 0) return text;
    text += v.bytes[static_cast<std::size_t>(id)];
    if (f.finished()) return text;
  }
  return std::nullopt;
}

}  // namespace tokamax::test
