// tokamax/text/special_frame.hpp: special tokens before and behind a text, as a post-processor.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/sentencepiece.cpp
#pragma once

#include <tokamax/text/tokenizer_json.hpp>  // json

namespace tokamax::text {

/// What stands around a text, or around two.
struct special_frame {
  using token = std::optional<std::pair<std::string, std::uint32_t>>;
  token begin{}, end{};

  /// The JSON of a TemplateProcessing.
  nlohmann::json json() const {
    nlohmann::json single = nlohmann::json::array(), pair = nlohmann::json::array(), special = nlohmann::json::object();
    const auto put = [&](const token& t, const char* name) {
      if (!t) return;
      const nlohmann::json piece{{"SpecialToken", {{"id", name}, {"type_id", 0}}}};
      single.push_back(piece), pair.push_back(piece);
      special[name] = {{"ids", {t->second}}, {"tokens", {t->first}}};
    };
    put(begin, "begin");
    const nlohmann::json first{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    single.push_back(first), pair.push_back(first);
    pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
    put(end, "end");
    return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
  }
};

}  // namespace tokamax::text
