// tests/optim/second_order/curvature.cpp: optimisers with curvatures and projections, step by step as in tests/golden/optimisers.txt.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

#include <tokamax/tokamax.hpp>

#include <limits>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"
#include "support/optimiser_rows.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;
using tk::test::check_optimiser;
using tk::test::loss_functions;

TEST_CASE("Sophia and GaLore") {
  check_optimiser<loss_functions>("sophia", optim::sophia({.learning_rate = 0.02}));
  check_optimiser<loss_functions>("sophia_options",
                                  optim::sophia({.learning_rate = 0.05,
                                                 .b1 = 0.8,
                                                 .b2 = 0.9,
                                                 .eps = 1e-3,
                                                 .weight_decay = 0.05,
                                                 .gamma = 0.5,
                                                 .clip_threshold = std::numeric_limits<double>::infinity(),
                                                 .update_interval = 3}));
  check_optimiser("galore", optim::galore({.learning_rate = 0.05, .rank = 2, .update_proj_gap = 4}), 1e-4);
  check_optimiser(
      "galore_options",
      optim::galore({.learning_rate = 0.05, .rank = 1, .update_proj_gap = 7, .factor = 0.5, .weight_decay = 0.05}),
      1e-4);
  CHECK_THROWS_WITH(optim::scale_by_galore<>{.rank = 0}.init(tk::ones({2, 2})), contains("galore: rank: found 0"));
}

TEST_CASE("the diagonal of a Hessian is exact where there is nothing else") {
  struct quadratic {
    array obj_fn(const array& p) const { return tk::sum(array::from<float>({1, 2, 3}) * p * p); }
  };
  const optim::hutchinson_estimator_diag_hessian estimate;
  const array p = tk::ones({3});
  const auto [diagonal, next] = estimate.update(p, estimate.init(p), p, quadratic{});
  CHECK(tk::test::distance(diagonal, array::from<float>({2, 4, 6})) < 1e-6);
}
