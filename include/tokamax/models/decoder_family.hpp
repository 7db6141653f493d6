// tokamax/models/decoder_family.hpp: how the files of a family of language models describe a decoder.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/checkpoint/json_record.hpp>  // json_record
#include <tokamax/models/decoder_config.hpp>   // decoder_config
#include <tokamax/models/weight_names.hpp>     // weight_name

namespace tokamax::models {

/// A family: what its config.json means, and the names of its tensors. It is a value; `from_pretrained` takes those of users beside
/// those that it knows.
struct decoder_family {
  std::string_view architecture;  ///< in `architectures` of config.json: "LlamaForCausalLM"
  std::string_view model_type;    ///< in config.json: "llama"
  decoder_config (*config)(const checkpoint::json_record& json);
  std::vector<weight_name> (*names)();
  std::string_view gguf = {};                                ///< `general.architecture` of GGUF files, if there are any
  bool gguf_pairs = false;                                   ///< are the features of queries and keys paired there?
  bool gguf_plus_one = false;                                ///< have scales of norms 1 more there?
  std::string_view gguf_mlp_norm = "blk.#.ffn_norm.weight";  ///< the norm before the network there
  void (*gguf_config)(checkpoint::json_record& config) = nullptr;  ///< adds what such files leave out
};

namespace detail {

/// The sizes that configs of decoders and of encoders have by the same names.
template <class Config>
Config sizes_of(const checkpoint::json_record& json, int context) {
  Config c;
  c.vocabulary = json.get<int>("vocab_size"), c.context = json.get<int>("max_position_embeddings", context);
  c.width = json.get<int>("hidden_size"), c.hidden = json.get<int>("intermediate_size");
  c.layers = json.get<int>("num_hidden_layers"), c.heads = json.get<int>("num_attention_heads");
  return c;
}

/// The fields that most families have, by the same names.
inline decoder_config common_config(const checkpoint::json_record& json) {
  auto c = sizes_of<decoder_config>(json, 2048);
  c.kv_heads = json.get<int>("num_key_value_heads", c.heads);
  if (c.heads < 1) json.refuse("num_attention_heads", std::to_string(c.heads), "1 or more");
  if (!json.has("head_dim") && c.width % c.heads != 0)
    json.refuse("hidden_size", std::to_string(c.width), "a multiple of " + std::to_string(c.heads) + " heads");
  c.head_size = json.get<int>("head_dim", c.width / c.heads);
  c.rotary_size = c.head_size;
  c.tied = json.get<bool>("tie_word_embeddings", false);
  return c;
}

/// The activation of a name, as `transformers` calls it.
inline nn::activation_function activation_named(const checkpoint::json_record& json, std::string_view field,
                                                const std::string& otherwise) {
  const std::string name = json.get<std::string>(field, otherwise);
  if (name == "silu" || name == "swish") return silu;
  if (name == "gelu") return nn::gelu_exact;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new") return nn::gelu_tanh;
  if (name == "relu") return relu;
  json.refuse(field, name, "silu, gelu, gelu_pytorch_tanh, gelu_new or relu");
}

/// How rope is scaled, as the record `rope` in the file `json` says.
inline void read_scaling(const checkpoint::json_record& json, const checkpoint::json_record& rope, decoder_config& c) {
  const std::string kind = rope.get<std::string>("rope_type", rope.get<std::string>("type", std::string("default")));
  nn::rope_scaling& s = c.scaling;
  s.old_context = rope.get<double>("original_max_position_embeddings",
                                   json.get<double>("original_max_position_embeddings", c.context));
  s.factor = rope.get<double>("factor", 1.0);
  if (kind == "default" || kind == "dynamic") {  // within the context of its training, `dynamic` changes nothing
    s = {};
  } else if (kind == "linear") {
    s.kind = nn::rope_kind::linear;
  } else if (kind == "llama3") {
    s.kind = nn::rope_kind::llama3;
    s.low_frequency_factor = rope.get<double>("low_freq_factor");
    s.high_frequency_factor = rope.get<double>("high_freq_factor");
    if (!(s.high_frequency_factor > s.low_frequency_factor))
      rope.refuse("high_freq_factor", std::to_string(s.high_frequency_factor), "more than low_freq_factor");
  } else if (kind == "yarn") {
    s.kind = nn::rope_kind::yarn;
    s.beta_fast = rope.get<double>("beta_fast", 32.0), s.beta_slow = rope.get<double>("beta_slow", 1.0);
    s.truncate = rope.get<bool>("truncate", true);
    const auto magnitude = [&](double m) { return s.factor > 1 ? 0.1 * m * std::log(s.factor) + 1 : 1.0; };
    const double all = rope.get<double>("mscale_all_dim", 0.0), one = rope.get<double>("mscale", 0.0);
    s.attention_factor =
        rope.get<double>("attention_factor", one != 0 && all != 0 ? magnitude(one) / magnitude(all) : magnitude(1));
  } else if (kind == "longrope") {  // by the factors of short contexts, to which the context is cut
    s.kind = nn::rope_kind::by_factor;
    s.factors = rope.get<std::vector<double>>("short_factor");
    const double grown = c.context / s.old_context;
    s.factor = rope.get<double>("factor", grown);
    s.attention_factor = rope.get<double>(
        "attention_factor", s.factor > 1 ? std::sqrt(1 + std::log(s.factor) / std::log(s.old_context)) : 1.0);
    c.context = std::min(c.context, static_cast<int>(s.old_context));
  } else {
    rope.refuse("rope_type", kind, "default, linear, dynamic, yarn, llama3 or longrope");
  }
}

/// The base of rope and its scaling. Newer files have both in one record, or in one for each kind of layer.
inline void read_rope(const checkpoint::json_record& json, decoder_config& c, double base = 10000) {
  const bool newer = json.has("rope_parameters");
  c.rope_base = json.get<double>("rope_theta", base);
  const char* const field = newer ? "rope_parameters" : "rope_scaling";
  if (!json.has(field)) return;
  checkpoint::json_record rope = json.record(field);
  if (rope.has("sliding_attention"))
    c.local_rope_base = rope.record("sliding_attention").get<double>("rope_theta", c.rope_base);
  if (rope.has("full_attention")) rope = rope.record("full_attention");
  c.rope_base = rope.get<double>("rope_theta", c.rope_base);
  read_scaling(json, rope, c);
}

/// The experts of a mixture, by the names that most families have for their numbers. Their count is `count`, or num_local_experts.
inline void read_experts(const checkpoint::json_record& json, const char* count, const char* hidden,
                         decoder_config& c) {
  nn::router_options& r = c.experts.router;
  if (!json.has(count)) count = "num_local_experts";
  r.experts = json.get<int>(count);
  if (r.experts < 1) json.refuse(count, std::to_string(r.experts), "1 or more");
  r.chosen = json.get<int>("num_experts_per_tok");
  r.normalise = json.get<bool>("norm_topk_prob", false);
  c.experts.hidden = json.get<int>(hidden);
}

/// The window of each layer: of those that `layer_types` calls sliding, or for which `slides(layer)`.
inline void read_windows(const checkpoint::json_record& json, decoder_config& c, auto slides) {
  const int window = json.get<int>("sliding_window", 0);
  if (window <= 0) return;
  const auto types = json.get<std::vector<std::string>>("layer_types", {});
  if (!types.empty() && types.size() != static_cast<std::size_t>(std::max(0, c.layers)))
    json.refuse("layer_types", std::to_string(types.size()) + " types", std::to_string(c.layers) + " layers");
  require_possible(c, json.where());
  for (int i = 0; i < c.layers; ++i) {
    const bool local = types.empty() ? slides(i) : types[static_cast<std::size_t>(i)] == "sliding_attention";
    c.windows.push_back(local ? window : 0);
  }
  if (std::count(c.windows.begin(), c.windows.end(), 0) == c.layers) c.windows.clear();
}

/// The names that most families share, for norms before each part of a block.
inline std::vector<weight_name> llama_names() {
  using enum weight_form;
  return {{"model.embed_tokens.weight", {"token.table"}},
          {"model.norm.weight", {"norm.scale"}},
          {"lm_head.weight", {"head.kernel"}, transposed},
          {"model.layers.#.input_layernorm.weight", {"blocks[#].before_attention.scale"}},
          {"model.layers.#.post_attention_layernorm.weight", {"blocks[#].before_mlp.scale"}},
          {"model.layers.#.self_attn.q_proj.weight", {"blocks[#].attend.query.kernel"}, transposed},
          {"model.layers.#.self_attn.k_proj.weight", {"blocks[#].attend.key.kernel"}, transposed},
          {"model.layers.#.self_attn.v_proj.weight", {"blocks[#].attend.value.kernel"}, transposed},
          {"model.layers.#.self_attn.o_proj.weight", {"blocks[#].attend.out.kernel"}, transposed},
          {"model.layers.#.self_attn.q_proj.bias", {"blocks[#].attend.query.bias"}},
          {"model.layers.#.self_attn.k_proj.bias", {"blocks[#].attend.key.bias"}},
          {"model.layers.#.self_attn.v_proj.bias", {"blocks[#].attend.value.bias"}},
          {"model.layers.#.self_attn.o_proj.bias", {"blocks[#].attend.out.bias"}},
          {"model.layers.#.self_attn.q_norm.weight", {"blocks[#].attend.query_norm.scale"}},
          {"model.layers.#.self_attn.k_norm.weight", {"blocks[#].attend.key_norm.scale"}},
          {"model.layers.#.mlp.gate_proj.weight", {"blocks[#].mlp.gate.kernel"}, transposed},
          {"model.layers.#.mlp.up_proj.weight", {"blocks[#].mlp.up.kernel"}, transposed},
          {"model.layers.#.mlp.down_proj.weight", {"blocks[#].mlp.down.kernel"}, transposed},
          {"model.layers.#.mlp.gate_proj.bias", {"blocks[#].mlp.gate.bias"}},
          {"model.layers.#.mlp.up_proj.bias", {"blocks[#].mlp.up.bias"}},
          {"model.layers.#.mlp.down_proj.bias", {"blocks[#].mlp.down.bias"}}};
}

/// Those of a mixture of experts.
inline std::vector<weight_name> mixture_names() {
  using enum weight_form;
  return {{"model.layers.#.mlp.gate.weight", {"blocks[#].mixture.router.gate.kernel"}, transposed},
          {"model.layers.#.mlp.experts.*.gate_proj.weight", {"blocks[#].mixture.gate"}, transposed},
          {"model.layers.#.mlp.experts.*.up_proj.weight", {"blocks[#].mixture.up"}, transposed},
          {"model.layers.#.mlp.experts.*.down_proj.weight", {"blocks[#].mixture.down"}, transposed}};
}

/// Those of a network that all tokens take, called `expert` or `experts`.
inline std::vector<weight_name> shared_names(bool many) {
  using enum weight_form;
  if (many)
    return {
        {"model.layers.#.mlp.shared_experts.gate_proj.weight", {"blocks[#].mixture.shared.gate.kernel"}, transposed},
        {"model.layers.#.mlp.shared_experts.up_proj.weight", {"blocks[#].mixture.shared.up.kernel"}, transposed},
        {"model.layers.#.mlp.shared_experts.down_proj.weight", {"blocks[#].mixture.shared.down.kernel"}, transposed}};
  return {{"model.layers.#.mlp.shared_expert.gate_proj.weight", {"blocks[#].mixture.shared.gate.kernel"}, transposed},
          {"model.layers.#.mlp.shared_expert.up_proj.weight", {"blocks[#].mixture.shared.up.kernel"}, transposed},
          {"model.layers.#.mlp.shared_expert.down_proj.weight", {"blocks[#].mixture.shared.down.kernel"}, transposed},
          {"model.layers.#.mlp.shared_expert_gate.weight", {"blocks[#].mixture.shared_gate.kernel"}, transposed}};
}
inline std::vector<weight_name> joined(std::vector<weight_name> names, const std::vector<weight_name>& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

/// The same with other norms: of each, the name in a layer and the array.
inline std::vector<weight_name> with_norms(std::vector<weight_name> names, const std::vector<weight_name>& norms) {
  std::erase_if(names, [](const weight_name& n) { return n.arrays[0].find("].before_") != std::string_view::npos; });
  names.insert(names.end(), norms.begin(), norms.end());
  return names;
}

}  // namespace detail
}  // namespace tokamax::models
