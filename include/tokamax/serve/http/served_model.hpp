// tokamax/serve/http/served_model.hpp: what an API serves: the functions of a language model, or of an encoder.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// tested by tests/serve/http/llm_api.cpp
#pragma once

#include <tokamax/serve/http/completion_answer.hpp>   // token_text
#include <tokamax/serve/http/completion_request.hpp>  // structured_output
#include <tokamax/serve/llm/engine_stats.hpp>         // engine_stats
#include <tokamax/text/chat_template.hpp>             // chat_template
#include <tokamax/text/tokenizer.hpp>                 // tokenizer

namespace tokamax::serve {

/// A model by its functions, so that the API knows neither the engine nor its device. Any thread calls them. Those that are empty say
/// what the model cannot do.
struct served_model {
  std::string name;
  std::int64_t created = 0;        ///< seconds since 1970
  std::int64_t max_model_len = 0;  ///< tokens of prompt and answer
  std::optional<text::tokenizer> words = {};
  std::optional<text::chat_template> chat = {};
  token_text text_of = {};

  /// Those of `engine_thread`.
  std::function<void(request, std::function<void(const request_output&)>)> submit = {};
  std::function<void(const std::string& id)> abort = {};
  std::function<engine_stats()> stats = {};
  std::function<double()> step_age = {};  ///< seconds since the engine last did something

  /// What holds an answer to a structure; one a request.
  /// errors  tokamax::error of the kind `argument`
  std::function<std::shared_ptr<token_filter>(const structured_output&)> structure = {};
  /// The rows of texts, by an encoder.
  std::function<std::vector<std::vector<float>>(const std::vector<std::vector<std::int32_t>>&)> embed = {};
};

}  // namespace tokamax::serve
