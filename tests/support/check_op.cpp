// tests/support/check_op.cpp: the checks behind check_function and check_op.
// SPDX-License-Identifier: Apache-2.0
#include "support/check_op.hpp"

#include <tokamax/compiler/text/parse.hpp>
#include <tokamax/compiler/text/print.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/scan_rules.hpp>

#include "support/device.hpp"
#include "support/golden.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

namespace tokamax::test {

void check_values(const function& f, const std::vector<array>& inputs, double tolerance, bool everywhere) {
  const graph g = trace(f, types_of(inputs));
  const values expected = evaluate(g, to_values(inputs));
  const arrays in = put_here(listed(inputs));
  CHECK(difference(to_values(execute_graph(g, in)), expected, tolerance) == "");
  if (!everywhere) return;
  CHECK(difference(to_values(f(in)), expected, tolerance) == "");
  const auto compiled = jit([&f](const std::vector<array>& x) { return listed(f(listed(x))); }, here, at_run_time);
  CHECK(difference(to_values(compiled(inputs)), expected, tolerance) == "");
}

namespace {

double dot(const values& a, const values& b) {
  double total = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::size_t i = 0; i < a[k].data.size(); ++i) total += a[k].data[i] * b[k].data[i];
  return total;
}
std::vector<array> noise_like(const std::vector<array_type>& types, unsigned seed) {
  std::vector<array> out;
  for (const array_type& t : types)
    if (is_floating(t.dtype)) out.push_back(noise(t, seed++));
  return out;
}
template <class T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
values floats_of(const values& v) {
  values out;
  std::copy_if(v.begin(), v.end(), std::back_inserter(out), [](const value& x) { return is_floating(x.type.dtype); });
  return out;
}

void add_ops(vec<const op*>& ops, const graph& g) {
  for (const node& n : g.nodes)
    if (n.op) ops.push_back(n.op);
  for (const graph& body : g.bodies) add_ops(ops, body);
}
bool equal(const graph& a, const graph& b) {
  bool same = a.count() == b.count() && a.bodies.count() == b.bodies.count() && a.outputs.count() == b.outputs.count();
  for (int k = 0; same && k < a.outputs.count(); ++k) same = a.outputs[k] == b.outputs[k];
  for (int k = 0; same && k < a.bodies.count(); ++k) same = equal(a.bodies[k], b.bodies[k]);
  for (int i = 0; same && i < a.count(); ++i) {
    const node &x = a[i], &y = b[i];
    same = x.op == y.op && x.operand_count == y.operand_count && x.word_count == y.word_count && x.type == y.type &&
           x.type.weak == y.type.weak;
    for (int k = 0; same && k < x.operand_count; ++k) same = a.operand(x, k) == b.operand(y, k);
    if (x.op == &captured_p)
      same = same && captured_data_of(a, x).get() == captured_data_of(b, y).get();
    else
      for (int k = 0; same && k < x.word_count; ++k) same = a.words_of(x)[k] == b.words_of(y)[k];
  }
  return same;
}

/// Keeps a program as text, and the bytes of its inputs, in the folder TOKAMAX_PROGRAMS: tests/stablehlo/op_programs.cpp writes
/// it as StableHLO.
void keep_program(const graph& g, const std::vector<array>& inputs) {
  const char* const folder = std::getenv("TOKAMAX_PROGRAMS");
  if (!folder || !g.captured.empty()) return;
  const std::string text = to_text(g), path = folder + ("/" + std::to_string(std::hash<std::string>()(text)));
  std::ofstream(path + ".graph", std::ios::binary) << text;
  std::ofstream data(path + ".inputs", std::ios::binary);
  for (const array& a : inputs)
    data.write(reinterpret_cast<const char*>(a.bytes()), static_cast<std::streamsize>(a.size() * size_of(a.dtype())));
}

/// Checks that infer gives the type of compose, for every op in the graph.
void check_types(const graph& g) {
  const vec<char> live = live_nodes(g);
  for (int i = 0; i < g.count(); ++i) {
    const node& n = g[i];
    if (!live[i] || !n.op || !n.op->compose || n.op->attributes.has_bodies() || n.op->infer_all) continue;
    INFO("infer and compose of " << std::string(n.op->name));
    graph inner;
    const ambient_trace scope(inner);
    vec<array> in;
    for (int k = 0; k < n.operand_count; ++k)
      in.push_back(array(&inner, inner.input(g[g.operand(n, k)].type), g[g.operand(n, k)].type));
    const arrays y = n.op->compose(call_of(g, n, in, &inner));
    CHECK(message(y[0].type()).view() == message(n.type).view());
  }
}

/// Checks in double that the vjp rule agrees with the derived rule, with central differences and with the transpose of jvp.
void check_derivatives(const function& f, const std::vector<array>& inputs, const check_options& o) {
  const int n = static_cast<int>(inputs.size());
  const graph g = trace(f, types_of(inputs));
  const values x = to_values(inputs), y = evaluate(g, x);
  const std::vector<array> cts = noise_like(types_of(y), 7), tangents = noise_like(types_of(inputs), 77);
  if (cts.empty() || tangents.empty()) return;
  const auto pull = joined(inputs, cts), push = joined(inputs, tangents);
  const graph vjp_graph = trace(vjp_of(f, n), types_of(pull)), jvp_graph = trace(jvp_of(f, n), types_of(push));
  const values ct = to_values(cts), t = to_values(tangents);
  const values gradient = evaluate(vjp_graph, to_values(pull)), pushed = evaluate(jvp_graph, to_values(push));

  auto moved = [&](std::size_t k, std::size_t i, double by) {
    values at = x;
    at[k].data[i] += by;
    return dot(floats_of(evaluate(g, at)), ct);
  };
  values differences;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!is_floating(x[k].type.dtype)) continue;
    value d = zeros_of(x[k].type);
    for (std::size_t i = 0; i < d.data.size(); ++i)
      d.data[i] = (moved(k, i, o.step) - moved(k, i, -o.step)) / (2 * o.step);
    differences.push_back(d);
  }
  values along = x;
  auto shifted = [&](double by) {
    for (std::size_t k = 0, j = 0; k < x.size(); ++k)
      if (is_floating(x[k].type.dtype)) {
        for (std::size_t i = 0; i < x[k].data.size(); ++i) along[k].data[i] = x[k].data[i] + by * t[j].data[i];
        ++j;
      }
    return floats_of(evaluate(g, along));
  };
  values directional = shifted(o.step);
  const values back = shifted(-o.step);
  for (std::size_t k = 0; k < directional.size(); ++k)
    for (std::size_t i = 0; i < directional[k].data.size(); ++i)
      directional[k].data[i] = (directional[k].data[i] - back[k].data[i]) / (2 * o.step);
  auto in_double = [](values v) {
    for (value& a : v) a.type.dtype = f32;  // the wider bound of bf16 is meant for results of the CPU only
    return v;
  };
  {
    INFO("vjp against finite differences");
    CHECK(difference(in_double(gradient), in_double(differences), 1e-6) == "");
  }
  {
    INFO("jvp against finite differences");
    CHECK(difference(in_double(pushed), in_double(directional), 1e-6) == "");
  }
  INFO("<ct, jvp(t)> = <vjp(ct), t>");
  CHECK(dot(pushed, ct) == Approx(dot(gradient, t)).epsilon(1e-9).margin(1e-12));
  {
    INFO("derived rules");
    CHECK(difference(in_double(evaluate(trace(vjp_of(without_rules(f), n), types_of(pull)), to_values(pull))),
                     in_double(gradient), 1e-8) == "");
    CHECK(difference(in_double(evaluate(trace(jvp_of(without_rules(f), n), types_of(push)), to_values(push))),
                     in_double(pushed), 1e-8) == "");
  }
}

/// Checks that vmap gives the results of a loop over slices, for every choice of the inputs that carry the axis.
void check_batches(const function& f, const std::vector<array>& inputs, const check_options& o) {
  constexpr std::int64_t count = 3;
  const values x = to_values(inputs);
  const graph g = trace(f, types_of(inputs));
  const unsigned all = (1u << inputs.size()) - 1;
  for (unsigned mask = 1; mask <= all; ++mask) {
    if (inputs.size() > 3 && mask != all && (mask & (mask - 1))) continue;  // if many: each input alone, and all
    INFO("vmap over the inputs of mask " << mask);
    values whole;
    std::vector<values> slices(static_cast<std::size_t>(count), x);
    for (std::size_t k = 0; k < x.size(); ++k) {
      whole.push_back(x[k]);
      if (!(mask >> k & 1)) continue;
      whole[k] = {tokamax::detail::stacked_type(x[k].type, count), {}};
      for (auto& slice : slices) {  // other entries hold the same numbers in another order
        auto& d = slice[k].data;
        if (!d.empty())
          std::rotate(
              d.begin(),
              d.begin() + static_cast<std::ptrdiff_t>((&slice - slices.data()) % static_cast<std::ptrdiff_t>(d.size())),
              d.end());
        whole[k].data.insert(whole[k].data.end(), d.begin(), d.end());
      }
    }
    values expected;
    for (const values& slice : slices) {
      const values y = evaluate(g, slice);
      if (expected.empty())
        for (const value& v : y) expected.push_back({tokamax::detail::stacked_type(v.type, count), {}});
      for (std::size_t k = 0; k < y.size(); ++k)
        expected[k].data.insert(expected[k].data.end(), y[k].data.begin(), y[k].data.end());
    }
    const graph mapped = trace(vmap_of(f, count, mask), types_of(whole));
    CHECK(difference(evaluate(mapped, whole), expected, 1e-9) == "");
    arrays in;
    for (const value& v : whole) in.push_back(to_array(v));
    CHECK(difference(to_values(execute_graph(mapped, put_here(in))), expected, o.tolerance) == "");
  }
}

}  // namespace

void check_text(const graph& g) {
  const std::string text = to_text(g);
  INFO(text);
  try {
    const graph read = read_back(g);
    CHECK(equal(read, g));
    CHECK(to_text(read) == text);
  } catch (const error& e) {
    FAIL_CHECK(e.what());
  }
}
graph read_back(const graph& g) {
  vec<const op*> ops = library_ops();
  add_ops(ops, g);
  return parse_graph(to_text(g), ops, captured_arrays(g));
}

void check_function(const function& f, const std::vector<array>& inputs, const check_options& o) {
  check_types(trace(f, types_of(inputs)));
  check_text(trace(f, types_of(inputs)));
  keep_program(trace(f, types_of(inputs)), inputs);
  check_values(f, inputs, o.tolerance);
  if (o.batch) check_batches(f, inputs, o);
  function at = f;
  std::vector<array> x = inputs;
  for (int order = 1; o.differentiate && order <= o.order; ++order) {
    INFO("derivative of order " << order);
    check_derivatives(at, x, o);
    const auto y = types_of(evaluate(trace(at, types_of(x)), to_values(x)));
    const auto cts = noise_like(y, 100 + static_cast<unsigned>(order)),
               tangents = noise_like(types_of(x), 200 + static_cast<unsigned>(order));
    if (cts.empty() || tangents.empty()) return;
    const int n = static_cast<int>(x.size());
    check_values(jvp_of(at, n), joined(x, tangents), o.tolerance, false);
    at = vjp_of(at, n);
    x = joined(x, cts);
    check_text(trace(at, types_of(x)));
    if (order == 1) keep_program(trace(at, types_of(x)), x);
    check_values(at, x, o.tolerance, false);
    if (o.batch && order == 1) check_batches(at, x, o);
  }
}

void check_op(const op& o, const std::vector<example>& examples, const check_options& options) {
  for (const example& e : examples) {
    std::string types;
    for (const array& a : e.inputs) types.append(message(a.type()).view()).append(" ");
    INFO(std::string(o.name) << "(" << types << ")");
    check_function([&](const arrays& x) { return bind_all(o, x.data(), x.count(), e.attributes, location{}); },
                   e.inputs, options);
  }
}

namespace {

bool has_golden(const std::string& file, const std::string& name) {
  try {
    return golden(file, name).exists();
  } catch (const error&) {
    return false;
  }
}
void check_near(const array& found, const array& expected, double tolerance) {
  REQUIRE(message(found.type()).view() == message(expected.type()).view());
  const value a = to_value(found), e = to_value(expected);
  for (std::size_t i = 0; i < e.data.size(); ++i) {
    INFO("element " << i << ": " << a.data[i] << ", expected " << e.data[i]);
    const double x = a.data[i], y = e.data[i];
    CHECK((std::isnan(y) ? std::isnan(x) : x == y || std::fabs(x - y) <= tolerance * std::fmax(std::fabs(y), 1)));
  }
}

}  // namespace

void check_golden(const std::string& name, const function& f, int inputs, double tolerance, const std::string& file) {
  arrays x;
  for (int k = 0; k < inputs; ++k) x.push_back(golden(file, name + ".in" + std::to_string(k)));
  INFO("golden " << name);
  const array out = f(put_here(x))[0], expected = golden(file, name + ".out");
  check_near(out, expected, tolerance);
  if (!has_golden(file, name + ".ct")) return;
  arrays pull = x;
  pull.push_back(golden(file, name + ".ct"));
  const arrays gradients = execute_graph(trace(vjp_of(f, inputs), types_of(listed(pull))), put_here(pull));
  for (int k = 0, j = 0; k < inputs; ++k) {
    if (!is_floating(x[k].dtype())) continue;
    INFO("gradient " << k);
    if (has_golden(file, name + ".grad" + std::to_string(k)))
      check_near(gradients[j], golden(file, name + ".grad" + std::to_string(k)), tolerance);
    ++j;
  }
}

}  // namespace tokamax::test
