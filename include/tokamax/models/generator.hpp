// tokamax/models/generator.hpp: continues texts with a decoder, whose keys and values stay in a cache.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
#pragma once

#include <tokamax/core/symbolic.hpp>       // symbolic
#include <tokamax/lax/indexing/slice.hpp>  // slice_in_dim
#include <tokamax/models/decoder.hpp>      // decoder
#include <tokamax/models/placed_step.hpp>  // placed_step
#include <tokamax/models/sampling.hpp>     // sample
#include <tokamax/quant/weight_only.hpp>   // rule, packed_leaves
#include <tokamax/runtime/compiled.hpp>    // compiled
#include <tokamax/runtime/device_put.hpp>  // device_put

#include <concepts>  // invocable

namespace tokamax::models {

struct generator_options {
  std::int64_t context = 0;  ///< the most tokens of a text, with the new ones; 0: as many as the model has learned
  int streams = 1;           ///< the most texts at once, each of which has a cache of this context
  std::int64_t chunk = 128;  ///< the most tokens that one step takes in
  dtype cache_dtype = f32;
  std::vector<quant::rule> rules = {};  ///< which matrices become integers, and how; see quant::weight_only
  quant::packed_leaves packed = {};  ///< those that are packed already, as `pretrained::packed` has them; without rules
};

/// A decoder that says one token after the other, of one text or of several at once. One program, traced at the first call, takes in
/// prompts and says tokens; it changes the cache in place. A prompt that begins with the tokens in the cache, as the next one of a
/// chat does, is read from there on. The tokens are those that the decoder gives without a cache, bit by bit, whatever other texts
/// are beside.
class generator {
 public:
  using tokens = std::vector<std::int32_t>;

  /// errors  "generator: context", "generator: streams", "generator: chunk", "generator: rules"
  explicit generator(decoder model, any_device where, const generator_options& o = {}) : chunk_(o.chunk) {
    const std::int64_t most = model.config.context;
    context_ = o.context == 0 ? most : o.context;
    if (context_ < 1 || ((model.config.learned_positions || model.config.bounded) && context_ > most))
      throw error("generator: context", std::to_string(context_), "1 to " + std::to_string(most));
    if (o.streams < 1 || o.streams > most_streams)
      throw error("generator: streams", std::to_string(o.streams), "1 to " + std::to_string(most_streams));
    cached_.resize(static_cast<std::size_t>(o.streams));
    if (chunk_ < 1) throw error("generator: chunk", std::to_string(chunk_), "1 or more");
    config_ = model.config;
    pages_ = (context_ + page - 1) / page;
    cache_ = device_put(model.empty_cache(o.streams * pages_, page, o.cache_dtype), where);
    const auto step = [](const decoder& m, const array& ids, const decoder_cache& cache, const paged_batch& batch) {
      return m.step(ids, cache, batch);
    };
    // One function for all programs, whose types differ.
    using run_function = compiled<decoder_step(const array&, decoder_cache&&, const paged_batch&)>;
    const auto made = [](auto program, auto weights) -> run_function {
      return [program, weights](const array& ids, decoder_cache&& cache, const paged_batch& batch) {
        return program(weights, symbolic(ids), std::move(cache), batch);
      };
    };
    const array token = array::from<std::int32_t>({0});
    const paged_batch batch = batch_of(std::vector<part>{{0, token.values<std::int32_t>()}});
    run_ =
        placed_step(step, std::move(model), where, o.rules, o.packed, "generator: rules", made, token, cache_, batch);
  }
  const decoder_config& config() const { return config_; }
  std::int64_t context() const { return context_; }

  /// The logits of the token after `text`, f32 [vocabulary] on the host.
  /// errors  "generator: tokens" if there are none, more than the context, or an id that the vocabulary does not have
  array next_logits(std::span<const std::int32_t> text) {
    const part all[] = {{0, text}};
    return logits_of(all)[0];
  }
  /// The same after each of several texts: text i is in the cache of stream i.
  /// errors  "generator: streams" for more texts than streams
  std::vector<array> next_logits_of(std::span<const tokens> texts) {
    std::vector<part> all;
    for (std::size_t i = 0; i < texts.size(); ++i) all.push_back({i, texts[i]});
    return logits_of(all);
  }

  /// Calls `said(id)` with each new token after `prompt`, until it is one of `ends` (which is not said), there are `most`, the context
  /// is full, or `said` returns false. Returns the new tokens.
  template <std::invocable<std::int32_t> F>
  tokens operator()(tokens prompt, std::int64_t most, const sampling& how, std::span<const std::int32_t> ends,
                    const F& said) {
    return (*this)(std::vector<tokens>{std::move(prompt)}, most, how, ends,
                   [&](std::size_t, std::int32_t id) { return said(id); })[0];
  }
  /// The same after each of several prompts, whose new tokens are computed together; calls `said(i, id)` for text i.
  template <std::invocable<std::size_t, std::int32_t> F>
  std::vector<tokens> operator()(std::vector<tokens> prompts, std::int64_t most, const sampling& how,
                                 std::span<const std::int32_t> ends, const F& said) {
    std::vector<tokens> result(prompts.size());
    std::vector<char> done(prompts.size(), 0);
    while (true) {
      std::vector<part> going;
      for (std::size_t i = 0; i < prompts.size(); ++i)
        if (!done[i] && static_cast<std::int64_t>(result[i].size()) < most &&
            static_cast<std::int64_t>(prompts[i].size()) < context_)
          going.push_back({i, prompts[i]});
      if (going.empty()) return result;
      const std::vector<array> logits = logits_of(going);
      for (std::size_t r = 0; r < going.size(); ++r) {
        const std::size_t i = going[r].stream;
        const std::int32_t id = sample(logits[r].values<float>(), how, static_cast<std::int64_t>(result[i].size()));
        done[i] = std::find(ends.begin(), ends.end(), id) != ends.end();
        if (done[i]) continue;
        result[i].push_back(id), prompts[i].push_back(id);
        done[i] = !said(i, id);
      }
    }
  }

 private:
  static constexpr std::int64_t page = 64;
  static constexpr int most_streams = 1024;

  /// Tokens of a stream: a text from its beginning, or new ones.
  struct part {
    std::size_t stream;
    std::span<const std::int32_t> ids;
  };

  std::vector<array> logits_of(std::span<const part> texts) {
    if (texts.size() > cached_.size())
      throw error("generator: streams", std::to_string(texts.size()) + " texts",
                  "at most " + std::to_string(cached_.size()));
    for (const part& text : texts) require_text(text.ids);
    for (const part& text : texts) {
      tokens& kept = cached_[text.stream];
      const auto same = std::mismatch(kept.begin(), kept.end(), text.ids.begin(), text.ids.end()).first;
      kept.resize(std::min(static_cast<std::size_t>(same - kept.begin()), text.ids.size() - 1));
    }
    std::vector<array> logits(texts.size());
    while (true) {
      std::vector<part> now;  // at most a chunk of tokens
      std::vector<std::size_t> of;
      auto room = static_cast<std::size_t>(chunk_);
      for (std::size_t i = 0; i < texts.size() && room > 0; ++i) {
        const std::size_t before = cached_[texts[i].stream].size(),
                          count = std::min(room, texts[i].ids.size() - before);
        if (count == 0) continue;
        now.push_back({texts[i].stream, texts[i].ids.subspan(before, count)}), of.push_back(i);
        room -= count;
      }
      if (now.empty()) return logits;
      const array y = take_in(now);
      for (std::size_t r = 0; r < now.size(); ++r)
        logits[of[r]] = reshape(slice_in_dim(y, static_cast<std::int64_t>(r), static_cast<std::int64_t>(r) + 1, 0),
                                {config_.vocabulary});
    }
  }
  void require_text(std::span<const std::int32_t> text) const {
    if (text.empty() || static_cast<std::int64_t>(text.size()) > context_)
      throw error("generator: tokens", std::to_string(text.size()), "1 to " + std::to_string(context_));
    for (const std::int32_t id : text)
      if (id < 0 || id >= config_.vocabulary)
        throw error("generator: tokens", "id " + std::to_string(id), "0 to " + std::to_string(config_.vocabulary - 1));
  }
  // New tokens behind those that are in the cache. There are as many sequences as streams, of which the first ones count.
  paged_batch batch_of(std::span<const part> parts) const {
    const std::size_t streams = cached_.size();
    tokens lengths(streams, 0), begins{0}, pages;
    for (std::size_t r = 0; r < streams; ++r) {
      const bool counts = r < parts.size();
      if (counts) lengths[r] = static_cast<std::int32_t>(cached_[parts[r].stream].size() + parts[r].ids.size());
      begins.push_back(begins[r] + (counts ? static_cast<std::int32_t>(parts[r].ids.size()) : 0));
      for (std::int64_t i = 0; i < pages_; ++i)
        pages.push_back(
            static_cast<std::int32_t>((counts ? static_cast<std::int64_t>(parts[r].stream) : 0) * pages_ + i));
    }
    const auto n = static_cast<std::int64_t>(streams);
    return {.kv_lens = array::from<std::int32_t>(lengths, {n}),
            .page_indices = array::from<std::int32_t>(pages, {n, pages_}),
            .cu_q_lens = array::from<std::int32_t>(begins, {n + 1}),
            .num_seqs = array::from<std::int32_t>({static_cast<std::int32_t>(parts.size())})};
  }
  array take_in(std::span<const part> parts) {
    tokens ids;
    for (const part& p : parts) ids.insert(ids.end(), p.ids.begin(), p.ids.end());
    const auto count = static_cast<std::int64_t>(ids.size());
    try {
      decoder_step y = run_(array::from<std::int32_t>(ids, {count}), std::move(cache_), batch_of(parts));
      cache_ = std::move(y.cache);
      for (const part& p : parts) cached_[p.stream].insert(cached_[p.stream].end(), p.ids.begin(), p.ids.end());
      return y.logits;
    } catch (...) {
      for (tokens& kept : cached_) kept.clear();
      throw;
    }
  }

  decoder_config config_;
  decoder_cache cache_;
  compiled<decoder_step(const array&, decoder_cache&&, const paged_batch&)> run_;  // with the weights
  std::vector<tokens> cached_;                        // of each stream, those whose keys and values are in the cache
  std::int64_t context_ = 0, chunk_ = 0, pages_ = 0;  // pages of a stream
};

}  // namespace tokamax::models
