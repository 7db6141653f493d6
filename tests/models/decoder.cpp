// tests/models/decoder.cpp: decoders of all configs learn, see no later tokens, and refuse impossible sizes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/models/decoder.hpp>
#include <tokamax/nn/initializers/init.hpp>
#include <tokamax/ops/cross_entropy.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
namespace models = tokamax::models;
using models::decoder_config;

namespace {
const decoder_config plain{.vocabulary = 20,
                           .context = 16,
                           .width = 16,
                           .layers = 2,
                           .heads = 4,
                           .kv_heads = 2,
                           .head_size = 4,
                           .hidden = 24,
                           .rotary_size = 4};
/// One config for each thing that differs.
std::vector<decoder_config> configs() {
  std::vector<decoder_config> all(7, plain);
  all[1].norm = models::norm_kind::layer, all[1].learned_positions = true, all[1].rotary_size = 0, all[1].gated = false;
  all[1].qkv_bias = all[1].out_bias = all[1].mlp_bias = true, all[1].activation = tk::nn::gelu_tanh, all[1].tied = true;
  all[2].norm_before = false, all[2].norm_after = true, all[2].qk_norm = models::query_key_norm::all;
  all[3].norm_after = true, all[3].scale_offset = 1, all[3].windows = {3, 0}, all[3].attention_soft_cap = 5;
  all[3].logit_soft_cap = 2, all[3].embedding_scale = 4, all[3].local_rope_base = 100;
  all[4].qk_norm = models::query_key_norm::head,
  all[4].scaling = {.kind = tk::nn::rope_kind::yarn, .factor = 4, .old_context = 8};
  all[5].norm_scales = false, all[5].qkv_clip = 0.1, all[5].attention_scale = 1;
  all[6].rotary_size = 2, all[6].scaling = {.kind = tk::nn::rope_kind::ntk, .factor = 4}, all[6].rotary_size = 4;
  all.resize(10, plain);
  all[7].experts = {
      .router = {.experts = 4, .chosen = 2, .normalise = true}, .hidden = 8, .shared_hidden = 6, .gates_shared = true};
  all[7].experts.plain = {true, false}, all[7].sinks = true;
  all[8].latent = {.rank = 6, .query_rank = 5, .plain_size = 4, .value_size = 3}, all[8].rotary_size = 2;
  all[8].kv_heads = 1, all[8].head_size = 8, all[8].rope_pairs = true, all[8].qkv_bias = all[8].out_bias = true;
  all[9] = all[8], all[9].latent.query_rank = 0, all[9].qkv_bias = false;
  return all;
}
const tk::array ids = tk::array::from<std::int32_t>({3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, {2, 6});
}  // namespace

TEST_CASE("logits depend on earlier tokens only, and gradients reach every array") {
  for (const decoder_config& c : configs()) {
    const models::decoder m = tk::init(models::make_decoder(c), tk::random::key(1));
    const tk::array y = m(ids);
    CHECK(y.type() == tk::array_type{tk::f32, false, {2, 6, 20}});
    const tk::array other = tk::array::from<std::int32_t>({3, 1, 4, 1, 7, 7, 2, 6, 5, 3, 7, 7}, {2, 6});
    const auto early = [](const tk::array& x) { return tk::slice_in_dim(x, 0, 4, 1); };
    CHECK(tk::sum(tk::abs(early(y) - early(m(other)))).item() == 0);
    CHECK(tk::sum(tk::abs(y - m(other))).item() > 0);
    const auto loss = [](const models::decoder& d, const tk::array& x) {
      return tk::mean(tk::softmax_cross_entropy(d(x), tk::reshape(x, {2, 6})));
    };
    const auto [value, gradients] =
        tk::jit([&](const models::decoder& d, const tk::array& x) { return tk::value_and_grad(loss)(d, x); },
                tk::any_device(tk::cpu))(m, ids);
    CHECK(std::fabs(value.item() - std::log(20.0f)) < 1);
    tk::for_each_leaf_with_path(
        [](std::string_view path, const tk::array& g) {
          CAPTURE(path);
          if (g.size() != 0) CHECK(tk::sum(tk::abs(g)).item() > 0);
        },
        gradients);
  }
}

TEST_CASE("impossible configs are refused by the number") {
  const auto refused = [](auto change) {
    decoder_config c = plain;
    change(c);
    return [c] { models::make_decoder(c); };
  };
  CHECK_THROWS_WITH(refused([](auto& c) { c.vocabulary = 0; })(),
                    contains("decoder: vocabulary: found 0, expected 1 to"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.width = -3; })(), contains("decoder: width: found -3"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.kv_heads = 3; })(),
                    contains("decoder: kv_heads: found 3, expected a divisor of 4 heads"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.rotary_size = 3; })(),
                    contains("decoder: rotary_size: found 3, expected an even part"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.rotary_size = 6; })(), contains("decoder: rotary_size: found 6"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.learned_positions = true; })(),
                    contains("expected 0 beside learned positions"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.epsilon = std::nan(""); })(), contains("decoder: epsilon: found nan"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.rope_base = 0.5; })(), contains("decoder: rope_base: found 0.5"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.windows = {1}; })(),
                    contains("decoder: windows: found 1, expected one for each of 2"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.windows = {1, -1}; })(), contains("decoder: windows: found -1"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.scaling = {.kind = tk::nn::rope_kind::llama3}; })(),
                    contains("rope old_context: found 0"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.scaling = {.kind = tk::nn::rope_kind::by_factor}; })(),
                    contains("rope factors: found 0, expected 2"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.heads = 1 << 27, c.head_size = 1 << 27; })(),
                    contains("decoder: head_size"));
  const auto mixed = [&](auto change) {
    return refused([&](auto& c) { c.experts = {.router = {.experts = 4, .chosen = 2}, .hidden = 8}, change(c); });
  };
  CHECK_THROWS_WITH(mixed([](auto& c) { c.experts.hidden = 0; })(), contains("decoder: hidden of experts: found 0"));
  CHECK_THROWS_WITH(mixed([](auto& c) { c.experts.plain = {true}; })(),
                    contains("decoder: plain layers: found 1, expected one for each of 2 layers"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.latent = {.rank = 6, .plain_size = 2, .value_size = 2}; })(),
                    contains("decoder: head_size: found 4, expected that of one latent key, 10"));
  CHECK_THROWS_WITH(refused([](auto& c) { c.logit_soft_cap = -1; })(), contains("decoder: logit_soft_cap: found -1"));
}
