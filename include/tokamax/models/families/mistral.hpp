// tokamax/models/families/mistral.hpp: Mistral, which is Llama with a window in all layers.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/families/llama.hpp>  // llama_config

namespace tokamax::models {

namespace detail {
inline decoder_config mistral_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json);
  read_windows(json, c, [](int) { return true; });
  return c;
}
}  // namespace detail

/// source  arXiv:2310.06825; transformers, models/mistral. GGUF files call it llama
inline constexpr decoder_family mistral{.architecture = "MistralForCausalLM",
                                        .model_type = "mistral",
                                        .config = detail::mistral_config,
                                        .names = detail::llama_names};

}  // namespace tokamax::models
