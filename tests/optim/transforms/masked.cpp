// tests/optim/transforms/masked.cpp: transforms for parameters chosen by path, against Optax.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/adaptive/adam.hpp>
#include <tokamax/optim/descent/sgd.hpp>
#include <tokamax/optim/transforms/clip.hpp>
#include <tokamax/optim/transforms/masked.hpp>
#include <tokamax/optim/wrappers/multi_steps.hpp>

#include <string>

#include "support/contains.hpp"
#include "support/three_leaves.hpp"

namespace optim = tokamax::optim;
namespace tk = tokamax;
using tk::array;
using tk::matching;
using tk::test::check_leaves;
using tk::test::three_leaves;

namespace {

constexpr auto by_name = [](std::string_view path) { return path.substr(path.find_last_of('.') + 1); };
constexpr auto labelled_transforms = [] {
  return optim::multi_transform(
      by_name,
      optim::labelled{"kernel", optim::chain(optim::clip_by_global_norm(0.5),
                                             optim::adamw({.learning_rate = 0.1, .weight_decay = 0.1}))},
      optim::labelled{"bias", optim::sgd({.learning_rate = 0.05, .momentum = 0.9})},
      optim::labelled{"head", optim::set_to_zero{}});
};

}  // namespace

TEST_CASE("weight decay, masks, frozen parameters and labels follow Optax") {
  check_leaves("masked_decay", [] {
    return optim::adamw(optim::adamw_options{.learning_rate = 0.1, .weight_decay = 0.5, .only = matching("*.kernel")});
  });
  check_leaves("masked_adam", [] { return optim::masked(optim::adam({.learning_rate = 0.1}), matching("blocks")); });
  check_leaves("frozen_bias", [] {
    return optim::chain(optim::clip_by_global_norm(1.0), optim::adam({.learning_rate = 0.1}),
                        optim::freeze([](std::string_view path, const array& a) {
                          return a.rank() == 1 && tk::path_matches(path, "blocks[*].bias");
                        }));
  });
  check_leaves("multi_transform", labelled_transforms);
}

TEST_CASE("there is no state for what a transform leaves alone") {
  const auto optimizer = optim::masked(optim::adam({.learning_rate = 0.1}), matching("head"));
  const auto state = optimizer.init(three_leaves{});
  std::int64_t elements = 0;
  tk::for_each_leaf([&](const array& a) { elements += a.size(); }, state);
  CHECK(elements == 2 + 3 + 3 + 1);  // two counts, mu and nu of the head, and the last rate
}

TEST_CASE("every label has a transform") {
  constexpr int line = __LINE__ + 1;
  const auto some = optim::multi_transform(by_name, optim::labelled{"kernel", optim::identity{}},
                                           optim::labelled{"head", optim::identity{}});
  CHECK_THROWS_WITH(some.init(three_leaves{}),
                    contains("multi_transform: label of a parameter: found none of those that were given, of "
                             "blocks[0].bias, expected a label with a transform") &&
                        contains("masked.cpp:" + std::to_string(line)));
  CHECK_THROWS_WITH(optim::masked(optim::identity{}, matching("blokcs")).init(three_leaves{}),
                    contains("masked: filter: found one that selects no leaf, expected at least one, or allow_none") &&
                        contains("masked.cpp:"));
  enum class group { all };
  const auto all =
      optim::multi_transform([](const array&) { return group::all; }, optim::labelled{group::all, optim::scale{3.0}});
  const array g = array::from<float>({1, 2});
  CHECK(all.update(g, all.init(g), g).first.values<float>()[1] == 6.0f);
}

TEST_CASE("gradients are averaged before masked transforms too") {
  const auto optimizer = optim::multi_steps(optim::masked(optim::scale{2.0}, matching("head")), 2);
  const three_leaves p, g{{{{tk::ones({3}), tk::ones({3})}}}, tk::ones({3})};
  auto [first, s] = optimizer.update(g, optimizer.init(p), p);
  CHECK(first.head.values<float>()[0] == 0.0f);
  auto [second, t] = optimizer.update(g, s, p);
  CHECK(second.head.values<float>()[0] == 2.0f);
  CHECK(second.blocks[0].bias.values<float>()[0] == 1.0f);
}
