// tokamax/models/decoder.hpp: a language model of any of many families, for training and for generation with a cache.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
#pragma once

#include <tokamax/models/decoder_block.hpp>  // decoder_block
#include <tokamax/nn/linear/embed.hpp>       // embed
#include <tokamax/ops/attention.hpp>         // dot_product_attention
#include <tokamax/ops/latent_attention.hpp>  // multi_head_latent_attention
#include <tokamax/ops/paged_attention.hpp>   // ragged_paged_attention

namespace tokamax::models {

/// The keys and values of each layer.
struct decoder_cache {
  std::vector<paged_cache> layers;
};

/// What new tokens give: logits [R, vocabulary] of the last token of each of R sequences, and the cache with them.
struct decoder_step {
  array logits;
  decoder_cache cache;
};

/// A decoder-only transformer that a config describes; `make_decoder` makes one, `from_pretrained` reads one.
struct decoder {
  decoder_config config;
  nn::embed token, position;  // without learned positions there are none
  std::vector<decoder_block> blocks;
  decoder_norm norm;
  nn::linear head;  // no outputs if logits are products with the embedding

  /// The logits of all tokens of B sequences from their beginnings, for training.
  /// shapes  ids i32 [B, T] -> [B, T, vocabulary]
  /// errors  "decoder: tokens" for more than the context, if the config says that these have no meaning
  array operator()(const array& ids, source_line l = source_line::current()) const {
    if (config.bounded && !is_dynamic(ids.shape()) && ids.extent(1) > config.context)
      throw error("decoder: tokens", std::to_string(ids.extent(1)), "at most " + std::to_string(config.context));
    const auto attend = [&](int layer, const array& q, const array& k, const array& v, const array& sinks) {
      attention_options o{.scale = config.scale_of_scores(), .is_causal = true};
      o.logits_soft_cap = config.attention_soft_cap;
      o.sinks = sinks;
      if (const int window = config.window_of(layer)) o.local_window_size = {window - 1, 0};
      return dot_product_attention(q, k, v, o, l);
    };
    return logits(hidden(ids, iota(i32, {ids.extent(1)}, 0, l), attend, l), l);
  }

  /// The same for new tokens of sequences whose earlier ones are in the cache, which a program that is given it to keep changes
  /// in place. The bits of a row depend on the tokens of its sequence, and not on how these were cut into calls, nor on others.
  /// shapes  tokens i32 [T], one sequence after the other; batch as for ragged_paged_attention
  decoder_step step(const array& tokens, decoder_cache cache, const paged_batch& batch,
                    source_line l = source_line::current()) const {
    const array ends = slice_in_dim(batch.cu_q_lens, 1, batch.cu_q_lens.extent(0), 0, l);
    return step(tokens, std::move(cache), batch, maximum(ends - 1, 0, l), l);
  }
  /// The same with the logits [S, vocabulary] behind S of the tokens, by their numbers `wanted` i32 [S].
  decoder_step step(const array& tokens, decoder_cache cache, const paged_batch& batch, const array& wanted,
                    source_line l = source_line::current()) const {
    const auto attend = [&](int layer, const array& q, const array& k, const array& v, const array& sinks) {
      paged_cache& pages = cache.layers[static_cast<std::size_t>(layer)];
      if (config.latent.rank > 0) return latent_step(q, k, pages, batch, l);
      paged_attention_options o{.scale = config.scale_of_scores(), .logits_soft_cap = config.attention_soft_cap};
      o.sliding_window = config.window_of(layer);
      o.sinks = sinks;
      o.same_bits = true;
      paged_result y = ragged_paged_attention(q, k, v, pages, batch, o, l);
      pages = std::move(y.cache);
      return y.out;
    };
    const array x = hidden(tokens, paged_positions(tokens.extent(0), batch), attend, l);
    return {logits(gather(x, wanted, l), l), std::move(cache)};
  }

  /// A cache with room for so many pages of `page` tokens.
  decoder_cache empty_cache(std::int64_t pages, std::int64_t page, dtype type = f32) const {
    decoder_cache cache;
    const array_type t{type, false, {pages, page, config.kv_heads, config.head_size}},
        rows{type, false, {pages, page, config.head_size}}, none{type, false, {0}};
    const bool latent = config.latent.rank > 0;  // the row of a token is its key and its value
    for (int i = 0; i < config.layers; ++i)
      cache.layers.push_back({array::filled(latent ? rows : t, 0.0), array::filled(latent ? none : t, 0.0)});
    return cache;
  }

 private:
  array latent_step(const array& q, const array& k, paged_cache& pages, const paged_batch& batch, source_line l) const {
    const int rank = config.latent.rank, all = config.head_size;
    const auto part = [&](const array& a, int from, int to) { return slice_in_dim(a, from, to, 2, l); };
    const array row = reshape(k, {k.extent(0), all}, l);
    const latent_attention_options o{.scale = config.scale_of_scores(), .same_bits = true};
    latent_attention_result y =
        multi_head_latent_attention(part(q, 0, rank), part(q, rank, all), slice_in_dim(row, 0, rank, 1, l),
                                    slice_in_dim(row, rank, all, 1, l), pages.keys, batch, o, l);
    pages.keys = std::move(y.cache);
    return y.out;
  }
  // x [..., width] after all blocks; attend(layer, q, k, v, sinks) finds the values of queries.
  template <class Attend>
  array hidden(const array& ids, const array& positions, const Attend& attend, source_line l) const {
    array x = token(ids, l);
    if (config.embedding_scale != 1) x = x * located(config.embedding_scale, l);
    if (config.learned_positions) x = x + located(position(positions, l), l);
    const bool differ = config.local_rope_base != 0;  // do layers with a window turn by other angles?
    const nn::rotary turn{config.rotary_size, config.rope_base, config.scaling, config.rope_pairs};
    const nn::rotary local_turn = differ ? nn::rotary{config.rotary_size, config.local_rope_base, {}} : turn;
    const auto angles = [&](const nn::rotary& r) { return r.size == 0 ? nn::rotary_angles{} : r.angles(positions, l); };
    const nn::rotary_angles by = angles(turn), local_by = differ ? angles(local_turn) : by;
    const array growth = config.query_growth == 0 ? array() : query_growth(positions, l);
    for (int i = 0; i < config.layers; ++i) {
      const bool local = config.window_of(i) != 0, still = config.is_unturned(i);
      const auto find = [&](const array& q, const array& k, const array& v, const array& sinks) {
        return attend(i, still && growth.exists() ? q * growth : q, k, v, sinks);
      };
      x = blocks[static_cast<std::size_t>(i)](x,
                                              still   ? nn::rotary{}
                                              : local ? local_turn
                                                      : turn,
                                              local ? local_by : by, find, l);
    }
    return norm(x, l);
  }
  // By what queries at positions [T] are multiplied, [T, 1, 1].
  array query_growth(const array& positions, source_line l) const {
    const array steps = floor((astype(positions, f32, l) + 1.0f) / located(config.growth_step, l), l);
    return expand_dims(expand_dims(log1p(steps, l) * located(config.query_growth, l) + 1.0f, 1, l), 2, l);
  }
  array logits(const array& x, source_line l) const {
    const array y = astype(config.tied ? token.logits(x, l) : head(x, l), f32, l);
    if (config.logit_soft_cap == 0) return y;
    return tanh(y / located(config.logit_soft_cap, l), l) * located(config.logit_soft_cap, l);
  }
};

/// A decoder without values; `init` gives it some.
/// errors  tokamax::error that names the number of the config that does not fit
inline decoder make_decoder(const decoder_config& c) {
  require_possible(c);
  std::vector<decoder_block> blocks;
  for (int i = 0; i < c.layers; ++i) blocks.push_back(decoder_block::of(c, i));
  const auto table = [&](int rows) {
    return nn::embed{.count = rows, .width = c.width, .table_init = nn::initializers::normal<0.02>};
  };
  return {.config = c,
          .token = table(c.vocabulary),
          .position = table(c.learned_positions ? c.context : 0),
          .blocks = std::move(blocks),
          .norm = decoder_norm::of(c, c.width),
          .head = {.in = c.width,
                   .out = c.tied ? 0 : c.vocabulary,
                   .use_bias = false,
                   .kernel_init = nn::initializers::normal<0.02>}};
}

}  // namespace tokamax::models
