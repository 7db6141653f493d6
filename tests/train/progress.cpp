// tests/train/progress.cpp: durations as text.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/train/progress.hpp>

#include "support/catch.hpp"

using tokamax::train::progress;

TEST_CASE("durations are seconds, minutes or hours") {
  CHECK(progress::duration(0.2) == "0s");
  CHECK(progress::duration(59.4) == "59s");
  CHECK(progress::duration(59.6) == "1m00s");
  CHECK(progress::duration(3599) == "59m59s");
  CHECK(progress::duration(7384) == "2h03m");
}

TEST_CASE("the loss is asked for only where a line is printed") {
  progress p(0, 100, 1);
  int asked = 0;
  for (int i = 1; i <= 100; ++i)
    p.step(i, [&] {
      ++asked;
      return 1.0;
    });
  CHECK(asked >= 2);
  CHECK(asked <= 11);  // the first step and each tenth; fewer on a terminal
}
