// tokamax/data/stream/shard.hpp: the part of a stream that one of several processes reads.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/stream/stream.hpp>  // stream_stage

#include <charconv>     // from_chars
#include <cstdlib>      // getenv
#include <string_view>  // string_view

namespace tokamax::data {

struct shard_options {
  std::int64_t index = 0, count = 1;
  bool keep_rest = false;  ///< of the last round, in which there is not an element for each
};

namespace detail {

template <class Source, class Options>
class sharded {
 public:
  sharded(Source source, Options options) : source_(std::move(source)), options_(options) {}
  std::optional<ticket_of<Source>> take() {
    std::optional<ticket_of<Source>> mine;
    for (std::int64_t i = 0; i < options_.count; ++i) {
      std::optional<ticket_of<Source>> ticket = source_.take();
      if (!ticket && !options_.keep_rest) return std::nullopt;
      if (!ticket) break;
      if (i == options_.index) mine = std::move(ticket);
    }
    return mine;
  }
  made_by<Source> make(ticket_of<Source> ticket) const { return source_.make(std::move(ticket)); }
  state_of<Source> state() const { return source_.state(); }
  void set_state(const state_of<Source>& state) { source_.set_state(state); }

 private:
  Source source_;
  Options options_;
};

}  // namespace detail

/// The shard of this process among those that torchrun, Open MPI, PMI or SLURM has started, by its number in the environment; the only
/// one in other processes.
/// errors  tokamax::error if these variables are no numbers
/// source  grain.sharding.ShardByJaxProcess
inline shard_options shard_of_process(bool keep_rest = false) {
  constexpr const char* names[][2] = {{"RANK", "WORLD_SIZE"},
                                      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                      {"PMI_RANK", "PMI_SIZE"},
                                      {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [index, count] : names) {
    if (!std::getenv(index) || !std::getenv(count)) continue;
    const auto number = [](const char* name) {
      const std::string_view text = std::getenv(name);
      std::int64_t value = -1;
      const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (failure != std::errc() || end != text.data() + text.size() || value < 0)
        throw error("shard_of_process: " + std::string(name), std::string(text), "a number from 0 on");
      return value;
    };
    return {number(index), number(count), keep_rest};
  }
  return {0, 1, keep_rest};
}

/// Element `index` of each `count` elements. All shards go through the same order, and stages before this one do their work
/// only for elements of the shard where they can. The state after so many elements is the same in all shards, and
/// holds nothing of their number: a run goes on with any other number of shards, also after filters, packing and mixes.
/// errors  tokamax::error if the index is not below the count
inline auto shard(shard_options options) {
  if (options.count < 1 || options.index < 0 || options.index >= options.count)
    throw error("shard: index and count", std::to_string(options.index) + " of " + std::to_string(options.count),
                "an index from 0 to below the count");
  return detail::stream_stage<detail::sharded>(options);
}

}  // namespace tokamax::data
