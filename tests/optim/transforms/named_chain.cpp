// tests/optim/transforms/named_chain.cpp: chains whose parts go by names.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;

TEST_CASE("a named chain is a chain whose states have names") {
  const auto named = optim::named_chain(optim::named<"clip">(optim::clip_by_value(3.0)),
                                        optim::named<"adam">(optim::adam({.learning_rate = 0.1})));
  const auto plain = optim::chain(optim::clip_by_value(3.0), optim::adam({.learning_rate = 0.1}));
  const array g = array::from<float>({1, 5, -2}), p = tk::zeros({3});
  auto state = named.init(p);
  const auto [u, next] = named.update(g, state, p);
  CHECK(tk::test::distance(u, plain.update(g, plain.init(p), p).first) == 0);
  std::string paths;
  tk::for_each_leaf_with_path([&](std::string_view path, const array&) { (paths += path) += ' '; }, next, "opt_state");
  CHECK(paths ==
        "opt_state.adam[0].count opt_state.adam[0].mu opt_state.adam[0].nu opt_state.adam[1].count "
        "opt_state.adam[1].learning_rate ");
  static_assert(optim::gradient_transform<decltype(named)>);
}
