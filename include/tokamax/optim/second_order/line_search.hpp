// tokamax/optim/second_order/line_search.hpp: how far to step along an update, found by trying.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/second_order/minimize.cpp
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>             // select
#include <tokamax/optim/tree.hpp>                          // vdot
#include <tokamax/transforms/control_flow/cond.hpp>        // cond
#include <tokamax/transforms/control_flow/while_loop.hpp>  // while_loop
#include <tokamax/transforms/grad.hpp>                     // value_and_grad

#include <limits>  // infinity
#include <tuple>   // tuple

namespace tokamax::optim {

/// What line searches get beside updates: the loss, its gradient, and the loss as a function of parameters.
template <class Params, class F>
struct line_facts {
  array value;
  Params grad;
  F value_fn;
};
template <class Params, class F>
line_facts(array, Params, F) -> line_facts<Params, F>;

/// What line searches leave in the state: the step size, and the loss and its gradient behind the step, for the next one.
template <class Params>
struct line_search_state {
  array learning_rate = ones({});
  array value = full({}, std::numeric_limits<float>::infinity());
  Params grad{};
  array steps = zeros({}, i32);  ///< evaluations of the last search
  array decrease_error = full({}, std::numeric_limits<float>::infinity());
  array curvature_error = full({}, std::numeric_limits<float>::infinity());
};

namespace detail {
template <class Params>
constexpr line_search_state<Params> line_search_from(const Params& params) {
  line_search_state<Params> s;
  s.grad = optim::zeros_like(params);
  return s;
}
template <class Params, class Extra>
concept has_line_facts = requires(const Extra& e, const Params& p) { e.value, e.grad, e.value_fn(p); };
constexpr array infinite() { return full({}, std::numeric_limits<float>::infinity()); }
/// max(error, 0), and infinity for NaN.
constexpr array positive(const array& error) { return select(isnan(error), infinite(), maximum(error, zeros({}))); }
}  // namespace detail

/// Multiplies the step size by `decrease_factor` until the loss is at most
///
///   (1 + rtol) value + slope_rtol size <u, grad> + atol
///
/// The first size is that of the last search times `increase_factor`, but at most `max_learning_rate`. If no value is finite the
/// step is 0. `update` takes line_facts.
/// source  optax.scale_by_backtracking_linesearch
struct scale_by_backtracking_linesearch {
  int max_backtracking_steps;
  double slope_rtol = 1e-4, decrease_factor = 0.8, increase_factor = 1.5, max_learning_rate = 1, atol = 0, rtol = 0;
  bool store_grad = false;  ///< keep the gradient behind the step; otherwise the state's gradient is 0

  template <class Params>
  constexpr line_search_state<Params> init(const Params& params) const {
    return detail::line_search_from(params);
  }
  template <class Params, class Extra>
  constexpr std::pair<Params, line_search_state<Params>> update(const Params& u, const line_search_state<Params>& s,
                                                                const Params& params, const Extra& extra) const {
    static_assert(detail::has_line_facts<Params, Extra>,
                  "tokamax: line search: update needs line_facts{value, grad, value_fn}");
    const array slope = tree::vdot(u, extra.grad), value = astype(extra.value, f32);
    struct search {
      array size, value, error, count;
    };
    const auto goes_on = [&](const search& c) {
      return logical_and(logical_not(c.error <= atol), c.count <= max_backtracking_steps);
    };
    const auto next = [&](const search& c) {
      const array size = select(c.count > 0, decrease_factor * c.size, c.size);
      const array now = astype(array(extra.value_fn(tree::add_scale(params, size, u))), f32);
      const array error = now - (1.0 + rtol) * value - size * slope_rtol * slope;
      return search{size, now, detail::positive(error), c.count + 1};
    };
    const array first = minimum(increase_factor * s.learning_rate, array(max_learning_rate, {f32, false, {}}));
    const search found = while_loop(goes_on, next, search{first, value, detail::infinite(), zeros({}, i32)});
    const array size = select(found.error == detail::infinite(), zeros({}), found.size);
    const Params step = tree::scale(size, u);
    Params slopes = s.grad;
    if (store_grad) {
      const auto loss = [&](const Params& p) { return array(extra.value_fn(p)); };
      slopes = with_parameters(s.grad, grad(loss)(tree::add_scale(params, size, u)));
    }
    return {step, {size, found.value, slopes, found.count, found.error, detail::infinite()}};
  }
};

namespace detail {
/// A step size, and the loss and its slope there.
struct line_point {
  array size, value, slope;
};
constexpr line_point chosen(const array& condition, const line_point& a, const line_point& b) {
  return {select(condition, a.size, b.size), select(condition, a.value, b.value), select(condition, a.slope, b.slope)};
}
/// Where the cubic through a with its slope, b and c is least, and where the parabola through a with its slope and b is.
constexpr array cubic_minimum(const line_point& a, const line_point& b, const line_point& c) {
  const array db = b.size - a.size, dc = c.size - a.size, both = db * dc, denominator = both * both * (db - dc);
  const array rb = b.value - a.value - a.slope * db, rc = c.value - a.value - a.slope * dc;
  const array third = (dc * dc * rb - db * db * rc) / denominator;
  const array second = (db * db * db * rc - dc * dc * dc * rb) / denominator;
  return a.size + (-second + sqrt(second * second - 3.0 * third * a.slope)) / (3.0 * third);
}
constexpr array parabola_minimum(const line_point& a, const line_point& b) {
  const array db = b.size - a.size, second = (b.value - a.value - a.slope * db) / (db * db);
  return a.size - a.slope / (2.0 * second);
}
/// What a search by zooming carries. `low` is the end with the lesser value, and `third` the point that was an end before.
template <class Params>
struct zoom_state {
  line_point at, low, high, third, safe;
  Params grad, safe_grad;
  array count, decrease_error, curvature_error, found, done, failed;
};
}  // namespace detail

enum class first_guess { one, keep };

/// Finds a step size t with a sufficient decrease and a small slope (Wolfe's conditions):
///
///   f(t) <= f(0) + slope_rtol t f'(0)    or, near a minimum, f'(t) <= (2 slope_rtol - 1) f'(0)
///   |f'(t)| <= curv_rtol |f'(0)|
///
/// First the size grows by `increase_factor` until an interval has such a point, and then the interval shrinks by cubic and
/// quadratic interpolation. If no point has a small slope, the best one that decreases the loss is taken. `update` takes
/// line_facts.
/// source  optax.scale_by_zoom_linesearch; Nocedal, Wright 1999, algorithms 3.5, 3.6; Hager, Zhang 2006
struct scale_by_zoom_linesearch {
  int max_linesearch_steps;
  double max_learning_rate = std::numeric_limits<double>::infinity();
  double tol = 0, increase_factor = 2, slope_rtol = 1e-4, curv_rtol = 0.9;
  double approx_dec_rtol = 1e-6;  ///< how near a minimum is; infinity: never
  double stepsize_precision = 1e-5;
  first_guess guess = first_guess::keep;

  template <class Params>
  constexpr line_search_state<Params> init(const Params& params) const {
    return detail::line_search_from(params);
  }
  template <class Params, class Extra>
  constexpr std::pair<Params, line_search_state<Params>> update(const Params& u, const line_search_state<Params>& s,
                                                                const Params& params, const Extra& extra) const {
    static_assert(detail::has_line_facts<Params, Extra>,
                  "tokamax: line search: update needs line_facts{value, grad, value_fn}");
    using state = detail::zoom_state<Params>;
    const auto loss = [&](const Params& p) { return array(extra.value_fn(p)); };
    const detail::line_point start{zeros({}), astype(extra.value, f32), tree::vdot(u, extra.grad)};
    array first = ones({});
    if (guess == first_guess::keep) first = s.learning_rate;
    const auto goes_on = [](const state& c) { return logical_not(logical_or(c.done, c.failed)); };
    const auto next = [&](const state& c) {
      const array size = select(c.found, middle(c), larger(c, first));
      const auto [value, slopes] = value_and_grad(loss)(tree::add_scale(params, size, u));
      return moved(c, start, {size, astype(value, f32), tree::vdot(slopes, u)}, slopes);
    };
    const array no = zeros({}, bool_), inf = detail::infinite();
    const state begin{start, start, start, start, start, extra.grad, extra.grad, zeros({}, i32), inf, inf, no, no, no};
    const state end = while_loop(goes_on, next, begin);
    const array retreats =
        logical_and(end.failed, logical_or(end.safe.size > 0, end.decrease_error == detail::infinite()));
    const detail::line_point taken = detail::chosen(retreats, end.safe, end.at);
    return {tree::scale(taken.size, u),
            {taken.size, taken.value, with_parameters(s.grad, tree::where(retreats, end.safe_grad, end.grad)),
             end.count, end.decrease_error, end.curvature_error}};
  }

 private:
  template <class State>
  constexpr array larger(const State& c, const array& first) const {
    const array size = select(c.count == 0, first, increase_factor * c.at.size);
    return minimum(size, array(max_learning_rate, {f32, false, {}}));
  }
  template <class State>
  constexpr array middle(const State& c) const {
    const array low = minimum(c.high.size, c.low.size), high = maximum(c.high.size, c.low.size), length = high - low;
    const auto inside = [&](const array& x, double share) {
      return logical_and(x > low + share * length, x < high - share * length);
    };
    const array cubic = detail::cubic_minimum(c.low, c.high, c.third), square = detail::parabola_minimum(c.low, c.high);
    const array half = (c.low.size + c.high.size) / 2.0;
    return select(inside(cubic, 0.2), cubic, select(inside(square, 0.1), square, half));
  }
  constexpr array decrease_error(const detail::line_point& now, const detail::line_point& start) const {
    const array strict = now.value - start.value - slope_rtol * now.size * start.slope;
    const array near = now.value - start.value - approx_dec_rtol * abs(start.value);
    const array by_slope = maximum(now.slope - (2 * slope_rtol - 1) * start.slope, near);
    return detail::positive(minimum(by_slope, strict));
  }
  template <class Params>
  constexpr detail::zoom_state<Params> moved(const detail::zoom_state<Params>& c, const detail::line_point& start,
                                             const detail::line_point& now, const Params& slopes) const {
    const array decrease = decrease_error(now, start);
    const array curvature = detail::positive(abs(now.slope) - curv_rtol * abs(start.slope));
    const array good = maximum(decrease, curvature) <= tol, last = c.count + 1 >= max_linesearch_steps;
    const array rises = decrease > 0;
    const array safer = logical_and(decrease <= tol, logical_or(logical_not(c.found), now.value < c.safe.value));
    const detail::line_point safe = detail::chosen(safer, now, c.safe);

    // while no interval is found: it lies between the last two points
    const array ends = logical_or(rises, logical_and(now.value >= c.at.value, c.count > 0));
    const array turns = logical_and(now.slope >= 0, logical_not(ends));
    const detail::line_point low = detail::chosen(turns, now, c.at), high = detail::chosen(turns, c.at, now);
    const array found = logical_or(logical_or(ends, turns), good);
    const array stuck = logical_and(now.size >= max_learning_rate, logical_not(found));

    // then: the point in the middle becomes one of its ends
    const array above = logical_or(rises, now.value >= c.low.value);
    const array crosses = logical_and(now.slope * (c.high.size - c.low.size) >= 0, logical_not(above));
    const detail::line_point smaller_high = detail::chosen(crosses, c.low, detail::chosen(above, now, c.high));
    const detail::line_point smaller_low = detail::chosen(above, c.low, now);
    const detail::line_point left = detail::chosen(logical_or(above, crosses), c.high, c.low);
    const array short_now = logical_and(abs(c.high.size - c.low.size) <= stepsize_precision, safe.size > 0);

    const array done = select(c.found, good, logical_or(good, stuck));
    const array failed = logical_and(logical_or(last, logical_and(c.found, short_now)), logical_not(done));
    return {now,
            detail::chosen(c.found, smaller_low, low),
            detail::chosen(c.found, smaller_high, high),
            detail::chosen(c.found, left, low),
            safe,
            slopes,
            tree::where(safer, slopes, c.safe_grad),
            c.count + 1,
            decrease,
            curvature,
            logical_or(c.found, found),
            done,
            failed};
  }
};

/// The loss and its gradient at the parameters that a line search has reached, without a second evaluation; in the first
/// step, where the state has none, value_and_grad(f)(params). The state is that of a chain with a line search, or of one.
/// source  optax.value_and_grad_from_state
template <class F>
constexpr auto value_and_grad_from_state(const F& f) {
  return [f]<class Params, class... Part>(const Params& params, const std::tuple<Part...>& state) {
    std::pair<array, Params> result;
    const auto use = [&](const auto& s) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(s)>, line_search_state<Params>>) {
        const auto loss = [&](const Params& p) { return array(f(p)); };
        const auto known = [](const Params&, const line_search_state<Params>& l) -> std::pair<array, Params> {
          return {l.value, l.grad};
        };
        const auto computed = [&](const Params& p, const line_search_state<Params>& l) -> std::pair<array, Params> {
          const auto [value, slopes] = value_and_grad(loss)(p);
          return {astype(value, f32), with_parameters(l.grad, slopes)};
        };
        result = cond(isfinite(s.value), known, computed, params, s);
      }
    };
    std::apply([&](const auto&... s) { (use(s), ...); }, state);
    return result;
  };
}

}  // namespace tokamax::optim
