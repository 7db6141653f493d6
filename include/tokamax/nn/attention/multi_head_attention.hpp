// tokamax/nn/attention/multi_head_attention.hpp: attention between any two sequences, with all that its op has, and with a cache for decoding.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (attention has one product for queries, keys and values, which is faster)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/lax/indexing/dynamic_slice.hpp>  // dynamic_update_slice_in_dim
#include <tokamax/nn/cache.hpp>                    // cache
#include <tokamax/nn/linear/linear.hpp>            // linear
#include <tokamax/ops/attention.hpp>               // dot_product_attention
#include <tokamax/ops/layer_norm.hpp>              // layer_norm
#include <tokamax/ops/rotary_embedding.hpp>        // rotary_embedding
#include <tokamax/random/samplers.hpp>             // bernoulli

#include <cstdint>  // uint8_t
#include <limits>   // quiet_NaN

template <>
inline constexpr bool tokamax::is_static<tokamax::attention_window> = true;  // of a layer's fields

namespace tokamax::nn {

/// The norm of queries and keys before their products.
enum class head_norm : std::uint8_t { none, layer, rms };

/// What a call gets beside its queries.
struct attention_inputs {
  array keys = {};         ///< [batch..., S, kv_in] of which keys are made; queries' own input if it does not exist
  array values = {};       ///< [batch..., S, kv_in]; that of keys if it does not exist
  array mask = {};         ///< booleans that broadcast to [batch..., heads, T, S]: which keys a query sees
  array bias = {};         ///< broadcasts to [batch..., heads, T, S]: is added to the scores
  array positions = {};    ///< [..., T] integers by which rotary embeddings turn; 0, 1, ... if it does not exist
  array dropout_key = {};  ///< a random::key; without one nothing is dropped
};

/// The keys and values of the tokens that were decoded so far.
struct attention_cache {
  cache keys, values;             ///< [batch..., places, kv_heads, head_size]
  cache length = zeros({}, i32);  ///< how many of the places are filled
};

/// Attention of queries to keys and values, which have projections of their own. Self-attention is `attend(x)`, cross attention
/// `attend(x, {.keys = y})`, and decoding `attend.decode(x, memory)` with `attention_cache memory = attend.empty_cache({batch}, 128)`.
///
/// shapes  x [batch..., T, in] -> [batch..., T, out]; query.kernel [in, heads * head_size], key and value [kv_in, kv_heads * head_size],
///         projection [heads * head_size, out]
/// dtypes  as linear
/// init    as linear; scales of head_norm ones, sinks zeros
/// errors  "multi_head_attention: heads", "multi_head_attention: features" if the heads do not divide them, "multi_head_attention: cache"
///         if it is full. In a program that is compiled a full cache makes all results NaN, as a value alone shows it
/// source  flax.nnx.MultiHeadAttention; q and k norm: Dehghani and others 2023, arXiv:2302.05442
struct multi_head_attention {
  int heads = 1, in = 0;
  int kv_in = in, features = in, out = in;
  int kv_heads = heads;  ///< heads of keys and values; divides `heads`
  bool causal = false;   ///< position t sees positions 0 ... t
  bool use_bias = true;
  head_norm norm = head_norm::none;
  double rotary_base = 0;        ///< of rotary_embedding; 0: positions are not told apart
  attention_window window = {};  ///< the keys around its own position that a query sees
  double soft_cap = 0;           ///< c: scores become c tanh(score / c); 0: none
  bool use_sinks = false;        ///< a learned score of each head that takes part in the softmax and has no value
  double dropout_rate = 0;       ///< of weights, in calls with a key
  bool shared_dropout = true;    ///< the same weights in each batch and head
  initializer kernel_init = initializers::lecun_normal, bias_init = initializers::zeros;
  dtype compute_dtype = dtype::none, param_dtype = f32;
  int head_size = heads > 0 ? features / heads : 0;
  linear query = made(in, heads* head_size);
  linear key = made(kv_in, kv_heads* head_size), value = key;
  linear projection = made(heads * head_size, out);
  array query_scale = ones({norm == head_norm::none ? 0 : head_size}, param_dtype), key_scale = query_scale;
  array sinks = zeros({use_sinks ? heads : 0});

  constexpr array operator()(const array& x, const attention_inputs& given = {},
                             source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    array of_keys = x, of_values = given.values;
    if (given.keys.exists()) of_keys = given.keys;
    if (!of_values.exists()) of_values = of_keys;
    if (!heads_fit(x, l)) return x;
    array q = in_heads(query(x, l), heads, query_scale, l), k = in_heads(key(of_keys, l), kv_heads, key_scale, l);
    if (rotary_base > 0) {
      const auto turned = [&](const array& a) {
        if (given.positions.exists()) return rotary_embedding(a, given.positions, {.base = rotary_base}, l);
        return rotary_embedding(a, iota(i32, {a.extent(-3)}, 0, l), {.base = rotary_base}, l);
      };
      q = turned(q), k = turned(k);
    }
    return merged(q, k, in_heads(value(of_values, l), kv_heads, {}, l), options_of(given, q, k, l), l);
  }

  /// A cache of `places` tokens for each sequence of the batch.
  constexpr attention_cache empty_cache(const shape& batch, std::int64_t places, dtype type = f32) const {
    shape s = batch;
    for (const std::int64_t e : {places, std::int64_t{kv_heads}, std::int64_t{head_size}}) s.push_back(e);
    return {zeros(s, type), zeros(s, type)};
  }
  /// The attention of the next T tokens to those before them and to one another, which are put into the cache.
  /// shapes  x [batch..., T, in], mask [..., T, places] -> [batch..., T, out]
  constexpr array decode(const array& x, attention_cache& memory, const attention_inputs& given = {},
                         source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    if (!heads_fit(x, l)) return x;
    array q = in_heads(query(x, l), heads, query_scale, l), k = in_heads(key(x, l), kv_heads, key_scale, l);
    const array at = memory.length + iota(i32, {x.extent(-2)}, 0, l);
    if (rotary_base > 0) {
      q = rotary_embedding(q, at, {.base = rotary_base}, l);
      k = rotary_embedding(k, at, {.base = rotary_base}, l);
    }
    if (!remembers(memory, k, l)) return x;
    const array full = memory.length + static_cast<int>(x.extent(-2)) > static_cast<int>(memory.keys.extent(-3));
    memory.keys = put(memory.keys, k, memory.length, l);
    memory.values = put(memory.values, in_heads(value(x, l), kv_heads, {}, l), memory.length, l);
    memory.length = memory.length + static_cast<int>(x.extent(-2));
    attention_options o = options_of(given, q, memory.keys, l);
    o.is_causal = true;
    o.q_indices = at;
    const array y = merged(q, memory.keys, memory.values, o, l);
    return select(full, array(std::numeric_limits<double>::quiet_NaN(), {y.dtype(), false, {}}), y, l);
  }

 private:
  constexpr linear made(int from, int to) const {
    return {.in = from,
            .out = to,
            .use_bias = use_bias,
            .kernel_init = kernel_init,
            .bias_init = bias_init,
            .compute_dtype = compute_dtype,
            .param_dtype = param_dtype};
  }
  constexpr bool heads_fit(const array& x, source_line l) const {
    if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0)
      reject(x, l, "multi_head_attention: heads", message() << heads << " for " << kv_heads << " of keys",
             "a multiple, from 1 on");
    else if (head_size < 1 || (head_size == features / heads && features % heads != 0))
      reject(x, l, "multi_head_attention: features", message() << features,
             message("a multiple of ") << heads << " heads");
    else
      return true;
    return false;
  }
  /// [..., T, count * head_size] -> [..., T, count, head_size], with the norm if there is a scale.
  constexpr array in_heads(const array& a, int count, const array& scale, source_line l) const {
    shape s = a.shape();
    s[-1] = count;
    s.push_back(head_size);
    const array y = reshape(a, s, l);
    if (norm == head_norm::none || !scale.exists()) return y;
    if (norm == head_norm::rms) return tokamax::rms_norm(y, scale, {}, l);
    return tokamax::layer_norm(y, scale, {}, {}, l);
  }
  constexpr attention_options options_of(const attention_inputs& given, const array& q, const array& k,
                                         source_line l) const {
    attention_options o{
        .bias = given.bias, .is_causal = causal, .local_window_size = window, .logits_soft_cap = soft_cap};
    if (given.mask.exists()) o.mask = given.mask;
    if (use_sinks) o.sinks = sinks;
    if (!given.dropout_key.exists() || dropout_rate <= 0) return o;
    shape weights{q.extent(-3), k.extent(-3)};
    if (!shared_dropout) {
      weights = {};
      for (int i = 0; i + 3 < q.rank(); ++i) weights.push_back(q.extent(i));
      for (const std::int64_t e : {std::int64_t{heads}, q.extent(-3), k.extent(-3)}) weights.push_back(e);
    }
    o.dropout_mask = random::bernoulli(random::key(given.dropout_key), 1.0 - dropout_rate, weights, l);
    o.dropout_rate = dropout_rate;
    return o;
  }
  constexpr array merged(const array& q, const array& k, const array& v, const attention_options& o,
                         source_line l) const {
    const array y = dot_product_attention(q, k, v, o, l);
    shape s = y.shape(), flat;
    for (int i = 0; i + 2 < s.rank(); ++i) flat.push_back(s[i]);
    flat.push_back(heads * head_size);
    return projection(reshape(y, flat, l), l);
  }
  /// Is there a place for the tokens k in a cache of their shape? What is known while it runs alone is checked by decode.
  constexpr bool remembers(const attention_cache& memory, const array& k, source_line l) const {
    shape s = k.shape();
    const bool fits = memory.keys.rank() == s.rank() && memory.values.shape() == memory.keys.shape();
    if (fits) s[-3] = memory.keys.extent(-3);
    if (!fits || memory.keys.shape() != s || k.extent(-3) > memory.keys.extent(-3)) {
      reject(k, l, "multi_head_attention: cache", memory.keys.type(), message("places for tokens ") << k.type());
      return false;
    }
    if (memory.length.is_concrete()) {
      const std::int64_t filled = static_cast<std::int64_t>(memory.length.item());
      if (filled + k.extent(-3) <= memory.keys.extent(-3)) return true;
      reject(k, l, "multi_head_attention: cache",
             message() << filled << " tokens in " << memory.keys.extent(-3) << " places",
             message("room for ") << k.extent(-3) << " more");
      return false;
    }
    return true;
  }
  static constexpr array put(const array& all, const array& now, const array& at, source_line l) {
    return dynamic_update_slice_in_dim(all, astype(now, all.dtype(), l), at, all.rank() - 3, l);
  }
};

}  // namespace tokamax::nn
