// tests/lax/shapes/reverse.cpp: opposite order along axes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/shapes/reverse.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
const bool known = (reference_rules()[&reverse_p] = [](const asked& a) -> values {
  const axes flipped = a.attrs<reverse_options>().dimensions;
  value out = zeros_of(a.n.type);
  for_each_place(a.n.type.shape, [&](shape at, std::size_t i) {
    for (int k = 0; k < at.rank(); ++k)
      if (flipped.contains(k)) at[k] = a.n.type.shape[k] - 1 - at[k];
    out.data[place(a.n.type.shape, at)] = a.in[0].data[i];
  });
  return {out};
}, true);
}  // namespace

TEST_CASE("reverse keeps the contract") {
  check_op(reverse_p, {{{noise({2, 3, 4}, 1)}, pack(reverse_options{{0}})},
                       {{noise({2, 3, 4}, 1)}, pack(reverse_options{{1, 2}})},
                       {{noise({5}, 1, bf16)}, pack(reverse_options{{0}})},
                       {{noise({1, 3}, 1)}, pack(reverse_options{{0}})}});
  check_function([](const arrays& x) -> arrays { return reverse(x[0], {-1}); }, {noise({2, 3}, 1)});
}

TEST_CASE("an axis that is not there is rejected") {
  CHECK_THROWS_WITH(reverse(zeros({2, 3}), {2}), contains("reverse: axes: found [2], expected axes of f32[2,3]"));
}

TEST_CASE("special values keep their bits when reversed") {
  for (const shape& s : {shape{83, 37}, {0, 5}, {53, 1}})
    check_adversarial([](const arrays& x) -> arrays { return {reverse(x[0], {0}), reverse(x[0], {0, 1})}; },
                      {sprinkled(s, 3)});
}
