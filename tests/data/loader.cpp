// tests/data/loader.cpp: records by epochs, shards and stages in one call, in Grain's order.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/loader.hpp>

#include <tokamax/data/list.hpp>
#include <tokamax/data/stream/filter.hpp>

#include <cstdlib>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax::data;
using numbers = std::vector<std::int64_t>;

namespace {
numbers order(std::int64_t records, const load_options& options, std::int64_t epochs = 1) {
  const index_sampler sampler(records, options);
  numbers result;
  for (std::int64_t i = 0; i < epochs * sampler.size(); ++i) result.push_back(sampler[i]);
  return result;
}
numbers all(const auto& pipeline) {
  numbers result;
  for (auto reader = pipeline.from(); const auto& [step, value] : reader) result.push_back(value);
  return result;
}
}  // namespace

TEST_CASE("shards are ranges, each in an order of its own, as Grain has them") {
  CHECK(order(6, {.shard = {1, 3}}) == numbers{2, 3});
  CHECK(order(8, {.shard = {2, 3}}) == numbers{4, 5});
  const auto kept = [](std::int64_t i) { return order(8, {.shuffle = true, .seed = 32, .shard = {i, 3, true}}); };
  CHECK(kept(0) == numbers{2, 1, 0});
  CHECK(kept(1) == numbers{5, 4, 3});
  CHECK(kept(2) == numbers{6, 7});
  CHECK(order(5, {.shuffle = true, .seed = 32}, 2) == numbers{2, 4, 3, 0, 1, 0, 2, 4, 1, 3});
  CHECK_THROWS_WITH(order(2, {.shard = {2, 3}}), contains("records of a shard: found 0"));
  CHECK_THROWS_WITH(order(9, {.shard = {3, 3}}), contains("shard: found 3 of 3"));
}

TEST_CASE("a source is loaded through stages") {
  const list<std::int64_t> source({10, 20, 30, 40, 50});
  CHECK(all(load(source, {})) == numbers{10, 20, 30, 40, 50});
  const auto pipeline =
      load(source, {.epochs = 2, .shuffle = true, .seed = 32, .prefetch = {.threads = 3, .elements = 4}},
           map([](std::int64_t x) { return x + 1; }), filter([](std::int64_t x) { return x != 31; }));
  CHECK(all(pipeline) == numbers{51, 41, 11, 21, 11, 51, 21, 41});
  auto reader = pipeline.from();
  for (int i = 0; i < 3; ++i) reader.next();
  auto again = pipeline.from(reader.state());
  CHECK(again.next()->value == 21);
  auto endless = load(source, {.epochs = 0}).from();
  for (int i = 0; i < 12; ++i) endless.next();
  CHECK(endless.next()->value == 30);
}

TEST_CASE("records know their number, their place and a key") {
  const auto known = records(list<std::int64_t>({10, 20, 30, 40, 50}), {.shuffle = true, .seed = 32});
  const auto bits = [&](std::int64_t i) { return known[i].metadata.rng.values<std::uint32_t>()[1]; };
  const loaded_record<std::int64_t> one = known[6];
  CHECK(one.data == 30);
  const record_metadata& about = one.metadata;
  CHECK(about.index == 6);
  CHECK(about.record_key == 2);
  CHECK(bits(6) == bits(6));
  CHECK(bits(6) != bits(1));
}

TEST_CASE("a process finds its shard in the environment") {
  const auto shard = [](const char* index, const char* count) {
    ::setenv("SLURM_PROCID", index, 1);
    ::setenv("SLURM_NTASKS", count, 1);
    return shard_of_process();
  };
  for (const char* other : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) ::unsetenv(other);
  CHECK(shard("2", "3").index == 2);
  CHECK(shard("2", "3").count == 3);
  CHECK_THROWS_WITH(shard("2x", "3"), contains("SLURM_PROCID: found 2x"));
  CHECK_THROWS_WITH(shard("-1", "3"), contains("found -1"));
  ::unsetenv("SLURM_PROCID");
  CHECK(shard_of_process().count == 1);
}
