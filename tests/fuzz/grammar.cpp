// tests/fuzz/grammar.cpp: any bytes as a JSON schema, a regular expression and a grammar, whose first texts follow the masks.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/grammar.hpp>

#include "fuzz/fuzz.hpp"

namespace serve = tokamax::serve;

void fuzz(std::string_view bytes) {
  static const auto vocabulary = [] {
    std::vector<std::string> all(1);
    for (int b = 0; b < 256; ++b) all.push_back(std::string(1, static_cast<char>(b)));
    for (const char* t : {"{\"", "\":", "true", "12", "é"}) all.push_back(t);
    return std::make_shared<const serve::vocabulary>(std::move(all), std::vector<std::int32_t>{0});
  }();
  using kind = serve::structured_output::kind;
  for (const kind what : {kind::schema, kind::regex, kind::grammar})
    only_errors([&] {
      const auto masks = std::make_shared<serve::token_masks>(
          serve::byte_program(serve::rules_of({.what = what, .text = std::string(bytes)})), vocabulary);
      serve::grammar_filter f(masks);
      std::vector<std::uint64_t> bits((vocabulary->bytes.size() + 63) / 64);
      std::size_t seed = bytes.size();
      for (int step = 0; step < 16 && !f.finished(); ++step) {
        f.allowed(bits);
        std::vector<std::int32_t> ids;
        for (std::size_t i = 0; i < vocabulary->bytes.size(); ++i)
          if (bits[i / 64] >> i % 64 & 1) ids.push_back(static_cast<std::int32_t>(i));
        if (ids.empty()) break;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        if (!f.accept(ids[(seed >> 33) % ids.size()])) std::abort();  // a mask says what is taken
      }
    });
}
