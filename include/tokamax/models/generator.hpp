// tokamax/models/generator.hpp: continues texts with a decoder, whose keys and values stay in a cache.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
#pragma once

#include <tokamax/core/symbolic.hpp>               // symbolic
#include <tokamax/models/decoder.hpp>              // decoder
#include <tokamax/models/sampling.hpp>             // sample
#include <tokamax/quant/weight_only.hpp>           // weight_only
#include <tokamax/runtime/compiled.hpp>            // compiled
#include <tokamax/runtime/device_put.hpp>          // device_put
#include <tokamax/runtime/jit.hpp>                 // jit
#include <tokamax/transforms/rewrite/rewrite.hpp>  // rewrite

namespace tokamax::models {

struct generator_options {
  std::int64_t context = 0;  ///< the most tokens of a text, with the new ones; 0: as many as the model has learned
  std::int64_t chunk = 128;  ///< the most tokens that one step takes in
  dtype cache_dtype = f32;
  std::vector<quant::rule> rules = {};  ///< which matrices become integers, and how; see quant::weight_only
  quant::packed_leaves packed = {};  ///< those that are packed already, as `pretrained::packed` has them; without rules
};

/// A decoder that says one token after the other. One program, traced at the first call, takes in prompts and says tokens; it changes
/// the cache in place. A prompt that begins with the tokens in the cache, as the next one of a chat does, is read from there on.
/// The tokens are those that the decoder gives without a cache, bit by bit.
class generator {
 public:
  /// errors  "generator: context", "generator: chunk", "generator: rules"
  explicit generator(decoder model, any_device where, const generator_options& o = {}) : chunk_(o.chunk) {
    const std::int64_t most = model.config.context;
    context_ = o.context == 0 ? most : o.context;
    if (context_ < 1 || ((model.config.learned_positions || model.config.bounded) && context_ > most))
      throw error("generator: context", std::to_string(context_), "1 to " + std::to_string(most));
    if (chunk_ < 1) throw error("generator: chunk", std::to_string(chunk_), "1 or more");
    config_ = model.config;
    const std::int64_t pages = (context_ + page - 1) / page;
    cache_ = device_put(model.empty_cache(pages, page, o.cache_dtype), where);
    pages_ = iota(i32, {1, pages}, 1);
    pages_.materialize();
    const auto step = [](const decoder& m, const array& tokens, const decoder_cache& cache, const paged_batch& batch) {
      return m.step(tokens, cache, batch);
    };
    const auto on = [](auto program, auto weights) {
      return [program, weights](const array& tokens, decoder_cache&& cache, const paged_batch& batch) {
        return program(weights, symbolic(tokens), std::move(cache), batch);
      };
    };
    if (!o.packed.empty()) {
      if (!o.rules.empty()) throw error("generator: rules", "rules beside packed matrices", "one of them");
      run_ = on(jit(rewrite(step, quant::weight_only{{}, o.packed}), where),
                device_put(quant::with_packed(model, o.packed), where));
    } else if (o.rules.empty()) {
      run_ = on(jit(step, where), device_put(std::move(model), where));
    } else {
      const auto small = rewrite(step, quant::weight_only{o.rules});
      const array token = array::from<std::int32_t>({0});
      run_ = on(jit(small, where), device_put(small.prepare(model, token, cache_, batch_of(0, 1)), where));
    }
  }
  const decoder_config& config() const { return config_; }
  std::int64_t context() const { return context_; }

  /// The logits of the token after `tokens`, f32 [vocabulary] on the host.
  /// errors  "generator: tokens" if there are none, more than the context, or an id that the vocabulary does not have
  array next_logits(std::span<const std::int32_t> tokens) {
    if (tokens.empty() || static_cast<std::int64_t>(tokens.size()) > context_)
      throw error("generator: tokens", std::to_string(tokens.size()), "1 to " + std::to_string(context_));
    for (const std::int32_t id : tokens)
      if (id < 0 || id >= config_.vocabulary)
        throw error("generator: tokens", "id " + std::to_string(id), "0 to " + std::to_string(config_.vocabulary - 1));
    const auto same = std::mismatch(cached_.begin(), cached_.end(), tokens.begin(), tokens.end()).first;
    const auto kept = std::min(static_cast<std::size_t>(same - cached_.begin()), tokens.size() - 1);
    cached_.resize(kept);
    array logits;
    while (cached_.size() < tokens.size()) {
      const std::size_t count = std::min(static_cast<std::size_t>(chunk_), tokens.size() - cached_.size());
      logits = take_in(tokens.subspan(cached_.size(), count));
    }
    return reshape(logits, {logits.size()});
  }

  /// Calls `said(id)` with each new token after `prompt`, until it is one of `ends` (which is not said), there are `most`, the context
  /// is full, or `said` returns false. Returns the new tokens.
  template <class F>
  std::vector<std::int32_t> operator()(std::vector<std::int32_t> prompt, std::int64_t most, const sampling& how,
                                       std::span<const std::int32_t> ends, const F& said) {
    std::vector<std::int32_t> result;
    while (static_cast<std::int64_t>(result.size()) < most && static_cast<std::int64_t>(prompt.size()) < context_) {
      const array logits = next_logits(prompt);
      const std::int32_t id = sample(logits.values<float>(), how, static_cast<std::int64_t>(result.size()));
      if (std::find(ends.begin(), ends.end(), id) != ends.end()) break;
      result.push_back(id), prompt.push_back(id);
      if (!said(id)) break;
    }
    return result;
  }

 private:
  static constexpr std::int64_t page = 64;

  // So many new tokens behind those that are in the cache.
  paged_batch batch_of(std::size_t before, std::size_t count) const {
    const auto all = static_cast<std::int32_t>(before + count), fresh = static_cast<std::int32_t>(count);
    return {.kv_lens = array::from<std::int32_t>({all}),
            .page_indices = pages_,
            .cu_q_lens = array::from<std::int32_t>({0, fresh}),
            .num_seqs = array::from<std::int32_t>({1})};
  }
  array take_in(std::span<const std::int32_t> tokens) {
    const auto count = static_cast<std::int64_t>(tokens.size());
    try {
      decoder_step y =
          run_(array::from<std::int32_t>(tokens, {count}), std::move(cache_), batch_of(cached_.size(), tokens.size()));
      cache_ = std::move(y.cache);
      cached_.insert(cached_.end(), tokens.begin(), tokens.end());
      return y.logits;
    } catch (...) {
      cached_.clear();
      throw;
    }
  }

  decoder_config config_;
  decoder_cache cache_;
  compiled<decoder_step(const array&, decoder_cache&&, const paged_batch&)> run_;  // with the weights
  std::vector<std::int32_t> cached_;  // the tokens whose keys and values are in the cache
  std::int64_t context_ = 0, chunk_ = 0;
  array pages_;
};

}  // namespace tokamax::models
