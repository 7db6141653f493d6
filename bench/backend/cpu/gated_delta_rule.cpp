// bench/backend/cpu/gated_delta_rule.cpp: tokens a second of prefill, by chunks and token by token, and bytes of decoding.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/attention/delta_rule.hpp>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/measure.hpp"

namespace cpu_backend = tokamax::cpu_backend;

namespace {

struct problem {
  cpu_backend::delta_rule_shape s;
  std::vector<float> q, k, v, g, beta, state, out;

  problem(std::int64_t sequences, std::int64_t tokens, std::int64_t keys, std::int64_t heads, std::int64_t size)
      : s{.tokens = sequences * tokens,
          .key_heads = keys,
          .heads = heads,
          .key_size = size,
          .value_size = size,
          .sequences = sequences,
          .slot_count = sequences,
          .scale = 0.1f} {
    const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    q.assign(count(s.tokens * keys * size), 0.05f), k = q;
    for (std::size_t i = 0; i < k.size(); ++i) k[i] = i % 3 == 0 ? 0.09f : -0.06f;
    v.assign(count(s.tokens * heads * size), 0.5f), out = v;
    g.assign(count(s.tokens * heads), -0.05f), beta.assign(g.size(), 0.5f);
    state.assign(count(sequences * heads * s.state_size()), 0.1f);
  }
  void run() {
    cpu_backend::delta_rule(s, {q.data(), k.data(), v.data(), g.data(), beta.data(), out.data()}, state.data(),
                            state.data());
  }
};

void prefill(std::int64_t tokens, std::int64_t keys, std::int64_t heads, std::int64_t size) {
  problem chunks(1, tokens, keys, heads, size), steps = chunks;
  for (float& x : steps.v) x = std::numeric_limits<float>::infinity();  // such tokens take a step each
  const std::vector<double> seconds = bench::median_seconds_of({[&] { chunks.run(); }, [&] { steps.run(); }});
  const std::string name = fmt::format("prefill T{} H{} N{} D{}", tokens, keys, heads, size);
  bench::report("gated_delta_rule", name, "tokamax", static_cast<double>(tokens) / seconds[0], "tokens/s");
  bench::report("gated_delta_rule", name, "steps", static_cast<double>(tokens) / seconds[1], "tokens/s");
}

void decode(std::int64_t sequences, std::int64_t keys, std::int64_t heads, std::int64_t size) {
  problem p(sequences, 1, keys, heads, size);
  std::vector<float> copy = p.state;
  const std::int64_t each = p.s.state_size();
  const auto copy_all = [&] {
    cpu_backend::parallel_for(sequences * heads, [&](std::int64_t i) {
      std::memcpy(copy.data() + i * each, p.state.data() + i * each, static_cast<std::size_t>(each) * sizeof(float));
    });
  };
  const std::vector<double> seconds = bench::median_seconds_of({[&] { p.run(); }, copy_all}, 15);
  const std::string name = fmt::format("decode R{} H{} N{} D{}", sequences, keys, heads, size);
  const double bytes = 2e-9 * static_cast<double>(copy.size()) * sizeof(float);  // read and written
  bench::report("gated_delta_rule", name, "tokamax", bytes / seconds[0], "GB/s");
  bench::report("gated_delta_rule", name, "copy", bytes / seconds[1], "GB/s");
}

}  // namespace

int main() {
  prefill(8192, 2, 8, 128);
  prefill(2048, 16, 32, 128);
  prefill(2048, 4, 8, 64);
  decode(64, 2, 8, 128);
  decode(1, 16, 32, 128);
}
