// examples/02_grad.cpp: derivatives of plain functions. New here: grad, value_and_grad, jvp, Hessian-vector products.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;

constexpr auto rosenbrock = [](const tk::array& p) {  // p [2]
  const tk::array x = tk::slice_in_dim(p, 0, 1, 0), y = tk::slice_in_dim(p, 1, 2, 0);
  return tk::sum(tk::square(1 - x) + 100 * tk::square(y - x * x));
};

void print(const char* name, const tk::array& a) {
  fmt::print("{}", name);
  for (float v : a.values<float>()) fmt::print(" {:.6g}", v);
  fmt::print("\n");
}

int main() {
  const tk::array p = tk::array::from<float>({-1.2f, 1.0f}), direction = tk::array::from<float>({1.0f, 0.0f});
  print("value      ", rosenbrock(p));
  print("gradient   ", tk::grad(rosenbrock)(p));
  // The Hessian times a vector: forward over reverse, no Hessian is ever built.
  const auto [g, hv] = tk::jvp(tk::grad(rosenbrock), p, direction);
  print("H v        ", hv);
  // Reverse over reverse gives the same.
  print("grad(g . v)", tk::grad([&](const tk::array& q) { return tk::sum(tk::grad(rosenbrock)(q) * direction); })(p));
}
