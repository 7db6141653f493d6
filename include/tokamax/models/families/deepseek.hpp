// tokamax/models/families/deepseek.hpp: DeepSeek V2 and V3, with latent attention and experts in groups.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/families/llama.hpp>  // llama_config

namespace tokamax::models {

namespace detail {
// Keys and values are made of a latent row, and the first layers have no experts.
inline decoder_config deepseek_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json);
  c.rope_pairs = json.get<bool>("rope_interleave", true);
  c.rotary_size = json.get<int>("qk_rope_head_dim");
  c.latent = {.rank = json.get<int>("kv_lora_rank"),
              .query_rank = json.get<int>("q_lora_rank", 0),
              .plain_size = json.get<int>("qk_nope_head_dim"),
              .value_size = json.get<int>("v_head_dim")};
  if (c.latent.rank < 1) json.refuse("kv_lora_rank", std::to_string(c.latent.rank), "1 or more");
  c.kv_heads = 1;
  c.head_size = static_cast<int>(std::min<std::int64_t>(std::int64_t{c.latent.rank} + c.rotary_size, 1 << 30));
  require_possible(c, json.where());
  c.attention_scale = c.scale_of_scores();
  const char* const field = json.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (c.scaling.kind != nn::rope_kind::plain && c.scaling.factor > 1) {
    const double m = 0.1 * json.record(field).get<double>("mscale_all_dim", 0.0) * std::log(c.scaling.factor) + 1;
    c.attention_scale *= m * m;
  }
  read_experts(json, "n_routed_experts", "moe_intermediate_size", c);
  nn::router_options& r = c.experts.router;
  r.scale = json.get<double>("routed_scaling_factor", 1.0);
  r.groups = json.get<int>("n_group", 1), r.chosen_groups = json.get<int>("topk_group", r.groups);
  const int shared = json.get<int>("n_shared_experts", 0);
  if (shared < 0 || shared > 1 << 10) json.refuse("n_shared_experts", std::to_string(shared), "0 to 1024");
  c.experts.shared_hidden = static_cast<int>(std::min<std::int64_t>(std::int64_t{shared} * c.experts.hidden, 1 << 29));
  const int first = json.get<int>("first_k_dense_replace", 0);
  for (int i = 0; i < c.layers; ++i) c.experts.plain.push_back(i < first);
  return c;
}
inline decoder_config deepseek2_config(const checkpoint::json_record& json) {
  decoder_config c = deepseek_config(json);
  nn::router_options& r = c.experts.router;
  r.normalise = false;
  const auto method = json.get<std::string>("topk_method", "greedy");
  if (method == "greedy")
    r.groups = r.chosen_groups = 1;
  else if (method != "group_limited_greedy")
    json.refuse("topk_method", method, "greedy or group_limited_greedy");
  return c;
}
inline decoder_config deepseek3_config(const checkpoint::json_record& json) {
  decoder_config c = deepseek_config(json);
  nn::router_options& r = c.experts.router;
  r.score = nn::expert_score::sigmoid;
  r.normalise = json.get<bool>("norm_topk_prob", true);
  r.best_of_group = 2;
  r.use_correction = true;
  c.further_layers = std::clamp(json.get<int>("num_nextn_predict_layers", 0), 0, 16);
  return c;
}
inline std::vector<weight_name> deepseek_names() {
  using enum weight_form;
  return joined(joined(joined(llama_names(), mixture_names()), shared_names(true)),
                {{"model.layers.#.mlp.gate.e_score_correction_bias", {"blocks[#].mixture.router.correction"}},
                 {"model.layers.#.self_attn.q_proj.weight", {"blocks[#].latent.query.kernel"}, transposed},
                 {"model.layers.#.self_attn.q_a_proj.weight", {"blocks[#].latent.query_down.kernel"}, transposed},
                 {"model.layers.#.self_attn.q_a_proj.bias", {"blocks[#].latent.query_down.bias"}},
                 {"model.layers.#.self_attn.q_a_layernorm.weight", {"blocks[#].latent.query_norm.scale"}},
                 {"model.layers.#.self_attn.q_b_proj.weight", {"blocks[#].latent.query_up.kernel"}, transposed},
                 {"model.layers.#.self_attn.kv_a_proj_with_mqa.weight", {"blocks[#].latent.down.kernel"}, transposed},
                 {"model.layers.#.self_attn.kv_a_proj_with_mqa.bias", {"blocks[#].latent.down.bias"}},
                 {"model.layers.#.self_attn.kv_a_layernorm.weight", {"blocks[#].latent.norm.scale"}},
                 {"model.layers.#.self_attn.kv_b_proj.weight", {"blocks[#].latent.up.kernel"}, transposed},
                 {"model.layers.#.self_attn.o_proj.weight", {"blocks[#].latent.out.kernel"}, transposed},
                 {"model.layers.#.self_attn.o_proj.bias", {"blocks[#].latent.out.bias"}}});
}
}  // namespace detail

/// source  arXiv:2405.04434; transformers, models/deepseek_v2
inline constexpr decoder_family deepseek2{.architecture = "DeepseekV2ForCausalLM",
                                          .model_type = "deepseek_v2",
                                          .config = detail::deepseek2_config,
                                          .names = detail::deepseek_names};
/// Scores of experts are logistic functions, to which corrections are added for the choice. Layers that foretell more tokens are not read,
/// and files in 8 bits are refused.
/// source  arXiv:2412.19437; transformers, models/deepseek_v3
inline constexpr decoder_family deepseek3{.architecture = "DeepseekV3ForCausalLM",
                                          .model_type = "deepseek_v3",
                                          .config = detail::deepseek3_config,
                                          .names = detail::deepseek_names};

}  // namespace tokamax::models
