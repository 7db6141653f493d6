// examples/31_fit_by_lbfgs.cpp: fit a damped oscillation to noisy measurements. New here: L-BFGS, minimize, the error of a fit.
#include <tokamax/linalg.hpp>
#include <tokamax/optim.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
namespace optim = tokamax::optim;

struct oscillation {
  tk::tensor<tk::f32> height, decay, frequency, phase;
  constexpr tk::array operator()(const tk::array& t) const {
    return height * tk::exp(-decay * t) * tk::cos(frequency * t + phase);
  }
};
using series = tk::tensor<tk::f32, 200>;

constexpr auto squares = [](const oscillation& m, const series& t, const series& y) {
  return tk::mean(tk::square(m(t) - y));
};

// The whole fit is one program: a loop that evaluates the function and its gradient, estimates the inverse of the second derivatives
// from the last steps, and searches along the step that follows. It ends where the gradient is small.
constexpr auto fit = [](const oscillation& guess, const series& t, const series& y) {
  return optim::minimize([&](const oscillation& m) { return squares(m, t, y); }, guess);
};
// The same with another optimiser, for comparison.
constexpr auto fit_by_adam = [](const oscillation& guess, const series& t, const series& y) {
  return optim::minimize([&](const oscillation& m) { return squares(m, t, y); }, guess,
                         optim::adam({.learning_rate = 1e-2}), {.max_steps = 3000});
};

oscillation made_of(float height, float decay, float frequency, float phase) {
  return {tk::array(height) + 0.0f, tk::array(decay) + 0.0f, tk::array(frequency) + 0.0f, tk::array(phase) + 0.0f};
}

int main() {
  const series t = tk::arange(200) / 20.0f;
  const oscillation truth = made_of(2.0f, 0.3f, 3.0f, 0.5f), guess = made_of(1.0f, 0.1f, 2.8f, 0.0f);
  const series y = truth(t) + 0.1f * tk::random::normal(tk::random::key(0), {200});

  const auto show = [](std::string_view how, const auto& found) {
    fmt::print("{:7} {:4} steps, loss {:.5f}: height {:.2f}, decay {:.2f}, frequency {:.2f}, phase {:.2f}\n", how,
               found.steps.template item<int>(), found.value.item(), found.params.height.item(),
               found.params.decay.item(), found.params.frequency.item(), found.params.phase.item());
  };
  const auto found = tk::jit(fit, tk::cpu)(guess, t, y);
  show("L-BFGS", found);
  show("Adam", tk::jit(fit_by_adam, tk::cpu)(guess, t, y));

  // How sure is each number? The covariance of the parameters is the variance of the noise times the inverse of J^T J, where J has
  // the derivatives of each measurement.
  const auto residuals = [&](const tk::array& p) { return oscillation{p[0], p[1], p[2], p[3]}(t)-y; };
  const oscillation& m = found.params;
  const tk::array best = tk::stack({m.height, m.decay, m.frequency, m.phase});
  const tk::array j = tk::jacfwd(residuals)(best), r = residuals(best);
  const tk::array variance = tk::sum(r * r) / (200.0f - 4.0f);
  const tk::array errors = tk::sqrt(variance * tk::diagonal(tk::linalg::inv(tk::matmul(tk::transpose(j), j))));
  const auto e = errors.values<float>();
  fmt::print("errors: height {:.2f}, decay {:.3f}, frequency {:.3f}, phase {:.3f}\n", e[0], e[1], e[2], e[3]);
}
