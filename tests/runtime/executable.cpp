// tests/runtime/executable.cpp
#include <tokamax/runtime/executable.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::array;

TEST_CASE("a program runs on any buffers, any number of times") {
  tk::graph g;
  const tk::array_type t{tk::f32, false, {3}};
  const array x(&g, g.input(t), t), y(&g, g.input(t), t);
  g.outputs.push_back(((x + y) * x).id());
  auto p = tk::detail::owned_program::make(g, tk::kernel_table_of<tk::cpu_tag>());
  float a[] = {1, 2, 3}, b[] = {10, 20, 30}, c[3] = {};
  std::byte* in[] = {reinterpret_cast<std::byte*>(a), reinterpret_cast<std::byte*>(b)};
  std::byte* out[] = {reinterpret_cast<std::byte*>(c)};
  for (int i = 0; i < 2; ++i) {
    p->code.run(in, out);
    CHECK(c[0] == 11.0f * a[0]);
    CHECK(c[2] == (a[2] + 30.0f) * a[2]);
    a[0] = 5;
    b[0] = 6;
  }
  CHECK(p->code.plan().region_count == 1);
}
