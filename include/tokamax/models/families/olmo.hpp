// tokamax/models/families/olmo.hpp: OLMo 1, 2 and 3, and OLMoE.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/families/llama.hpp>  // llama_config

namespace tokamax::models {

namespace detail {
inline decoder_config olmo_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json);
  c.norm = norm_kind::layer;
  c.epsilon = 1e-5;
  c.norm_scales = false;
  c.qkv_clip = json.get<double>("clip_qkv", 0.0);
  return c;
}
inline decoder_config olmo2_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json, 1e-5);
  c.norm_before = false, c.norm_after = true;
  c.qk_norm = query_key_norm::all;
  return c;
}
inline decoder_config olmo3_config(const checkpoint::json_record& json) {
  decoder_config c = olmo2_config(json);
  c.local_rope_base = c.rope_base;  // layers with a window are not stretched
  read_windows(json, c, [](int layer) { return (layer + 1) % 4 != 0; });
  return c;
}
inline std::vector<weight_name> olmo2_names() {
  return with_norms(llama_names(),
                    {{"model.layers.#.post_attention_layernorm.weight", {"blocks[#].after_attention.scale"}},
                     {"model.layers.#.post_feedforward_layernorm.weight", {"blocks[#].after_mlp.scale"}}});
}
inline decoder_config olmoe_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json, 1e-5);
  c.qk_norm = query_key_norm::all;
  c.qkv_clip = json.get<double>("clip_qkv", 0.0);
  read_experts(json, "num_experts", "intermediate_size", c);
  return c;
}
inline std::vector<weight_name> olmoe_names() { return joined(llama_names(), mixture_names()); }
}  // namespace detail

/// Norms without parameters.
/// source  arXiv:2402.00838; transformers, models/olmo
inline constexpr decoder_family olmo{.architecture = "OlmoForCausalLM",
                                     .model_type = "olmo",
                                     .config = detail::olmo_config,
                                     .names = detail::llama_names};
/// Norms behind each part, and of all queries and keys together.
/// source  arXiv:2501.00656; transformers, models/olmo2
inline constexpr decoder_family olmo2{.architecture = "Olmo2ForCausalLM",
                                      .model_type = "olmo2",
                                      .config = detail::olmo2_config,
                                      .names = detail::olmo2_names,
                                      .gguf = "olmo2"};
/// The same with a window in three of four layers.
/// source  transformers, models/olmo3
inline constexpr decoder_family olmo3{.architecture = "Olmo3ForCausalLM",
                                      .model_type = "olmo3",
                                      .config = detail::olmo3_config,
                                      .names = detail::olmo2_names};
/// Experts in every layer, and norms of all queries and keys together.
/// source  arXiv:2409.02060; transformers, models/olmoe
inline constexpr decoder_family olmoe{.architecture = "OlmoeForCausalLM",
                                      .model_type = "olmoe",
                                      .config = detail::olmoe_config,
                                      .names = detail::olmoe_names,
                                      .gguf = "olmoe"};

}  // namespace tokamax::models
