// tokamax/models/bert.hpp: an encoder of texts, whose tokens see all others.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
#pragma once

#include <tokamax/models/decoder_config.hpp>  // activation_function
#include <tokamax/nn/linear/embed.hpp>        // embed
#include <tokamax/nn/linear/linear.hpp>       // linear
#include <tokamax/nn/norms/layer_norm.hpp>    // layer_norm
#include <tokamax/ops/attention.hpp>          // dot_product_attention

namespace tokamax::models {

/// The sizes of an encoder. The defaults are those that BERT's files may leave out.
struct bert_config {
  int vocabulary = 0, context = 512, width = 0, layers = 0, heads = 1;
  int hidden = 0;  ///< of the network in each layer
  int kinds = 2;   ///< of tokens, such as those of a question and of an answer
  double epsilon = 1e-12;
  nn::activation_function activation = nn::gelu_exact;
  bool pooled = true;  ///< is there a layer behind the first token?
};

/// Attention of all tokens and a network of two layers, each with a norm behind it and the residual path.
/// shapes  x [B, T, width] -> the same; lengths i32 [B], the tokens of each text, or none where all have T
struct bert_layer {
  int heads = 1;
  nn::activation_function activation = nn::gelu_exact;
  nn::linear query, key, value, out, up, down;
  nn::layer_norm after_attention, after_mlp;

  static bert_layer of(const bert_config& c) {
    const auto linear = [](int in, int outputs) {
      return nn::linear{.in = in, .out = outputs, .kernel_init = nn::initializers::normal<0.02>};
    };
    const nn::linear square = linear(c.width, c.width);
    const nn::layer_norm norm{.width = c.width, .epsilon = c.epsilon};
    return {c.heads, c.activation, square, square, square, square, linear(c.width, c.hidden), linear(c.hidden, c.width),
            norm,    norm};
  }
  array operator()(const array& x, const array& lengths, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const shape split{x.extent(0), x.extent(1), heads, x.extent(2) / heads};
    const auto in_heads = [&](const nn::linear& f) { return reshape(f(x, l), split, l); };
    const array found =
        dot_product_attention(in_heads(query), in_heads(key), in_heads(value), {.key_value_seq_lengths = lengths}, l);
    const array y = after_attention(x + located(out(reshape(found, x.shape(), l), l), l), l);
    return after_mlp(y + located(down(activation(up(y, l), l), l), l), l);
  }
};

/// BERT, and encoders of its form such as all-MiniLM. `make_bert` makes one, `bert_from_pretrained` reads one.
/// source  Devlin et al. 2018, arXiv:1810.04805; transformers, models/bert
struct bert {
  bert_config config;
  nn::embed token, position, kind;
  nn::layer_norm norm;
  std::vector<bert_layer> layers;
  nn::linear pool;  // no outputs without one

  /// The last state of each token. Those behind the length of a text have no meaning, and nothing sees them.
  /// shapes  ids i32 [B, T], lengths i32 [B], or none where all have T -> [B, T, width]
  array operator()(const array& ids, const array& lengths = {}, source_line l = source_line::current()) const {
    const array first_kind = slice_in_dim(kind.table, 0, 1, 0, l);  // [1, width]: all tokens are of one text
    const array at = position(iota(i32, {ids.extent(1)}, 0, l), l);
    array x = norm(token(ids, l) + located(first_kind, l) + located(at, l), l);
    for (const bert_layer& layer : layers) x = layer(x, lengths, l);
    return x;
  }
  /// What stands for each text: the mean of its tokens, of length 1.
  /// shapes  ids i32 [B, T], lengths i32 [B] of at least 1, or none -> [B, width]
  /// source  sentence_transformers, models.Pooling and models.Normalize
  array embed(const array& ids, const array& lengths = {}, source_line l = source_line::current()) const {
    array x = astype((*this)(ids, lengths, l), f32, l);
    if (lengths.exists()) {
      const array is_there = expand_dims(iota(i32, {1, ids.extent(1)}, 1, l) < expand_dims(lengths, 1, l), 2, l);
      x = select(broadcast_to(is_there, x.shape(), l), x, zeros_like(x), l);
    }
    const array total = sum(x, {.axis = {1}}, l);  // the length of the mean is 1 whatever it is divided by
    const array length = sqrt(sum(square(total, l), {.axis = {1}, .keepdims = true}, l), l);
    return total / located(maximum(length, 1e-12, l), l);
  }
  /// The first token's state behind the last layer, a linear layer and tanh, as classifiers take it.
  /// shapes  as embed
  /// errors  "bert: pool" if there is none
  array pooled(const array& ids, const array& lengths = {}, source_line l = source_line::current()) const {
    if (pool.out == 0) throw error("bert: pool", "none", "a model with a pooler");
    const array x = (*this)(ids, lengths, l);
    return tanh(pool(reshape(slice_in_dim(x, 0, 1, 1, l), {x.extent(0), x.extent(2)}, l), l), l);
  }
};

/// Throws unless the numbers fit each other.
/// errors  tokamax::error that names the number
inline void require_possible(const bert_config& c, const std::string& where = {}) {
  const auto require = [&](bool fits, const char* name, int found, const std::string& expected) {
    if (!fits)
      throw error(where.empty() ? error_kind::argument : error_kind::file, std::string("bert: ") + name,
                  std::to_string(found), expected, where);
  };
  static constexpr int most = 1 << 28;
  for (const auto& [name, size] : {std::pair{"vocabulary", c.vocabulary},
                                   {"context", c.context},
                                   {"width", c.width},
                                   {"layers", c.layers},
                                   {"heads", c.heads},
                                   {"hidden", c.hidden},
                                   {"kinds", c.kinds}})
    require(size >= 1 && size <= most, name, size, "1 to " + std::to_string(most));
  require(c.width % c.heads == 0, "width", c.width, "a multiple of " + std::to_string(c.heads) + " heads");
}

/// An encoder without values; `init` gives it some.
/// errors  as require_possible
inline bert make_bert(const bert_config& c) {
  require_possible(c);
  const auto table = [&](int rows) {
    return nn::embed{.count = rows, .width = c.width, .table_init = nn::initializers::normal<0.02>};
  };
  return {.config = c,
          .token = table(c.vocabulary),
          .position = table(c.context),
          .kind = table(c.kinds),
          .norm = {.width = c.width, .epsilon = c.epsilon},
          .layers = std::vector<bert_layer>(static_cast<std::size_t>(c.layers), bert_layer::of(c)),
          .pool = {.in = c.width,
                   .out = c.pooled ? c.width : 0,
                   .use_bias = c.pooled,
                   .kernel_init = nn::initializers::normal<0.02>}};
}

}  // namespace tokamax::models
