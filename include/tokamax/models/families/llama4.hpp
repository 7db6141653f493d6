// tokamax/models/families/llama4.hpp: Llama 4, for text: experts, and layers without rotary embedding.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/families/llama.hpp>  // llama_config

namespace tokamax::models {

namespace detail {
inline decoder_config llama4_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json, 1e-5, 500000);
  c.rope_pairs = true;
  if (json.get<bool>("use_qk_norm", true)) c.qk_norm = query_key_norm::head;
  c.qk_norm_scales = false;
  // Layers with rotary embedding see the tokens of their own chunk: within the first one, these are all.
  c.bounded = true;
  c.context = std::min(c.context, json.get<int>("attention_chunk_size", 8192));
  read_experts(json, "num_local_experts", "intermediate_size", c);
  c.experts.router.score = nn::expert_score::sigmoid;
  c.experts.router.normalise = false;
  c.experts.weighs_inputs = true;
  c.experts.shared_hidden = c.experts.hidden;
  c.hidden = json.get<int>("intermediate_size_mlp");
  require_possible(c, json.where());
  const auto turned = json.get<std::vector<int>>("no_rope_layers", {});  // 1 where a layer is turned
  const auto mixed = json.get<std::vector<int>>("moe_layers", {});
  const int still = json.get<int>("no_rope_layer_interval", 4), step = json.get<int>("interleave_moe_layer_step", 1);
  if (still < 1) json.refuse("no_rope_layer_interval", std::to_string(still), "1 or more");
  if (step < 1) json.refuse("interleave_moe_layer_step", std::to_string(step), "1 or more");
  if (!turned.empty() && turned.size() != static_cast<std::size_t>(c.layers))
    json.refuse("no_rope_layers", std::to_string(turned.size()) + " layers", std::to_string(c.layers));
  for (int i = 0; i < c.layers; ++i) {
    c.unturned.push_back(turned.empty() ? (i + 1) % still == 0 : turned[static_cast<std::size_t>(i)] == 0);
    c.experts.plain.push_back(json.has("moe_layers") ? std::find(mixed.begin(), mixed.end(), i) == mixed.end()
                                                     : (i + 1) % step != 0);
  }
  if (json.get<bool>("attn_temperature_tuning", true)) c.query_growth = json.get<double>("attn_scale", 0.1);
  c.growth_step = json.get<double>("floor_scale", 8192.0);
  return c;
}
inline std::vector<weight_name> llama4_names() {
  using enum weight_form;
  std::vector<weight_name> names = llama_names();
  std::erase_if(names, [](const weight_name& n) { return n.tensor.find(".mlp.") != std::string_view::npos; });
  return joined(
      std::move(names),
      {{"model.layers.#.feed_forward.gate_proj.weight", {"blocks[#].mlp.gate.kernel"}, transposed},
       {"model.layers.#.feed_forward.up_proj.weight", {"blocks[#].mlp.up.kernel"}, transposed},
       {"model.layers.#.feed_forward.down_proj.weight", {"blocks[#].mlp.down.kernel"}, transposed},
       {"model.layers.#.feed_forward.router.weight", {"blocks[#].mixture.router.gate.kernel"}, transposed},
       {"model.layers.#.feed_forward.experts.gate_up_proj", {"blocks[#].mixture.gate", "blocks[#].mixture.up"}},
       {"model.layers.#.feed_forward.experts.down_proj", {"blocks[#].mixture.down"}},
       {"model.layers.#.feed_forward.shared_expert.gate_proj.weight",
        {"blocks[#].mixture.shared.gate.kernel"},
        transposed},
       {"model.layers.#.feed_forward.shared_expert.up_proj.weight", {"blocks[#].mixture.shared.up.kernel"}, transposed},
       {"model.layers.#.feed_forward.shared_expert.down_proj.weight",
        {"blocks[#].mixture.shared.down.kernel"},
        transposed}});
}
}  // namespace detail

/// Texts are at most as long as the chunks in which its layers see; models of text and pictures are refused.
/// source  transformers, models/llama4
inline constexpr decoder_family llama4{.architecture = "Llama4ForCausalLM",
                                       .model_type = "llama4_text",
                                       .config = detail::llama4_config,
                                       .names = detail::llama4_names};

}  // namespace tokamax::models
