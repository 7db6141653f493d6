// bench/backend/cpu/ops.cpp: times of the operations of bench/cases/ops.txt as users call them.
// SPDX-License-Identifier: Apache-2.0
//
// A case is a line of that file with a dtype as its second word. bench/peers/ops.py runs the same cases elsewhere.
//
//   tokamax_bench_ops        runs all cases and prints a line of JSON for each
//   tokamax_bench_ops serve  reads lines "RUNS CASE" and answers "MEDIAN_SECONDS MEAN ARENA_BYTES", for turns with the
//                            peers; MEAN is that of the magnitudes of the results, to see that all compute the same
#include <tokamax/benchmarking/benchmark.hpp>
#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/measure.hpp"

namespace tk = tokamax;
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

using operands = std::vector<array>;
using function = std::function<operands(const operands&)>;

/// A case as a function of floats. Its type is the same for all ops, so that this program compiles once what runs them.
struct operation {
  function f;
  std::vector<tk::shape> in;
};

/// Element i of operand k: a number between -sqrt(0.75) and sqrt(0.75), so that the standard deviation is a half.
float uniform(std::uint32_t i, std::uint32_t k) {
  std::uint32_t h = i * 0x9E3779B9u + (k + 1) * 0x85EBCA6Bu;
  h = (h ^ (h >> 16)) * 0x7FEB352Du;
  h = (h ^ (h >> 15)) * 0x846CA68Bu;
  h ^= h >> 16;
  return (static_cast<float>(h >> 8) / 16777216.0f - 0.5f) * 1.7320508f;
}
template <class T = float, class Value>
array filled(const tk::shape& s, tk::dtype type, Value value) {
  array x = tk::zeros(s, type);
  T* const data = x.mutable_data<T>();
  for (std::int64_t i = 0; i < x.size(); ++i) data[i] = static_cast<T>(value(static_cast<std::uint32_t>(i)));
  return x;
}
array uniform_array(const tk::shape& s, std::uint32_t k) {
  return filled(s, tk::f32, [&](std::uint32_t i) { return uniform(i, k); });
}

array numbers_below(std::int64_t end, std::int64_t count) {
  return filled<std::int32_t>({count}, tk::i32, [&](std::int64_t i) { return i * 7919 % end; });
}

operation attention_of(const words& w) {
  const std::int64_t b = w["B"], t = w["T"], s = w.has("S") ? w["S"] : t, n = w["N"], k = w["K"], h = w["H"];
  std::vector<tk::shape> in{{b, t, n, h}, {b, s, k, h}, {b, s, k, h}};
  if (w.op == "flex_attention")  // a bias that grows with the distance
    return {[](const operands& x) -> operands {
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
  return {[o](const operands& x) -> operands {
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
    return {
        [groups = group_sizes(w)](const operands& in) -> operands { return {tk::ragged_dot(in[0], in[1], groups)}; },
        {{m, d}, {w["G"], d, v}}};
  if (w.op == "quantized_matmul") {  // the weights are integers of 8 bits with a scale for each column
    const array q =
        filled<std::int8_t>({d, v}, tk::i8, [](std::uint32_t i) { return std::nearbyint(uniform(i, 1) * 140); });
    const tk::quantized_array weights{q, tk::abs(uniform_array({1, v}, 2)) * 0.01f};
    return {[weights](const operands& in) -> operands { return {tk::matmul(in[0], weights)}; }, {{m, d}}};
  }
  if (w.op == "gated_linear_unit")
    return {
        [](const operands& in) -> operands {
          return {tk::gated_linear_unit(in[0], std::pair{in[1], in[2]}, [](const array& a) { return tk::silu(a); })};
        },
        {{m, d}, {d, v}, {d, v}}};
  return {
      [labels = numbers_below(v, m)](const operands& in) -> operands {
        return {tk::linear_softmax_cross_entropy_loss(in[0], labels, in[1], {.reduction = tk::loss_reduction::mean})};
      },
      {{m, d}, {d, v}}};
}

operation triangle_of(const words& w) {
  const std::int64_t n = w["T"], c = w["D"];
  const tk::triangle_kind kind = w.has("outgoing") ? tk::triangle_kind::outgoing : tk::triangle_kind::incoming;
  const array mask = filled<std::int32_t>({n, n}, tk::i32, [](std::int64_t i) { return i % 7 != 0; }) > 0;
  return {[kind, mask](const operands& in) -> operands {
            return {tk::triangle_multiplication(in[0], mask, {in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8]},
                                                kind)};
          },
          {{n, n, c}, {c, 2, c}, {c, 2, c}, {c, c}, {c, c}, {c}, {c}, {c}, {c}}};
}

operation rows_of(const words& w) {
  const std::int64_t m = w["M"], d = w["D"], v = w["V"], g = w["G"], k = w["K"];
  const array zero = tk::zeros({}, tk::i32), end = filled<std::int32_t>({}, tk::i32, [&](int) { return m - m / 8; });
  if (w.op == "ragged_gather")  // the last eighth of the rows is outside the range
    return {[=, rows = numbers_below(v, m)](const operands& in) -> operands {
              return {tk::ragged_gather(in[0], rows, zero, end)};
            },
            {{v, d}}};
  if (w.op == "ragged_scatter")
    return {[=, rows = numbers_below(m, m)](const operands& in) -> operands {
              return {tk::ragged_scatter(in[0], rows, zero, end)};
            },
            {{m, d}}};
  if (w.op == "ragged_gather_reduce")
    return {[=, rows = numbers_below(m, m), valid = tk::arange(m) >= 0](const operands& in) -> operands {
              return {tk::ragged_gather_reduce(in[0], rows, in[1], valid, g)};
            },
            {{m, d}, {m}}};
  return {[=](const operands& in) -> operands {
            const auto [values, indices] = tk::top_k(in[0], k);
            return {values, indices};
          },
          {{m, d}}};
}

operation recurrence_of(const words& w) {
  const std::int64_t t = w["T"], d = w["D"], k = w["K"], n = w["N"], h = w["H"];
  if (w.op == "causal_conv1d")
    return {[](const operands& in) -> operands {
              return {tk::causal_conv1d(in[0], in[1], {}, [](const array& a) { return tk::silu(a); }).out};
            },
            {{t, d}, {d, k}}};
  return {[](const operands& in) -> operands {
            const array g = -tk::abs(tk::astype(in[3], tk::f32)), beta = tk::sigmoid(tk::astype(in[4], tk::f32));
            return {tk::gated_delta_rule(in[0], in[1], in[2], g, beta, {}, {.normalize_qk = true}).out};
          },
          {{t, k, h}, {t, k, h}, {t, n, h}, {t, n}, {t, n}}};
}

operation operation_of(const words& w) {
  const std::int64_t m = w["M"], d = w["D"], v = w["V"];
  if (w.op == "attention" || w.op == "flex_attention") return attention_of(w);
  if (w.op == "layer_norm" && w.has("axis"))  // of three axes, the first of which is normalised
    return {[](const operands& in) -> operands { return {tk::layer_norm(in[0], in[1], in[2], {.axis = 0})}; },
            {{m, d, v}, {m}, {m}}};
  if (w.op == "layer_norm")
    return {[](const operands& in) -> operands { return {tk::layer_norm(in[0], in[1], in[2])}; }, {{m, d}, {d}, {d}}};
  if (w.op == "rms_norm")
    return {[](const operands& in) -> operands { return {tk::rms_norm(in[0], in[1])}; }, {{m, d}, {d}}};
  if (w.op == "softmax") return {[](const operands& in) -> operands { return {tk::softmax(in[0])}; }, {{m, d}}};
  if (w.op == "cross_entropy")
    return {[labels = numbers_below(v, m)](const operands& in) -> operands {
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

/// A case that is ready to run, and the bytes of its intermediate values.
class ready_case {
 public:
  explicit ready_case(const std::string& line) {
    const words w(line);
    const operation o = operation_of(w);
    operands in;
    for (const tk::shape& s : o.in)
      in.push_back(
          tk::astype(uniform_array(s, static_cast<std::uint32_t>(in.size())), w.has("bf16") ? tk::bf16 : tk::f32));
    const function f = w.has("grad") ? with_gradients(o.f) : o.f;
    const auto traced = [f](const operands& x) { return f(x); };
    arena_bytes_ = tk::benchmark(traced, {.iterations = 1, .warmup = 0, .steps = false}, in).metadata.arena_bytes;
    run_ = [g = tk::jit(traced, tk::cpu, tk::at_run_time), in] {
      operands y = g(in);
      tk::block_until_ready(y);
      return y;
    };
  }
  void run() const { run_(); }
  std::int64_t arena_bytes() const { return arena_bytes_; }
  /// The mean magnitude of each result of floats, summed.
  double mean() const {
    double total = 0;
    for (const array& y : run_())
      if (tk::is_floating(y.dtype())) total += tk::mean(tk::abs(tk::astype(y, tk::f32))).item<float>();
    return total;
  }

 private:
  /// The results and the gradients of all operands, with the results as cotangents.
  static function with_gradients(const function& f) {
    return [f](const operands& in) {
      const auto [y, pullback] = tk::vjp([&](const operands& x) { return f(x); }, in);
      operands all = y;
      for (const array& d : pullback(y)) all.push_back(d);
      return all;
    };
  }
  std::function<operands()> run_;
  std::int64_t arena_bytes_ = 0;
};

std::vector<std::string> all_cases(const char* path) {
  std::vector<std::string> all;
  for (const char* dtype : {"f32", "bf16"}) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      if (!line.empty() && line[0] != '#')
        all.push_back(line.substr(0, line.find(' ')) + " " + dtype + line.substr(line.find(' ')));
  }
  if (all.empty()) throw tk::error("ops: cases", "none", std::string("lines in ") + path);
  return all;
}

double median_of_runs(const ready_case& c, int runs) {
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    c.run();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

void serve() {
  std::string last, line;
  std::optional<ready_case> c;
  double mean = 0;
  for (int runs = 0; std::cin >> runs && std::getline(std::cin >> std::ws, line);) {
    if (line != last) {
      c.reset(), c.emplace(last = line);
      mean = c->mean();
    }
    const double seconds = median_of_runs(*c, runs);
    std::cout << seconds << ' ' << mean << ' ' << c->arena_bytes() << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1 && std::string(argv[1]) == "serve") return serve(), 0;
  for (const std::string& line : all_cases(argc > 1 ? argv[1] : TOKAMAX_BENCH_OPS_CASES)) {
    const ready_case c(line);
    bench::report("ops", line, "tokamax", 1e6 * bench::median_seconds([&] { c.run(); }), "us");
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
