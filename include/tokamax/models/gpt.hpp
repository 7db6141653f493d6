// tokamax/models/gpt.hpp: a decoder-only transformer, with its size fixed in its type or chosen at run time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/nn/attention/attention.hpp>  // attention
#include <tokamax/nn/copies.hpp>               // copies
#include <tokamax/nn/linear/embed.hpp>         // embed
#include <tokamax/nn/linear/mlp.hpp>           // mlp
#include <tokamax/nn/norms/layer_norm.hpp>     // layer_norm
#include <tokamax/numpy/arange.hpp>            // arange

#include <array>    // array
#include <string>   // to_string
#include <utility>  // pair
#include <vector>   // vector

namespace tokamax::models {

/// The size of a GPT.
struct gpt_config {
  int vocabulary = 256, context = 64, width = 128, heads = 4, layers = 4;
};

/// Attention and a two-layer network. Each gets a normalised input, and its output is added to the residual path.
/// shapes  [B, T, C] -> [B, T, C]
struct gpt_block {
  int width = 0, heads = 1;
  nn::layer_norm norm_1{width}, norm_2{width};
  nn::attention attend{.width = width, .heads = heads, .causal = true, .kernel_init = nn::initializers::normal<0.02>};
  nn::mlp feed_forward{.width = width, .hidden = 4 * width, .kernel_init = nn::initializers::normal<0.02>};

  constexpr array operator()(array x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    x = x + located(attend(norm_1(x, l), l), l);
    return x + located(feed_forward(norm_2(x, l), l), l);
  }
};

namespace detail {
/// The forward pass that both models share: ids [B, T] -> logits [B, T, vocabulary].
constexpr array gpt_logits(const auto& model, const array& ids, source_line l) {
  array x = model.token(ids, l) + located(model.position(arange(ids.extent(1), i32, l), l), l);
  for (const gpt_block& b : model.blocks) x = b(x, l);
  return model.token.logits(model.norm(x, l), l);  // the output layer shares the embedding
}
constexpr nn::embed small_embed(int count, int width) {
  return {.count = count, .width = width, .table_init = nn::initializers::normal<0.02>};
}
}  // namespace detail

/// A GPT whose size is part of its type, so that `jit` traces it while compiling: `fixed_gpt<{.layers = 12}>`.
template <gpt_config C>
struct fixed_gpt {
  nn::embed token = detail::small_embed(C.vocabulary, C.width), position = detail::small_embed(C.context, C.width);
  std::array<gpt_block, static_cast<std::size_t>(C.layers)> blocks =
      nn::copies<static_cast<std::size_t>(C.layers)>(gpt_block{C.width, C.heads});
  nn::layer_norm norm{C.width};

  /// shapes  ids i32 [B, T], T at most the context -> logits [B, T, vocabulary]
  constexpr array operator()(const array& ids, source_line l = source_line::current()) const {
    return detail::gpt_logits(*this, ids, l);
  }
};

/// The same model with its size chosen at run time; make it with `make_gpt`.
struct gpt {
  nn::embed token, position;
  std::vector<gpt_block> blocks;
  nn::layer_norm norm;

  array operator()(const array& ids, source_line l = source_line::current()) const {
    return detail::gpt_logits(*this, ids, l);
  }
};

/// A GPT without values; `init` gives it some.
/// errors  tokamax::error that names the number that is not positive, or if heads do not divide the width
inline gpt make_gpt(const gpt_config& c) {
  for (const auto& [name, size] :
       {std::pair{"vocabulary", c.vocabulary}, std::pair{"context", c.context}, std::pair{"width", c.width},
        std::pair{"heads", c.heads}, std::pair{"layers", c.layers}})
    if (size < 1) throw error(std::string("gpt: ") + name, std::to_string(size), "1 or more");
  if (c.width % c.heads != 0)
    throw error("gpt: width", std::to_string(c.width), "a multiple of " + std::to_string(c.heads) + " heads");
  return {detail::small_embed(c.vocabulary, c.width), detail::small_embed(c.context, c.width),
          std::vector<gpt_block>(static_cast<std::size_t>(c.layers), gpt_block{c.width, c.heads}),
          nn::layer_norm{c.width}};
}

}  // namespace tokamax::models
