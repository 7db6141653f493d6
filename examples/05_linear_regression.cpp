// examples/05_linear_regression.cpp: fit a line by gradient descent. New here: a training loop on a record.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;

struct line {
  tk::tensor<tk::f32> slope, intercept;
  constexpr tk::array operator()(const tk::array& x) const { return slope * x + intercept; }
};
struct points {
  tk::tensor<tk::f32, 64> x, y;
};
constexpr auto loss = [](const line& l, const points& p) { return tk::mean(tk::square(l(p.x) - p.y)); };
constexpr auto step = [](const line& l, const points& p) {
  auto [value, grads] = tk::value_and_grad(loss)(l, p);
  return std::pair{tk::tree_map([](const tk::array& v, const tk::array& g) { return v - 0.05f * g; }, l, grads), value};
};

int main() {
  const auto [kx, noise] = tk::random::split(tk::random::key(1));
  const tk::array x = tk::random::uniform(kx, {64}, tk::f32, -2, 2);
  const points data{x, 3 * x - 1 + 0.1f * tk::random::normal(noise, {64})};
  line fit{tk::zeros({}), tk::zeros({})};
  const auto run = tk::jit(step, tk::cpu);
  for (int i = 1; i <= 100; ++i) {
    auto [next, value] = run(std::move(fit), data);
    fit = std::move(next);
    if (i % 20 == 0) fmt::print("step {:3}  loss {:.4f}\n", i, value.item());
  }
  fmt::print("y = {:.2f} x + {:.2f}\n", fit.slope.item(), fit.intercept.item());
}
