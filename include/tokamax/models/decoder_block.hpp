// tokamax/models/decoder_block.hpp: attention and a network of two layers, as the config of a decoder says.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/decoder.cpp
#pragma once

#include <tokamax/lax/elementwise/arithmetic.hpp>     // maximum, minimum
#include <tokamax/models/latent_attention.hpp>        // latent_attention
#include <tokamax/nn/experts/mixture_of_experts.hpp>  // mixture_of_experts

#include <optional>  // optional

namespace tokamax::models {

/// Attention with rotary embedding. How keys are found, the caller says: `attend(q, k, v, sinks)` gives the values of each query.
///
/// shapes  x [..., width] -> the same; q [..., heads, head_size], k and v [..., kv_heads, head_size]
struct decoder_attention {
  int heads = 1, kv_heads = 1, head_size = 0;
  query_key_norm normed = query_key_norm::none;
  double clip = 0;
  nn::linear query, key, value, out;
  decoder_norm query_norm, key_norm;
  array sinks = zeros({0});  // [heads], or none

  static decoder_attention of(const decoder_config& c, int layer) {
    const auto linear = [](int in, int outputs, bool bias) {
      return nn::linear{.in = in, .out = outputs, .use_bias = bias, .kernel_init = nn::initializers::normal<0.02>};
    };
    if (c.latent.rank > 0) return {};
    const int n = c.heads * c.head_size, k = c.kv_heads * c.head_size;
    const query_key_norm normed = c.is_unturned(layer) ? query_key_norm::none : c.qk_norm;
    const bool all = normed == query_key_norm::all, any = normed != query_key_norm::none;
    return {.heads = c.heads,
            .kv_heads = c.kv_heads,
            .head_size = c.head_size,
            .normed = normed,
            .clip = c.qkv_clip,
            .query = linear(c.width, n, c.qkv_bias),
            .key = linear(c.width, k, c.qkv_bias),
            .value = linear(c.width, k, c.qkv_bias),
            .out = linear(n, c.width, c.out_bias),
            .query_norm = decoder_norm::of(c, all ? n : c.head_size, any, c.qk_norm_scales),
            .key_norm = decoder_norm::of(c, all ? k : c.head_size, any, c.qk_norm_scales),
            .sinks = zeros({c.sinks ? c.heads : 0})};
  }
  template <class Attend>
  array operator()(const array& x, const nn::rotary& turn, const nn::rotary_angles& by, const Attend& attend,
                   source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const array q = turned(in_heads(query(x, l), heads, query_norm, l), turn, by, l);
    const array k = turned(in_heads(key(x, l), kv_heads, key_norm, l), turn, by, l);
    const array y = attend(q, k, in_heads(value(x, l), kv_heads, {}, l), sinks.size() == 0 ? array() : sinks);
    shape s = x.shape();
    s[-1] = heads * head_size;
    return out(reshape(y, s, l), l);
  }

 private:
  array in_heads(array y, int count, const decoder_norm& norm, source_line l) const {
    if (normed == query_key_norm::all) y = norm(y, l);
    if (clip > 0) y = minimum(maximum(y, -clip, l), clip, l);
    shape s = y.shape();
    s[-1] = count;
    s.push_back(head_size);
    y = reshape(y, s, l);
    return normed == query_key_norm::head ? norm(y, l) : y;
  }
  static array turned(const array& x, const nn::rotary& turn, const nn::rotary_angles& by, source_line l) {
    return turn.size == 0 ? x : turn(x, by, l);
  }
};

/// y = down(activation(gate(x)) * up(x)), or down(activation(up(x))) where `gated` is false.
/// shapes  x [..., width] -> the same
struct decoder_mlp {
  bool gated = true;
  nn::activation_function activation = silu;
  nn::linear gate, up, down;  // without a gate it has no outputs

  static decoder_mlp of(const decoder_config& c, bool exists) {
    if (!exists) return {};
    const auto linear = [&](int in, int outputs, bool bias) {
      return nn::linear{.in = in, .out = outputs, .use_bias = bias, .kernel_init = nn::initializers::normal<0.02>};
    };
    return {.gated = c.gated,
            .activation = c.activation,
            .gate = linear(c.width, c.gated ? c.hidden : 0, c.gated && c.mlp_bias),
            .up = linear(c.width, c.hidden, c.mlp_bias),
            .down = linear(c.hidden, c.width, c.mlp_bias)};
  }
  array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    if (!gated) return down(activation(up(x, l), l), l);
    return down(activation(gate(x, l), l) * located(up(x, l), l), l);
  }
};

/// The mixture of a block.
inline nn::mixture_of_experts mixture_of(const decoder_config& c) {
  return {.width = c.width,
          .hidden = c.experts.hidden,
          .routing = c.experts.router,
          .use_bias = c.experts.use_bias,
          .activation = c.activation,
          .limit = c.experts.limit,
          .alpha = c.experts.alpha,
          .weighs_inputs = c.experts.weighs_inputs,
          .shared_hidden = c.experts.shared_hidden,
          .gates_shared = c.experts.gates_shared};
}

/// Both parts, each with a norm before it, behind it or on both sides, and added to the residual path.
/// shapes  x [..., width] -> the same
struct decoder_block {
  decoder_norm before_attention, after_attention, before_mlp, after_mlp;
  decoder_attention attend;
  decoder_mlp mlp;
  std::optional<latent_attention> latent;         // in place of `attend`
  std::optional<nn::mixture_of_experts> mixture;  // in place of `mlp`

  static decoder_block of(const decoder_config& c, int layer) {
    const decoder_norm before = decoder_norm::of(c, c.width, c.norm_before),
                       after = decoder_norm::of(c, c.width, c.norm_after);
    const bool mixed = c.has_experts(layer);
    return {before,
            after,
            before,
            after,
            decoder_attention::of(c, layer),
            decoder_mlp::of(c, !mixed),
            latent_attention::of(c),
            mixed ? std::optional(mixture_of(c)) : std::nullopt};
  }
  template <class Attend>
  array operator()(array x, const nn::rotary& turn, const nn::rotary_angles& by, const Attend& found,
                   source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const array a = before_attention(x, l);
    const array seen = latent ? (*latent)(a, turn, by, found, l) : attend(a, turn, by, found, l);
    x = x + located(after_attention(seen, l), l);
    const array b = before_mlp(x, l);
    return x + located(after_mlp(mixture ? (*mixture)(b, l) : mlp(b, l), l), l);
  }
};

}  // namespace tokamax::models
