// tests/compiler/text/print.cpp
#include <tokamax/compiler/text/print.hpp>

#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;
using vector = tk::tensor<tk::f32, 4>;
constexpr auto program_function = [](const vector& x, const vector& y) { return tk::tanh(x * 2.0f + y); };
using compiled = tk::program<tk::cpu_tag, std::remove_cvref_t<decltype(program_function)>, vector, vector>;

TEST_CASE("a graph prints one line a node") {
  const std::string s = tk::to_text(tk::thaw(view(compiled::trace), compiled::ops.at));
  CHECK(s ==
        "%in0 : f32[4]\n%in1 : f32[4]\n%2 = constant 2 : f32[4]\n%3 = mul(%in0, %2) : f32[4]\n"
        "%4 = add(%3, %in1) : f32[4]\n%5 = tanh(%4) : f32[4]\nreturn %5\n");
}

TEST_CASE("a plan prints its steps and expressions") {
  const std::string s = tk::to_text(view(compiled::plan::tables, compiled::plan::code));
  CHECK(s.find("program: 1 steps") != std::string::npos);
  CHECK(s.find("out0 = tanh(add(mul(in0, c0), in1))") != std::string::npos);
  CHECK(s.find("input 0, input 1 -> output 0") != std::string::npos);
}
