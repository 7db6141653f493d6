// tests/support/functions.cpp: derivatives and batches of functions on lists of arrays.
// SPDX-License-Identifier: Apache-2.0
#include "support/functions.hpp"

#include <tokamax/backend/cpu.hpp>
#include <tokamax/transforms/passes/batch.hpp>
#include <tokamax/transforms/passes/forward.hpp>

#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>

namespace tokamax::test {

std::vector<array_type> types_of(const std::vector<array>& list) {
  std::vector<array_type> t;
  for (const array& a : list) t.push_back({a.dtype(), false, a.shape()});
  return t;
}
std::vector<array_type> types_of(const values& list) {
  std::vector<array_type> t;
  for (const value& v : list) t.push_back({v.type.dtype, false, v.type.shape});
  return t;
}
values to_values(const std::vector<array>& list) {
  values v;
  for (const array& a : list) v.push_back(to_value(a));
  return v;
}
values to_values(const arrays& list) { return to_values(listed(list)); }
std::vector<array> listed(const arrays& list) { return {list.begin(), list.end()}; }
arrays listed(const std::vector<array>& list) {
  arrays out;
  for (const array& a : list) out.push_back(a);
  return out;
}

graph trace(const function& f, const std::vector<array_type>& inputs) {
  graph g;
  const ambient_trace scope(g);
  arrays in;
  for (const array_type& t : inputs) in.push_back(array(&g, g.input(t), t));
  for (const array& y : f(in)) g.outputs.push_back(lift(g, y).id());
  return g;
}
namespace {
arrays variables(const arrays& x, int n) {
  arrays v;
  for (int k = 0; k < n; ++k)
    v.push_back(is_floating(x[k].dtype()) ? bind(variable_p, {x[k]}, words{}, location{}) : x[k]);
  return v;
}
arrays lifted(graph& g, arrays list) {
  for (array& a : list) a = lift(g, a);
  return list;
}
/// Only floating arrays have cotangents and tangents.
arrays floating_or_zero(const arrays& like, const arrays& found) {
  arrays out;
  for (int k = 0; k < like.count(); ++k)
    if (is_floating(like[k].dtype()))
      out.push_back(found[k].exists() ? found[k] : array(0.0, {like[k].dtype(), false, like[k].shape()}));
  return out;
}
/// `list` with every array that is not floating replaced by one that does not exist.
arrays spread(const arrays& like, const arrays& list, int from) {
  arrays out;
  for (const array& a : like) out.push_back(is_floating(a.dtype()) ? list[from++] : array());
  return out;
}
}  // namespace

namespace {
/// Calls f in the graph of traced arguments; data gets a graph of its own.
function in_graph(const function& f) {
  return [f](const arrays& x) {
    if (current_context.trace) return f(x);
    return execute_graph(trace(f, types_of(listed(x))), x);
  };
}
}  // namespace

function vjp_of(const function& f, int n) {
  return in_graph([f, n](const arrays& x) {
    graph& g = *current_context.trace;
    const arrays v = variables(x, n), y = lifted(g, f(v));
    return floating_or_zero(v, backward(g, y, spread(y, x, n), v));
  });
}
function jvp_of(const function& f, int n) {
  return in_graph([f, n](const arrays& x) {
    graph& g = *current_context.trace;
    const arrays v = variables(x, n), y = lifted(g, f(v));
    return floating_or_zero(y, forward(g, v, spread(v, x, n), y));
  });
}
function vmap_of(const function& f, std::int64_t n, unsigned mask) {
  return in_graph([f, n, mask](const arrays& x) {
    graph& g = *current_context.trace;
    arrays in, examples, batches;
    for (int k = 0; k < x.count(); ++k) {
      in.push_back(x[k]);
      if (!(mask >> k & 1)) continue;
      array_type t{x[k].dtype(), false, {}};
      for (int i = 1; i < x[k].rank(); ++i) t.shape.push_back(x[k].extent(i));
      in.back() = placeholder(g, t);
      examples.push_back(in.back());
      batches.push_back(x[k]);
    }
    const arrays y = lifted(g, f(in));
    arrays out = batch(g, n, examples, batches, y);
    for (int k = 0; k < out.count(); ++k)
      if (!out[k].exists()) out[k] = with_leading_axis(y[k], n);
    return out;
  });
}
namespace {
/// Replaces ops that have both rules and a compose by copies that have no rules.
struct rule_remover {
  bool handles(const op& o) const { return o.compose && (o.vjp || o.jvp); }
  arrays operator()(const call& c) const {
    static std::map<const op*, std::unique_ptr<op>> stripped;
    auto& o = stripped[c.self];
    if (!o) {
      o = std::make_unique<op>(*c.self);
      o->vjp = o->jvp = nullptr;
    }
    words w;
    for (int k = 0; k < c.attribute_count; ++k) w.push_back(c.attributes[k]);
    return bind_all(*o, c.inputs, c.count, w, c.where);
  }
};
}  // namespace

function without_rules(const function& f) {
  return [f](const arrays& x) {
    const graph inner = trace(f, types_of(listed(x)));
    return inline_graph(*current_context.trace, inner, x.data(), rule_remover{});
  };
}

namespace {
double bound(dtype t, double tolerance) { return is_floating(t) ? (t == bf16 ? 8192 * tolerance : tolerance) : 0; }
}  // namespace

std::string difference(const values& found, const values& expected, double tolerance) {
  std::ostringstream s;
  if (found.size() != expected.size()) return "number of arrays";
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (!(found[k].type == expected[k].type)) {
      s << "result " << k << ": " << message(found[k].type).view() << ", expected " << message(expected[k].type).view();
      return s.str();
    }
    double scale = 0.1;  // a small difference of large numbers keeps the errors of the large ones
    for (double e : expected[k].data)
      if (std::isfinite(e)) scale = std::max(scale, std::fabs(e));
    for (std::size_t i = 0; i < found[k].data.size(); ++i) {
      const double a = found[k].data[i], e = expected[k].data[i];
      const bool same = std::isfinite(e) ? std::fabs(a - e) <= bound(found[k].type.dtype, tolerance) * scale
                        : std::isnan(e)  ? std::isnan(a)
                                         : a == e;
      if (same) continue;
      s << "result " << k << " [" << i << "]: " << a << ", expected " << e << " (largest " << scale << ")";
      return s.str();
    }
  }
  return {};
}
std::string bit_difference(const std::vector<array>& found, const std::vector<array>& expected) {
  if (found.size() != expected.size()) return "number of arrays";
  for (std::size_t k = 0; k < found.size(); ++k) {
    array a = found[k], b = expected[k];
    a.materialize();
    b.materialize();
    const auto bytes = static_cast<std::size_t>(b.size() * size_of(b.dtype()));
    if (!(a.type() == b.type()) || std::memcmp(a.bytes(), b.bytes(), bytes) != 0)
      return "result " + std::to_string(k) + ": " + difference({to_value(a)}, {to_value(b)}, 0);
  }
  return {};
}

array noise(const array_type& t, unsigned seed) {
  array a = array::uninitialized({f32, false, t.shape});
  for (std::int64_t i = 0; i < a.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    a.mutable_data<float>()[i] = static_cast<float>(seed >> 8) / 8388608.0f - 1;
  }
  return astype(a, t.dtype);
}
array noise(const shape& s, unsigned seed, dtype t) { return noise(array_type{t, false, s}, seed); }

}  // namespace tokamax::test
