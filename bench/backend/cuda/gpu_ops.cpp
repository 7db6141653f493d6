// bench/backend/cuda/gpu_ops.cpp: fused loops, rows, products and attention on a GPU, by the clock of the GPU.
// SPDX-License-Identifier: Apache-2.0
//
// bench/peers/gpu_ops.py measures the same cases in PyTorch. Bytes are those that a case must read and write once.
#include <tokamax/backend/cuda.hpp>
#include <tokamax/profile.hpp>
#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/measure.hpp"

namespace {

namespace tk = tokamax;
using tk::array;
using arrays = std::vector<array>;

constexpr double terabyte = 1e12;

array random(const tk::shape& s, tk::dtype t, std::uint64_t seed) {
  return tk::device_put(tk::astype(tk::random::normal(tk::random::key(seed), s), t), tk::cuda);
}

/// The least of the seconds that the GPU works on one call of a program, among twenty calls.
double seconds_of(const std::function<arrays(const arrays&)>& f, const arrays& in) {
  const auto run = tk::jit([&](const arrays& x) { return f(x); }, tk::cuda, tk::at_run_time);
  tk::block_until_ready(run(in));
  double least = 1e9;
  for (int i = 0; i < 20; ++i) {
    const tk::profile::timeline recording;
    tk::block_until_ready(run(in));
    double all = 0;
    for (const auto& e : recording.events()) all += e.outer ? 0 : static_cast<double>(e.duration) * 1e-9;
    least = std::min(least, all);
  }
  return least;
}

/// Reports work in `unit` a second: bytes or operations divided by 1e12.
void measure(const std::string& name, double work, const char* unit, const std::function<arrays(const arrays&)>& f,
             const arrays& in) {
  bench::report("cuda_ops", name, "tokamax", work / seconds_of(f, in) / terabyte, unit);
}

void loops() {
  for (const tk::dtype t : {tk::bf16, tk::f32}) {
    const array x = random({8192, 8192}, t, 1), y = random({8192, 8192}, t, 2), b = random({8192}, t, 3);
    const double one = 8192.0 * 8192.0 * tk::size_of(t);
    const std::string type(tk::info(t).name);
    measure("copy " + type, 2 * one, "TB/s", [](const arrays& a) { return arrays{-a[0]}; }, {x});
    measure("gelu(x + bias) * y " + type, 3 * one, "TB/s",
            [](const arrays& a) { return arrays{tk::gelu(a[0] + a[1]) * a[2]}; }, {x, b, y});
  }
}

void rows() {
  const array x = random({8192, 4096}, tk::bf16, 1), ct = random({8192, 4096}, tk::bf16, 2);
  const array scale = random({4096}, tk::bf16, 3), offset = random({4096}, tk::bf16, 4);
  const double one = 2.0 * 8192 * 4096;
  const auto layer_norm = [](const arrays& a) { return tk::layer_norm(a[0], a[1], a[2]); };
  const auto rms_norm = [](const arrays& a) { return tk::rms_norm(a[0], a[1]); };
  const auto softmax = [](const arrays& a) { return tk::softmax(a[0]); };
  const auto backward = [](const auto& f) {
    return [f](const arrays& a) {
      const arrays in(a.begin(), a.end() - 1);
      return tk::vjp(f, in).second(a.back());
    };
  };
  const auto forward = [](const auto& f) { return [f](const arrays& a) { return arrays{f(a)}; }; };
  measure("layer_norm", 2 * one, "TB/s", forward(layer_norm), {x, scale, offset});
  measure("layer_norm backward", 3 * one, "TB/s", backward(layer_norm), {x, scale, offset, ct});
  measure("rms_norm", 2 * one, "TB/s", forward(rms_norm), {x, scale});
  measure("rms_norm backward", 3 * one, "TB/s", backward(rms_norm), {x, scale, ct});
  measure("softmax", 2 * one, "TB/s", forward(softmax), {x});
  const array logits = random({8192, 50304}, tk::bf16, 5);
  const array labels = tk::device_put(tk::full({8192}, 17, tk::i32), tk::cuda);
  measure("cross entropy", 2.0 * 8192 * 50304, "TB/s",
          [](const arrays& a) { return arrays{tk::softmax_cross_entropy(a[0], a[1])}; }, {logits, labels});
}

void products() {
  for (const auto [m, k, n] : {std::array{8192, 8192, 8192}, {32768, 768, 3072}, {32768, 3072, 768}})
    measure("product bf16 " + std::to_string(m) + " " + std::to_string(k) + " " + std::to_string(n), 2.0 * m * k * n,
            "TFLOP/s", [](const arrays& a) { return arrays{tk::matmul(a[0], a[1])}; },
            {random({m, k}, tk::bf16, 1), random({k, n}, tk::bf16, 2)});
}

/// Arrays in memory as [B, T, N, H], and as [B, N, T, H].
void attention() {
  constexpr std::int64_t batch = 32, tokens = 1024, heads = 12, size = 64;
  constexpr double flops = 4.0 * batch * heads * tokens * tokens * size / 2;
  for (const bool apart : {false, true}) {
    const tk::shape s = apart ? tk::shape{batch, heads, tokens, size} : tk::shape{batch, tokens, heads, size};
    const arrays qkv{random(s, tk::bf16, 1), random(s, tk::bf16, 2), random(s, tk::bf16, 3)};
    const auto turned = [=](const array& x) { return apart ? tk::transpose(x, {0, 2, 1, 3}) : x; };
    const auto f = [=](const arrays& a) {
      return turned(tk::dot_product_attention(turned(a[0]), turned(a[1]), turned(a[2]), {.is_causal = true}));
    };
    const std::string name = apart ? "attention of heads apart" : "attention";
    measure(name, flops, "TFLOP/s", [&](const arrays& a) { return arrays{f(a)}; }, qkv);
    measure(name + " forward and backward", 3.5 * flops, "TFLOP/s",
            [&](const arrays& a) { return tk::vjp(f, arrays(a.begin(), a.begin() + 3)).second(a[3]); },
            {qkv[0], qkv[1], qkv[2], random(s, tk::bf16, 4)});
  }
}

/// Microseconds for each turn of a loop of small steps, by the host's clock. Results that are kept have new memory each time,
/// for which nothing is recorded: then the host reads the predicate in each turn. Else the GPU decides about it.
void turns() {
  constexpr int count = 1000;
  using state = std::pair<array, array>;
  const auto run = tk::jit(
      [](const array& x) {
        return tk::while_loop([](const state& s) { return s.first < count; },
                              [](const state& s) { return state{s.first + 1, 0.5f * s.second + 1.0f}; },
                              state{array(0), x})
            .second;
      },
      tk::cuda, tk::at_run_time);
  const array x = random({1024}, tk::f32, 1);
  for (const bool keeps : {true, false}) {
    arrays kept;
    double least = 1e9;
    for (int i = 0; i < 20; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const array y = tk::block_until_ready(run(x));
      least =
          std::min(least, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
      if (keeps) kept.push_back(y);
    }
    bench::report("cuda_ops", keeps ? "turn of a loop, decided by the host" : "turn of a loop, decided by the GPU",
                  "tokamax", least / count, "us");
  }
}

}  // namespace

int main() {
  loops();
  rows();
  products();
  attention();
  turns();
}
