// tests/runtime/captured_values.cpp: captured values that change after a function was traced are found if asked for.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/runtime/captured_values.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;

namespace {
struct looking {
  looking() { tk::check_captured_values(true); }
  ~looking() { tk::check_captured_values(false); }
};
}  // namespace

TEST_CASE("a captured value keeps its first value, and a check says so") {
  array weight = array::from<float>({1, 2});
  float rate = 0.5f;
  const auto f = tk::jit([&](const array& x) { return x * weight * rate; }, tk::cpu);
  const array x = array::from<float>({1, 1});
  CHECK(f(x).values<float>()[1] == 1);
  weight = array::from<float>({10, 20});
  CHECK(f(x).values<float>()[1] == 1);

  const looking on;
  CHECK(tk::checks_captured_values());
  f.clear();
  CHECK(f(x).values<float>()[1] == 10);
  CHECK(f(x).values<float>()[1] == 10);  // nothing has changed
  weight = array::from<float>({10, 20});
  CHECK(f(x).values<float>()[1] == 10);  // nor has a value, if the array is another one
  weight = array::from<float>({10, 30});
  CHECK_THROWS_WITH(f(x),
                    contains("jit: captured value: found another one than when the function was traced, expected the "
                             "same: pass what changes as an argument (") &&
                        contains("captured_values.cpp:"));
  weight = array::from<float>({10, 20});
  rate = 0.25f;
  CHECK_THROWS_WITH(f(x), contains("jit: captured value"));
  rate = 0.5f;
  CHECK(f(x).values<float>()[1] == 10);
}

TEST_CASE("values within loops are looked at, and functions that make their own constants are left alone") {
  const looking on;
  array step = array::from<float>({1});
  const auto f = tk::jit(
      [&](const array& x) {
        const array own = array::from<float>({2});
        return tk::fori_loop(0, 3, [&](const array&, const array& c) { return c + step * own; }, x);
      },
      tk::cpu);
  CHECK(f(array::from<float>({1})).item() == 7);
  CHECK(f(array::from<float>({2})).item() == 8);
  step = array::from<float>({5});
  CHECK_THROWS_WITH(f(array::from<float>({1})), contains("jit: captured value"));
}
