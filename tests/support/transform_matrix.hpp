// tests/support/transform_matrix.hpp: every transform of every transform of a function, and the loop that it means.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/unary.hpp>
#include <tokamax/lax/iota.hpp>
#include <tokamax/lax/shapes/concatenate.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/cond.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/control_flow/while_loop.hpp>
#include <tokamax/transforms/eval_shape.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/remat.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/error_of.hpp"

#include <cmath>

namespace tokamax::test::matrix {

// ---- the transforms, as functions of an array and of the function that they transform

struct function_under;
using plain_function = array (*)(const array&);
using transform = array (*)(const array&, const function_under&);

/// A function of an array, or a transform of one.
struct function_under {
  plain_function base = nullptr;
  transform outer = nullptr;
  const function_under* inner = nullptr;
  constexpr array operator()(const array& x) const { return outer ? outer(x, *inner) : base(x); }
};

/// cos(1.75 i + seed): the same numbers in a trace, as data, and in the loops below.
constexpr array direction(const array_type& like, double seed) {
  const array count = convert_element_type(iota(i32, {size(like.shape)}, 0), like.dtype);
  return reshape(cos(count * array(1.75, {like.dtype, false, {}}) + array(seed, {like.dtype, false, {}})), like.shape);
}
constexpr array other(const array& x) { return 0.5f - 0.625f * x; }

constexpr array by_jvp(const array& x, const function_under& f) { return jvp(f, x, direction(x.type(), 0.5)).second; }
constexpr array by_vjp(const array& x, const function_under& f) {
  const auto [y, pullback] = vjp(f, x);
  return pullback(direction(y.type(), 0.25));
}
constexpr array by_vmap(const array& x, const function_under& f) { return vmap(f)(stack({x, other(x)}, 0)); }
inline array by_jit(const array& x, const function_under& f) { return jit(f, cpu, at_run_time)(x); }
constexpr array by_remat(const array& x, const function_under& f) { return remat(f)(x); }
constexpr array by_scan(const array& x, const function_under& f) {
  const auto step = [&](const array& carry, const array& v) {
    const array y = f(v + 0.125f * carry);
    return std::pair{carry * 0.5f + sum(y) * 0.0625f, y};
  };
  return scan(step, array(0.0, {x.dtype(), false, {}}), stack({x, other(x)}, 0)).second;
}
constexpr array by_cond(const array& x, const function_under& f) {
  return cond(sum(x * direction(x.type(), 0.75)) > 0.0f, f, [&](const array& v) { return -2.0f * f(other(v)); }, x);
}
struct loop_state {
  array step, x, y;
};
constexpr array by_while(const array& x, const function_under& f) {
  const array y = eval_shape(f, x);
  const array steps = select(sum(x * direction(x.type(), 1.25)) > 0.0f, array(2), array(1));
  const auto body = [&](const loop_state& s) {
    return loop_state{s.step + 1, s.x * 0.75f + 0.125f, s.y * 0.5f + f(s.x)};
  };
  return while_loop([&](const loop_state& s) { return s.step < steps; }, body,
                    loop_state{array(0, {i32, false, {}}), x, array(0.0, {y.dtype(), false, y.shape()})})
      .y;
}

// The same transforms of functions that close over x, so that it is no argument of theirs.

constexpr array zero_of(const array& x) { return array(0.0, {x.dtype(), false, {}}); }
/// x, and then other(x): the entries of the batches and sequences above.
constexpr array entry(const array& x, const array& s) { return x + s * (other(x) - x); }
constexpr array both_entries(const array& x) { return convert_element_type(iota(i32, {2}, 0), x.dtype()); }

constexpr array by_closed_jvp(const array& x, const function_under& f) {
  const array along = direction(x.type(), 0.5), one(1.0, {x.dtype(), false, {}});
  return jvp([&](const array& e) { return f(x + e * along); }, zero_of(x), one).second;
}
constexpr array by_closed_vjp(const array& x, const function_under& f) {
  const auto [y, pullback] = vjp([&](const array& e) { return f(x + e); }, array(0.0, {x.dtype(), false, x.shape()}));
  return pullback(direction(y.type(), 0.25));
}
constexpr array by_closed_vmap(const array& x, const function_under& f) {
  return vmap([&](const array& s) { return f(entry(x, s)); })(both_entries(x));
}
inline array by_closed_jit(const array& x, const function_under& f) {
  return jit([&](const array& e) { return f(x + e); }, cpu, at_run_time)(zero_of(x));
}
constexpr array by_closed_remat(const array& x, const function_under& f) {
  return remat([&](const array& e) { return f(x + e); })(zero_of(x));
}
constexpr array by_closed_scan(const array& x, const function_under& f) {
  const auto step = [&](const array& carry, const array& s) {
    const array y = f(entry(x, s) + 0.125f * carry);
    return std::pair{carry * 0.5f + sum(y) * 0.0625f, y};
  };
  return scan(step, zero_of(x), both_entries(x)).second;
}
constexpr array by_closed_cond(const array& x, const function_under& f) {
  const auto on_true = [&](const array& e) { return f(x + e); };
  const auto on_false = [&](const array& e) { return -2.0f * f(other(x) + e); };
  return cond(sum(x * direction(x.type(), 0.75)) > 0.0f, on_true, on_false, zero_of(x));
}
constexpr array by_closed_while(const array& x, const function_under& f) {
  const array y = eval_shape(f, x), second = x * 0.75f + 0.125f;
  const array steps = select(sum(x * direction(x.type(), 1.25)) > 0.0f, array(2), array(1));
  using state = std::pair<array, array>;
  const auto body = [&](const state& s) {
    return state{s.first + 1, s.second * 0.5f + f(select(broadcast_to(s.first == 0, x.shape()), x, second))};
  };
  return while_loop([&](const state& s) { return s.first < steps; }, body,
                    state{array(0, {i32, false, {}}), array(0.0, {y.dtype(), false, y.shape()})})
      .second;
}

// ---- what they mean, as loops on numbers

using plain = std::function<value(const value&)>;

inline value plus(value a, double by, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.data.size(); ++i) a.data[i] += by * b[i];
  return a;
}
inline value times(value a, double by) {
  for (double& d : a.data) d *= by;
  return a;
}
inline std::vector<double> numbers(std::size_t n, double seed) {
  std::vector<double> d(n);
  for (std::size_t i = 0; i < n; ++i) d[i] = std::cos(1.75 * static_cast<double>(i) + seed);
  return d;
}
inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}
inline double total(const value& v) { return dot(v.data, std::vector<double>(v.data.size(), 1.0)); }
inline value other(const value& x) { return plus(times(x, -0.625), 0.5, std::vector<double>(x.data.size(), 1.0)); }
inline value stacked(const value& a, const value& b) {
  value both{tokamax::detail::stacked_type(a.type, 2), a.data};
  both.data.insert(both.data.end(), b.data.begin(), b.data.end());
  return both;
}
/// The derivative at 0 of a function of one number, from four values.
inline value slope(const std::function<value(double)>& f) {
  constexpr double h = 1e-3;
  value d = times(f(h), 8 / (12 * h));
  d = plus(d, -8 / (12 * h), f(-h).data);
  d = plus(d, -1 / (12 * h), f(2 * h).data);
  return plus(d, 1 / (12 * h), f(-2 * h).data);
}

inline value jvp_by_loop(const value& x, const plain& f) {
  return slope([&](double e) { return f(plus(x, e, numbers(x.data.size(), 0.5))); });
}
inline value vjp_by_loop(const value& x, const plain& f) {
  value out = x;
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    std::vector<double> unit(x.data.size());
    unit[i] = 1;
    const value column = slope([&](double e) { return f(plus(x, e, unit)); });
    out.data[i] = dot(column.data, numbers(column.data.size(), 0.25));
  }
  return out;
}
inline value vmap_by_loop(const value& x, const plain& f) { return stacked(f(x), f(other(x))); }
inline value call_by_loop(const value& x, const plain& f) { return f(x); }
inline value scan_by_loop(const value& x, const plain& f) {
  const value first = f(x), v = other(x);
  return stacked(first, f(plus(v, 0.125 * 0.0625 * total(first), std::vector<double>(v.data.size(), 1.0))));
}
inline value cond_by_loop(const value& x, const plain& f) {
  return dot(x.data, numbers(x.data.size(), 0.75)) > 0 ? f(x) : times(f(other(x)), -2);
}
inline value while_by_loop(const value& x, const plain& f) {
  const value y = f(x);
  if (dot(x.data, numbers(x.data.size(), 1.25)) <= 0) return y;
  return plus(f(plus(times(x, 0.75), 0.125, std::vector<double>(x.data.size(), 1.0))), 0.5, y.data);
}

enum class does : std::uint8_t { calls, forward, reverse, loops };
struct transform_row {
  const char* name;
  transform traced;
  value (*loop)(const value&, const plain&);
  does kind = does::calls;
};
inline constexpr transform_row transforms[] = {
    {"jvp", by_jvp, jvp_by_loop, does::forward},
    {"vjp", by_vjp, vjp_by_loop, does::reverse},
    {"vmap", by_vmap, vmap_by_loop},
    {"jit", by_jit, call_by_loop},
    {"remat", by_remat, call_by_loop},
    {"scan", by_scan, scan_by_loop},
    {"cond", by_cond, cond_by_loop},
    {"while", by_while, while_by_loop, does::loops},
    {"jvp around x", by_closed_jvp, jvp_by_loop, does::forward},
    {"vjp around x", by_closed_vjp, vjp_by_loop, does::reverse},
    {"vmap around x", by_closed_vmap, vmap_by_loop},
    {"jit around x", by_closed_jit, call_by_loop},
    {"remat around x", by_closed_remat, call_by_loop},
    {"scan around x", by_closed_scan, scan_by_loop},
    {"cond around x", by_closed_cond, cond_by_loop},
    {"while around x", by_closed_while, while_by_loop, does::loops},
};

// ---- the functions, and the checks

/// Which derivatives JAX refuses, too.
enum class has : std::uint8_t { both, no_reverse, no_forward };
struct function_row {
  const char* name;
  plain_function f;
  shape of;
  has derivatives = has::both;
};

inline array_type type_of(const function_row& row, dtype t) { return {t, false, row.of}; }
inline value input_of(const function_row& row, dtype t) {
  value x = zeros_of(type_of(row, t));
  for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] = 0.9 * std::sin(2.3 * static_cast<double>(i) + 0.7);
  return to_value(to_array(x));  // as f32 stores them
}

/// The error of a pair that JAX refuses; empty if it has a value.
inline std::string refused(const function_row& row, does outer, does inner) {
  const bool reverse = outer == does::reverse || inner == does::reverse;
  if (outer == does::reverse && inner == does::loops) return "while_loop: reverse mode";
  if (row.derivatives == has::no_reverse && reverse) return "while_loop: reverse mode";
  const bool first_is_forward = inner == does::forward || (inner != does::reverse && outer == does::forward);
  if (row.derivatives == has::no_forward && first_is_forward) return "custom_vjp: derivative";
  return "";
}

/// How often it is checked; counted so that a table that lost its rows is found.
inline int check_pairs(const function_row& row, const plain& loop, dtype t, double tolerance) {
  const value x = input_of(row, t);
  const array data = to_array(x);
  int checked = 0;
  const function_under base{row.f};
  for (const transform_row& inner : transforms) {
    const function_under once{nullptr, inner.traced, &base};
    for (const transform_row& outer : transforms) {
      INFO(outer.name << " of " << inner.name << " of " << row.name);
      const function_under twice{nullptr, outer.traced, &once};
      ++checked;
      try {
        const std::string expected_error = refused(row, outer.kind, inner.kind);
        if (!expected_error.empty()) {
          CHECK_THAT(error_of([&] { twice(data); }), contains(expected_error));
          continue;
        }
        const value expected = outer.loop(x, [&](const value& v) { return inner.loop(v, loop); });
        CHECK(difference({to_value(twice(data))}, {expected}, tolerance) == "");
        if (t == f64) continue;
        const graph g = trace([&](const arrays& in) -> arrays { return twice(in[0]); }, {data.type()});
        CHECK(difference(evaluate(g, {x}), {expected}, 2e-6) == "");
      } catch (const std::exception& e) {
        FAIL_CHECK(e.what());
      }
    }
  }
  return checked;
}

}  // namespace tokamax::test::matrix
