// bench/classifier.cpp: examples per second of training steps of a two-layer perceptron and a small convolutional network.
// SPDX-License-Identifier: Apache-2.0
#include "support/classifiers.hpp"
#include "support/measure.hpp"

namespace {

template <class Model>
void measure(const char* name) {
  const auto run = tokamax::jit(bench::classifier_step, tokamax::cpu, tokamax::while_compiling);
  bench::classifier_state<Model> s = bench::first_classifier<Model>();
  const auto images = bench::classifier_images<Model>();
  const auto labels = bench::classifier_labels();
  const double seconds = bench::median_seconds(
      [&] {
        auto [next, value] = run(std::move(s), images, labels);
        s = std::move(next);
      },
      21);
  bench::report("classifier", name, "tokamax", bench::classifier_batch / seconds, "examples/s");
}

}  // namespace

int main() {
  measure<bench::perceptron>("MLP 1024-1024-10 B64");
  measure<bench::network>("CNN 28x28 B64");
}
