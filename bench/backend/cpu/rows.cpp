// bench/backend/cpu/rows.cpp: bandwidth of the norms, softmax and cross entropy, next to a plain copy.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/norm.hpp>
#include <tokamax/backend/cpu/softmax.hpp>

#include "support/measure.hpp"

namespace simd = tokamax::simd;

// Bytes are those that must be read and written once.
int main() {
  struct shape_case {
    std::int64_t rows, cols;
  };
  for (const auto [rows, cols] : {shape_case{1024, 384}, shape_case{16384, 768}, shape_case{256, 50304}}) {
    const auto cells = static_cast<std::size_t>(rows * cols);
    std::vector<float> x(cells), dy(cells), y(cells), scale(static_cast<std::size_t>(cols), 1.0f), sums = scale,
                                                                                                   more = scale;
    std::vector<float> loss(static_cast<std::size_t>(rows), 1.0f), lse(loss);
    std::vector<int> labels(static_cast<std::size_t>(rows), 3);
    for (std::size_t i = 0; i < cells; ++i) x[i] = static_cast<float>(i * 2654435761u % 1000) * 0.01f;
    const float *px = x.data(), *pd = dy.data(), *ps = scale.data();
    float* const py = y.data();
    const auto gigabytes = [&](double arrays, auto work) {
      return arrays * 4.0 * static_cast<double>(cells) / bench::median_seconds(work, 9) * 1e-9;
    };
    const auto report = [&](const char* name, double arrays, auto work) {
      const std::string title = fmt::format("{} {} x {}", name, rows, cols);
      bench::report("rows", title, "tokamax", gigabytes(arrays, work), "GB/s");
      bench::report("rows", title, "copy",
                    gigabytes(2,
                              [&] {
                                simd::for_rows(rows, cols, [=](std::int64_t r) {
                                  simd::for_vectors(cols, [=](std::int64_t j, auto lanes) {
                                    lanes.put(py + r * cols + j, lanes(px + r * cols + j));
                                  });
                                });
                              }),
                    "GB/s");
    };
    report("layer_norm", 2, [&] { simd::layer_norm(rows, cols, px, ps, ps, 1e-5f, py); });
    report("layer_norm backward", 3,
           [&] { simd::layer_norm_backward(rows, cols, px, ps, pd, 1e-5f, py, sums.data(), more.data()); });
    report("rms_norm", 2, [&] { simd::rms_norm(rows, cols, px, ps, 1e-5f, py); });
    report("rms_norm backward", 3, [&] { simd::rms_norm_backward(rows, cols, px, ps, pd, 1e-5f, py, sums.data()); });
    report("softmax", 2, [&] { simd::softmax(rows, cols, px, py); });
    report("softmax backward", 3, [&] { simd::softmax_backward(rows, cols, px, pd, py); });
    report("cross entropy", 1,
           [&] { simd::softmax_cross_entropy(rows, cols, px, labels.data(), loss.data(), lse.data()); });
    report("cross entropy backward", 2,
           [&] { simd::softmax_cross_entropy_backward(rows, cols, px, labels.data(), lse.data(), loss.data(), py); });
  }
}
