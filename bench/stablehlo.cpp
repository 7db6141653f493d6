// bench/stablehlo.cpp: answers bench/peers/stablehlo.py how long exported programs and the same models of ours run, and files are read.
// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__) && !defined(__clang__)  // g++ 12 sees a text overlap with itself
  #pragma GCC diagnostic ignored "-Wrestrict"
#endif
#include <tokamax/data/sources/npy.hpp>
#include <tokamax/stablehlo.hpp>

#include <filesystem>
#include <functional>
#include <iostream>
#include <string>

#include "support/classifiers.hpp"
#include "support/gpt_step.hpp"

namespace {

namespace tk = tokamax;
/// Runs once, and returns what a step of training returns: the loss.
using work = std::function<double()>;

double seconds_of(const work& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The step in FILE.bc on the arguments FILE.in0.npy and so on. All results but the last, which is the loss, are arguments of
/// the next step.
work exported_step(const std::string& file) {
  const tk::stablehlo::program p = tk::read_stablehlo(file + ".bc");
  std::vector<tk::array> arguments;
  for (std::size_t k = 0; k < p.inputs().size(); ++k)
    arguments.push_back(tk::data::read_npy(file + ".in" + std::to_string(k) + ".npy"));
  return [p, arguments]() mutable {
    const auto constant = arguments.begin() + static_cast<std::ptrdiff_t>(p.outputs().size()) - 1;
    const std::vector<tk::array> kept(constant, arguments.end());
    std::vector<tk::array> results = p(tk::cpu, std::move(arguments));
    const double loss = results.back().item();
    results.pop_back();
    results.insert(results.end(), kept.begin(), kept.end());
    arguments = std::move(results);
    return loss;
  };
}

/// A step of ours, which gives its state away.
template <class Step, class State, class Inputs>
work own_step(const Step& step, State state, const Inputs& x, const auto& y) {
  return [run = tk::jit(step, tk::cpu, tk::at_run_time), state, x, y]() mutable {
    auto [next, loss] = run(std::move(state), x, y);
    state = std::move(next);
    return static_cast<double>(loss.item());
  };
}
template <class Model>
work own_classifier() {
  return own_step(bench::classifier_step, bench::first_classifier<Model>(), bench::classifier_images<Model>(),
                  bench::classifier_labels());
}
template <tk::models::gpt_config C>
work own_gpt() {
  using gpt = bench::gpt_step<C, 8>;
  return own_step(gpt::step, gpt::start(), gpt::repeating(0), gpt::repeating(7));
}
work own(const std::string& name) {
  if (name == "mlp") return own_classifier<bench::perceptron>();
  if (name == "cnn") return own_classifier<bench::network>();
  if (name == "block") return own_gpt<{.vocabulary = 256, .context = 64, .width = 256, .heads = 4, .layers = 1}>();
  if (name == "gpt") return own_gpt<{.vocabulary = 256, .context = 128, .width = 384, .heads = 6, .layers = 6}>();
  throw tk::error("model", name, "mlp, cnn, block or gpt");
}

work made(const std::string& line) {
  const std::string kind = line.substr(0, line.find(' ')), rest = line.substr(line.find(' ') + 1);
  if (kind == "exported") return exported_step(rest);
  if (kind == "own") return own(rest);
  if (kind == "read") return [rest] { return static_cast<double>(tk::read_module(rest).functions.size()); };
  throw tk::error("case", kind, "exported, own or read");
}

}  // namespace

/// With the argument "serve" lines "RUNS KIND NAME" are answered by the median of the seconds of a run, what the last run returned,
/// and the seconds that it took before the first result was there.
int main(int argc, char** argv) {
  if (argc < 2 || std::string(argv[1]) != "serve") return 0;
  tk::cpu_backend::set_num_threads(2);
  std::string last, line;
  work f;
  double first = 0;
  for (int runs = 0; std::cin >> runs && std::getline(std::cin >> std::ws, line);) {
    if (line != last) {
      f = nullptr;
      first = seconds_of([&] { return f = made(line), f(); });
      f();
      last = line;
    }
    std::vector<double> seconds;
    double value = 0;
    for (int i = 0; i < runs; ++i) seconds.push_back(seconds_of([&] { return value = f(); }));
    std::sort(seconds.begin(), seconds.end());
    std::cout << seconds[seconds.size() / 2] << ' ' << value << ' ' << first << std::endl;
  }
}
