// examples/02_grad.cpp: derivatives of plain functions. New here: grad, jvp, vjp, hessian, custom_vjp.
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

/// The identity, whose gradient is clipped.
constexpr auto clip_gradient = tk::custom_vjp(
    [](const tk::array& x) { return x; }, [](const tk::array& x) { return std::pair{x, tk::nothing{}}; },
    [](const tk::nothing&, const tk::array& ct) { return tk::maximum(tk::minimum(ct, 100.0f), -100.0f); });

int main() {
  const tk::array p = tk::array::from<float>({-1.2f, 1.0f}), direction = tk::array::from<float>({1.0f, 0.0f});
  print("value      ", rosenbrock(p));
  print("gradient   ", tk::grad(rosenbrock)(p));
  // The Hessian times a vector: forward over reverse, no Hessian is ever built.
  const auto [g, hv] = tk::jvp(tk::grad(rosenbrock), p, direction);
  print("H v        ", hv);
  // Reverse over reverse gives the same.
  print("grad(g . v)", tk::grad([&](const tk::array& q) { return tk::sum(tk::grad(rosenbrock)(q) * direction); })(p));
  // The whole Hessian, which is useful if it is small.
  print("H          ", tk::hessian(rosenbrock)(p));
  // Gradients with respect to arguments by number, here both factors of a product.
  const auto [da, db] =
      tk::grad<0, 1>([](const tk::array& a, const tk::array& b) { return tk::sum(a * b); })(p, direction);
  print("d/da       ", da);
  print("d/db       ", db);
  // A pullback can be called many times. The function itself is computed once.
  const auto [y, pullback] = tk::vjp([](const tk::array& x) { return tk::square(x); }, p);
  print("pullback   ", pullback(direction));
  print("again      ", pullback(y));
  // A function with its own derivative.
  print("clipped    ", tk::grad([](const tk::array& x) { return rosenbrock(clip_gradient(x)); })(p));
}
