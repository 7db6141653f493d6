// tokamax/serve/llm/model_runner.hpp: a decoder with its cache of blocks, as one program that serves every step.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// tested by tests/serve/llm/engine.cpp
#pragma once

#include <tokamax/core/symbolic.hpp>             // symbolic
#include <tokamax/models/placed_step.hpp>        // placed_step
#include <tokamax/runtime/compiled.hpp>          // compiled
#include <tokamax/runtime/device_put.hpp>        // device_put
#include <tokamax/serve/llm/engine_options.hpp>  // engine_options
#include <tokamax/serve/llm/scheduler.hpp>       // step_part

namespace tokamax::serve {

/// Takes the tokens of a step in, and gives logits. The program is traced at the first step. How many tokens, texts and logits a step has
/// are numbers that it is given, and it changes the cache in place.
class model_runner {
  using run_function =
      compiled<models::decoder_step(const array&, const array&, models::decoder_cache&&, const paged_batch&)>;

 public:
  /// The blocks of options, whose `cache_blocks` and `max_model_len` are known.
  /// errors  "engine: rules" beside packed matrices
  model_runner(models::decoder model, any_device where, const engine_options& o)
      : where_(where),
        rows_(o.max_num_seqs),
        columns_((o.max_model_len + o.block_size - 1) / o.block_size),
        empty_([of = without_weights(model.config), blocks = o.cache_blocks, size = o.block_size,
                type = o.cache_dtype] { return of.empty_cache(blocks, size, type); }) {
    const auto step = [](const models::decoder& m, const array& ids, const array& wanted,
                         const models::decoder_cache& cache,
                         const paged_batch& batch) { return m.step(ids, cache, batch, wanted); };
    const auto made = [](auto program, auto weights) -> run_function {
      return [program, weights](const array& ids, const array& wanted, models::decoder_cache&& cache,
                                const paged_batch& batch) {
        return program(weights, symbolic(ids), symbolic(wanted, 0, 1), std::move(cache), batch);
      };
    };
    reset();
    const array one = array::from<std::int32_t>({0});
    run_ = models::placed_step(step, std::move(model), where, o.rules, o.packed, "engine: rules", made, one, one,
                               cache_, batch_of({}));
  }

  /// The logits behind `wanted` ones of the tokens of all parts, f32 [wanted, vocabulary] on the host.
  /// After an error the contents of the cache have no meaning; see `reset`.
  array operator()(std::span<const step_part> parts, std::span<const std::int32_t> wanted) {
    std::vector<std::int32_t> ids;
    for (const step_part& p : parts)
      ids.insert(ids.end(), p.of->tokens.begin() + p.of->computed, p.of->tokens.begin() + p.end());
    const std::int32_t first[] = {0};
    const std::span<const std::int32_t> some = wanted.empty() ? std::span<const std::int32_t>(first) : wanted;
    models::decoder_step y =
        run_(array::from<std::int32_t>(ids, {std::ssize(ids)}), array::from<std::int32_t>(some, {std::ssize(some)}),
             std::move(cache_), batch_of(parts));
    cache_ = std::move(y.cache);
    return y.logits;
  }
  /// An empty cache.
  void reset() {
    cache_ = {};
    cache_ = device_put(empty_(), where_);
  }
  /// The bytes of a block in all layers.
  static std::int64_t bytes_of_block(const models::decoder_config& c, std::int64_t block_size, dtype type) {
    std::int64_t bytes = 0;
    for (const paged_cache& layer : without_weights(c).empty_cache(1, block_size, type).layers)
      for (const array* a : {&layer.keys, &layer.values}) bytes += a->size() * size_of(a->dtype());
    return bytes;
  }

 private:
  static models::decoder without_weights(const models::decoder_config& c) {
    models::decoder d;
    d.config = c;
    return d;
  }
  paged_batch batch_of(std::span<const step_part> parts) const {
    std::vector<std::int32_t> lengths(static_cast<std::size_t>(rows_), 0), begins{0},
        blocks(static_cast<std::size_t>(rows_ * columns_), 0);
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      const bool counts = r < parts.size();
      begins.push_back(begins.back() + (counts ? static_cast<std::int32_t>(parts[r].count) : 0));
      if (!counts) continue;
      lengths[r] = static_cast<std::int32_t>(parts[r].end());
      const std::vector<block_id>& table = parts[r].of->table.blocks;
      std::copy_n(table.begin(), std::min(std::ssize(table), columns_),
                  blocks.begin() + static_cast<std::ptrdiff_t>(r) * columns_);
    }
    return {.kv_lens = array::from<std::int32_t>(lengths, {rows_}),
            .page_indices = array::from<std::int32_t>(blocks, {rows_, columns_}),
            .cu_q_lens = array::from<std::int32_t>(begins, {rows_ + 1}),
            .num_seqs = array::from<std::int32_t>({static_cast<std::int32_t>(parts.size())})};
  }

  any_device where_;
  std::int64_t rows_, columns_;  // of the tables of blocks
  std::function<models::decoder_cache()> empty_;
  models::decoder_cache cache_;
  run_function run_;
};

}  // namespace tokamax::serve
