// tokamax/models/gguf_decoder.hpp: the config and the tensors of a decoder in a GGUF file, by the names of other files.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/decoder_family.hpp>  // decoder_family
#include <tokamax/models/gguf_file.hpp>       // gguf_file

namespace tokamax::models::detail {

inline int gguf_integer(const gguf_file& file, const std::string& name) {
  const double number = file.get<double>(name);
  if (!(number >= 0 && number <= 1 << 30) || number != std::floor(number))
    file.refuse(name, std::to_string(number), "an integer from 0 to 2^30");
  return static_cast<int>(number);
}

/// Scaled rope, if the file says so.
inline void put_gguf_rope(const gguf_file& file, const std::string& of, checkpoint::json_record& json) {
  const std::string kind = of + "rope.scaling.type";
  if (!file.has(kind) || file.get<std::string>(kind) == "none") return;
  checkpoint::json_record rope;
  rope.set("rope_type", file.get<std::string>(kind));
  for (const auto& [own, name] : {std::pair{"rope.scaling.factor", "factor"},
                                  {"rope.scaling.attn_factor", "attention_factor"},
                                  {"rope.scaling.original_context_length", "original_max_position_embeddings"}})
    if (file.has(of + own)) rope.set(name, file.get<double>(of + own));
  json.set("rope_scaling", rope);
}

/// What config.json would say.
/// errors  tokamax::error of the kind `file` for a value that is missing or no integer
inline checkpoint::json_record config_of_gguf(const gguf_file& file, const decoder_family& family,
                                              const std::string& where) {
  const std::string of = std::string(family.gguf) + ".";
  checkpoint::json_record json({}, where);
  json.set("architectures", std::vector<std::string>{std::string(family.architecture)});
  json.set("model_type", std::string(family.model_type));
  for (const auto& [own, name] : {std::pair{"embedding_length", "hidden_size"},
                                  {"block_count", "num_hidden_layers"},
                                  {"feed_forward_length", "intermediate_size"},
                                  {"attention.head_count", "num_attention_heads"},
                                  {"attention.head_count_kv", "num_key_value_heads"},
                                  {"attention.key_length", "head_dim"},
                                  {"context_length", "max_position_embeddings"},
                                  {"attention.sliding_window", "sliding_window"},
                                  {"expert_count", "num_local_experts"},
                                  {"expert_count", "num_experts"},
                                  {"expert_used_count", "num_experts_per_tok"},
                                  {"expert_feed_forward_length", "moe_intermediate_size"},
                                  {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"}})
    if (file.has(of + own)) json.set(name, gguf_integer(file, of + own));
  for (const auto& [own, name] : {std::pair{"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
                                  {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
                                  {"rope.freq_base", "rope_theta"},
                                  {"attn_logit_softcapping", "attn_logit_softcapping"},
                                  {"final_logit_softcapping", "final_logit_softcapping"}})
    if (file.has(of + own)) json.set(name, file.get<double>(of + own));
  // Where a part of each head is turned, config.json has the share. `from_pretrained` compares it with what the family makes of it.
  const std::string turned = of + "rope.dimension_count";
  const int heads = json.get<int>("num_attention_heads", 0);
  const int each = json.get<int>("head_dim", heads > 0 ? json.get<int>("hidden_size", 0) / heads : 0);
  if (file.has(turned) && each > 0 && gguf_integer(file, turned) != each)
    json.set("partial_rotary_factor", static_cast<double>(gguf_integer(file, turned)) / each);
  const std::string size = of + "vocab_size", tokens = "tokenizer.ggml.tokens";
  json.set("vocab_size", file.has(size) ? gguf_integer(file, size)
                                        : static_cast<int>(file.get<text::gguf_metadata::texts>(tokens).size()));
  json.set("tie_word_embeddings", !file.tensors().contains("output.weight"));
  for (const char* token : {"bos", "eos"})
    if (const std::string id = std::string("tokenizer.ggml.") + token + "_token_id"; file.has(id))
      json.set(std::string(token) + "_token_id", gguf_integer(file, id));
  put_gguf_rope(file, of, json);
  if (family.gguf_config) family.gguf_config(json);
  return json;
}

/// The names of the tensors of all families. What a model does not have is left out. In some, gate and up are `joined` to one.
inline std::vector<weight_name> gguf_names(const decoder_family& family, bool joined) {
  using enum weight_form;
  const weight_name up{"blk.#.ffn_up.weight", {"blocks[#].mlp.up.kernel"}, transposed},
      both{"blk.#.ffn_up.weight", {"blocks[#].mlp.gate.kernel", "blocks[#].mlp.up.kernel"}, transposed};
  const weight_form turned = family.gguf_pairs ? paired : transposed, norm = family.gguf_plus_one ? plus_one : same;
  return {{"token_embd.weight", {"token.table"}},
          {"position_embd.weight", {"position.table"}},
          {"output_norm.weight", {"norm.scale"}, norm},
          {"output_norm.bias", {"norm.shift"}},
          {"output.weight", {"head.kernel"}, transposed},
          {"blk.#.attn_norm.weight", {"blocks[#].before_attention.scale"}, norm},
          {"blk.#.attn_norm.bias", {"blocks[#].before_attention.shift"}},
          {family.gguf_mlp_norm, {"blocks[#].before_mlp.scale"}, norm},
          {"blk.#.ffn_norm.bias", {"blocks[#].before_mlp.shift"}},
          {"blk.#.post_attention_norm.weight", {"blocks[#].after_attention.scale"}, norm},
          {"blk.#.post_ffw_norm.weight", {"blocks[#].after_mlp.scale"}, norm},
          {"blk.#.attn_q.weight", {"blocks[#].attend.query.kernel"}, turned},
          {"blk.#.attn_k.weight", {"blocks[#].attend.key.kernel"}, turned},
          {"blk.#.attn_v.weight", {"blocks[#].attend.value.kernel"}, transposed},
          {"blk.#.attn_q.bias", {"blocks[#].attend.query.bias"}, turned},
          {"blk.#.attn_k.bias", {"blocks[#].attend.key.bias"}, turned},
          {"blk.#.attn_v.bias", {"blocks[#].attend.value.bias"}},
          {"blk.#.attn_qkv.weight",
           {"blocks[#].attend.query.kernel", "blocks[#].attend.key.kernel", "blocks[#].attend.value.kernel"},
           transposed},
          {"blk.#.attn_qkv.bias",
           {"blocks[#].attend.query.bias", "blocks[#].attend.key.bias", "blocks[#].attend.value.bias"}},
          {"blk.#.attn_output.weight", {"blocks[#].attend.out.kernel"}, transposed},
          {"blk.#.attn_output.bias", {"blocks[#].attend.out.bias"}},
          {"blk.#.attn_q_norm.weight", {"blocks[#].attend.query_norm.scale"}, norm},
          {"blk.#.attn_k_norm.weight", {"blocks[#].attend.key_norm.scale"}, norm},
          {"blk.#.ffn_gate.weight", {"blocks[#].mlp.gate.kernel"}, transposed},
          joined ? both : up,
          {"blk.#.ffn_down.weight", {"blocks[#].mlp.down.kernel"}, transposed},
          {"blk.#.ffn_gate.bias", {"blocks[#].mlp.gate.bias"}},
          {"blk.#.ffn_up.bias", {"blocks[#].mlp.up.bias"}},
          {"blk.#.ffn_down.bias", {"blocks[#].mlp.down.bias"}},
          {"blk.#.attn_sinks.weight", {"blocks[#].attend.sinks"}},
          {"blk.#.ffn_gate_inp.weight", {"blocks[#].mixture.router.gate.kernel"}, transposed},
          {"blk.#.ffn_gate_inp.bias", {"blocks[#].mixture.router.gate.bias"}},
          {"blk.#.ffn_gate_exps.weight", {"blocks[#].mixture.gate"}, transposed},
          {"blk.#.ffn_up_exps.weight", {"blocks[#].mixture.up"}, transposed},
          {"blk.#.ffn_down_exps.weight", {"blocks[#].mixture.down"}, transposed},
          {"blk.#.ffn_gate_exps.bias", {"blocks[#].mixture.gate_bias"}},
          {"blk.#.ffn_up_exps.bias", {"blocks[#].mixture.up_bias"}},
          {"blk.#.ffn_down_exps.bias", {"blocks[#].mixture.down_bias"}},
          {"blk.#.ffn_gate_shexp.weight", {"blocks[#].mixture.shared.gate.kernel"}, transposed},
          {"blk.#.ffn_up_shexp.weight", {"blocks[#].mixture.shared.up.kernel"}, transposed},
          {"blk.#.ffn_down_shexp.weight", {"blocks[#].mixture.shared.down.kernel"}, transposed},
          {"blk.#.ffn_gate_inp_shexp.weight", {"blocks[#].mixture.shared_gate.kernel"}, transposed}};
}

}  // namespace tokamax::models::detail
