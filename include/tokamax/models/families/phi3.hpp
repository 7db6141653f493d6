// tokamax/models/families/phi3.hpp: Phi-3, whose queries, keys and values are one tensor, and so are gate and up.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/models/families/llama.hpp>  // llama_config

namespace tokamax::models {

namespace detail {
inline decoder_config phi3_config(const checkpoint::json_record& json) {
  decoder_config c = llama_config(json, 1e-5);
  double part = json.get<double>("partial_rotary_factor", 1.0);
  if (json.has("rope_parameters")) part = json.record("rope_parameters").get<double>("partial_rotary_factor", part);
  if (!(part > 0 && part <= 1)) json.refuse("partial_rotary_factor", std::to_string(part), "0 to 1");
  c.rotary_size = static_cast<int>(part * c.head_size);
  read_windows(json, c, [](int) { return true; });
  return c;
}
inline std::vector<weight_name> phi3_names() {
  std::vector<weight_name> names = llama_names();
  std::erase_if(names, [](const weight_name& n) {
    return n.tensor.find("_proj") != std::string_view::npos && n.tensor.find("o_proj") == std::string_view::npos &&
           n.tensor.find("down_proj") == std::string_view::npos;
  });
  names.push_back({"model.layers.#.self_attn.qkv_proj.weight",
                   {"blocks[#].attend.query.kernel", "blocks[#].attend.key.kernel", "blocks[#].attend.value.kernel"},
                   weight_form::transposed});
  names.push_back({"model.layers.#.mlp.gate_up_proj.weight",
                   {"blocks[#].mlp.gate.kernel", "blocks[#].mlp.up.kernel"},
                   weight_form::transposed});
  return names;
}
}  // namespace detail

/// source  arXiv:2404.14219; transformers, models/phi3
inline constexpr decoder_family phi3{.architecture = "Phi3ForCausalLM",
                                     .model_type = "phi3",
                                     .config = detail::phi3_config,
                                     .names = detail::phi3_names,
                                     .gguf = "phi3"};

}  // namespace tokamax::models
