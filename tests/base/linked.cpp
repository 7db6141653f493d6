// tests/base/linked.cpp: linked functions are constant expressions and one run-time copy.
// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <tokamax/base/linked.hpp>

namespace {

constexpr int twice(int x) { return 2 * x; }
constexpr int count(int& calls) { return ++calls; }

static_assert(tokamax::linked<twice>(4) == 8);

}  // namespace

TEST_CASE("a linked function gives what the function gives") {
  volatile int four = 4;
  CHECK(tokamax::linked<twice>(four) == 8);
  CHECK(tokamax::linked_function<twice>::run(four) == 8);
}

TEST_CASE("references pass through a linked function") {
  int calls = 0;
  CHECK(tokamax::linked<count>(calls) == 1);
  CHECK(calls == 1);
}
