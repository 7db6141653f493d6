// tokamax/serve/http/served_engine.hpp: an engine in its thread as a model that an API serves.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// tested by tests/serve/http/openai.cpp
#pragma once

#include <tokamax/serve/grammar/structured_output.hpp>  // grammar_cache
#include <tokamax/serve/http/served_model.hpp>          // served_model
#include <tokamax/serve/llm/engine_thread.hpp>          // engine_thread

#include <ctime>  // time

namespace tokamax::serve {

/// The functions of an engine that outlives the model. Without a chat template there are completions only.
inline served_model model_of(engine_thread& engine, std::string name, text::tokenizer words,
                             std::optional<text::chat_template> chat = {}) {
  // The bytes of all tokens take a moment, so they are made for the first request that needs them.
  struct grammar_parts {
    std::once_flag made;
    std::shared_ptr<const vocabulary> all;
    std::optional<grammar_cache> cache;
  };
  const auto parts = std::make_shared<grammar_parts>();
  const auto need = [parts, words, ends = engine.options().end_tokens]() -> grammar_parts& {
    std::call_once(parts->made, [&] {
      parts->all = std::make_shared<const vocabulary>(token_bytes(words), ends);
      parts->cache.emplace(parts->all);
    });
    return *parts;
  };
  served_model m{.name = std::move(name), .created = static_cast<std::int64_t>(std::time(nullptr))};
  m.max_model_len = engine.options().max_model_len;
  m.text_of = [need, words](std::int32_t id) {
    const auto& bytes = need().all->bytes;
    const auto i = static_cast<std::size_t>(id);
    return i < bytes.size() && !bytes[i].empty() ? bytes[i] : words.token_of(id).value_or("");
  };
  m.structure = [need](const structured_output& s) { return need().cache->filter(s); };
  m.submit = [&engine](request r, std::function<void(const request_output&)> hear) {
    engine.submit(std::move(r), std::move(hear));
  };
  m.abort = [&engine](const std::string& id) { engine.abort(id); };
  m.stats = [&engine] { return engine.stats(); };
  m.step_age = [&engine] { return engine.step_age(); };
  m.words = std::move(words);
  m.chat = std::move(chat);
  return m;
}

}  // namespace tokamax::serve
