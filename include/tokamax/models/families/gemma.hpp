// tokamax/models/families/gemma.hpp: Gemma 1, 2 and 3, for text.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/decoder_family.hpp>  // decoder_family

namespace tokamax::models {

namespace detail {
// Scales of norms begin at 0, embeddings are multiplied by the root of their width, and logits are products with them.
inline decoder_config gemma_config(const checkpoint::json_record& json) {
  decoder_config c = common_config(json);
  c.head_size = c.rotary_size = json.get<int>("head_dim", 256);
  c.epsilon = json.get<double>("rms_norm_eps", 1e-6);
  c.scale_offset = 1;
  c.tied = json.get<bool>("tie_word_embeddings", true);
  c.embedding_scale = std::sqrt(static_cast<double>(c.width));
  // Older files say gelu where they mean the approximation.
  c.activation = json.has("hidden_activation") ? activation_named(json, "hidden_activation", "") : nn::gelu_tanh;
  c.qkv_bias = c.out_bias = json.get<bool>("attention_bias", false);
  return c;
}
inline decoder_config gemma1_config(const checkpoint::json_record& json) {
  decoder_config c = gemma_config(json);
  read_rope(json, c);
  return c;
}
// GGUF files do not have it. It is 256, but the largest models have smaller heads, and divide by the width of each.
inline double query_scale(const checkpoint::json_record& json, const decoder_config& c) {
  return 1 / std::sqrt(json.get<double>("query_pre_attn_scalar", c.head_size == 128 ? c.width / c.heads : 256.0));
}
inline decoder_config gemma2_config(const checkpoint::json_record& json) {
  decoder_config c = gemma_config(json);
  read_rope(json, c);
  c.norm_after = true;
  c.attention_scale = query_scale(json, c);
  c.attention_soft_cap = json.get<double>("attn_logit_softcapping", 0.0);
  c.logit_soft_cap = json.get<double>("final_logit_softcapping", 0.0);
  read_windows(json, c, [](int layer) { return layer % 2 == 0; });
  return c;
}
inline decoder_config gemma3_config(const checkpoint::json_record& json) {
  decoder_config c = gemma2_config(json);
  c.qk_norm = query_key_norm::head;
  c.local_rope_base = json.get<double>("rope_local_base_freq", 1e4);
  read_rope(json, c, 1e6);
  c.windows.clear();
  const int pattern = std::max(1, json.get<int>("sliding_window_pattern", 6));
  read_windows(json, c, [pattern](int layer) { return (layer + 1) % pattern != 0; });
  return c;
}
inline std::vector<weight_name> gemma2_names() {
  return with_norms(llama_names(),
                    {{"model.layers.#.input_layernorm.weight", {"blocks[#].before_attention.scale"}},
                     {"model.layers.#.post_attention_layernorm.weight", {"blocks[#].after_attention.scale"}},
                     {"model.layers.#.pre_feedforward_layernorm.weight", {"blocks[#].before_mlp.scale"}},
                     {"model.layers.#.post_feedforward_layernorm.weight", {"blocks[#].after_mlp.scale"}}});
}
}  // namespace detail

/// source  arXiv:2403.08295; transformers, models/gemma
inline constexpr decoder_family gemma{.architecture = "GemmaForCausalLM",
                                      .model_type = "gemma",
                                      .config = detail::gemma1_config,
                                      .names = detail::llama_names,
                                      .gguf = "gemma",
                                      .gguf_plus_one = true};
/// Norms on both sides, caps, and a window in every second layer.
/// source  arXiv:2408.00118; transformers, models/gemma2
inline constexpr decoder_family gemma2{.architecture = "Gemma2ForCausalLM",
                                       .model_type = "gemma2",
                                       .config = detail::gemma2_config,
                                       .names = detail::gemma2_names,
                                       .gguf = "gemma2",
                                       .gguf_plus_one = true};
/// A window in five of six layers, which turn by angles of their own; queries and keys are normalised.
/// source  arXiv:2503.19786; transformers, models/gemma3
inline constexpr decoder_family gemma3{.architecture = "Gemma3ForCausalLM",
                                       .model_type = "gemma3_text",
                                       .config = detail::gemma3_config,
                                       .names = detail::gemma2_names,
                                       .gguf = "gemma3",
                                       .gguf_plus_one = true};

}  // namespace tokamax::models
