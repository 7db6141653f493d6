// bench/backend/cpu/rows.cpp: bandwidth of the norms, softmax, cross entropy and rotary embedding, next to a plain copy.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/row_ops/norm.hpp>
#include <tokamax/backend/cpu/row_ops/rotary_embedding.hpp>
#include <tokamax/backend/cpu/row_ops/softmax.hpp>

#include "support/measure.hpp"

namespace cpu_backend = tokamax::cpu_backend;

// Memory as the buffers of programs have it: on lines, and on huge pages where it is large.
template <int>
struct operand;

template <int Name>
float* filled(std::int64_t n, float scale) {
  float* const p = cpu_backend::scratch<operand<Name>>(n);
  for (std::int64_t i = 0; i < n; ++i) p[i] = static_cast<float>(i * 2654435761 % 1000) * scale;
  return p;
}

// Bytes are those that must be read and written once; the copy takes turns with what it is compared to.
int main() {
  struct shape_case {
    std::int64_t rows, cols;
  };
  for (const auto [rows, cols] : {shape_case{1024, 384}, shape_case{16384, 768}, shape_case{256, 50304}}) {
    const std::int64_t cells = rows * cols;
    const float *const x = filled<0>(cells, 0.01f), *const d = filled<1>(cells, 0.001f);
    float* const y = filled<2>(cells, 0.0f);
    const float *const scale = filled<3>(cols, 0.002f), *const dloss = filled<4>(rows, 0.001f);
    float *const dscale = filled<5>(cols, 0.0f), *const doffset = filled<6>(cols, 0.0f);
    float *const loss = filled<7>(rows, 0.0f), *const lse = filled<8>(rows, 0.0f),
                 *const correction = filled<9>(rows, 0.0f);
    const std::vector<int> labels(static_cast<std::size_t>(rows), 3);
    const auto copy = [=] {
      cpu_backend::for_rows(rows, cols, [=](std::int64_t r) {
        cpu_backend::for_vectors(
            cols, [=](std::int64_t j, auto lanes) { lanes.put(y + r * cols + j, lanes(x + r * cols + j)); });
      });
    };
    const auto report = [&](const char* name, double arrays, auto work) {
      const std::string title = fmt::format("{} {} x {}", name, rows, cols);
      const std::vector<double> seconds = bench::median_seconds_of({work, copy}, 9);
      const double gigabytes = 4e-9 * static_cast<double>(cells);
      bench::report("rows", title, "tokamax", arrays * gigabytes / seconds[0], "GB/s");
      bench::report("rows", title, "copy", 2 * gigabytes / seconds[1], "GB/s");
    };
    report("layer_norm", 2, [&] { cpu_backend::layer_norm(rows, cols, x, scale, scale, 1e-5f, y); });
    report("layer_norm backward", 3,
           [&] { cpu_backend::layer_norm_backward(rows, cols, x, scale, d, 1e-5f, y, dscale, doffset); });
    report("rms_norm", 2, [&] { cpu_backend::rms_norm(rows, cols, x, scale, 1e-5f, y); });
    report("rms_norm backward", 3, [&] { cpu_backend::rms_norm_backward(rows, cols, x, scale, d, 1e-5f, y, dscale); });
    report("softmax", 2, [&] { cpu_backend::softmax(rows, cols, x, y); });
    report("softmax backward", 3, [&] { cpu_backend::softmax_backward(rows, cols, x, d, y); });
    report("cross entropy", 1,
           [&] { cpu_backend::softmax_cross_entropy(rows, cols, x, labels.data(), loss, lse, correction); });
    report("cross entropy backward", 2,
           [&] { cpu_backend::softmax_cross_entropy_backward(rows, cols, x, labels.data(), lse, dloss, dloss, y); });
    for (const bool interleaved : {false, true}) {
      constexpr std::int64_t features = 64;
      const cpu_backend::rotary_rows heads{
          .rows = rows, .heads = cols / features, .features = features, .interleaved = interleaved};
      const auto row = [=](std::int64_t r) { return x + r * cols; };
      report(interleaved ? "rotary_embedding interleaved" : "rotary_embedding", 2,
             [&] { cpu_backend::rotary_embedding(heads, row, features, [](std::int64_t r) { return r; }, y); });
    }
  }
}
