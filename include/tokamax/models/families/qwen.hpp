// tokamax/models/families/qwen.hpp: Qwen 2, 2.5 and 3, without mixtures of experts.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/families/llama.hpp>  // llama_config

namespace tokamax::models {

namespace detail {
// A window, if it is used at all, is that of the last layers.
inline void read_qwen_windows(const checkpoint::json_record& json, decoder_config& c) {
  const int first = json.get<int>("max_window_layers", 28);
  if (json.get<bool>("use_sliding_window", false)) read_windows(json, c, [first](int layer) { return layer >= first; });
}
inline decoder_config qwen2_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json);
  c.qkv_bias = true, c.out_bias = false;
  read_qwen_windows(json, c);
  return c;
}
inline decoder_config qwen3_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json);
  c.head_size = c.rotary_size = json.get<int>("head_dim", 128);
  c.qk_norm = query_key_norm::head;
  read_qwen_windows(json, c);
  return c;
}
}  // namespace detail

/// Queries, keys and values have biases. Qwen 2.5 has the same name.
/// source  arXiv:2407.10671; transformers, models/qwen2
inline constexpr decoder_family qwen2{.architecture = "Qwen2ForCausalLM",
                                      .model_type = "qwen2",
                                      .config = detail::qwen2_config,
                                      .names = detail::llama_names,
                                      .gguf = "qwen2"};
/// Queries and keys are normalised in each head.
/// source  arXiv:2505.09388; transformers, models/qwen3
inline constexpr decoder_family qwen3{.architecture = "Qwen3ForCausalLM",
                                      .model_type = "qwen3",
                                      .config = detail::qwen3_config,
                                      .names = detail::llama_names,
                                      .gguf = "qwen3"};

}  // namespace tokamax::models
