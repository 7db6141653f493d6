// tests/core/leaf_filter.cpp: filters by kind and path, joined, in partitions and optimisers.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/leaf_filter.hpp>

#include <tokamax/nn/norms/batch_norm.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;
using tk::matching;
using tk::of_kind;

namespace {
struct adapter : array {
  constexpr adapter() = default;
  constexpr adapter(const array& a) : array(a) {}
};
struct block {
  nn::linear up{2, 2};
  nn::batch_norm norm{2};
  adapter low = tk::ones({2, 1});
};
struct model {
  std::array<block, 2> blocks;
  tk::random::key key = tk::random::key(1);
};

struct many {
  std::vector<block> blocks = std::vector<block>(11);
  std::optional<nn::linear> head = nn::linear{2, 3}, none;
  nn::linear last{3, 1};
};

template <class Filter>
constexpr int kept(const Filter& chosen) {
  const model all, some = tk::filter(all, chosen);
  int count = 0;
  tk::for_each_leaf([&](const array& a) { count += !tk::is_absent(a); }, some);
  return count;
}
constexpr auto is_vector = [](const array& a) { return a.rank() == 1; };
static_assert(kept(tk::trainable) == 11 && kept(!tk::trainable) == 4);
static_assert(kept(of_kind<nn::statistic>) == 4 && kept(of_kind<adapter>) == 2 && kept(of_kind<array>) == 15);
static_assert(kept(of_kind<tk::not_trained>) == 4 && kept(of_kind<tk::random::key>) == 1);
static_assert(kept(matching("blocks[0]") && of_kind<nn::statistic>) == 2);
static_assert(kept(of_kind<adapter> || matching("*.kernel")) == 4);
static_assert(kept(!matching("blocks")) == 1 && kept(!(!matching("blocks"))) == 14);
static_assert(kept(tk::trainable && is_vector) == 7 && kept(is_vector && !of_kind<tk::random::key>) == 10);
static_assert(kept(tk::of_layer<nn::linear>) == 4 && kept(tk::of_layer<block>) == 14 &&
              kept(tk::of_layer<model>) == 15);
static_assert(kept(tk::of_layer<nn::batch_norm> && of_kind<nn::statistic>) == 4 && kept(tk::of_layer<nn::embed>) == 0);
static_assert(kept(!tk::of_layer<nn::batch_norm> && tk::trainable) == 7);
static_assert(kept(tk::of_layer<nn::linear> || (matching("blocks[0]") && tk::of_layer<nn::batch_norm>)) == 8);
static_assert(kept(matching("none") || (matching("blocks[1]") && !of_kind<adapter> && is_vector)) == 5);
}  // namespace

TEST_CASE("optimisers take filters, and one that selects nothing is an error") {
  namespace optim = tk::optim;
  const model m = tk::init<model>(tk::random::key(0));
  const auto ones = tk::tree_map([](const array& a) { return tk::ones_like(a); }, m);
  const auto frozen = optim::chain(optim::sgd(1.0), optim::freeze(!of_kind<adapter>));
  const auto [updates, state] = frozen.update(ones, frozen.init(m), m);
  CHECK(updates.blocks[1].low.values<float>()[0] == -1.0f);
  CHECK(updates.blocks[1].up.kernel.values<float>()[0] == 0.0f);
  const auto decays = optim::add_decayed_weights{0.5, of_kind<adapter> && matching("blocks[0]")};
  const auto decayed = decays.update(ones, decays.init(m), m).first;
  CHECK(decayed.blocks[0].low.values<float>()[0] == 1.5f);
  CHECK(decayed.blocks[1].low.values<float>()[0] == 1.0f);
  CHECK(decayed.blocks[0].norm.variance.values<float>()[0] == 1.0f);
  CHECK_THROWS_WITH(optim::masked(optim::sgd(1.0), matching("block[0]")).init(m),
                    contains("masked: filter") && contains("leaf_filter.cpp"));
  CHECK_THROWS_WITH(optim::freeze(of_kind<nn::statistic> && of_kind<adapter>).init(m), contains("selects no leaf"));
  CHECK_NOTHROW(optim::masked(optim::sgd(1.0), matching("block[0]"), optim::allow_none).init(m));
}

TEST_CASE(
    "filters by layers choose in optimisers, vectors and alternatives, and partitions refuse filters that select "
    "nothing") {
  namespace optim = tk::optim;
  const many m = tk::init(many{}, tk::random::key(0));
  const auto [linear, rest] = tk::partition(m, tk::of_layer<nn::linear> && !matching("blocks[1]"));
  CHECK(tk::is_absent(linear.blocks[1].up.kernel));
  CHECK_FALSE(tk::is_absent(linear.blocks[10].up.kernel));  // "blocks[1]" is not the beginning of its path
  CHECK_FALSE(tk::is_absent(linear.head->kernel));
  CHECK(tk::is_absent(linear.blocks[0].norm.scale));
  CHECK(tk::is_absent(rest.last.kernel));
  CHECK_FALSE(tk::is_absent(rest.blocks[1].up.bias));
  const auto ones = tk::tree_map([](const array& a) { return tk::ones_like(a); }, m);
  const auto optimizer = optim::chain(optim::sgd(1.0), optim::freeze(tk::of_layer<nn::linear>));
  const auto updates = optimizer.update(ones, optimizer.init(m), m).first;
  CHECK(updates.last.kernel.values<float>()[0] == 0.0f);
  CHECK(updates.blocks[3].low.values<float>()[0] == -1.0f);
  CHECK_THROWS_WITH(tk::partition(m, tk::of_layer<nn::embed>),
                    contains("partition: filter") && contains("selects no leaf") && contains("leaf_filter.cpp"));
  CHECK_THROWS_WITH(tk::partition(m, matching("block")), contains("partition: filter"));
  CHECK(tk::is_absent(tk::partition(m, matching("block"), tk::allow_none).first.last.kernel));
  many empty;
  empty.blocks.clear();
  std::string records;
  tk::for_each_record_with_path([&](std::string_view path, const auto&) { records.append(path).append(";"); },
                                std::pair{empty, nn::linear{}});
  CHECK(records == "[0];[0].head;[0].last;[1];");  // a pair is no record, and what is not there is none
}
