// tokamax/models/bert_from_pretrained.hpp: encoders from folders as `transformers` writes them, and back.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/bert.cpp
#pragma once

#include <tokamax/models/bert.hpp>            // bert
#include <tokamax/models/decoder_family.hpp>  // activation_named
#include <tokamax/models/model_folder.hpp>    // write_model_folder

namespace tokamax::models {

/// An encoder that was read, with its config.json and the folder where its tokenizer is.
struct pretrained_bert {
  bert model;
  checkpoint::json_record config;
  std::filesystem::path source = {};
};

namespace detail {
inline bert_config bert_config_of(const checkpoint::json_record& json) {
  if (json.get<bool>("is_decoder", false)) json.refuse("is_decoder", "true", "false");
  const auto positions = json.get<std::string>("position_embedding_type", "absolute");
  if (positions != "absolute") json.refuse("position_embedding_type", positions, "absolute");
  auto c = sizes_of<bert_config>(json, 512);
  c.kinds = json.get<int>("type_vocab_size", 2);
  c.epsilon = json.get<double>("layer_norm_eps", 1e-12);
  c.activation = activation_named(json, "hidden_act", "gelu");
  return c;
}
inline std::vector<weight_name> bert_names() {
  using enum weight_form;
  return {{"embeddings.word_embeddings.weight", {"token.table"}},
          {"embeddings.position_embeddings.weight", {"position.table"}},
          {"embeddings.token_type_embeddings.weight", {"kind.table"}},
          {"embeddings.LayerNorm.weight", {"norm.scale"}},
          {"embeddings.LayerNorm.bias", {"norm.offset"}},
          {"encoder.layer.#.attention.self.query.weight", {"layers[#].query.kernel"}, transposed},
          {"encoder.layer.#.attention.self.query.bias", {"layers[#].query.bias"}},
          {"encoder.layer.#.attention.self.key.weight", {"layers[#].key.kernel"}, transposed},
          {"encoder.layer.#.attention.self.key.bias", {"layers[#].key.bias"}},
          {"encoder.layer.#.attention.self.value.weight", {"layers[#].value.kernel"}, transposed},
          {"encoder.layer.#.attention.self.value.bias", {"layers[#].value.bias"}},
          {"encoder.layer.#.attention.output.dense.weight", {"layers[#].out.kernel"}, transposed},
          {"encoder.layer.#.attention.output.dense.bias", {"layers[#].out.bias"}},
          {"encoder.layer.#.attention.output.LayerNorm.weight", {"layers[#].after_attention.scale"}},
          {"encoder.layer.#.attention.output.LayerNorm.bias", {"layers[#].after_attention.offset"}},
          {"encoder.layer.#.intermediate.dense.weight", {"layers[#].up.kernel"}, transposed},
          {"encoder.layer.#.intermediate.dense.bias", {"layers[#].up.bias"}},
          {"encoder.layer.#.output.dense.weight", {"layers[#].down.kernel"}, transposed},
          {"encoder.layer.#.output.dense.bias", {"layers[#].down.bias"}},
          {"encoder.layer.#.output.LayerNorm.weight", {"layers[#].after_mlp.scale"}},
          {"encoder.layer.#.output.LayerNorm.bias", {"layers[#].after_mlp.offset"}},
          {"pooler.dense.weight", {"pool.kernel"}, transposed},
          {"pooler.dense.bias", {"pool.bias"}}};
}
}  // namespace detail

/// Reads an encoder from a folder with config.json and safetensors files. Heads of other tasks are left out.
/// errors  as from_pretrained
/// source  transformers.BertModel.from_pretrained
inline pretrained_bert bert_from_pretrained(const std::filesystem::path& path, dtype as = f32) {
  const auto json = checkpoint::json_record::from_file(path / "config.json");
  detail::require_architecture(json, "BertModel, BertForMaskedLM, BertForPreTraining, BertForSequenceClassification",
                               "bert");
  const tensor_source from = detail::without_prefix(tensors_of_folder(path), "bert.");
  bert_config c = detail::bert_config_of(json);
  c.pooled = from.shapes.contains("pooler.dense.weight");
  require_possible(c, json.where());
  detail::require_layers("bert", c.layers, from, json.where());
  pretrained_bert result{make_bert(c), json, path};
  read_weights(result.model, from, detail::bert_names(), {.layers = c.layers}, {"embeddings.position_ids"}, as);
  return result;
}

/// Writes a folder that `transformers` and `bert_from_pretrained` read, with copies of the tokenizer's files.
/// errors  as save_pretrained of decoders
inline void save_pretrained(const std::filesystem::path& path, const pretrained_bert& it,
                            std::uint64_t most_bytes = 5'000'000'000) {
  detail::write_model_folder(path, named_weights(it.model, detail::bert_names(), {.layers = it.model.config.layers}),
                             it.config, it.source, most_bytes);
}

}  // namespace tokamax::models
