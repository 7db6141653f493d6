// tests/support/threads.hpp: the results of a function do not depend on the number of threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/check_op.hpp"

namespace tokamax::test {

/// f gives the same bits with 1, 2, 3 and 5 threads.
inline void check_same_bits(const function& f, const std::vector<array>& inputs) {
  std::vector<array> one;
  for (int threads : {1, 2, 3, 5}) {
    cpu_backend::set_num_threads(threads);
    const std::vector<array> found = listed(execute_graph(trace(f, types_of(inputs)), listed(inputs)));
    if (threads == 1) one = found;
    CAPTURE(threads);
    CHECK(bit_difference(found, one) == "");
  }
  cpu_backend::set_num_threads(0);
}

/// And these are the reference's values.
inline void check_threads(const function& f, const std::vector<array>& inputs, double tolerance = 3e-6) {
  check_same_bits(f, inputs);
  check_values(f, inputs, tolerance, false);
}

}  // namespace tokamax::test
