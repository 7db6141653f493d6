// tokamax/models/families/gpt_oss.hpp: GPT-OSS, with experts, sinks, and a window in every second layer.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/families/llama.hpp>  // llama_config

namespace tokamax::models {

namespace detail {
inline decoder_config gpt_oss_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json, 1e-5, 150000);
  c.head_size = c.rotary_size = json.get<int>("head_dim", 64);
  c.qkv_bias = c.out_bias = json.get<bool>("attention_bias", true);
  c.sinks = true;
  read_windows(json, c, [](int layer) { return layer % 2 == 0; });
  read_experts(json, "num_local_experts", "intermediate_size", c);
  c.experts.router.score = nn::expert_score::softmax_of_chosen;
  c.experts.router.normalise = false;
  c.experts.router.use_bias = c.experts.use_bias = true;
  c.experts.limit = json.get<double>("swiglu_limit", 7.0);
  c.experts.alpha = json.get<double>("swiglu_alpha", 1.702);
  if (!(c.experts.limit > 0)) json.refuse("swiglu_limit", std::to_string(c.experts.limit), "more than 0");
  return c;
}
inline void keep_bounds_of_yarn(checkpoint::json_record& config) {
  if (!config.has("rope_scaling")) return;
  checkpoint::json_record rope = config.record("rope_scaling");
  rope.set("truncate", false);
  config.set("rope_scaling", rope);
}
inline std::vector<weight_name> gpt_oss_names() {
  using enum weight_form;
  return joined(
      llama_names(),
      {{"model.layers.#.self_attn.sinks", {"blocks[#].attend.sinks"}},
       {"model.layers.#.mlp.router.weight", {"blocks[#].mixture.router.gate.kernel"}, transposed},
       {"model.layers.#.mlp.router.bias", {"blocks[#].mixture.router.gate.bias"}},
       {"model.layers.#.mlp.experts.gate_up_proj", {"blocks[#].mixture.gate", "blocks[#].mixture.up"}, alternating},
       {"model.layers.#.mlp.experts.gate_up_proj_bias",
        {"blocks[#].mixture.gate_bias", "blocks[#].mixture.up_bias"},
        alternating},
       {"model.layers.#.mlp.experts.down_proj", {"blocks[#].mixture.down"}},
       {"model.layers.#.mlp.experts.down_proj_bias", {"blocks[#].mixture.down_bias"}}});
}
}  // namespace detail

/// source  arXiv:2508.10925; transformers, models/gpt_oss
inline constexpr decoder_family gpt_oss{.architecture = "GptOssForCausalLM",
                                        .model_type = "gpt_oss",
                                        .config = detail::gpt_oss_config,
                                        .names = detail::gpt_oss_names,
                                        .gguf = "gpt-oss",
                                        .gguf_mlp_norm = "blk.#.post_attention_norm.weight",
                                        .gguf_config = detail::keep_bounds_of_yarn};

}  // namespace tokamax::models
