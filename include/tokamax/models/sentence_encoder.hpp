// tokamax/models/sentence_encoder.hpp: a row of numbers for each sentence, alike for sentences that mean the same.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/bert.cpp
#pragma once

#include <tokamax/core/symbolic.hpp>       // symbolic
#include <tokamax/models/bert.hpp>         // bert
#include <tokamax/runtime/compiled.hpp>    // compiled
#include <tokamax/runtime/device_put.hpp>  // device_put
#include <tokamax/runtime/jit.hpp>         // jit

#include <algorithm>  // sort
#include <numeric>    // iota

namespace tokamax::models {

/// Embeds sentences by an encoder. Sentences of one length are computed together, so none is padded, and the bits of a row do not depend
/// on the other sentences. One program serves all numbers and lengths of sentences.
class sentence_encoder {
 public:
  /// `longest` is the most tokens of a sentence; 0: as many as the encoder has learned.
  /// errors  "sentence_encoder: longest"
  sentence_encoder(bert model, any_device where, std::int64_t longest = 0)
      : config_(model.config), longest_(longest == 0 ? config_.context : longest) {
    if (longest_ < 2 || longest_ > config_.context)
      throw error("sentence_encoder: longest", std::to_string(longest), "2 to " + std::to_string(config_.context));
    const auto embed = [](const bert& m, const array& ids) { return m.embed(ids); };
    run_ = [program = jit(embed, where), weights = device_put(std::move(model), where)](const array& ids) {
      return program(weights, symbolic(ids));
    };
  }
  /// The rows of sentences, each of length 1, on the host; their products say how alike two of them are. Of a sentence that is too
  /// long the last token stays, which ends it, and those before it are cut.
  /// shapes  f32 [sentences, width]
  /// errors  "sentence_encoder: tokens" for a sentence without tokens, or an id that the vocabulary does not have
  array operator()(const std::vector<std::vector<std::int32_t>>& sentences) {
    std::vector<std::size_t> order(sentences.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto size = [&](std::size_t i) { return std::min<std::int64_t>(std::ssize(sentences[i]), longest_); };
    for (const std::size_t i : order) require_tokens(sentences[i]);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return size(a) != size(b) ? size(a) < size(b) : a < b; });
    const std::int64_t width = config_.width;
    array rows = array::uninitialized({f32, false, {std::ssize(sentences), width}});
    for (std::size_t first = 0, last; first < order.size(); first = last) {
      last = first;
      const std::int64_t length = size(order[first]);
      std::vector<std::int32_t> ids;
      while (last < order.size() && size(order[last]) == length && last - first < most_together) {
        const auto& s = sentences[order[last++]];
        ids.insert(ids.end(), s.begin(), s.begin() + (length - 1));
        ids.push_back(s.back());
      }
      const auto count = static_cast<std::int64_t>(last - first);
      const array y = run_(array::from<std::int32_t>(ids, {count, length}));
      const auto values = y.values<float>();
      for (std::int64_t i = 0; i < count; ++i)
        std::copy_n(
            values.begin() + i * width, width,
            rows.mutable_data<float>() + static_cast<std::int64_t>(order[first + static_cast<std::size_t>(i)]) * width);
    }
    return rows;
  }
  const bert_config& config() const { return config_; }

 private:
  static constexpr std::size_t most_together = 32;

  void require_tokens(const std::vector<std::int32_t>& sentence) const {
    if (sentence.empty()) throw error("sentence_encoder: tokens", "none", "one or more of each sentence");
    for (const std::int32_t id : sentence)
      if (id < 0 || id >= config_.vocabulary)
        throw error("sentence_encoder: tokens", "id " + std::to_string(id),
                    "0 to " + std::to_string(config_.vocabulary - 1));
  }

  bert_config config_;
  std::int64_t longest_;
  compiled<array(const array&)> run_;  // with the weights
};

}  // namespace tokamax::models
