// tests/base/rule.cpp: pointers to functions and to lambdas, called in constant expressions.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/rule.hpp>
#include <tokamax/base/vec.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;

namespace {

constexpr tk::vec<int> twice(const int& n) { return {n, n}; }

struct rules {
  tk::rule<tk::vec<int>(const int&)> none = nullptr, lambda = nullptr, function = nullptr;
};
constexpr rules all{.lambda =
                        [](const int& n) {
                          tk::vec<int> v{n};
                          v.push_back(n + 1);
                          return v;
                        },
                    .function = twice};

constexpr int sum(const tk::vec<int>& v) {
  int s = 0;
  for (const int x : v) s += x;
  return s;
}
// The results have destructors: g++ 14 refuses such calls through the pointer that a lambda converts to.
static_assert(sum(all.lambda(3)) == 7 && sum(all.function(3)) == 6);
static_assert(!all.none && all.none == nullptr);

}  // namespace

TEST_CASE("rule: functions and lambdas, at run time too") {
  const rules copy = all;
  CHECK(sum(copy.lambda(10)) == 21);
  CHECK(sum(copy.function(10)) == 20);
  CHECK((copy.none ? copy.none(1) : tk::vec<int>{}).size() == 0);
}
