// tests/support/serving.hpp: engines of tiny models, and what requests hear from them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu.hpp>
#include <tokamax/serve/llm/engine.hpp>

#include <map>
#include <string>
#include <vector>

#include "support/tiny_models.hpp"

namespace tokamax::test {

inline models::decoder tiny_decoder(const std::string& name) {
  const temporary_folder folder;
  tiny_model(name).write(folder.path / "m");
  return models::from_pretrained(folder.path / "m").model;
}

/// A tokenizer of 40 tokens of one character each: a to z, A to L, a space and an é; token 39 is the special <end>.
inline text::tokenizer letters() {
  std::string vocabulary;
  const auto add = [&](const std::string& token, int id) {
    vocabulary += (id == 0 ? "\"" : ",\"") + token + "\":" + std::to_string(id);
  };
  for (int i = 0; i < 37; ++i) add(std::string(1, static_cast<char>(i < 26 ? 'a' + i : 'A' + i - 26)), i);
  add(" ", 37), add("\xC3\xA9", 38), add("<end>", 39);
  return text::tokenizer::from_json(
      R"({"model":{"type":"WordLevel","vocab":{)" + vocabulary +
      R"(},"unk_token":"a"},"pre_tokenizer":{"type":"Split","pattern":{"Regex":"."},"behavior":"Isolated","invert":false},)"
      R"("decoder":{"type":"Fuse"},"added_tokens":[{"id":39,"content":"<end>","special":true}]})");
}

/// All that was said to one answer.
struct heard {
  std::vector<std::int32_t> tokens;
  std::string text;
  std::vector<serve::place_logprobs> logprobs, prompt_logprobs;
  std::vector<serve::request_output> outputs;

  const serve::request_output& last() const { return outputs.back(); }
  /// Tokens and log-probabilities as numbers, whose bits are compared.
  std::vector<float> numbers() const {
    std::vector<float> all;
    for (const auto* list : {&prompt_logprobs, &logprobs})
      for (const serve::place_logprobs& p : *list) {
        all.push_back(static_cast<float>(p.chosen.id)), all.push_back(p.chosen.logprob);
        for (const serve::token_logprob& t : p.top) all.push_back(static_cast<float>(t.id)), all.push_back(t.logprob);
      }
    return all;
  }
};
using hearings = std::map<std::pair<std::string, int>, heard>;  // by request and answer

inline void hear(hearings& all, const std::vector<serve::request_output>& outputs) {
  for (const serve::request_output& out : outputs) {
    heard& h = all[{out.id, out.index}];
    h.tokens.insert(h.tokens.end(), out.token_ids.begin(), out.token_ids.end());
    h.text += out.text;
    h.logprobs.insert(h.logprobs.end(), out.logprobs.begin(), out.logprobs.end());
    h.prompt_logprobs.insert(h.prompt_logprobs.end(), out.prompt_logprobs.begin(), out.prompt_logprobs.end());
    h.outputs.push_back(out);
  }
}
/// Steps until all have ended.
inline hearings run(serve::engine& e, std::vector<serve::request> requests) {
  hearings all;
  for (serve::request& r : requests) e.add(std::move(r));
  while (e.has_unfinished()) hear(all, e.step());
  return all;
}

}  // namespace tokamax::test
