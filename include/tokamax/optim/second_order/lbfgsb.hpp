// tokamax/optim/second_order/lbfgsb.hpp: the minimum of a function between bounds, by L-BFGS.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/lax/indexing/dynamic_slice.hpp>   // dynamic_slice_in_dim
#include <tokamax/lax/sort.hpp>                     // argsort
#include <tokamax/linalg/solve.hpp>                 // solve
#include <tokamax/numpy/clip.hpp>                   // clip
#include <tokamax/numpy/matmul.hpp>                 // matmul
#include <tokamax/numpy/take.hpp>                   // take
#include <tokamax/optim/second_order/minimize.hpp>  // minimum_found
#include <tokamax/optim/wrappers/flatten.hpp>       // joined, parted

namespace tokamax::optim {

struct lbfgsb_options {
  int memory_size = 10;
  int max_steps = 500;
  double tol = 1e-5;  ///< it ends where no element of clip(x - g, lower, upper) - x is larger
};

namespace detail {
/// B = theta I - W M W^T, the estimate of the Hessian after steps s [m, n] and differences of gradients y [m, n], with W = [y^T, theta s^T]
/// and the inverse K of M. Rows that are not filled yet are 0, and count as 1 in K.
struct box_model {
  array theta, w, k;

  constexpr box_model(const array& s, const array& y, const array& t) : theta(t) {
    const std::int64_t m = s.extent(0);
    const array row = iota(i32, {m, m}, 0), column = iota(i32, {m, m}, 1);
    const array sy = matmul(s, transpose(y)), zero = zeros_like(sy);
    const array empty = astype(sum(abs(y), {.axis = {1}, .keepdims = true}) == 0, f32);
    const array eye = astype(row == column, f32), lower = select(row > column, sy, zero);
    const array top = concatenate({empty * eye - sy * eye, transpose(lower)}, 1);
    const array bottom = concatenate({lower, theta * matmul(s, transpose(s)) + empty * eye}, 1);
    w = concatenate({transpose(y), theta * transpose(s)}, 1);
    k = concatenate({top, bottom}, 0);
  }
  constexpr array times_m(const array& v) const { return linalg::solve(k, v); }
};

/// The first minimum of the model along the path clip(x - t g, lower, upper). Behind each bound that the path meets, in the order of
/// `meets` [n], its slope and curvature change by a product with M.
constexpr array cauchy_point(const box_model& b, const array& x, const array& g, const array& lower,
                             const array& upper) {
  struct path {
    array at, before, slope, curvature, p, c;
  };
  const array none = full_like(x, std::numeric_limits<float>::infinity());
  const array room = select(g < 0, (x - upper) / g, select(g > 0, (x - lower) / g, none));
  const array meets = maximum(room, zeros_like(room)), moving = select(meets > 0, g, zeros_like(g));
  const array order = argsort(meets), time = take(meets, order), slopes = take(moving, order);
  const array rows = take(b.w, order, 0);
  const std::int64_t n = x.extent(0);
  const auto number = [](const array& v, const array& at) { return squeeze(dynamic_slice_in_dim(v, at, 1, 0), 0); };
  const auto rest = [](const path& s) { return -s.slope / s.curvature; };
  const auto meets_bound = [&](const path& s) {
    const array at = minimum(s.at, array(static_cast<double>(n - 1), {i32, false, {}}));
    return logical_and(s.at < n, rest(s) >= number(time, at) - s.before);
  };
  const auto pass = [&](const path& s) {
    const array t = number(time, s.at), gb = number(slopes, s.at), row = number(rows, s.at), dt = t - s.before;
    const array c = s.c + dt * s.p, mc = b.times_m(c), mp = b.times_m(s.p), mw = b.times_m(row);
    const array slope = s.slope + dt * s.curvature + gb * gb - b.theta * gb * gb * t - gb * sum(row * mc);
    const array bend = s.curvature - b.theta * gb * gb - 2.0 * gb * sum(row * mp) - gb * gb * sum(row * mw);
    return path{s.at + 1, t, slope, maximum(bend, array(1e-20)), s.p + gb * row, c};
  };
  const array p = matmul(transpose(b.w), -moving), square = sum(moving * moving);
  const array curvature = maximum(b.theta * square - sum(p * b.times_m(p)), array(1e-20));
  const path end = while_loop(meets_bound, pass, path{zeros({}, i32), zeros({}), -square, curvature, p, zeros_like(p)});
  const array t = end.before + maximum(rest(end), zeros({}));
  return clip(x - minimum(meets, t) * moving, lower, upper);
}

/// The minimum of the model among the elements that the Cauchy point leaves between their bounds, as far as the bounds allow.
constexpr array subspace_minimum(const box_model& b, const array& x, const array& g, const array& point,
                                 const array& lower, const array& upper) {
  const array free = logical_and(point > lower, point < upper), zero = zeros_like(x), moved = point - x;
  const array r = select(free, g + b.theta * moved - matmul(b.w, b.times_m(matmul(transpose(b.w), moved))), zero);
  const array w = select(broadcast_to(expand_dims(free, 1), b.w.shape()), b.w, zeros_like(b.w)), wt = transpose(w);
  const array v = linalg::solve(b.k - matmul(wt, w) / b.theta, matmul(wt, r));
  const array d = (r + matmul(w, v) / b.theta) / b.theta * -1.0;
  const array room = select(d > 0, (upper - point) / d, select(d < 0, (lower - point) / d, full_like(d, 1.0)));
  return clip(point + minimum(min(room), array(1.0)) * d, lower, upper);
}
}  // namespace detail

/// The minimum of a function f of a tree between two trees, `lower` and `upper`, whose elements may be infinite. Steps go to the minimum of
/// a quadratic model between the bounds, or back towards x until f falls enough. All steps are one loop of one program.
/// shapes  the bounds have the shapes of x; x is moved between them first
/// dtypes  f32
/// errors  "minimize_between: bounds" of other shapes, "minimize_between: memory_size" below 1
/// source  Byrd, Lu, Nocedal, Zhu 1995 (L-BFGS-B); scipy.optimize.minimize(method="L-BFGS-B")
template <class F, class Params>
constexpr minimum_found<Params> minimize_between(const F& f, const Params& x, const Params& lower, const Params& upper,
                                                 const lbfgsb_options& o = {}, source_line l = source_line::current()) {
  if (o.memory_size < 1) reject(nullptr, l, "minimize_between: memory_size", message() << o.memory_size, "1 or more");
  detail::require_shapes("minimize_between: bounds", lower, x, l);
  detail::require_shapes("minimize_between: bounds", upper, x, l);
  struct progress {
    array x, value, g, s, y, theta, steps, goes_on;
  };
  const array low = detail::joined(lower), high = detail::joined(upper), start = clip(detail::joined(x), low, high);
  const std::int64_t n = start.extent(0);
  const auto loss = [&](const array& flat) { return array(f(detail::parted(flat, x))); };
  const auto error_of = [&](const array& at, const array& g) {
    if (n == 0) return zeros({});
    return max(abs(clip(at - g, low, high) - at));
  };
  const auto push = [](const array& memory, const array& v) {
    return concatenate({slice_in_dim(memory, 1, memory.extent(0), 0), expand_dims(v, 0)}, 0);
  };
  const auto step = [&](const progress& now) {
    const detail::box_model model(now.s, now.y, now.theta);
    const array point = detail::cauchy_point(model, now.x, now.g, low, high);
    const array d = detail::subspace_minimum(model, now.x, now.g, point, low, high) - now.x, slope = sum(d * now.g);
    struct search {
      array size, value;
    };
    const array bound = now.value + 1e-6 * abs(now.value);  // near the minimum, differences of values are rounding
    const auto too_high = [&](const search& s) {
      return logical_and(logical_not(s.value <= bound + 1e-4 * s.size * slope), s.size > 1e-6);
    };
    const auto half = [&](const search& s) {
      return search{s.size * 0.5, astype(loss(now.x + 0.5 * s.size * d), f32)};
    };
    const search found = while_loop(too_high, half, search{ones({}), astype(loss(now.x + d), f32)});
    const array fell = logical_and(found.value <= bound, isfinite(found.value));
    const array next = select(fell, clip(now.x + found.size * d, low, high), now.x);
    const auto [value, g] = value_and_grad(loss)(next);
    const array s = next - now.x, y = g - now.g, sy = sum(s * y), yy = sum(y * y);
    const array curved = logical_and(fell, sy > 1e-7 * yy);
    return progress{next,
                    astype(value, f32),
                    g,
                    select(curved, push(now.s, s), now.s),
                    select(curved, push(now.y, y), now.y),
                    select(curved, yy / sy, now.theta),
                    now.steps + 1,
                    logical_and(fell, logical_or(found.value < now.value, error_of(next, g) < error_of(now.x, now.g)))};
  };
  const auto goes_on = [&](const progress& now) {
    return logical_and(now.goes_on, logical_and(now.steps<o.max_steps, error_of(now.x, now.g)> o.tol));
  };
  const auto [value, g] = value_and_grad(loss)(start);
  const array memory = zeros({o.memory_size, n}), first = maximum(sqrt(sum(g * g)), array(1.0));
  const progress end = while_loop(
      goes_on, step,
      progress{start, astype(value, f32), g, memory, memory, first, zeros({}, i32), isfinite(astype(value, f32))});
  const array error = error_of(end.x, end.g);
  return {detail::parted(end.x, x), end.value, error, end.steps, error <= o.tol};
}

}  // namespace tokamax::optim
