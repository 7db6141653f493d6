// examples/31_fit_by_lbfgs.cpp: fit a damped oscillation to noisy measurements. New here: L-BFGS, minimize, the error of a fit.
#include <tokamax/linalg.hpp>
#include <tokamax/optim.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
namespace optim = tokamax::optim;

using numbers = tk::array;  // four: height, decay, frequency and phase
using series = tk::tensor<tk::f32, 200>;

constexpr auto oscillation = [](const tk::array& p, const tk::array& t) {
  return p[0] * tk::exp(-p[1] * t) * tk::cos(p[2] * t + p[3]);
};

// The whole fit is one program: a loop that evaluates the function and its gradient, estimates the inverse of the second
// derivatives from the last steps, and searches along the step that follows. It ends where the gradient is small.
const auto fit = [](const numbers& guess, const series& t, const series& y) {
  const auto squares = [&](const numbers& p) { return tk::mean(tk::square(oscillation(p, t) - y)); };
  return optim::minimize(squares, guess);
};
// The same with another optimiser, for comparison.
const auto fit_by_adam = [](const numbers& guess, const series& t, const series& y) {
  const auto squares = [&](const numbers& p) { return tk::mean(tk::square(oscillation(p, t) - y)); };
  return optim::minimize(squares, guess, optim::adam({.learning_rate = 1e-2}), {.max_steps = 3000});
};

int main() {
  const series t = tk::arange(200) / 20.0f;
  const numbers truth{2.0f, 0.3f, 3.0f, 0.5f}, guess{1.0f, 0.1f, 2.8f, 0.0f};
  const series y = oscillation(truth, t) + 0.1f * tk::random::normal(tk::random::key(0), {200});

  const auto show = [](std::string_view how, const auto& found) {
    const auto p = found.params.template values<float>();
    fmt::print("{:7} {:4} steps, loss {:.5f}: height {:.2f}, decay {:.2f}, frequency {:.2f}, phase {:.2f}\n", how,
               found.steps.template item<int>(), found.value.item(), p[0], p[1], p[2], p[3]);
  };
  const auto found = tk::jit(fit, tk::cpu, tk::at_run_time)(guess, t, y);
  show("L-BFGS", found);
  show("Adam", tk::jit(fit_by_adam, tk::cpu, tk::at_run_time)(guess, t, y));

  // How sure is each number? The covariance of the parameters is the variance of the noise times the inverse of J^T J, where J
  // has the derivatives of each measurement.
  const auto residuals = [&](const tk::array& p) { return oscillation(p, t) - y; };
  const tk::array j = tk::jacfwd(residuals)(found.params), r = residuals(found.params);
  const tk::array variance = tk::sum(r * r) / (200.0f - 4.0f);
  const tk::array errors = tk::sqrt(variance * tk::diagonal(tk::linalg::inv(tk::matmul(tk::transpose(j), j))));
  const auto e = errors.values<float>();
  fmt::print("errors: height {:.2f}, decay {:.3f}, frequency {:.3f}, phase {:.3f}\n", e[0], e[1], e[2], e[3]);
}
