// bench/backend/cpu/attention.cpp: GFLOP/s of attention, forward and with its cotangents, on f32 and bf16 arrays.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/attention/attention.hpp>
#include <tokamax/base/bfloat16.hpp>

#include <algorithm>
#include <memory>
#include <string>

#include "support/measure.hpp"

namespace cpu_backend = tokamax::cpu_backend;

// Operations: 4 B N T S H forward and 10 B N T S H backward, half of that where causal.
template <class T>
void measure(const cpu_backend::attention_shape& s, const char* dtype) {
  constexpr bool half = sizeof(T) == 2;
  constexpr auto precision = half ? cpu_backend::gemm_precision::bfloat16 : cpu_backend::gemm_precision::f32;
  const std::int64_t cells = s.batch * s.queries * s.heads * s.head_size;
  const std::int64_t kv = s.batch * s.keys * s.kv_heads * s.head_size;
  std::vector<T> q(static_cast<std::size_t>(cells), T(0.1f)), out(q), dout(q), dq(q);
  std::vector<T> k(static_cast<std::size_t>(kv), T(0.2f)), v(k), dk(k), dv(k);
  std::vector<float> lse(static_cast<std::size_t>(s.batch * s.heads * s.queries)), correction = lse;
  const auto per_query = [&](auto& x) {
    return cpu_backend::heads_view<void>{x.data(), s.queries * s.heads * s.head_size, s.heads * s.head_size,
                                         s.head_size, half};
  };
  const auto per_key = [&](auto& x) {
    return cpu_backend::heads_view<void>{x.data(), s.keys * s.kv_heads * s.head_size, s.kv_heads * s.head_size,
                                         s.head_size, half};
  };
  const auto forward = [&] {
    cpu_backend::attention(s, per_query(q), per_key(k), per_key(v), per_query(out), {lse.data(), correction.data()},
                           precision);
  };
  const auto both = [&] {
    forward();
    cpu_backend::attention_backward(s, per_query(q), per_key(k), per_key(v), per_query(out), lse.data(),
                                    correction.data(), per_query(dout), per_query(dq), per_key(dk), per_key(dv),
                                    precision);
  };
  const double unit =
      static_cast<double>(s.batch * s.heads * s.queries * s.keys * s.head_size) * (s.causal ? 0.5e-9 : 1e-9);
  const int rounds = s.queries < 8192 ? 15 : 3;
  std::string name = fmt::format("{} {} B{} T{} N{} K{} H{}", dtype, s.causal ? "causal" : "full", s.batch, s.queries,
                                 s.heads, s.kv_heads, s.head_size);
  if (s.left >= 0) name += fmt::format(" window {}", s.left);
  if (s.soft_cap != 0) name += " soft cap";
  if (s.bias.data != nullptr) name += " bias";
  if (s.mask.data != nullptr) name += " mask";
  bench::report("attention", name, "tokamax", 4 * unit / bench::median_seconds(forward, rounds), "GFLOP/s");
  bench::report("attention", name + " with gradient", "tokamax", 14 * unit / bench::median_seconds(both, rounds),
                "GFLOP/s");
}

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";  // a dtype
  std::vector<cpu_backend::attention_shape> cases{{8, 128, 128, 6, 6, 64, 0.125f, true},
                                                  {4, 64, 64, 12, 12, 64, 0.125f, true},
                                                  {1, 2048, 2048, 8, 2, 128, 0.088f, true}};
  for (const bool causal : {true, false})
    for (const std::int64_t t : {512, 2048, 8192})
      for (const std::int64_t h : {64, 128}) cases.push_back({1, t, t, 4, 4, h, 0.1f, causal});
  const std::vector<float> bias(2048 * 2048, 0.5f);
  const std::unique_ptr<bool[]> mask(new bool[2048 * 2048]);
  std::fill_n(mask.get(), 2048 * 2048, true);
  cpu_backend::attention_shape plain{1, 2048, 2048, 4, 4, 64, 0.1f, true},
      window = plain, capped = plain, biased = plain, masked = plain, padded = plain;
  window.left = 255;
  capped.soft_cap = 30;
  biased.bias = {bias.data(), 0, 0, 2048, 1};
  masked.mask = {mask.get(), 0, 0, 2048, 1};
  padded.mask = {mask.get(), 0, 0, 0, 1};
  cases.insert(cases.end(), {window, capped, biased, masked, padded});
  for (const auto& s : cases)
    if (only != "bf16") measure<float>(s, "f32");
  for (const auto& s : cases)
    if (only != "f32") measure<tokamax::bfloat16>(s, "bf16");
}
