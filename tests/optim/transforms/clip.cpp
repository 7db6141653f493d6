// tests/optim/transforms/clip.cpp: norms, and updates kept inside bounds.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/descent/sgd.hpp>
#include <tokamax/optim/transforms/clip.hpp>

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

TEST_CASE("norms beyond the range of squares, of a dtype, or of 0 clip as their mathematics says") {
  namespace tk = tokamax;
  const auto clipped = [](double most, const auto& tree) {
    return optim::clip_by_global_norm(most).update(tree, {}, tree).first;
  };
  CHECK(tk::test::distance(clipped(0, tk::zeros({3})), tk::zeros({3})) == 0);
  CHECK(tk::test::distance(clipped(0, tk::ones({3})), tk::zeros({3})) == 0);

  const array large = array::from<float>({3e30f, 4e30f, 0.0f});
  CHECK(optim::global_norm(large).item() == Approx(5e30f));
  CHECK(tk::test::distance(clipped(1, large), array::from<float>({0.6f, 0.8f, 0.0f})) < 1e-6);
  CHECK(tk::test::distance(clipped(1, tk::full({4}, 3e38f)), tk::full({4}, 0.5f)) < 1e-6);  // the norm is infinite
  CHECK(tk::test::distance(clipped(1e31, large), large) == 0);

  const array halves = tk::full({10000}, 1000.0f, tk::f16);  // a norm of 100,000
  const array few = clipped(1000, halves);
  CHECK(few.dtype() == tk::f16);
  CHECK(tk::test::distance(tk::astype(few, tk::f32), tk::full({10000}, 10.0f)) == 0);

  const array doubles = tk::array::from<double>({3e200, 4e200});
  const std::pair mixed = clipped(5, std::pair{doubles, array::from<float>({1.0f})});
  CHECK(optim::global_norm(doubles).item<double>() == Approx(5e200));
  CHECK(mixed.first.dtype() == tk::f64);
  CHECK(mixed.first.values<double>()[1] == Approx(4.0).epsilon(1e-14));
  CHECK(mixed.second.dtype() == tk::f32);
  CHECK(clipped(1, tk::array::from<double>({0.1})).template values<double>()[0] == 0.1);
}
