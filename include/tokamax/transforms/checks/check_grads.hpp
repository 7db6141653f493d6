// tokamax/transforms/checks/check_grads.hpp: compares the derivatives of a function with finite differences.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (a tool for tests)
#pragma once

#include <tokamax/lax/elementwise/arithmetic.hpp>     // x + e * t
#include <tokamax/transforms/body.hpp>                // body_input, zero_like
#include <tokamax/transforms/checks/node_values.hpp>  // node_values
#include <tokamax/transforms/eval_shape.hpp>          // make_graph

#include <cmath>   // fabs
#include <string>  // string
#include <tuple>   // tuple
#include <vector>  // vector

namespace tokamax {

/// The options of check_grads.
struct check_grads_options {
  int order = 2;        ///< derivatives of derivatives down to this order are checked
  bool forward = true;  ///< check jvp
  bool reverse = true;  ///< check vjp
  double tolerance =
      0;  ///< relative, and absolute below 1; 0: that of the least exact dtype: f64 1e-5, f32 2e-3, f16 1e-2, bf16 1e-1
  double step = 0;  ///< of the differences; 0: that of the dtype
};

namespace detail {

/// Where a derivative and a difference disagree.
struct gradient_mismatch {
  int operand = -1;  ///< none if -1
  std::string element;
  double found = 0, expected = 0;
};

inline array array_of(const std::vector<double>& numbers, const array_type& t) {
  return convert_element_type(array::from<double>(numbers, t.shape), t.dtype);
}
/// Numbers in (-1, 1) that look random.
inline array noise_like(const array& x, std::uint64_t seed) {
  std::vector<double> d(static_cast<std::size_t>(x.size()));
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (double& v : d) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<double>(state >> 11) / 4503599627370496.0 - 1;
  }
  return array_of(d, {x.dtype(), false, x.shape()});
}
inline arrays floating_of(const arrays& list) {
  arrays out;
  for (const array& a : list)
    if (is_floating(a.dtype())) out.push_back(a);
  return out;
}

/// The function (inputs, cotangents of floating results) -> cotangents of floating inputs, or (inputs, tangents of floating
/// inputs) -> tangents of floating results.
inline graph derivative_graph(const graph& f, bool forward_mode) {
  graph g;
  const ambient_trace scope(g);
  arrays in, variables, directions, out;
  for (const int i : f.inputs) in.push_back(body_input(g, f[i].type));
  for (const array& x : in)
    variables.push_back(is_floating(x.dtype()) ? bind(described<variable_p>(), {x}, words{}, location{}) : x);
  arrays ys = inline_graph(g, f, variables.data());
  for (array& y : ys) y = lift(g, y);
  const arrays &like = forward_mode ? variables : ys, &other = forward_mode ? ys : variables;
  for (const array& a : like) directions.push_back(is_floating(a.dtype()) ? body_input(g, a.type()) : array());
  out = forward_mode ? forward(g, variables, directions, ys) : backward(g, ys, directions, variables);
  for (int k = 0; k < other.count(); ++k)
    if (is_floating(other[k].dtype()))
      g.outputs.push_back(lift(g, out[k].exists() ? out[k] : zero_like(other[k])).id());
  return g;
}

/// Compares the derivatives of functions, given as graphs, with differences.
class gradient_check {
 public:
  explicit gradient_check(const check_grads_options& o) : options_(o) {}

  /// Throws if a derivative of f at x is wrong, or one of its derivatives down to the given order.
  void run(const graph& f, const arrays& x, int order, const std::string& path) const {
    for (const bool forward_mode : {true, false}) {
      if (!(forward_mode ? options_.forward : options_.reverse)) continue;
      const std::string mode = forward_mode ? "jvp" : "vjp";
      if (const gradient_mismatch m = compare(f, x, forward_mode); m.operand >= 0) {
        blame_op(f, x, forward_mode);
        refuse("check_grads: " + mode + path, "argument", m, {});
      }
      if (order < 2) continue;
      const graph derivative = derivative_graph(f, forward_mode);
      arrays at = x;
      for (const array& a : floating_of(forward_mode ? x : execute_graph(f, x)))
        at.push_back(noise_like(a, static_cast<std::uint64_t>(at.count() + 31 * order)));
      run(derivative, at, order - 1, " of " + mode + path);
    }
  }

 private:
  struct exactness {
    double tolerance, step, epsilon;
  };
  exactness of(const arrays& list) const {
    exactness e{1e-5, 1e-3, 2.3e-16};
    for (const array& a : list) {
      if (a.dtype() == f32 && e.tolerance < 2e-3) e = {2e-3, 0x1p-6, 1.2e-7};
      if (a.dtype() == f16 && e.tolerance < 1e-2) e = {1e-2, 0x1p-4, 9.8e-4};
      if (is_floating(a.dtype()) && size_of(a.dtype()) <= 2 && a.dtype() != f16) e = {1e-1, 0x1p-3, 7.9e-3};
    }
    if (options_.tolerance > 0) e.tolerance = options_.tolerance;
    if (options_.step > 0) e.step = options_.step;
    return e;
  }
  /// The floating results' slopes along `direction` of input k, from four values.
  static std::vector<std::vector<double>> slopes(const graph& f, const arrays& x, int k, const array& direction,
                                                 double h) {
    std::vector<std::vector<double>> total;
    for (const auto& [steps, factor] : {std::pair{1.0, 8.0}, {-1.0, -8.0}, {2.0, -1.0}, {-2.0, 1.0}}) {
      arrays at = x;
      at[k] = convert_element_type(x[k] + direction * array(steps * h, {x[k].dtype(), false, {}}), x[k].dtype());
      const arrays ys = floating_of(execute_graph(f, at));
      total.resize(static_cast<std::size_t>(ys.count()));
      for (int j = 0; j < ys.count(); ++j) {
        const std::vector<double> y = numbers_of(ys[j]);
        auto& sum = total[static_cast<std::size_t>(j)];
        sum.resize(y.size());
        for (std::size_t i = 0; i < y.size(); ++i) sum[i] += y[i] * factor / (12 * h);
      }
    }
    return total;
  }
  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
    return total;
  }

  gradient_mismatch compare(const graph& f, const arrays& x, bool forward_mode) const {
    const arrays ys = floating_of(execute_graph(f, x));
    if (ys.empty() || floating_of(x).empty()) return {};
    const graph derivative = derivative_graph(f, forward_mode);
    return forward_mode ? compare_forward(f, derivative, x, ys) : compare_reverse(f, derivative, x, ys);
  }
  gradient_mismatch compare_forward(const graph& f, const graph& derivative, const arrays& x, const arrays& ys) const {
    const exactness e = of(x);
    for (int k = 0; k < x.count(); ++k) {
      if (!is_floating(x[k].dtype())) continue;
      const array direction = noise_like(x[k], static_cast<std::uint64_t>(k + 5));
      arrays in = x;
      for (int j = 0; j < x.count(); ++j)
        if (is_floating(x[j].dtype()))
          in.push_back(j == k ? direction
                              : array_of(std::vector<double>(static_cast<std::size_t>(x[j].size())),
                                         {x[j].dtype(), false, x[j].shape()}));
      const arrays tangents = execute_graph(derivative, in);
      const auto expected = slopes(f, x, k, direction, e.step);
      for (int j = 0; j < ys.count(); ++j) {
        const std::vector<double> y = numbers_of(ys[j]), t = numbers_of(tangents[j]);
        for (std::size_t i = 0; i < t.size(); ++i) {
          const double wanted = expected[static_cast<std::size_t>(j)][i];
          if (close(t[i], wanted, e, std::fabs(y[i]))) continue;
          return {k, "result element " + index_text(static_cast<std::int64_t>(i), ys[j].shape()), t[i], wanted};
        }
      }
    }
    return {};
  }
  gradient_mismatch compare_reverse(const graph& f, const graph& derivative, const arrays& x, const arrays& ys) const {
    const exactness e = of(x);
    std::vector<std::vector<double>> cts;
    arrays in = x;
    double size = 0;
    for (int j = 0; j < ys.count(); ++j) {
      in.push_back(noise_like(ys[j], static_cast<std::uint64_t>(j + 11)));
      cts.push_back(numbers_of(in.back()));
      for (std::size_t i = 0; i < cts.back().size(); ++i) size += std::fabs(cts.back()[i] * numbers_of(ys[j])[i]);
    }
    const arrays gradients = execute_graph(derivative, in);
    const auto slope = [&](int k, const array& direction) {
      const auto each = slopes(f, x, k, direction, e.step);
      double total = 0;
      for (std::size_t j = 0; j < each.size(); ++j) total += dot(each[j], cts[j]);
      return total;
    };
    for (int k = 0, at = 0; k < x.count(); ++k) {
      if (!is_floating(x[k].dtype())) continue;
      const std::vector<double> gradient = numbers_of(gradients[at++]);
      const array direction = noise_like(x[k], static_cast<std::uint64_t>(k + 5));
      const double found = dot(gradient, numbers_of(direction)), wanted = slope(k, direction);
      if (close(found, wanted, e, size)) continue;
      gradient_mismatch worst{k, "some element", found, wanted};
      double most = -1;
      std::vector<double> unit(gradient.size());
      for (std::size_t i = 0; i < unit.size(); ++i) {
        unit[i] = 1;
        const double one = slope(k, array_of(unit, {x[k].dtype(), false, x[k].shape()}));
        unit[i] = 0;
        const double gap = std::fabs(one - gradient[i]);
        if (!(gap <= most) && !close(gradient[i], one, e, size)) {
          most = gap;
          worst = {k, "element " + index_text(static_cast<std::int64_t>(i), x[k].shape()), gradient[i], one};
        }
      }
      return worst;
    }
    return {};
  }
  /// `size` is that of the values whose difference was taken: their rounding is no mistake of the derivative.
  static bool close(double found, double expected, const exactness& e, double size) {
    const double bound = e.tolerance * std::fmax(1, std::fabs(expected)) + 4 * e.epsilon * size / e.step;
    return std::fabs(found - expected) <= bound || (std::isnan(found) && std::isnan(expected));
  }

  /// Throws if the derivative of one of the ops is wrong, at the operands that it has in f at x.
  void blame_op(const graph& f, const arrays& x, bool forward_mode) const {
    const node_values values(f, x);
    const vec<char> live = live_nodes(f);
    for (int i = 0; i < f.count(); ++i) {
      const node& n = f[i];
      if (!live[i] || !n.op || n.op == &get_p || n.op->algebra.constant || n.op->effect != effect_kind::none ||
          n.operand_count == 0)
        continue;
      graph alone;
      arrays operands, at;
      for (int k = 0; k < n.operand_count; ++k) {
        at.push_back(values[f.operand(n, k)]);
        operands.push_back(body_input(alone, f[f.operand(n, k)].type));
      }
      const words w = carry_words(f, n, alone);
      for (const array& y : emit_op(alone, *n.op, operands.data(), operands.count(), w, n.where))
        alone.outputs.push_back(lift(alone, y).id());
      const gradient_mismatch m = compare(alone, at, forward_mode);
      if (m.operand >= 0)
        refuse("check_grads: " + std::string(forward_mode ? "jvp" : "vjp") + " of " + std::string(n.op->name),
               "operand", m, n.where);
    }
  }
  [[noreturn]] static void refuse(const std::string& what, const char* kind, const gradient_mismatch& m,
                                  location where) {
    throw error(what, kind + (" " + std::to_string(m.operand)) + ", " + m.element + ": " + std::to_string(m.found),
                std::to_string(m.expected) + " by finite differences", place_of(where));
  }

  check_grads_options options_;
};

}  // namespace detail

/// Compares the derivatives of f at `args` with finite differences: jvp and vjp along directions that look random, then
/// theirs in turn, down to the given order. `args` is one argument, or the tuple of several. If one is wrong, the error
/// names the op whose rule gives another derivative than the differences of the op itself, the operand, and the element;
/// or the argument, if every op is right.
///
///   check_grads(loss, std::tuple{weights, x}, {.order = 2});
///
/// errors  tokamax::error "check_grads: vjp of <op>", "check_grads: jvp of <op>", or "check_grads: vjp" and so on
/// source  jax.test_util.check_grads
template <class F, class... Args>
void check_grads(const F& f, const std::tuple<Args...>& args, const check_grads_options& options = {}) {
  const graph g = std::apply([&](const Args&... each) { return make_graph(f, each...); }, args);
  const arrays x = std::apply([](const Args&... each) { return leaves(each...); }, args);
  detail::gradient_check(options).run(g, x, options.order, "");
}
template <class F, class Arg>
void check_grads(const F& f, const Arg& arg, const check_grads_options& options = {}) {
  check_grads(f, std::tuple<Arg>(arg), options);
}

}  // namespace tokamax
