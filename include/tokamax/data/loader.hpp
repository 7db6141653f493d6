// tokamax/data/loader.hpp: the usual pipeline in one call: records in an order, by epochs and shards, through stages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/map.hpp>            // map, map_with_index
#include <tokamax/data/prefetch.hpp>       // prefetch
#include <tokamax/data/shuffle.hpp>        // permutation
#include <tokamax/data/stream/repeat.hpp>  // repeat
#include <tokamax/data/stream/shard.hpp>   // shard_options

namespace tokamax::data {

struct load_options {
  std::int64_t epochs = 1;  ///< 0 for no end
  bool shuffle = false;
  std::uint32_t seed = 0;
  shard_options shard = {};  ///< each process has a part of its own; with `keep_rest` the first have one record more
  prefetch_options prefetch = {};  ///< threads and elements that are made ahead
};

/// The numbers of the records of one shard, a range of them, in another order in each epoch if they are shuffled.
/// source  grain.samplers.IndexSampler
class index_sampler : public dataset<index_sampler> {
 public:
  /// errors  tokamax::error if the shard's index is not below the count, or it has no record
  index_sampler(std::int64_t records, const load_options& options) : shuffle_(options.shuffle), seed_(options.seed) {
    const auto [index, count, keep_rest] = options.shard;
    if (count < 1 || index < 0 || index >= count)
      throw error("index_sampler: shard", std::to_string(index) + " of " + std::to_string(count),
                  "an index below the count");
    const std::int64_t rest = keep_rest ? records % count : 0;
    first_ = records / count * index + std::min(index, rest);
    size_ = records / count + (index < rest ? 1 : 0);
    if (size_ < 1) throw error("index_sampler: records of a shard", std::to_string(size_), "1 or more");
  }
  std::int64_t size() const { return size_; }
  std::int64_t operator[](std::int64_t index) const {
    if (!shuffle_) return first_ + index % size_;
    return first_ + permutation(size_, seed_ + static_cast<std::uint32_t>(index / size_))(index % size_);
  }

 private:
  bool shuffle_;
  std::uint32_t seed_;
  std::int64_t first_ = 0, size_ = 0;
};

struct record_metadata {
  std::int64_t index;       ///< the number of those before it, over all epochs
  std::int64_t record_key;  ///< its number in the source
  random::key rng;          ///< a key of its own
};
template <class T>
struct loaded_record {
  record_metadata metadata;
  T data;
};

/// The records of a source, as an `index_sampler` orders them, with what is known of each.
/// source  grain.Record
template <indexed Source>
auto records(Source source, const load_options& options = {}) {
  const index_sampler sampler(source.size(), options);
  return sampler |
         map_with_index([source = std::move(source), seed = options.seed](std::int64_t index, std::int64_t key) {
           return loaded_record<element<Source>>{{index, key, detail::key_of_element(seed, index)}, source[key]};
         });
}

/// Reads a source by epochs through stages: `load(rows, {.epochs = 3, .shuffle = true}, map(f), batch<example>(32))`. Its `from()` is a reader. The same stages can be
/// joined by `|`, which also allows other orders.
/// errors  as index_sampler, `repeat` and `prefetch`
/// source  grain.load, grain.DataLoader
template <indexed Source, class... Stage>
auto load(Source source, const load_options& options, Stage... stages) {
  const index_sampler sampler(source.size(), options);
  auto in_order = sampler | map([source = std::move(source)](std::int64_t key) { return source[key]; });
  return ((std::move(in_order) | repeat(options.epochs)) | ... | stages) | prefetch(options.prefetch);
}

}  // namespace tokamax::data
