// examples/04_see_the_graph.cpp: what the compiler makes of a function. New here: tensor, jit, describe, peak_bytes, passes_of.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;

using vector = tk::tensor<tk::f32, 4>;
using matrix = tk::tensor<tk::f32, 3, 4>;

constexpr auto layer = [](const matrix& w, const vector& x) { return tk::tanh(tk::matmul(w, x)) * 2 + 1; };
constexpr auto loss = [](const matrix& w, const vector& x) { return tk::sum(tk::square(layer(w, x))); };
constexpr auto step = [](const matrix& w, const vector& x) { return w - 0.1f * tk::grad(loss)(w, x); };

int main() {
  auto run = tk::jit(step, tk::cpu, tk::while_compiling);  // traced, differentiated, fused and planned by g++
  using program = decltype(run)::for_types<matrix, vector>;
  static_assert(program::peak_bytes <= 256, "a constant: memory can be limited at compile time");
  fmt::print("{}", tk::describe<program>());
  const matrix w(tk::full({3, 4}, 0.1));
  const vector x(tk::array::from<float>({1, 2, 3, 4}));
  fmt::print("w[0] = {:.4f}\n", run(w, x).values<float>()[0]);
  for (const auto& [pass, text, dot] : tk::passes_of(step, tk::cpu, w, x))  // dot: the same as a drawing, for Graphviz
    if (pass == "fuse") fmt::print("after {}, traced at run time\n{}", pass, text);
}
