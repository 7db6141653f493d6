// examples/10_custom_gradients.cpp: functions with their own derivatives. New here: custom_jvp, custom_vjp.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <cmath>  // abs

namespace tk = tokamax;
using tk::array;

// The derivative of log(1 + e^x) is e^x / (1 + e^x), which is inf / inf for large x. So `select` makes the values of
// this function right, and its gradient is still wrong.
constexpr auto plain_softplus = [](const array& x) { return tk::select(x > 20, x, tk::log(1 + tk::exp(x))); };
// The rule returns the value and the tangent. Reverse mode, vmap and compiled programs use it too.
constexpr auto softplus = tk::custom_jvp(
    plain_softplus, [](const array& x, const array& dx) { return std::pair{plain_softplus(x), dx * tk::logistic(x)}; });

// Rounding has the derivative 0, so nothing could be learnt through it. Training uses the gradient as if there were no
// rounding.
constexpr auto rounded = tk::custom_vjp([](const array& x) { return tk::round(x); },
                                        [](const array& x) { return std::pair{tk::round(x), tk::nothing{}}; },
                                        [](const tk::nothing&, const array& ct) { return ct; });

// sqrt(a) by Newton's method. The derivative need not go back through the steps, because x^2 = a implies dx = da / 2x.
constexpr auto newton = [](const array& a) {
  array x = a;
  for (int i = 0; i < 12; ++i) x = (x + a / x) / 2;
  return x;
};
constexpr auto root = tk::custom_vjp(
    newton,
    [](const array& a) {
      const array x = newton(a);
      return std::pair{x, x};  // the value, and the residual for the backward rule
    },
    [](const array& x, const array& ct) { return ct / (2 * x); });

// Weights that are rounded to multiples of 1/2 while they are learnt.
using weights = tk::tensor<tk::f32, 3>;
constexpr auto loss = [](const weights& w, const weights& target) {
  return tk::sum(tk::square(rounded(w * 2) / 2 - target));
};
constexpr auto step = [](const weights& w, const weights& target) { return w - 0.3f * tk::grad(loss)(w, target); };

void print(const char* name, const array& a) {
  fmt::print("{:<26}", name);
  for (float v : a.values<float>()) fmt::print(" {:.6g}", v == v ? v : std::abs(v));  // nan has no sign
  fmt::print("\n");
}

int main() {
  const array x{-1.0f, 0.0f, 100.0f};
  const auto slope = [&](const auto& f) { return tk::vmap(tk::grad(f))(x); };
  print("softplus", softplus(x));
  print("its slope", slope(softplus));
  print("without a rule", slope(plain_softplus));

  const array a{2.0f, 9.0f};
  print("root", root(a));
  print("its slope", tk::vmap(tk::grad(root))(a));

  weights w = tk::zeros({3});
  const weights target = array{0.5f, -1.5f, 2.0f};
  const auto run = tk::jit(step, tk::cpu);
  for (int i = 0; i < 8; ++i) w = run(w, target);
  print("learnt through rounding", tk::round(w * 2) / 2);
}
