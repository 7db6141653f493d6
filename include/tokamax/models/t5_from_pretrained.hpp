// tokamax/models/t5_from_pretrained.hpp: T5 from folders as `transformers` writes them, and back.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/t5.cpp
#pragma once

#include <tokamax/models/decoder_family.hpp>  // activation_named
#include <tokamax/models/model_folder.hpp>    // write_model_folder
#include <tokamax/models/t5.hpp>              // t5

namespace tokamax::models {

/// A model that was read, with its config.json, the token that ends a text, and the folder where its tokenizer is.
struct pretrained_t5 {
  t5 model;
  checkpoint::json_record config;
  std::int32_t end_token = 1;
  std::filesystem::path source = {};
};

namespace detail {
inline t5_config t5_config_of(const checkpoint::json_record& json) {
  const int layers = json.get<int>("num_layers");
  t5_config c{.vocabulary = json.get<int>("vocab_size"),
              .width = json.get<int>("d_model"),
              .heads = json.get<int>("num_heads"),
              .head_size = json.get<int>("d_kv"),
              .layers = layers,
              .decoder_layers = json.get<int>("num_decoder_layers", layers),
              .hidden = json.get<int>("d_ff"),
              .buckets = json.get<int>("relative_attention_num_buckets", 32),
              .max_distance = json.get<int>("relative_attention_max_distance", 128),
              .epsilon = json.get<double>("layer_norm_epsilon", 1e-6)};
  const auto network = json.get<std::string>("feed_forward_proj", "relu");
  c.gated = network.starts_with("gated-");
  checkpoint::json_record name({}, json.where());
  name.set("feed_forward_proj", network == "gated-gelu" ? "gelu_new" : c.gated ? network.substr(6) : network);
  c.activation = activation_named(name, "feed_forward_proj", "relu");
  c.tied = json.get<bool>("tie_word_embeddings", true);
  c.scaled = json.get<bool>("scale_decoder_outputs", c.tied);
  c.start = json.get<int>("decoder_start_token_id", json.get<int>("pad_token_id", 0));
  return c;
}
inline std::vector<weight_name> t5_names(bool gated) {
  using enum weight_form;
  std::vector<weight_name> names{
      {"shared.weight", {"token.table"}},
      {"lm_head.weight", {"head.kernel"}, transposed},
      {"encoder.final_layer_norm.weight", {"encoder.norm.scale"}},
      {"decoder.final_layer_norm.weight", {"decoder.norm.scale"}},
      {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {"encoder.bias.table"}},
      {"decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {"decoder.bias.table"}},
      {"encoder.block.#.layer.0.layer_norm.weight", {"encoder.blocks[#].before_own.scale"}},
      {"encoder.block.#.layer.0.SelfAttention.q.weight", {"encoder.blocks[#].own.query.kernel"}, transposed},
      {"encoder.block.#.layer.0.SelfAttention.k.weight", {"encoder.blocks[#].own.key.kernel"}, transposed},
      {"encoder.block.#.layer.0.SelfAttention.v.weight", {"encoder.blocks[#].own.value.kernel"}, transposed},
      {"encoder.block.#.layer.0.SelfAttention.o.weight", {"encoder.blocks[#].own.out.kernel"}, transposed},
      {"encoder.block.#.layer.1.layer_norm.weight", {"encoder.blocks[#].before_mlp.scale"}},
      {"encoder.block.#.layer.1.DenseReluDense.wo.weight", {"encoder.blocks[#].mlp.down.kernel"}, transposed},
      {"decoder.block.#.layer.0.layer_norm.weight", {"decoder.blocks[#].before_own.scale"}},
      {"decoder.block.#.layer.0.SelfAttention.q.weight", {"decoder.blocks[#].own.query.kernel"}, transposed},
      {"decoder.block.#.layer.0.SelfAttention.k.weight", {"decoder.blocks[#].own.key.kernel"}, transposed},
      {"decoder.block.#.layer.0.SelfAttention.v.weight", {"decoder.blocks[#].own.value.kernel"}, transposed},
      {"decoder.block.#.layer.0.SelfAttention.o.weight", {"decoder.blocks[#].own.out.kernel"}, transposed},
      {"decoder.block.#.layer.1.layer_norm.weight", {"decoder.blocks[#].before_cross.scale"}},
      {"decoder.block.#.layer.1.EncDecAttention.q.weight", {"decoder.blocks[#].cross.query.kernel"}, transposed},
      {"decoder.block.#.layer.1.EncDecAttention.k.weight", {"decoder.blocks[#].cross.key.kernel"}, transposed},
      {"decoder.block.#.layer.1.EncDecAttention.v.weight", {"decoder.blocks[#].cross.value.kernel"}, transposed},
      {"decoder.block.#.layer.1.EncDecAttention.o.weight", {"decoder.blocks[#].cross.out.kernel"}, transposed},
      {"decoder.block.#.layer.2.layer_norm.weight", {"decoder.blocks[#].before_mlp.scale"}},
      {"decoder.block.#.layer.2.DenseReluDense.wo.weight", {"decoder.blocks[#].mlp.down.kernel"}, transposed}};
  const std::vector<weight_name> plain{
      {"encoder.block.#.layer.1.DenseReluDense.wi.weight", {"encoder.blocks[#].mlp.up.kernel"}, transposed},
      {"decoder.block.#.layer.2.DenseReluDense.wi.weight", {"decoder.blocks[#].mlp.up.kernel"}, transposed}};
  const std::vector<weight_name> two{
      {"encoder.block.#.layer.1.DenseReluDense.wi_0.weight", {"encoder.blocks[#].mlp.gate.kernel"}, transposed},
      {"encoder.block.#.layer.1.DenseReluDense.wi_1.weight", {"encoder.blocks[#].mlp.up.kernel"}, transposed},
      {"decoder.block.#.layer.2.DenseReluDense.wi_0.weight", {"decoder.blocks[#].mlp.gate.kernel"}, transposed},
      {"decoder.block.#.layer.2.DenseReluDense.wi_1.weight", {"decoder.blocks[#].mlp.up.kernel"}, transposed}};
  return joined(std::move(names), gated ? two : plain);
}
inline weight_counts t5_counts(const t5_config& c) { return {.layers = std::max(c.layers, c.decoder_layers)}; }
}  // namespace detail

/// Reads T5 from a folder with config.json and safetensors files.
/// errors  as from_pretrained
/// source  transformers.T5ForConditionalGeneration.from_pretrained
inline pretrained_t5 t5_from_pretrained(const std::filesystem::path& path, dtype as = f32) {
  const auto json = checkpoint::json_record::from_file(path / "config.json");
  detail::require_architecture(json, "T5ForConditionalGeneration", "t5");
  const tensor_source from = tensors_of_folder(path);
  const t5_config c = detail::t5_config_of(json);
  require_possible(c, json.where());
  detail::require_layers("t5", detail::t5_counts(c).layers, from, json.where());
  pretrained_t5 result{make_t5(c), json, json.get<std::int32_t>("eos_token_id", 1), path};
  // Older files have the embedding of each half again, and that of logits where it is the same.
  std::set<std::string> ignored{"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};
  if (c.tied) ignored.insert("lm_head.weight");
  read_weights(result.model, from, detail::t5_names(c.gated), detail::t5_counts(c), ignored, as);
  return result;
}

/// Writes a folder that `transformers` and `t5_from_pretrained` read, with copies of the tokenizer's files.
/// errors  as save_pretrained of decoders
inline void save_pretrained(const std::filesystem::path& path, const pretrained_t5& it,
                            std::uint64_t most_bytes = 5'000'000'000) {
  const t5_config& c = it.model.config;
  detail::write_model_folder(path, named_weights(it.model, detail::t5_names(c.gated), detail::t5_counts(c)), it.config,
                             it.source, most_bytes);
}

}  // namespace tokamax::models
