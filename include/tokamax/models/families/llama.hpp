// tokamax/models/families/llama.hpp: Llama 2 and 3, and models of their form such as SmolLM2.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/decoder_family.hpp>  // decoder_family

namespace tokamax::models {

namespace detail {
/// `epsilon` and `base` of rope are those of files that do not say them.
inline decoder_config llama_config(const checkpoint::json_record& json, double epsilon, double base = 10000) {
  decoder_config c = common_config(json);
  c.epsilon = json.get<double>("rms_norm_eps", epsilon);
  c.activation = activation_named(json, "hidden_act", "silu");
  c.qkv_bias = c.out_bias = json.get<bool>("attention_bias", false);
  c.mlp_bias = json.get<bool>("mlp_bias", false);
  read_rope(json, c, base);
  return c;
}
inline decoder_config llama_config(const checkpoint::json_record& json) { return llama_config(json, 1e-6); }
}  // namespace detail

/// source  arXiv:2307.09288, arXiv:2407.21783; transformers, models/llama
inline constexpr decoder_family llama{.architecture = "LlamaForCausalLM",
                                      .model_type = "llama",
                                      .config = detail::llama_config,
                                      .names = detail::llama_names,
                                      .gguf = "llama",
                                      .gguf_pairs = true};

}  // namespace tokamax::models
