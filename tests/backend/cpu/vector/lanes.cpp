// tests/backend/cpu/vector/lanes.cpp: vectors of each element type come back as they were stored.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/vector/lanes.hpp>

#include "support/catch.hpp"

using namespace tokamax;

TEST_CASE("whole and partial vectors round trip") {
  for (dtype t : {bool_, i8, i32, u32, bf16, f32})
    dispatch(t, []<dtype Element>() {
      using T = element_t<Element>;
      using L = cpu_backend::lanes<T>;
      CAPTURE(static_cast<int>(dtype_of<T>));
      T from[64], to[64];
      for (int i = 0; i < 64; ++i) from[i] = static_cast<T>(static_cast<float>(i % 3 == 1 ? 1 : i % 3 * 3 % 4));
      for (std::int64_t n = 1; n <= L::size; ++n) {
        for (T& x : to) x = static_cast<T>(static_cast<float>(1));
        if (n == L::size)
          L::store(to, L::load(from));
        else
          L::store(to, L::load(from, n, static_cast<typename L::scalar>(static_cast<T>(static_cast<float>(0)))), n);
        for (std::int64_t i = 0; i < 64; ++i)
          CHECK(static_cast<float>(to[i]) == (i < n ? static_cast<float>(from[i]) : 1.0f));
      }
    });
}
