// examples/35_stablehlo.cpp: a program that JAX exported, without Python. New here: read_stablehlo, stablehlo::program.
#include <tokamax/stablehlo.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <filesystem>

namespace tk = tokamax;

// In Python, `open("35_stablehlo.mlir", "w").write(jax.jit(loss).lower(hidden, out, x, y).as_text())` wrote the loss of a network
// of two layers: tests/golden/make_stablehlo.py.
tk::array numbers(const tk::shape& s) {
  const tk::array n = tk::arange(tk::size(s), tk::f32) * 7;
  return tk::reshape(tk::rem(n, 11.0f) - 5, s) / 10;
}

int main() {
  const tk::stablehlo::program loss =
      tk::read_stablehlo(std::filesystem::path(__FILE__).replace_extension(".mlir").string());
  for (const auto& in : loss.inputs()) fmt::print("takes {} {}\n", in.name, tk::message(in.type).view());

  // A program takes and returns arrays. It is planned once for a device, with the passes that plan all programs.
  const tk::array x = numbers({6, 4}), y{0, 1, 2, 0, 1, 2};
  std::vector<tk::array> weights{numbers({4, 8}), numbers({8, 3})};
  const std::vector<tk::array> results = loss(tk::cpu, {weights[0], weights[1], x, y});
  fmt::print("loss {:.5f}, classes {}\n", results[0].item(), tk::to_string(results[1]));

  // In a function that is traced, the program becomes a part of it: it is differentiated and compiled with what is around it.
  const auto of_weights = [&](const std::vector<tk::array>& w) { return loss({w[0], w[1], x, y})[0]; };
  const auto step = tk::jit(
      [&](const std::vector<tk::array>& w) {
        const auto [value, slope] = tk::value_and_grad(of_weights)(w);
        return std::vector<tk::array>{w[0] - slope[0], w[1] - slope[1], value};
      },
      tk::cpu);
  for (int i = 0; i < 100; ++i) {
    std::vector<tk::array> next = step(weights);
    if (i % 33 == 0) fmt::print("step {}: loss {:.5f}\n", i, next[2].item());
    next.pop_back();
    weights = std::move(next);
  }
  fmt::print("classes {}\n", tk::to_string(loss(tk::cpu, {weights[0], weights[1], x, y})[1]));
}
