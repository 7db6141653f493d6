// tokamax/models/families/gpt2.hpp: GPT-2, with learned positions, layer norms and biases.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/decoder_family.hpp>  // decoder_family

namespace tokamax::models {

namespace detail {
inline decoder_config gpt2_config(const checkpoint::json_record& json) {
  const auto size = [&](const char* own, const char* common) { return json.get<int>(json.has(own) ? own : common); };
  decoder_config c{.vocabulary = json.get<int>("vocab_size"),
                   .context = size("n_positions", "max_position_embeddings"),
                   .width = size("n_embd", "hidden_size"),
                   .layers = size("n_layer", "num_hidden_layers"),
                   .heads = size("n_head", "num_attention_heads")};
  if (c.heads < 1 || c.width % c.heads != 0)
    json.refuse("n_embd", std::to_string(c.width), "a multiple of " + std::to_string(c.heads) + " heads");
  for (const char* name : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"})
    if (json.get<bool>(name, false)) json.refuse(name, "true", "false");
  c.kv_heads = c.heads;
  c.head_size = c.width / c.heads;
  c.hidden = json.get<int>("n_inner", json.get<int>("intermediate_size", c.width > (1 << 28) / 4 ? 0 : 4 * c.width));
  c.norm = norm_kind::layer;
  c.epsilon = json.get<double>("layer_norm_epsilon", 1e-5);
  c.activation = activation_named(json, "activation_function", "gelu_new");
  c.gated = false;
  c.qkv_bias = c.out_bias = c.mlp_bias = true;
  c.tied = json.get<bool>("tie_word_embeddings", true);
  c.learned_positions = true;
  if (!json.get<bool>("scale_attn_weights", true)) c.attention_scale = 1;
  return c;
}
// Its matrices are [in, out] in files, too.
inline std::vector<weight_name> gpt2_names() {
  return {{"transformer.wte.weight", {"token.table"}},
          {"transformer.wpe.weight", {"position.table"}},
          {"transformer.ln_f.weight", {"norm.scale"}},
          {"transformer.ln_f.bias", {"norm.shift"}},
          {"lm_head.weight", {"head.kernel"}, weight_form::transposed},
          {"transformer.h.#.ln_1.weight", {"blocks[#].before_attention.scale"}},
          {"transformer.h.#.ln_1.bias", {"blocks[#].before_attention.shift"}},
          {"transformer.h.#.ln_2.weight", {"blocks[#].before_mlp.scale"}},
          {"transformer.h.#.ln_2.bias", {"blocks[#].before_mlp.shift"}},
          {"transformer.h.#.attn.c_attn.weight",
           {"blocks[#].attend.query.kernel", "blocks[#].attend.key.kernel", "blocks[#].attend.value.kernel"}},
          {"transformer.h.#.attn.c_attn.bias",
           {"blocks[#].attend.query.bias", "blocks[#].attend.key.bias", "blocks[#].attend.value.bias"}},
          {"transformer.h.#.attn.c_proj.weight", {"blocks[#].attend.out.kernel"}},
          {"transformer.h.#.attn.c_proj.bias", {"blocks[#].attend.out.bias"}},
          {"transformer.h.#.mlp.c_fc.weight", {"blocks[#].mlp.up.kernel"}},
          {"transformer.h.#.mlp.c_fc.bias", {"blocks[#].mlp.up.bias"}},
          {"transformer.h.#.mlp.c_proj.weight", {"blocks[#].mlp.down.kernel"}},
          {"transformer.h.#.mlp.c_proj.bias", {"blocks[#].mlp.down.bias"}}};
}
}  // namespace detail

/// source  Radford et al. 2019, Language models are unsupervised multitask learners; transformers, models/gpt2
inline constexpr decoder_family gpt2{.architecture = "GPT2LMHeadModel",
                                     .model_type = "gpt2",
                                     .config = detail::gpt2_config,
                                     .names = detail::gpt2_names,
                                     .gguf = "gpt2"};

}  // namespace tokamax::models
