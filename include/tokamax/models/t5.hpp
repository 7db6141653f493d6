// tokamax/models/t5.hpp: an encoder that reads a text and a decoder that writes another one.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
#pragma once

#include <tokamax/lax/indexing/dynamic_slice.hpp>  // dynamic_update_slice_in_dim
#include <tokamax/models/t5_block.hpp>             // t5_block
#include <tokamax/ops/attention.hpp>               // dot_product_attention

namespace tokamax::models {

/// Blocks of one of the two halves, which share a score for each distance between a token and what it sees.
struct t5_stack {
  std::vector<t5_block> blocks;
  nn::embed bias;  // a row for each bucket of distances, a column for each head
  decoder_norm norm;

  static t5_stack of(const t5_config& c, int layers, bool crosses) {
    return {std::vector<t5_block>(static_cast<std::size_t>(layers), t5_block::of(c, crosses)),
            {.count = c.buckets, .width = c.heads},
            {.width = c.width, .epsilon = c.epsilon}};
  }
};

/// The keys and values of the tokens that were written and of the text that was read, of each layer.
struct t5_cache {
  std::vector<array> keys, values;            ///< [B, most, heads, head_size]
  std::vector<array> text_keys, text_values;  ///< [B, S, heads, head_size]
};

/// What new tokens give: logits [B, n, vocabulary] and the cache with them.
struct t5_step {
  array logits;
  t5_cache cache;
};

/// T5. `make_t5` makes one, `t5_from_pretrained` reads one.
/// source  Raffel et al. 2019, arXiv:1910.10683; transformers, models/t5
struct t5 {
  t5_config config;
  nn::embed token;
  t5_stack encoder, decoder;
  nn::linear head;  // no outputs if logits are products with the embedding

  /// What the encoder makes of texts.
  /// shapes  ids i32 [B, S], lengths i32 [B], the tokens of each text -> [B, S, width]
  array encode(const array& ids, const array& lengths, source_line l = source_line::current()) const {
    array x = token(ids, l);
    const array at = iota(i32, {ids.extent(1)}, 0, l);
    const attention_options o{
        .bias = distance_bias(encoder.bias, config, true, at, at, l), .scale = 1, .key_value_seq_lengths = lengths};
    for (const t5_block& b : encoder.blocks)
      x = b(
          x, [&](const array& q, const array& k, const array& v) { return dot_product_attention(q, k, v, o, l); },
          nullptr, l);
    return encoder.norm(x, l);
  }
  /// The logits behind each token that is written, for training: `written` begins with config.start.
  /// shapes  ids i32 [B, S], lengths i32 [B], written i32 [B, T] -> [B, T, vocabulary]
  array operator()(const array& ids, const array& lengths, const array& written,
                   source_line l = source_line::current()) const {
    const array read = encode(ids, lengths, l), at = iota(i32, {written.extent(1)}, 0, l);
    const attention_options own{
        .bias = distance_bias(decoder.bias, config, false, at, at, l), .scale = 1, .is_causal = true};
    const attention_options other{.scale = 1, .key_value_seq_lengths = lengths};
    array x = token(written, l);
    for (const t5_block& b : decoder.blocks) {
      const auto cross = [&](const array& q) {
        return dot_product_attention(q, b.cross.in_heads(b.cross.key(read, l), l),
                                     b.cross.in_heads(b.cross.value(read, l), l), other, l);
      };
      x = b(
          x, [&](const array& q, const array& k, const array& v) { return dot_product_attention(q, k, v, own, l); },
          cross, l);
    }
    return logits(x, l);
  }

  /// A cache with room for `most` tokens behind texts that are read.
  /// shapes  as encode
  t5_cache begin(const array& ids, const array& lengths, std::int64_t most,
                 source_line l = source_line::current()) const {
    const array read = encode(ids, lengths, l);
    t5_cache cache;
    for (const t5_block& b : decoder.blocks) {
      cache.text_keys.push_back(b.cross.in_heads(b.cross.key(read, l), l));
      cache.text_values.push_back(b.cross.in_heads(b.cross.value(read, l), l));
      const array none = zeros({ids.extent(0), most, config.heads, config.head_size}, read.dtype());
      cache.keys.push_back(none), cache.values.push_back(none);
    }
    return cache;
  }
  /// The logits behind n tokens at the positions `position`, `position` + 1, ... The bits of a token depend on the tokens before it, and
  /// not on how these were cut into calls.
  /// shapes  tokens i32 [B, n], position i32 [], lengths i32 [B]; position + n is at most the room of the cache
  t5_step step(const array& tokens, const array& position, t5_cache cache, const array& lengths,
               source_line l = source_line::current()) const {
    const std::int64_t most = cache.keys[0].extent(1);
    const array at = iota(i32, {tokens.extent(1)}, 0, l) + located(position, l), keys = iota(i32, {most}, 0, l);
    const array bias = distance_bias(decoder.bias, config, false, at, keys, l);
    const array is_early = expand_dims(keys, 0, l) <= expand_dims(at, 1, l);  // [n, most]
    const array of_text = iota(i32, {1, cache.text_keys[0].extent(1)}, 1, l) < expand_dims(lengths, 1, l);
    const array is_text = expand_dims(expand_dims(of_text, 1, l), 1, l);  // [B, 1, 1, S]
    array x = token(tokens, l);
    for (std::size_t i = 0; i < decoder.blocks.size(); ++i) {
      const auto own = [&](const array& q, const array& k, const array& v) {
        cache.keys[i] = dynamic_update_slice_in_dim(cache.keys[i], k, position, 1, l);
        cache.values[i] = dynamic_update_slice_in_dim(cache.values[i], v, position, 1, l);
        return attention_by_rows(q, cache.keys[i], cache.values[i], bias, is_early, l);
      };
      const auto cross = [&](const array& q) {
        return attention_by_rows(q, cache.text_keys[i], cache.text_values[i], array(), is_text, l);
      };
      x = decoder.blocks[i](x, own, cross, l);
    }
    return {logits(x, l), std::move(cache)};
  }

 private:
  array logits(const array& x, source_line l) const {
    array y = decoder.norm(x, l);
    if (config.scaled) y = y * located(1 / std::sqrt(static_cast<double>(config.width)), l);
    return astype(config.tied ? token.logits(y, l) : head(y, l), f32, l);
  }
};

/// A model without values; `init` gives it some.
/// errors  tokamax::error that names the number of the config that does not fit
inline t5 make_t5(const t5_config& c) {
  require_possible(c);
  return {.config = c,
          .token = {.count = c.vocabulary, .width = c.width},
          .encoder = t5_stack::of(c, c.layers, false),
          .decoder = t5_stack::of(c, c.decoder_layers, true),
          .head = {.in = c.width, .out = c.tied ? 0 : c.vocabulary, .use_bias = false}};
}

}  // namespace tokamax::models
