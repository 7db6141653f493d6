// tests/optim/parameter_average.cpp: moving averages of the parameters of a model.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/parameter_average.hpp>

#include <tokamax/nn/norms/batch_norm.hpp>
#include <tokamax/tokamax.hpp>

#include <cmath>

#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;

namespace parameter_average_test {  // with a name, for clang
struct network {
  tk::nn::linear up{3, 4};
  tk::nn::batch_norm norm{4};
  array narrow = tk::ones({2}, tk::bf16);
};
network numbered(float v) {
  return tk::tree_map([&](const array& a) { return tk::full(a.shape(), v, a.dtype()); }, network{});
}
}  // namespace parameter_average_test
using namespace parameter_average_test;

TEST_CASE("averages follow parameters, and other leaves stay those of the model") {
  auto shadow = tk::optim::average_of(numbered(0));
  const auto update = tk::jit(
      [](tk::optim::parameter_average<network> a, const network& m) {
        a.update(m, 0.9);
        return a;
      },
      tk::cpu);
  double expected = 0;
  for (int i = 1; i <= 5; ++i) {
    shadow = update(std::move(shadow), numbered(static_cast<float>(i)));
    expected = 0.9 * expected + 0.1 * i;
  }
  const network found = shadow.apply_to(numbered(7));
  CHECK(std::fabs(found.up.kernel.values<float>()[0] - expected) < 1e-6);
  CHECK(found.norm.average.values<float>()[0] == 7);
  CHECK(found.narrow.dtype() == tk::bf16);
  CHECK(shadow.average.narrow.dtype() == tk::f32);
  CHECK(tk::is_absent(shadow.average.norm.average));
}

TEST_CASE("an average of bf16 parameters does not stop moving") {
  auto shadow = tk::optim::average_of(numbered(1));
  for (int i = 0; i < 50; ++i) shadow.update(numbered(2), 0.9999);
  CHECK(shadow.average.narrow.values<float>()[0] > 1.004f);
  CHECK_THROWS_WITH(shadow.update(numbered(1), 1.5),
                    contains("parameter_average: decay") && contains("above 1") && contains("parameter_average.cpp"));
}
