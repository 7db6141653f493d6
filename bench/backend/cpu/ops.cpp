// bench/backend/cpu/ops.cpp: times of the operations of bench/cases/ops.txt as users call them.
// SPDX-License-Identifier: Apache-2.0
//
// A case is a line of that file with a dtype as its second word. bench/peers/ops.py runs the same cases elsewhere.
//
//   tokamax_bench_ops        runs all cases and prints a line of JSON for each
//   tokamax_bench_ops serve  reads lines "RUNS CASE" and answers "MEDIAN_SECONDS MEAN ARENA_BYTES", for turns with the
//                            peers; MEAN is that of the magnitudes of the results, to see that all compute the same
//   tokamax_bench_ops CASE   prints what each step of the case takes
#include <tokamax/benchmarking/benchmark.hpp>
#include <tokamax/ops.hpp>
#include <tokamax/tokamax.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/measure.hpp"
#include "support/turns.hpp"

namespace tk = tokamax;
using bench::array_list, bench::filled, bench::function, bench::numbers_below, bench::uniform, bench::uniform_array;
using tk::array;

namespace {

/// The words of a case.
struct words {
  std::string op;
  std::map<std::string, std::string> options;
  explicit words(const std::string& line) {
    std::istringstream in(line);
    in >> op;
    for (std::string word; in >> word;) {
      const std::size_t equals = word.find('=');
      options[word.substr(0, equals)] = equals == word.npos ? "" : word.substr(equals + 1);
    }
  }
  bool has(const char* name) const { return options.count(name) == 1; }
  std::int64_t operator[](const char* name) const { return has(name) ? std::stoll(options.at(name)) : 0; }
};

/// A case as a function of floats.
struct operation {
  function f;
  std::vector<tk::shape> in;
};

operation attention_of(const words& w) {
  const std::int64_t b = w["B"], t = w["T"], s = w.has("S") ? w["S"] : t, n = w["N"], k = w["K"], h = w["H"];
  std::vector<tk::shape> in{{b, t, n, h}, {b, s, k, h}, {b, s, k, h}};
  if (w.op == "flex_attention")  // a bias that grows with the distance
    return {[](const array_list& x) -> array_list {
              const auto score = [](const array& a, const array&, const array&, const array& i, const array& j) {
                return a - 0.1f * tk::abs(tk::astype(i - j, tk::f32));
              };
              return {tk::flex_attention(x[0], x[1], x[2], score)};
            },
            in};
  tk::attention_options o{.is_causal = w.has("causal")};
  if (w.has("window")) o.local_window_size = {w["window"], 0};
  if (w.has("lengths")) o.key_value_seq_lengths = s - numbers_below(s / 2, b);
  if (w.has("bias")) in.push_back({1, n, t, s});
  return {[o](const array_list& x) -> array_list {
            tk::attention_options with = o;
            if (x.size() > 3) with.bias = x[3];
            return {tk::dot_product_attention(x[0], x[1], x[2], with)};
          },
          in};
}

/// Group i has about i / (G (G + 1) / 2) of the rows; with options, all have the same number, or the first one has all.
array group_sizes(const words& w) {
  const std::int64_t m = w["M"], g = w["G"];
  std::int64_t left = m;
  return filled<std::int32_t>({g}, tk::i32, [&](std::int64_t i) {
    std::int64_t rows = m * 2 * (i + 1) / (g * (g + 1));
    if (w.has("even")) rows = m / g;
    if (w.has("first")) rows = i == 0 ? m : 0;
    if (i + 1 == g) rows = left;
    left -= rows;
    return rows;
  });
}

operation product_of(const words& w) {
  const std::int64_t m = w["M"], d = w["D"], v = w["V"];
  if (w.op == "ragged_dot")
    return {[groups = group_sizes(w)](const array_list& in) -> array_list {
              return {tk::ragged_dot(in[0], in[1], groups)};
            },
            {{m, d}, {w["G"], d, v}}};
  if (w.op == "quantized_matmul") {  // the weights are integers of 8 bits with a scale for each column
    const array q =
        filled<std::int8_t>({d, v}, tk::i8, [](std::uint32_t i) { return std::nearbyint(uniform(i, 1) * 140); });
    const tk::quantized_array weights{q, tk::abs(uniform_array({1, v}, 2)) * 0.01f};
    return {[weights](const array_list& in) -> array_list { return {tk::matmul(in[0], weights)}; }, {{m, d}}};
  }
  if (w.op == "gated_linear_unit")
    return {
        [](const array_list& in) -> array_list {
          return {tk::gated_linear_unit(in[0], std::pair{in[1], in[2]}, [](const array& a) { return tk::silu(a); })};
        },
        {{m, d}, {d, v}, {d, v}}};
  return {
      [labels = numbers_below(v, m)](const array_list& in) -> array_list {
        return {tk::linear_softmax_cross_entropy_loss(in[0], labels, in[1], {.reduction = tk::loss_reduction::mean})};
      },
      {{m, d}, {d, v}}};
}

operation triangle_of(const words& w) {
  const std::int64_t n = w["T"], c = w["D"];
  const tk::triangle_kind kind = w.has("outgoing") ? tk::triangle_kind::outgoing : tk::triangle_kind::incoming;
  const array mask = filled<std::int32_t>({n, n}, tk::i32, [](std::int64_t i) { return i % 7 != 0; }) > 0;
  return {[kind, mask](const array_list& in) -> array_list {
            return {tk::triangle_multiplication(in[0], mask, {in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8]},
                                                kind)};
          },
          {{n, n, c}, {c, 2, c}, {c, 2, c}, {c, c}, {c, c}, {c}, {c}, {c}, {c}}};
}

operation rows_of(const words& w) {
  const std::int64_t m = w["M"], d = w["D"], v = w["V"], g = w["G"], k = w["K"];
  const array zero = tk::zeros({}, tk::i32), end = filled<std::int32_t>({}, tk::i32, [&](int) { return m - m / 8; });
  if (w.op == "ragged_gather")  // the last eighth of the rows is outside the range
    return {[=, rows = numbers_below(v, m)](const array_list& in) -> array_list {
              return {tk::ragged_gather(in[0], rows, zero, end)};
            },
            {{v, d}}};
  if (w.op == "ragged_scatter")
    return {[=, rows = numbers_below(m, m)](const array_list& in) -> array_list {
              return {tk::ragged_scatter(in[0], rows, zero, end)};
            },
            {{m, d}}};
  if (w.op == "ragged_gather_reduce")
    return {[=, rows = numbers_below(m, m), valid = tk::arange(m) >= 0](const array_list& in) -> array_list {
              return {tk::ragged_gather_reduce(in[0], rows, in[1], valid, g)};
            },
            {{m, d}, {m}}};
  return {[=](const array_list& in) -> array_list {
            const auto [values, indices] = tk::top_k(in[0], k);
            return {values, indices};
          },
          {{m, d}}};
}

operation recurrence_of(const words& w) {
  const std::int64_t t = w["T"], d = w["D"], k = w["K"], n = w["N"], h = w["H"];
  if (w.op == "causal_conv1d")
    return {[](const array_list& in) -> array_list {
              return {tk::causal_conv1d(in[0], in[1], {}, [](const array& a) { return tk::silu(a); }).out};
            },
            {{t, d}, {d, k}}};
  return {[](const array_list& in) -> array_list {
            const array g = -tk::abs(tk::astype(in[3], tk::f32)), beta = tk::sigmoid(tk::astype(in[4], tk::f32));
            return {tk::gated_delta_rule(in[0], in[1], in[2], g, beta, {}, {.normalize_qk = true}).out};
          },
          {{t, k, h}, {t, k, h}, {t, n, h}, {t, n}, {t, n}}};
}

operation operation_of(const words& w) {
  const std::int64_t m = w["M"], d = w["D"], v = w["V"];
  if (w.op == "attention" || w.op == "flex_attention") return attention_of(w);
  if (w.op == "layer_norm" && w.has("axis"))  // of three axes, the first of which is normalised
    return {[](const array_list& in) -> array_list { return {tk::layer_norm(in[0], in[1], in[2], {.axis = 0})}; },
            {{m, d, v}, {m}, {m}}};
  if (w.op == "layer_norm")
    return {[](const array_list& in) -> array_list { return {tk::layer_norm(in[0], in[1], in[2])}; },
            {{m, d}, {d}, {d}}};
  if (w.op == "rms_norm")
    return {[](const array_list& in) -> array_list { return {tk::rms_norm(in[0], in[1])}; }, {{m, d}, {d}}};
  if (w.op == "softmax") return {[](const array_list& in) -> array_list { return {tk::softmax(in[0])}; }, {{m, d}}};
  if (w.op == "cross_entropy")
    return {[labels = numbers_below(v, m)](const array_list& in) -> array_list {
              return {tk::mean(tk::softmax_cross_entropy(in[0], labels))};
            },
            {{m, v}}};
  for (const char* op : {"ragged_dot", "quantized_matmul", "gated_linear_unit", "linear_cross_entropy"})
    if (w.op == op) return product_of(w);
  for (const char* op : {"ragged_gather", "ragged_scatter", "ragged_gather_reduce", "top_k"})
    if (w.op == op) return rows_of(w);
  if (w.op == "triangle_multiplication") return triangle_of(w);
  if (w.op == "causal_conv1d" || w.op == "gated_delta_rule") return recurrence_of(w);
  throw tk::error("ops: case", w.op, "an op of bench/cases/ops.txt");
}

/// The results and the gradients of all operands, with the results as cotangents.
function with_gradients(const function& f) {
  return [f](const array_list& in) {
    const auto [y, pullback] = tk::vjp([&](const array_list& x) { return f(x); }, in);
    array_list all = y;
    for (const array& d : pullback(y)) all.push_back(d);
    return all;
  };
}

/// A case and what it is a function of.
std::pair<function, array_list> read_case(const std::string& line) {
  const words w(line);
  const operation o = operation_of(w);
  array_list in;
  for (const tk::shape& s : o.in)
    in.push_back(
        tk::astype(uniform_array(s, static_cast<std::uint32_t>(in.size())), w.has("bf16") ? tk::bf16 : tk::f32));
  return {w.has("grad") ? with_gradients(o.f) : o.f, in};
}

auto measured(const function& f, const array_list& in, const tk::benchmark_options& o) {
  return tk::benchmark([f](const array_list& x) { return f(x); }, o, in);
}

bench::ready_function ready_case(const std::string& line) {
  const auto [f, in] = read_case(line);
  return {f, in, measured(f, in, {.iterations = 1, .warmup = 0, .steps = false}).metadata.arena_bytes};
}

void print_steps(const std::string& line) {
  const auto [f, in] = read_case(line);
  std::puts(tk::to_text(measured(f, in, {})).c_str());
}

std::vector<std::string> all_cases() {
  std::vector<std::string> all;
  for (const char* dtype : {"f32", "bf16"}) {
    std::ifstream file(TOKAMAX_BENCH_OPS_CASES);
    for (std::string line; std::getline(file, line);)
      if (!line.empty() && line[0] != '#')
        all.push_back(line.substr(0, line.find(' ')) + " " + dtype + line.substr(line.find(' ')));
  }
  if (all.empty()) throw tk::error("ops: cases", "none", "lines in " TOKAMAX_BENCH_OPS_CASES);
  return all;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1 && std::string(argv[1]) == "serve") return bench::serve(ready_case), 0;
  if (argc > 1) return print_steps(argv[1]), 0;
  for (const std::string& line : all_cases()) {
    const auto c = ready_case(line);
    bench::report("ops", line, "tokamax", 1e6 * bench::median_seconds([&] { c.run(); }), "us");
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
