// examples/17_gaussian_process.cpp: learn the seasons of a time series with a Gaussian process. New here: linalg, scipy.stats.
#include <tokamax/linalg.hpp>
#include <tokamax/scipy/stats/continuous.hpp>
#include <tokamax/scipy/stats/multivariate.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
using tk::array;

// Sixty months of temperatures: a slow warming, the seasons, and the weather. The twelve months after them are hidden.
constexpr int past = 60, future = 12;
struct series {
  tk::tensor<tk::f32, past> month, degrees;
};

// What is not known of the process, as logarithms, so that every step of the optimiser stays positive.
struct hyperparameters {
  tk::tensor<tk::f32> trend, trend_months, season, season_shape, noise;
};

// The covariance of two months: near ones are alike, and so are those a whole number of years apart.
constexpr array covariance(const hyperparameters& h, const array& a, const array& b) {
  const array apart = tk::expand_dims(a, 1) - tk::expand_dims(b, 0);  // [a, b]
  const array slow = tk::square(apart * tk::exp(-h.trend_months));
  const array yearly = tk::square(tk::sin(apart * 0.2617994f)) * tk::exp(h.season_shape);  // pi / 12
  return tk::exp(h.trend) * tk::exp(-0.5f * slow) + tk::exp(h.season) * tk::exp(-2.0f * yearly);
}
constexpr array of_known(const hyperparameters& h, const array& month) {
  return covariance(h, month, month) + tk::exp(h.noise) * tk::eye(past);
}

// The months are one sample of a normal distribution in sixty dimensions. Its density tells good hyperparameters from bad.
// The derivative goes through the Cholesky factor.
constexpr auto loss = [](const hyperparameters& h, const series& s) {
  return -tk::scipy::stats::multivariate_normal::logpdf(s.degrees, tk::zeros({past}), of_known(h, s.month)) / past;
};
constexpr auto optimizer = tk::optim::adam({.learning_rate = 0.05f});
using optimizer_state = decltype(optimizer.init(hyperparameters{}));
constexpr auto step = [](const hyperparameters& h, const optimizer_state& o, const series& s) {
  auto [value, slopes] = tk::value_and_grad(loss)(h, s);
  auto [updates, next] = optimizer.update(slopes, o, h);
  return std::tuple{tk::optim::apply_updates(h, updates), next, value};
};

// What the known months say of later ones: mean K* K^-1 y, covariance K** - K* K^-1 K*^T.
constexpr auto predict = [](const hyperparameters& h, const series& s, const tk::tensor<tk::f32, future>& later) {
  const auto factor = tk::linalg::cho_factor(of_known(h, s.month), true);
  const array cross = covariance(h, later, s.month);  // [future, past]
  const array mean = tk::matmul(cross, tk::linalg::cho_solve(factor, s.degrees));
  const array half = tk::linalg::triangular_solve(factor.factor, tk::swapaxes(cross, 0, 1), {.lower = true});
  const array own = tk::exp(h.trend) + tk::exp(h.season) + tk::exp(h.noise);
  return std::pair{mean, tk::sqrt(own - tk::sum(tk::square(half), {.axis = {0}}))};
};

int main() {
  const array month = tk::astype(tk::arange(past + future), tk::f32);
  const array weather = 0.8f * tk::random::normal(tk::random::key(17), {past + future});
  const array season = -9.0f * tk::cos(month * 0.5235988f) + 1.5f * tk::cos(month * 1.0471976f);
  const array degrees = 0.02f * month - 0.7f + season + weather;
  const series data{month[tk::range{0, past}], degrees[tk::range{0, past}]};

  hyperparameters h{tk::zeros({}), array(3.0f), tk::zeros({}), tk::zeros({}), tk::zeros({})};
  optimizer_state state = optimizer.init(h);
  const auto run = tk::jit(step, tk::cpu);
  for (int i = 0; i <= 200; ++i) {
    auto [next, next_state, value] = run(h, state, data);
    if (i > 0 && i % 50 == 0) fmt::print("step {:3}  -log density of a month {:.2f}\n", i, value.item());
    h = next;
    state = next_state;
  }
  fmt::print("the weather moves a month by {:.1f} degrees\n", std::exp(0.5f * h.noise.item()));

  const auto [mean, deviation] = tk::jit(predict, tk::cpu)(h, data, month[tk::range{past, past + future}]);
  const array truth = degrees[tk::range{past, past + future}];
  for (int i = 0; i < future; i += 3)
    fmt::print("month {}  forecast {:5.1f} +- {:.1f}  was {:5.1f}\n", past + i, mean[i].item(), 2 * deviation[i].item(),
               truth[i].item());
  const array surprise = tk::scipy::stats::norm::cdf(truth, mean, deviation);
  const array within = tk::astype(tk::abs(surprise - 0.5f) < 0.475f, tk::f32);
  fmt::print("{} of {} months lie within their 95 % band\n", static_cast<int>(tk::sum(within).item()), future);
}
