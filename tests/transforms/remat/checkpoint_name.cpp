// tests/transforms/remat/checkpoint_name.cpp: names change no value.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/transforms/remat/checkpoint_name.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("checkpoint_name keeps the contract") {
  reference_rules()[&checkpoint_name_p] = [](const asked& a) { return a.in; };
  check_op(checkpoint_name_p, {{{noise({2, 3}, 1)}, pack(checkpoint_name_attributes{"ab"})},
                               {{noise({0}, 1)}, pack(checkpoint_name_attributes{})}});
  CHECK(to_value(checkpoint_name(array(2.0f), "two")).data == std::vector<double>{2});
  for (const dtype t : every_dtype)
    check_adversarial([](const arrays& x) -> arrays { return checkpoint_name(x[0], "x"); },
                      {adversarial({9, 37}, 3, t)});
}
