// tests/optim/clip.cpp: norms, and updates kept inside bounds.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/clip.hpp>
#include <tokamax/optim/sgd.hpp>

#include "support/trajectory.hpp"

namespace optim = tokamax::optim;
using tokamax::array;
using tokamax::test::check_trajectory;

TEST_CASE("clipping follows Optax") {
  check_trajectory("clip_1_sgd", [] { return optim::chain(optim::clip_by_global_norm(1), optim::sgd(0.1)); });
  check_trajectory("clip_1000_sgd", [] { return optim::chain(optim::clip_by_global_norm(1000), optim::sgd(0.1)); });
  check_trajectory("clip_value_2_sgd", [] { return optim::chain(optim::clip_by_value(2), optim::sgd(0.1)); });
}

TEST_CASE("the global norm is that of all leaves together") {
  const std::pair tree{array::from<float>({1, 2}), array::from<float>({-2, 4})};
  CHECK(optim::global_norm(tree).item() == 5);
  CHECK(optim::global_norm(std::pair{tree, array::from<std::int32_t>({100})}).item() == 5);
}
