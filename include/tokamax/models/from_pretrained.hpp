// tokamax/models/from_pretrained.hpp: language models from folders as `transformers` writes them and from GGUF files, and back.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
#pragma once

#include <tokamax/models/decoder.hpp>            // make_decoder
#include <tokamax/models/families/deepseek.hpp>  // deepseek2, deepseek3
#include <tokamax/models/families/gemma.hpp>     // gemma, gemma2, gemma3
#include <tokamax/models/families/gpt2.hpp>      // gpt2
#include <tokamax/models/families/gpt_oss.hpp>   // gpt_oss
#include <tokamax/models/families/llama.hpp>     // llama
#include <tokamax/models/families/llama4.hpp>    // llama4
#include <tokamax/models/families/mistral.hpp>   // mistral, mixtral
#include <tokamax/models/families/olmo.hpp>      // olmo, olmo2, olmo3, olmoe
#include <tokamax/models/families/phi3.hpp>      // phi3
#include <tokamax/models/families/qwen.hpp>      // qwen2, qwen3 and their mixtures
#include <tokamax/models/gguf_decoder.hpp>       // gguf_names
#include <tokamax/models/model_folder.hpp>       // write_model_folder
#include <tokamax/models/quantized_folder.hpp>   // tensors_of_quantized_folder

namespace tokamax::models {

/// The families that are known here.
inline constexpr decoder_family decoder_families[] = {
    llama, mistral, qwen2, qwen3,   gemma,     gemma2,    gemma3,  phi3,      gpt2,      olmo,
    olmo2, olmo3,   olmoe, mixtral, qwen2_moe, qwen3_moe, gpt_oss, deepseek2, deepseek3, llama4};

struct pretrained_options {
  tokamax::dtype dtype = f32;  ///< of the weights: f32 or bf16, whatever the file has
  bool packed = false;         ///< matrices that files have in 4 to 8 bits stay codes, in pretrained::packed
  std::vector<decoder_family> families = {};  ///< of the user, which are looked through before those of the library
};

/// A language model that was read, with what its files say beside the weights.
struct pretrained {
  decoder model;
  checkpoint::json_record config;        ///< config.json
  std::vector<std::int32_t> end_tokens;  ///< which end what the model says
  decoder_family family;
  quant::packed_leaves packed = {};   ///< matrices without values in `model`; see generator_options::packed
  std::filesystem::path source = {};  ///< the folder from which it was read, where its tokenizer is
};

namespace detail {

inline std::string names_of_families(const pretrained_options& o, std::string_view decoder_family::* name) {
  std::string all;
  std::set<std::string_view> known{""};
  const auto add = [&](const decoder_family& f) {
    if (known.insert(f.*name).second) all += (all.empty() ? "" : ", ") + std::string(f.*name);
  };
  for (const decoder_family& f : o.families) add(f);
  for (const decoder_family& f : decoder_families) add(f);
  return all;
}
inline const decoder_family* find_family(const pretrained_options& o, std::string_view decoder_family::* name,
                                         std::string_view wanted) {
  const auto is_it = [&](const decoder_family& f) { return f.*name == wanted && !wanted.empty(); };
  if (const auto at = std::find_if(o.families.begin(), o.families.end(), is_it); at != o.families.end()) return &*at;
  const auto at = std::find_if(std::begin(decoder_families), std::end(decoder_families), is_it);
  return at == std::end(decoder_families) ? nullptr : at;
}

inline void add_end_tokens(const checkpoint::json_record& json, std::vector<std::int32_t>& to) {
  if (!json.has("eos_token_id")) return;
  const auto all = json.is_number("eos_token_id") ? std::vector{json.get<std::int32_t>("eos_token_id")}
                                                  : json.get<std::vector<std::int32_t>>("eos_token_id");
  for (const std::int32_t id : all)
    if (std::find(to.begin(), to.end(), id) == to.end()) to.push_back(id);
}

/// The decoder of a config, with no more layers and experts than tensors can have, so that no number of a file alone takes memory.
inline decoder decoder_for(const checkpoint::json_record& config, const decoder_family& family,
                           const tensor_source& from) {
  const decoder_config c = family.config(config);
  require_possible(c, config.where());
  require_layers("decoder", c.layers, from, config.where());
  std::int64_t elements = 0;
  for (const auto& [name, s] : from.shapes) elements += size(s);
  if (std::int64_t{c.experts.router.experts} * c.layers > elements)
    throw error(error_kind::file, "decoder: experts", std::to_string(c.experts.router.experts),
                "at most the " + std::to_string(elements) + " numbers of all tensors in all layers", config.where());
  return make_decoder(c);
}

/// Tensors without meaning here: tables that other programs compute, masks, an output layer that the embedding replaces, and layers that
/// foretell more tokens in training.
inline std::set<std::string> tensors_without_use(const tensor_source& from, const decoder_config& c) {
  std::set<std::string> names;
  for (const auto& [name, s] : from.shapes)
    if (name.ends_with("rotary_emb.inv_freq") || name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
        (c.tied && name == "lm_head.weight"))
      names.insert(name);
  for (int i = c.layers; i < c.layers + c.further_layers; ++i)
    for (const auto& [name, s] : from.shapes)
      if (name.starts_with("model.layers." + std::to_string(i) + ".")) names.insert(name);
  return names;
}

inline pretrained from_gguf(const std::filesystem::path& path, const pretrained_options& o) {
  const auto file = std::make_shared<const gguf_file>(path);
  const std::string& name = file->get<std::string>("general.architecture");
  const decoder_family* family = find_family(o, &decoder_family::gguf, name);
  const bool mixed = file->has("llama.expert_count") && gguf_integer(*file, "llama.expert_count") > 0;
  if (family && family->architecture == llama.architecture && mixed) family = &mixtral;
  if (!family) file->refuse("general.architecture", name, names_of_families(o, &decoder_family::gguf));
  pretrained result{
      .model = {}, .config = config_of_gguf(*file, *family, path.string()), .end_tokens = {}, .family = *family};
  tensor_source from = tensors_of(file, path.string());
  result.model = decoder_for(result.config, *family, from);
  const std::string turned = std::string(family->gguf) + ".rope.dimension_count";
  if (const int rotary = result.model.config.rotary_size; file->has(turned) && gguf_integer(*file, turned) != rotary)
    file->refuse(turned, std::to_string(gguf_integer(*file, turned)), std::to_string(rotary));
  std::set<std::string> ignored;
  if (const auto factors = from.shapes.find("rope_freqs.weight"); factors != from.shapes.end()) {
    nn::rope_scaling& s = result.model.config.scaling;
    if (!(factors->second == shape{result.model.config.rotary_size / 2}))
      file->refuse("rope_freqs.weight", "another shape",
                   "[" + std::to_string(result.model.config.rotary_size / 2) + "]");
    s = {.kind = nn::rope_kind::by_factor};
    const array divisors = from.read(factors->first, f32);
    s.factors.assign(divisors.values<float>().begin(), divisors.values<float>().end());
    require_possible(result.model.config, path.string());
    ignored.insert(factors->first);
  }
  const bool joined = result.model.config.gated && !from.shapes.contains("blk.0.ffn_gate.weight");
  read_weights(result.model, from, gguf_names(*family, joined), weight_counts::of(result.model.config), ignored,
               o.dtype, o.packed ? &result.packed : nullptr);
  for (const char* token : {"eos", "eot"})
    if (const std::string id = std::string("tokenizer.ggml.") + token + "_token_id"; file->has(id))
      result.end_tokens.push_back(gguf_integer(*file, id));
  return result;
}

inline pretrained from_folder(const std::filesystem::path& path, const pretrained_options& o) {
  const auto config = checkpoint::json_record::from_file(path / "config.json");
  const auto architectures = config.get<std::vector<std::string>>("architectures", {});
  const decoder_family* family = nullptr;
  for (const std::string& name : architectures)
    if (!family) family = find_family(o, &decoder_family::architecture, name);
  if (!family && architectures.empty())
    family = find_family(o, &decoder_family::model_type, config.get<std::string>("model_type", ""));
  if (!family)
    config.refuse("architectures", architectures.empty() ? "none" : architectures[0],
                  names_of_families(o, &decoder_family::architecture));
  pretrained result{.model = {}, .config = config, .end_tokens = {}, .family = *family, .source = path};
  const bool coded = config.has("quantization_config");
  const tensor_source from = coded ? tensors_of_quantized_folder(path, config) : tensors_of_folder(path);
  result.config.remove("quantization_config");  // of the files, not of what is read
  result.model = decoder_for(config, *family, from);
  // Models that were saved without their output layer have no prefix: "layers.0" in place of "model.layers.0".
  std::vector<weight_name> names = family->names();
  for (const weight_name& n : family->names())
    if (const std::size_t dot = n.tensor.find('.');
        n.tensor.starts_with("model.") || n.tensor.starts_with("transformer."))
      names.push_back({n.tensor.substr(dot + 1), n.arrays, n.form});
  read_weights(result.model, from, names, weight_counts::of(result.model.config),
               tensors_without_use(from, result.model.config), o.dtype, o.packed ? &result.packed : nullptr);
  if (const auto more = path / "generation_config.json"; std::filesystem::exists(more))
    add_end_tokens(checkpoint::json_record::from_file(more), result.end_tokens);
  add_end_tokens(config, result.end_tokens);
  return result;
}

}  // namespace detail

/// Reads a language model: a GGUF file, or a folder with config.json and safetensors files. Tensors of few bits become `dtype`, or
/// stay as they are where `packed` asks for it.
///
/// errors  tokamax::error of the kind `file` that names the file and what is wrong in it: an architecture that is not known, numbers
///         that contradict each other, a tensor that is missing, has another shape, or has no place. Sizes are compared with the
///         file before memory is taken
/// source  transformers.AutoModelForCausalLM.from_pretrained
inline pretrained from_pretrained(const std::filesystem::path& path, const pretrained_options& options = {}) {
  if (options.dtype != f32 && options.dtype != bf16)
    throw error("from_pretrained: dtype", std::string(name(options.dtype)), "f32 or bf16");
  return std::filesystem::is_directory(path) ? detail::from_folder(path, options) : detail::from_gguf(path, options);
}

/// Writes a folder that `transformers` and `from_pretrained` read: config.json, safetensors files of at most `most_bytes`, and copies of the
/// tokenizer's files and of generation_config.json, if the model was read from a folder that has them.
/// errors  tokamax::error if the folder exists already, or cannot be written
/// source  transformers.PreTrainedModel.save_pretrained
inline void save_pretrained(const std::filesystem::path& path, const pretrained& it,
                            std::uint64_t most_bytes = 5'000'000'000) {
  detail::write_model_folder(path, named_weights(it.model, it.family.names(), weight_counts::of(it.model.config)),
                             it.config, it.source, most_bytes);
}

}  // namespace tokamax::models
