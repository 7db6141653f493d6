// tokamax/models/families/mistral.hpp: Mistral, which is Llama with a window in all layers, and Mixtral.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/families/llama.hpp>  // llama_config

namespace tokamax::models {

namespace detail {
inline decoder_config mistral_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json);
  read_windows(json, c, [](int) { return true; });
  return c;
}
inline decoder_config mixtral_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json, 1e-5, 1e6);
  read_windows(json, c, [](int) { return true; });
  read_experts(json, "num_local_experts", "intermediate_size", c);
  c.experts.router.normalise = true;
  return c;
}
inline std::vector<weight_name> mixtral_names() {
  using enum weight_form;
  return joined(llama_names(),
                {{"model.layers.#.block_sparse_moe.gate.weight", {"blocks[#].mixture.router.gate.kernel"}, transposed},
                 {"model.layers.#.block_sparse_moe.experts.*.w1.weight", {"blocks[#].mixture.gate"}, transposed},
                 {"model.layers.#.block_sparse_moe.experts.*.w3.weight", {"blocks[#].mixture.up"}, transposed},
                 {"model.layers.#.block_sparse_moe.experts.*.w2.weight", {"blocks[#].mixture.down"}, transposed}});
}
}  // namespace detail

/// source  arXiv:2310.06825; transformers, models/mistral. GGUF files call it llama
inline constexpr decoder_family mistral{.architecture = "MistralForCausalLM",
                                        .model_type = "mistral",
                                        .config = detail::mistral_config,
                                        .names = detail::llama_names};
/// The same with experts in each layer. GGUF files call it llama too.
/// source  arXiv:2401.04088; transformers, models/mixtral
inline constexpr decoder_family mixtral{.architecture = "MixtralForCausalLM",
                                        .model_type = "mixtral",
                                        .config = detail::mixtral_config,
                                        .names = detail::mixtral_names,
                                        .gguf = "llama",
                                        .gguf_pairs = true};

}  // namespace tokamax::models
