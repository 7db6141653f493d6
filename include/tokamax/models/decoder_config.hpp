// tokamax/models/decoder_config.hpp: what a decoder is made of, for language models of many families.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/decoder.cpp
#pragma once

#include <tokamax/nn/attention/rotary.hpp>       // rope_scaling
#include <tokamax/nn/experts/expert_router.hpp>  // router_options
#include <tokamax/nn/linear/mlp.hpp>             // activation_function

#include <string>  // to_string

namespace tokamax::models {

enum class norm_kind : std::uint8_t { rms, layer };
/// Over what queries and keys are normalised before they are turned: nothing, each head, or all heads together.
enum class query_key_norm : std::uint8_t { none, head, all };

/// A mixture of experts in place of the network of a block; see nn::mixture_of_experts.
struct expert_config {
  nn::router_options router = {};  ///< without experts there is no mixture
  int hidden = 0;                  ///< of each expert
  int shared_hidden = 0;           ///< of the network that all tokens take; 0: none
  bool gates_shared = false, use_bias = false, weighs_inputs = false;
  double limit = 0, alpha = 1.702;
  std::vector<bool> plain = {};  ///< of each layer: has it a plain network? no list: none has
};

/// Attention whose keys and values are made of one latent row of a token; see latent_attention.
struct latent_config {
  int rank = 0;        ///< of the row; 0: plain attention
  int query_rank = 0;  ///< of the row from which queries are made; 0: they are made of x
  int plain_size = 0;  ///< the features of a query that are not turned; decoder_config::rotary_size are
  int value_size = 0;  ///< of each head
};

/// A decoder: embedding, blocks of attention and a network of two layers, a norm, and logits. The defaults are Llama's.
struct decoder_config {
  int vocabulary = 0, context = 0, width = 0, layers = 0;
  int heads = 1, kv_heads = 1, head_size = 0;
  int hidden = 0;  ///< of the network in each block

  norm_kind norm = norm_kind::rms;
  double epsilon = 1e-6;
  double scale_offset = 0;  ///< is added to the scale of RMS norms
  bool norm_scales = true;  ///< do norms have parameters?
  bool norm_before = true;  ///< the input of each part of a block
  bool norm_after = false;  ///< its result, before it is added to the residual path
  query_key_norm qk_norm = query_key_norm::none;

  nn::activation_function activation = silu;
  bool gated = true;
  bool qkv_bias = false, out_bias = false, mlp_bias = false;

  bool tied = false;               ///< are logits products with the embedding?
  bool learned_positions = false;  ///< a table of positions in place of rotary embedding
  double embedding_scale = 1;
  int rotary_size = 0;  ///< the features of a head that are turned
  double rope_base = 10000;
  nn::rope_scaling scaling = {};
  std::vector<int> windows = {};  ///< of each layer, the keys that a token sees, its own included; 0, or no list: all
  double local_rope_base = 0;     ///< of layers with a window, which have no scaling then; 0: as the others

  double attention_scale = 0;     ///< of scores; 0: 1 / the root of the features of a query
  double attention_soft_cap = 0;  ///< of scores; 0: none
  double logit_soft_cap = 0;      ///< of logits; 0: none
  double qkv_clip = 0;            ///< queries, keys and values are cut at this magnitude; 0: they are not
  bool sinks = false;             ///< has each head a score that takes part in the softmax and has no value?
  bool qk_norm_scales = true;     ///< do the norms of queries and keys have parameters, if others have?
  std::vector<bool> unturned =
      {};  ///< of each layer: has it no rotary embedding, and no norm of queries and keys? no list: none
  double query_growth =
      0;  ///< queries of such layers are multiplied by 1 + this * ln(1 + floor((position + 1) / growth_step))
  double growth_step = 8192;
  bool bounded = false;     ///< does a text longer than the context have no meaning?
  bool rope_pairs = false;  ///< do the two features that are turned together lie side by side?

  expert_config experts = {};
  latent_config latent = {};
  int further_layers =
      0;  ///< behind the last, which foretell more tokens in training: files have them, and they are not read

  bool has_experts(int layer) const {
    return experts.router.experts > 0 && (experts.plain.empty() || !experts.plain.at(static_cast<std::size_t>(layer)));
  }
  bool is_unturned(int layer) const { return !unturned.empty() && unturned.at(static_cast<std::size_t>(layer)); }
  double scale_of_scores() const {
    if (attention_scale != 0) return attention_scale;
    return 1 / std::sqrt(static_cast<double>(latent.rank > 0 ? latent.plain_size + rotary_size : head_size));
  }
  int window_of(int layer) const { return windows.empty() ? 0 : windows.at(static_cast<std::size_t>(layer)); }
};

namespace detail {
/// The same of the two parts that few decoders have.
inline void require_possible_parts(const decoder_config& c, const auto& require) {
  static constexpr int most = 1 << 28, most_experts = 1 << 16;
  const nn::router_options& r = c.experts.router;
  require(r.experts >= 0 && r.experts <= most_experts, "experts", r.experts, "0 to " + std::to_string(most_experts));
  if (r.experts > 0) {
    require(c.experts.hidden >= 1 && c.experts.hidden <= most, "hidden of experts", c.experts.hidden,
            "1 to " + std::to_string(most));
    require(c.experts.shared_hidden >= 0 && c.experts.shared_hidden <= most, "hidden of shared experts",
            c.experts.shared_hidden, "0 to " + std::to_string(most));
    require(r.groups >= 1 && r.experts % r.groups == 0, "groups of experts", r.groups,
            "a divisor of " + std::to_string(r.experts) + " experts");
    const int each = r.experts / r.groups;
    require(r.chosen_groups >= 1 && r.chosen_groups <= r.groups, "chosen groups", r.chosen_groups,
            "1 to " + std::to_string(r.groups));
    require(r.groups == 1 || (r.best_of_group >= 1 && r.best_of_group <= each), "experts of a group", each,
            "the " + std::to_string(r.best_of_group) + " of its score or more");
    require(r.chosen >= 1 && r.chosen <= each * r.chosen_groups, "chosen experts", r.chosen,
            "1 to " + std::to_string(each * r.chosen_groups));
    require(c.experts.plain.empty() || c.experts.plain.size() == static_cast<std::size_t>(c.layers), "plain layers",
            static_cast<double>(c.experts.plain.size()), "one for each of " + std::to_string(c.layers) + " layers");
  }
  if (c.latent.rank == 0) return;
  for (const auto& [name, size] : {std::pair{"latent rank", c.latent.rank},
                                   {"size of plain features", c.latent.plain_size},
                                   {"size of values", c.latent.value_size}})
    require(size >= 1 && std::int64_t{size} * c.heads <= most, name, size, "1 or more");
  require(c.latent.query_rank >= 0 && c.latent.query_rank <= most, "latent query_rank", c.latent.query_rank,
          "0 or more");
  require(c.kv_heads == 1 && c.head_size == c.latent.rank + c.rotary_size, "head_size", c.head_size,
          "that of one latent key, " + std::to_string(c.latent.rank + c.rotary_size));
}
}  // namespace detail

/// Throws unless the numbers fit each other.
/// errors  tokamax::error of the kind `argument` that names the number
inline void require_possible(const decoder_config& c, const std::string& where = {}) {
  const auto require = [&](bool fits, const char* name, double found, const std::string& expected) {
    if (fits) return;
    std::string text = std::to_string(found);
    text.resize(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    throw error(where.empty() ? error_kind::argument : error_kind::file, std::string("decoder: ") + name, text,
                expected, where);
  };
  static constexpr int most = 1 << 28;
  for (const auto& [name, size] : {std::pair{"vocabulary", c.vocabulary},
                                   {"context", c.context},
                                   {"width", c.width},
                                   {"layers", c.layers},
                                   {"heads", c.heads},
                                   {"kv_heads", c.kv_heads},
                                   {"head_size", c.head_size},
                                   {"hidden", c.hidden}})
    require(size >= 1 && size <= most, name, size, "1 to " + std::to_string(most));
  require(c.heads % c.kv_heads == 0, "kv_heads", c.kv_heads, "a divisor of " + std::to_string(c.heads) + " heads");
  require(std::int64_t{c.heads} * c.head_size <= most, "head_size", c.head_size,
          "at most " + std::to_string(most) + " features of all heads");
  require(c.learned_positions ? c.rotary_size == 0
                              : c.rotary_size > 0 && c.rotary_size % 2 == 0 && c.rotary_size <= c.head_size,
          "rotary_size", c.rotary_size, c.learned_positions ? "0 beside learned positions" : "an even part of a head");
  require(c.epsilon >= 0 && c.epsilon < 1, "epsilon", c.epsilon, "0 to 1");
  require(c.learned_positions || c.rope_base > 1, "rope_base", c.rope_base, "more than 1");
  require(c.scaling.factor > 0, "rope factor", c.scaling.factor, "a positive number");
  const bool bounded = c.scaling.kind == nn::rope_kind::yarn || c.scaling.kind == nn::rope_kind::llama3;
  require(!bounded || c.scaling.old_context >= 1, "rope old_context", c.scaling.old_context, "1 or more");
  require(c.scaling.kind != nn::rope_kind::by_factor ||
              c.scaling.factors.size() == static_cast<std::size_t>(c.rotary_size / 2),
          "rope factors", static_cast<double>(c.scaling.factors.size()), std::to_string(c.rotary_size / 2));
  for (const double f : c.scaling.factors) require(f > 0, "rope factors", f, "positive numbers");
  require(c.windows.empty() || c.windows.size() == static_cast<std::size_t>(c.layers), "windows",
          static_cast<double>(c.windows.size()), "one for each of " + std::to_string(c.layers) + " layers");
  require(c.unturned.empty() || c.unturned.size() == static_cast<std::size_t>(c.layers), "unturned layers",
          static_cast<double>(c.unturned.size()), "one for each of " + std::to_string(c.layers) + " layers");
  require(c.growth_step > 0, "growth_step", c.growth_step, "a positive number");
  for (const int w : c.windows) require(w >= 0, "windows", w, "0 or more");
  for (const auto& [name, cap] : {std::pair{"attention_soft_cap", c.attention_soft_cap},
                                  {"logit_soft_cap", c.logit_soft_cap},
                                  {"qkv_clip", c.qkv_clip}})
    require(cap >= 0, name, cap, "0 or more");
  detail::require_possible_parts(c, require);
}

}  // namespace tokamax::models
