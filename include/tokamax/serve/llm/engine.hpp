// tokamax/serve/llm/engine.hpp: answers many requests of a language model at once, a step at a time.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// needs <pcre2.h>
#pragma once

#include <tokamax/models/from_pretrained.hpp>      // pretrained
#include <tokamax/runtime/any_device.hpp>          // any_device
#include <tokamax/serve/llm/engine_options.hpp>    // engine_options
#include <tokamax/serve/llm/engine_stats.hpp>      // engine_stats
#include <tokamax/serve/llm/output.hpp>            // request_output
#include <tokamax/text/tokenizer.hpp>              // tokenizer

namespace tokamax::serve {

class engine {
 public:
  /// errors  "engine: " and the name of the option
  engine(models::decoder model, std::optional<text::tokenizer> words, any_device where, engine_options o = {});
  /// The same with the end tokens and packed matrices of a model that was read.
  engine(models::pretrained model, std::optional<text::tokenizer> words, any_device where, engine_options o = {});

  const engine_options& options() const;
  const models::decoder_config& config() const;
  std::int64_t max_model_len() const;

  /// Throws what `add` would throw, but for an id that is taken. Any thread may call it.
  /// errors  "sampling_params: ...", "request: prompt" for none, an id that the vocabulary does not have, or more tokens than fit, with
  ///         both numbers; "request: stop" or "bad_words" without a tokenizer
  void require_possible(const request& r) const;
  /// Takes a request in.
  /// errors  those of require_possible, and "request: id" if an unfinished one has it
  void add(request r);
  /// Computes one step for all, and returns what is new. What fails in it ends with finish_reason::error, and the engine goes on.
  std::vector<request_output> step();
  /// Ends a request, whose blocks are free at once; the next step returns its last outputs. False: there is none of this id.
  bool abort(const std::string& id);
  bool has_unfinished() const;
  engine_stats stats() const;
};

}  // namespace tokamax::serve
