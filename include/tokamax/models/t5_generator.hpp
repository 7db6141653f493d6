// tokamax/models/t5_generator.hpp: writes a text for one that is read, token by token.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/t5.cpp
#pragma once

#include <tokamax/models/sampling.hpp>     // sample
#include <tokamax/models/t5.hpp>           // t5
#include <tokamax/runtime/compiled.hpp>    // compiled
#include <tokamax/runtime/device_put.hpp>  // device_put
#include <tokamax/runtime/jit.hpp>         // jit

#include <algorithm>  // find
#include <span>       // span

namespace tokamax::models {

/// T5 that writes. The keys and values of what was read and of what was written stay in a cache; one program reads, and one writes a
/// token. Texts that are read are filled up to a multiple of 32 tokens, so that few lengths are traced.
class t5_generator {
 public:
  /// `most` is the most tokens of a text that is written.
  /// errors  "t5_generator: most"
  t5_generator(t5 model, any_device where, std::int64_t most = 256) : config_(model.config), most_(most) {
    if (most < 1) throw error("t5_generator: most", std::to_string(most), "1 or more");
    const auto weights = device_put(std::move(model), where);
    read_ = [weights,
             program = jit([](const t5& m, const array& ids, const array& lengths,
                              const array& room) { return m.begin(ids, lengths, room.extent(0)); },
                           where),
             room = device_put(zeros({most}, i32), where)](const array& ids, const array& lengths) {
      return program(weights, ids, lengths, room);
    };
    write_ = [weights, program = jit([](const t5& m, const array& token, const array& position, const t5_cache& cache,
                                        const array& lengths) { return m.step(token, position, cache, lengths); },
                                     where)](const array& token, const array& position, t5_cache&& cache,
                                             const array& lengths) {
      return program(weights, token, position, std::move(cache), lengths);
    };
  }
  const t5_config& config() const { return config_; }

  /// Calls `said(id)` with each token of the answer to `ids`, until it is one of `ends` (which is not said), there are as many as there
  /// is room for, or `said` returns false. Returns the tokens.
  /// errors  "t5_generator: tokens" if there are none, or an id that the vocabulary does not have
  template <class F>
  std::vector<std::int32_t> operator()(std::span<const std::int32_t> ids, const sampling& how,
                                       std::span<const std::int32_t> ends, const F& said) {
    if (ids.empty()) throw error("t5_generator: tokens", "none", "one or more");
    for (const std::int32_t id : ids)
      if (id < 0 || id >= config_.vocabulary)
        throw error("t5_generator: tokens", "id " + std::to_string(id),
                    "0 to " + std::to_string(config_.vocabulary - 1));
    std::vector<std::int32_t> filled(ids.begin(), ids.end());
    filled.resize((ids.size() + 31) / 32 * 32, 0);
    const array lengths = array::from<std::int32_t>({static_cast<std::int32_t>(ids.size())});
    t5_cache cache = read_(array::from<std::int32_t>(filled, {1, std::ssize(filled)}), lengths);
    std::vector<std::int32_t> result;
    std::int32_t last = config_.start;
    for (std::int32_t i = 0; i < most_; ++i) {
      t5_step y =
          write_(array::from<std::int32_t>({last}, {1, 1}), array(i, {i32, false, {}}), std::move(cache), lengths);
      cache = std::move(y.cache);
      last = sample(y.logits.values<float>(), how, i);
      if (std::find(ends.begin(), ends.end(), last) != ends.end()) break;
      result.push_back(last);
      if (!said(last)) break;
    }
    return result;
  }

 private:
  t5_config config_;
  std::int64_t most_;
  compiled<t5_cache(const array&, const array&)> read_;  // with the weights
  compiled<t5_step(const array&, const array&, t5_cache&&, const array&)> write_;
};

}  // namespace tokamax::models
