// bench/backend/cpu/ops.cpp: times of attention, grouped products, norms, losses and gated units as users call them.
// SPDX-License-Identifier: Apache-2.0
//
// A case is a line of words, which bench/peers/ops.py understands too: the op, the dtype, numbers such as T=2048, and options.
//
//   tokamax_bench_ops        runs all cases and prints a line of JSON for each
//   tokamax_bench_ops list   prints the cases
//   tokamax_bench_ops serve  reads lines "RUNS CASE" and answers "MEDIAN_SECONDS ARENA_BYTES", for turns with the peers
#include <tokamax/benchmarking/benchmark.hpp>
#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "support/measure.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

// Each is run with arrays of f32 and of bf16. `grad` asks for the gradients of all floats too, with the result as cotangent.
constexpr const char* cases[] = {
    "attention B=1 T=2048 N=8 K=8 H=64 causal",
    "attention B=1 T=2048 N=8 K=8 H=64 causal grad",
    "attention B=4 T=512 N=8 K=8 H=64",
    "attention B=4 T=512 N=8 K=8 H=64 grad",
    "attention B=1 T=2048 N=8 K=2 H=128 causal",
    "attention B=1 T=2048 N=8 K=2 H=128 causal grad",
    "attention B=1 T=4096 N=4 K=4 H=64 causal window=511",
    "attention B=1 T=4096 N=4 K=4 H=64 causal window=511 grad",
    "attention B=2 T=1024 N=8 K=8 H=64 bias",
    "attention B=4 T=512 N=8 K=8 H=64 lengths",
    "attention B=8 T=1 S=2048 N=16 K=4 H=128",
    "flex_attention B=1 T=1024 N=8 K=8 H=64",
    "ragged_dot M=2048 D=512 V=1024 G=8",
    "ragged_dot M=2048 D=512 V=1024 G=8 grad",
    "ragged_dot M=4096 D=256 V=512 G=64",
    "layer_norm M=8192 D=768",
    "layer_norm M=8192 D=768 grad",
    "rms_norm M=8192 D=768",
    "rms_norm M=8192 D=768 grad",
    "softmax M=8192 D=1024",
    "softmax M=8192 D=1024 grad",
    "softmax M=256 D=50304",
    "cross_entropy M=512 V=50304",
    "cross_entropy M=512 V=50304 grad",
    "linear_cross_entropy M=1024 D=512 V=32000",
    "linear_cross_entropy M=1024 D=512 V=32000 grad",
    "gated_linear_unit M=1024 D=768 V=2048",
    "gated_linear_unit M=1024 D=768 V=2048 grad",
};

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
using function = std::function<array(const operands&)>;

/// A case as a function of floats. Its type is the same for all ops, so that this program compiles once what runs them.
struct operation {
  function f;
  operands in;
};

array numbers_below(std::int64_t end, std::int64_t count) {
  return tk::astype(tk::remainder(tk::arange(count) * 7919, static_cast<int>(end)), tk::i32);
}

operation attention_of(const words& w) {
  const std::int64_t b = w["B"], t = w["T"], s = w.has("S") ? w["S"] : t, n = w["N"], k = w["K"], h = w["H"];
  operands in{array({tk::f32, false, {b, t, n, h}}), array({tk::f32, false, {b, s, k, h}}),
              array({tk::f32, false, {b, s, k, h}})};
  if (w.op == "flex_attention")  // a bias that grows with the distance
    return {[](const operands& x) {
              const auto score = [](const array& a, const array&, const array&, const array& i, const array& j) {
                return a - 0.1f * tk::abs(tk::astype(i - j, tk::f32));
              };
              return tk::flex_attention(x[0], x[1], x[2], score);
            },
            in};
  tk::attention_options o{.is_causal = w.has("causal")};
  if (w.has("window")) o.local_window_size = {w["window"], 0};
  if (w.has("lengths")) o.key_value_seq_lengths = s - numbers_below(s / 2, b);
  if (w.has("bias")) in.push_back(array({tk::f32, false, {1, n, t, s}}));
  return {[o](const operands& x) {
            tk::attention_options with = o;
            if (x.size() > 3) with.bias = x[3];
            return tk::dot_product_attention(x[0], x[1], x[2], with);
          },
          in};
}

operation operation_of(const words& w) {
  const std::int64_t m = w["M"], d = w["D"], v = w["V"], g = w["G"];
  const array x({tk::f32, false, {m, d}}), row({tk::f32, false, {d}}), matrix({tk::f32, false, {d, v}});
  if (w.op == "layer_norm")
    return {[](const operands& in) { return tk::layer_norm(in[0], in[1], in[2]); }, {x, row, row}};
  if (w.op == "rms_norm") return {[](const operands& in) { return tk::rms_norm(in[0], in[1]); }, {x, row}};
  if (w.op == "softmax") return {[](const operands& in) { return tk::softmax(in[0]); }, {x}};
  if (w.op == "gated_linear_unit")
    return {[](const operands& in) {
              return tk::gated_linear_unit(in[0], std::pair{in[1], in[2]}, [](const array& a) { return tk::silu(a); });
            },
            {x, matrix, matrix}};
  if (w.op == "ragged_dot") {  // group i has about i / (G (G + 1) / 2) of the rows
    std::vector<std::int32_t> sizes(static_cast<std::size_t>(g));
    std::int64_t left = m;
    for (std::int64_t i = 0; i + 1 < g; ++i) {
      const std::int64_t rows = m * 2 * (i + 1) / (g * (g + 1));
      sizes[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(rows);
      left -= rows;
    }
    sizes.back() = static_cast<std::int32_t>(left);
    array groups({tk::i32, false, {g}});
    groups = tk::zeros({g}, tk::i32);
    std::copy(sizes.begin(), sizes.end(), groups.mutable_data<std::int32_t>());
    return {[groups](const operands& in) { return tk::ragged_dot(in[0], in[1], groups); },
            {x, array({tk::f32, false, {g, d, v}})}};
  }
  const array labels = numbers_below(v, m);
  if (w.op == "cross_entropy")
    return {[labels](const operands& in) { return tk::mean(tk::softmax_cross_entropy(in[0], labels)); },
            {array({tk::f32, false, {m, v}})}};
  if (w.op == "linear_cross_entropy")
    return {[labels](const operands& in) {
              return tk::linear_softmax_cross_entropy_loss(in[0], labels, in[1],
                                                           {.reduction = tk::loss_reduction::mean});
            },
            {x, matrix}};
  return attention_of(w);
}

/// A case that is ready to run, and the bytes of its intermediate values.
class ready_case {
 public:
  explicit ready_case(const std::string& line) {
    const words w(line);
    operation o = operation_of(w);
    o.in = tk::random_initialize(o.in);
    for (array& a : o.in) a = tk::astype(a * 0.5f, w.has("bf16") ? tk::bf16 : tk::f32);
    const auto f = [g = o.f](const operands& in) { return g(in); };
    w.has("grad") ? prepare<tk::benchmark_mode::forward_and_vjp>(f, o.in)
                  : prepare<tk::benchmark_mode::forward>(f, o.in);
  }
  void run() const { run_(); }
  std::int64_t arena_bytes() const { return arena_bytes_; }

 private:
  template <tk::benchmark_mode Mode, class F>
  void prepare(const F& f, const operands& in) {
    const auto data = tk::benchmark<Mode>(f, {.iterations = 1, .warmup = 0, .steps = false}, in);
    arena_bytes_ = data.metadata.arena_bytes;
    const auto s = tk::standardize_function<Mode>(f, in);
    run_ = [g = tk::jit(s.function, tk::cpu, tk::at_run_time), in] { tk::block_until_ready(g(in)); };
  }
  std::function<void()> run_;
  std::int64_t arena_bytes_ = 0;
};

std::vector<std::string> all_cases() {
  std::vector<std::string> all;
  for (const char* dtype : {"f32", "bf16"})
    for (const char* line : cases) {
      const std::string text = line;
      all.push_back(text.substr(0, text.find(' ')) + " " + dtype + text.substr(text.find(' ')));
    }
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
  for (int runs = 0; std::cin >> runs && std::getline(std::cin >> std::ws, line);) {
    if (line != last) c.reset(), c.emplace(last = line);
    const double seconds = median_of_runs(*c, runs);
    std::cout << seconds << ' ' << c->arena_bytes() << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "serve") return serve(), 0;
  for (const std::string& line : all_cases()) {
    if (mode == "list") {
      std::puts(line.c_str());
      continue;
    }
    const ready_case c(line);
    bench::report("ops", line, "tokamax", 1e6 * bench::median_seconds([&] { c.run(); }), "us");
  }
}
