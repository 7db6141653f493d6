// tokamax/models/families/qwen.hpp: Qwen 2, 2.5 and 3, plain and with experts.
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
// Experts are in every layer, or in some.
inline void read_qwen_experts(const checkpoint::json_record& json, decoder_config& c) {
  read_experts(json, "num_experts", "moe_intermediate_size", c);
  require_possible(c, json.where());
  const int step = json.get<int>("decoder_sparse_step", 1);
  if (step < 1) json.refuse("decoder_sparse_step", std::to_string(step), "1 or more");
  const auto plain = json.get<std::vector<int>>("mlp_only_layers", {});
  for (int i = 0; i < c.layers; ++i)
    c.experts.plain.push_back((i + 1) % step != 0 || std::find(plain.begin(), plain.end(), i) != plain.end());
}
inline decoder_config qwen2_moe_config(const checkpoint::json_record& json) {
  decoder_config c = qwen2_config(json);
  c.qkv_bias = json.get<bool>("qkv_bias", true);
  c.experts.shared_hidden = json.get<int>("shared_expert_intermediate_size");
  c.experts.gates_shared = true;
  read_qwen_experts(json, c);
  return c;
}
inline decoder_config qwen3_moe_config(const checkpoint::json_record& json) {
  decoder_config c = qwen3_config(json);
  c.head_size = c.rotary_size = json.get<int>("head_dim", c.width / c.heads);
  read_qwen_experts(json, c);
  return c;
}
inline void normalise_weights(checkpoint::json_record& config) { config.set("norm_topk_prob", true); }
inline std::vector<weight_name> qwen2_moe_names() {
  return joined(joined(llama_names(), mixture_names()), shared_names(false));
}
inline std::vector<weight_name> qwen3_moe_names() { return joined(llama_names(), mixture_names()); }
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
/// Experts beside a network that all tokens take by a share of their own.
/// source  transformers, models/qwen2_moe
inline constexpr decoder_family qwen2_moe{.architecture = "Qwen2MoeForCausalLM",
                                          .model_type = "qwen2_moe",
                                          .config = detail::qwen2_moe_config,
                                          .names = detail::qwen2_moe_names,
                                          .gguf = "qwen2moe"};
/// source  arXiv:2505.09388; transformers, models/qwen3_moe
inline constexpr decoder_family qwen3_moe{.architecture = "Qwen3MoeForCausalLM",
                                          .model_type = "qwen3_moe",
                                          .config = detail::qwen3_moe_config,
                                          .names = detail::qwen3_moe_names,
                                          .gguf = "qwen3moe",
                                          .gguf_config = detail::normalise_weights};

}  // namespace tokamax::models
