// tests/base/vec.cpp
#include <tokamax/base/vec.hpp>

#include "support/catch.hpp"

#include <memory>

using tokamax::vec;

constexpr int sum_of_squares(int n) {
  vec<int> v;
  for (int i = 0; i < n; ++i) v.push_back(i * i);
  int sum = 0;
  for (int x : v) sum += x;
  return sum;
}
static_assert(sum_of_squares(100) == 328350);

constexpr bool copies_are_apart() {
  vec<int> a{1, 2, 3}, b = a;
  const vec<int>& same = a;
  b[0] = 9;
  a = same;
  vec<int> c = std::move(b);
  return a[0] == 1 && c[0] == 9 && b.empty() && a.back() == 3 && a.count() == 3;
}
static_assert(copies_are_apart());

TEST_CASE("elements are destroyed once") {
  auto p = std::make_shared<int>(1);
  {
    vec<std::shared_ptr<int>> v(3, p);
    v.push_back(p);
    vec<std::shared_ptr<int>> w = v;
    v.resize(9, p);
    w = v;
    CHECK(p.use_count() == 19);
  }
  CHECK(p.use_count() == 1);
}
