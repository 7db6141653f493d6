// tokamax/optim/schedules/schedule.hpp: learning rates as functions of the step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/unary.hpp>  // cos, power
#include <tokamax/numpy/clip.hpp>             // clip

#include <array>        // parameters
#include <type_traits>  // is_empty_v

namespace tokamax::optim {

/// A number that may depend on the step: `schedule(0.1)`, one of the functions below, or any captureless function of an
/// i32 scalar: `schedule([](const array& step) { return ...; })`. All of them have this one type, so that
/// `adam({.learning_rate = ...})` takes any. For a function with state, name the options: `adam(adam_options{.learning_rate = f})`.
class schedule {
 public:
  using parameters = std::array<double, 6>;
  using rule = array (*)(const array& step, const parameters&);

  constexpr schedule(double value = 0, source_line l = source_line::current())  // NOLINT: a number is a schedule
      : rule_(constant), p_{value} {
    if (value != value) reject(nullptr, l, "schedule: value", "NaN", "a number");
  }
  constexpr schedule(const array& value) : rule_(nullptr), value_(value) {}  // NOLINT: so is a scalar
  constexpr schedule(rule r, const parameters& p) : rule_(r), p_(p) {}
  template <class F>
    requires(std::is_empty_v<F> && std::is_invocable_r_v<array, const F&, const array&>)
  constexpr schedule(F) : rule_([](const array& step, const parameters&) -> array { return F{}(step); }) {}  // NOLINT

  constexpr array operator()(const array& step) const { return rule_ ? rule_(step, p_) : value_; }
  /// The value for a formula: of a number, a literal with all of its digits.
  constexpr array at(const array& step) const {
    if (is_number()) return array(p_[0]);
    return (*this)(step);
  }
  constexpr bool is_number() const { return rule_ == constant; }

 private:
  static constexpr array constant(const array&, const parameters& p) { return array(p[0], {f32, false, {}}); }
  rule rule_;
  parameters p_{};
  array value_;
};

namespace detail {
template <class T>
struct schedule_type {
  using type = T;
};
template <class T>
  requires std::is_convertible_v<T, schedule>
struct schedule_type<T> {
  using type = schedule;
};
}  // namespace detail
/// The type in which a transform keeps a schedule that was given as a T: `schedule` if T converts to it, and otherwise T
/// itself, which may be any function of the step.
template <class T>
using schedule_of = typename detail::schedule_type<T>::type;

namespace detail {
constexpr array linear_rule(const array& step, const schedule::parameters& p) {
  const auto [init, end, steps, begin, power, unused] = p;
  const array left = 1.0 - clip(astype(step, f32) - begin, 0.0, steps) / steps;
  if (power == 1) return (init - end) * left + end;
  return (init - end) * tokamax::power(left, power) + end;
}
constexpr array cosine_rule(const array& step, const schedule::parameters& p) {
  const auto [init, steps, alpha, exponent, begin, unused] = p;
  const array done = minimum(astype(step, f32) - begin, steps) / steps;
  array cosine = 0.5 * (1.0 + cos(3.14159265358979323846 * done));
  if (exponent != 1) cosine = power(cosine, exponent);
  return init * ((1.0 - alpha) * cosine + alpha);
}
constexpr array exponential_rule(const array& step, const schedule::parameters& p) {
  const auto [init, steps, rate, begin, end, flags] = p;  // flags: 1 for an end, 2 for stairs
  const array count = astype(step, f32) - begin;
  array done = count / steps;
  if (flags >= 2) done = floor(done);
  const array value = select(count <= 0, array(init, {f32, false, {}}), init * power(array(rate), done));
  if (flags == 0 || flags == 2) return value;
  if (rate < 1) return maximum(value, end);
  return minimum(value, end);
}
constexpr array warmup_cosine_rule(const array& step, const schedule::parameters& p) {
  const auto [init, peak, warmup, total, end, exponent] = p;
  const array rising = linear_rule(step, {init, peak, warmup, 0, 1, 0});
  const array falling = cosine_rule(step, {peak, total - warmup, peak == 0 ? 0 : end / peak, exponent, warmup, 0});
  if (warmup <= 0) return falling;
  return select(astype(step, f32) < warmup, rising, falling);
}
constexpr void require_steps(const char* what, std::int64_t steps) {
  if (steps <= 0) throw error(what, std::to_string(steps), "at least 1");
}
}  // namespace detail

struct polynomial_options {
  double init = 0, end = 0;
  std::int64_t steps = 1;  ///< from init to end
  std::int64_t begin = 0;  ///< first step of the change
  double power = 1;
};
/// (init - end) * (1 - n / steps)^power + end, with n = step - begin kept inside [0, steps].
/// With no steps it is init. A `begin` below 0 counts as 0.
/// source  optax.polynomial_schedule
constexpr schedule polynomial(polynomial_options o) {
  if (o.steps <= 0) return o.init;
  if (o.begin < 0) o.begin = 0;
  return {detail::linear_rule, {o.init, o.end, static_cast<double>(o.steps), static_cast<double>(o.begin), o.power, 0}};
}
/// A straight line from init to end.
/// source  optax.linear_schedule, warmup_constant_schedule
constexpr schedule linear(double init, double end, std::int64_t steps) {
  return polynomial({.init = init, .end = end, .steps = steps});
}

struct cosine_options {
  double init = 0;
  std::int64_t steps = 1;
  double alpha = 0;  ///< the last value as a share of init
  double exponent = 1;
};
/// init * ((1 - alpha) * ((1 + cos(pi n / steps)) / 2)^exponent + alpha), with n = min(step, steps).
/// errors  "cosine: steps" if there are none
/// source  optax.cosine_decay_schedule; Loshchilov, Hutter 2017, arXiv:1608.03983
constexpr schedule cosine(cosine_options o) {
  detail::require_steps("cosine: steps", o.steps);
  return {detail::cosine_rule, {o.init, static_cast<double>(o.steps), o.alpha, o.exponent, 0, 0}};
}

struct exponential_options {
  double init = 0;
  std::int64_t steps = 1;  ///< the value is multiplied by `rate` in this many
  double rate = 0.5;
  std::int64_t begin = 0;
  double end = 0;  ///< a bound, if `bounded`
  bool bounded = false;
  bool staircase = false;  ///< the exponent is a whole number
};
/// init * rate^((step - begin) / steps). With no steps, or a rate of 0, it is init. A `begin` below 0 counts as 0.
/// source  optax.exponential_decay
constexpr schedule exponential(exponential_options o) {
  if (o.steps <= 0 || o.rate == 0) return o.init;
  if (o.begin < 0) o.begin = 0;
  return {detail::exponential_rule,
          {o.init, static_cast<double>(o.steps), o.rate, static_cast<double>(o.begin), o.end,
           (o.bounded ? 1.0 : 0.0) + (o.staircase ? 2.0 : 0.0)}};
}

struct warmup_cosine_options {
  double init = 0;          ///< at step 0
  double peak = 1;          ///< at step `warmup`
  std::int64_t warmup = 0;  ///< steps from init to peak
  std::int64_t total = 1;   ///< steps to `end`, including those of the warmup
  double end = 0;
  double exponent = 1;
};
/// A straight line from init to peak, then a cosine from peak to end.
/// errors  "warmup_cosine: steps after the warmup" if there are none
/// source  optax.warmup_cosine_decay_schedule
constexpr schedule warmup_cosine(warmup_cosine_options o) {
  detail::require_steps("warmup_cosine: steps after the warmup", o.total - o.warmup);
  return {detail::warmup_cosine_rule,
          {o.init, o.peak, static_cast<double>(o.warmup), static_cast<double>(o.total), o.end, o.exponent}};
}

}  // namespace tokamax::optim
