// tests/runtime/describe.cpp
#include <tokamax/runtime/describe.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using vector = tk::tensor<tk::f32, 4>;

struct doubled_sum {
  constexpr tk::array operator()(const vector& x) const { return tk::sum(x * 2.0f); }
};

TEST_CASE("a program describes its graph, its loops and its steps") {
  const std::string s = tk::describe<tk::program<tk::cpu_tag, doubled_sum, vector>>();
  CHECK_THAT(s, contains("mul(%in0, ") && contains("reduce_sum(") && contains("parts") && contains("output 0"));
}
