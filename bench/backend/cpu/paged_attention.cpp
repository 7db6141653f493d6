// bench/backend/cpu/paged_attention.cpp: bytes of the cache a second that decoding reads, beside a copy of the same bytes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/attention/paged.hpp>
#include <tokamax/base/bfloat16.hpp>

#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "support/measure.hpp"

namespace cpu_backend = tokamax::cpu_backend;

// One token of each sequence, which has `context` keys in shuffled pages of 16.
template <class T>
void measure(const char* dtype, std::int64_t batch, std::int64_t context, std::int64_t heads, std::int64_t kv_heads,
             std::int64_t size) {
  constexpr std::int64_t page = 16;
  const std::int64_t columns = context / page, pages = batch * columns, elements = pages * page * kv_heads * size;
  const auto count = static_cast<std::size_t>(elements);
  const std::unique_ptr<T[]> keys(new T[count]), values(new T[count]), copy(new T[2 * count]);
  std::fill_n(keys.get(), elements, T(0.5f));
  std::fill_n(values.get(), elements, T(0.25f));
  std::fill_n(copy.get(), 2 * elements, T(0.0f));
  std::vector<float> q(static_cast<std::size_t>(batch * heads * size), 0.01f), out(q);
  std::vector<std::int32_t> table(static_cast<std::size_t>(pages)), ends(static_cast<std::size_t>(batch + 1)),
      lens(static_cast<std::size_t>(batch), static_cast<std::int32_t>(context));
  std::iota(table.begin(), table.end(), 0);
  std::iota(ends.begin(), ends.end(), 0);
  std::shuffle(table.begin(), table.end(), std::mt19937(1));
  const cpu_backend::paged_attention_shape s{.tokens = batch,
                                             .heads = heads,
                                             .kv_heads = kv_heads,
                                             .head_size = size,
                                             .value_size = size,
                                             .pages = pages,
                                             .page_size = page,
                                             .sequences = batch,
                                             .columns = columns,
                                             .scale = 0.1f,
                                             .soft_cap = 0,
                                             .window = 0,
                                             .kv_lens = lens.data(),
                                             .page_indices = table.data(),
                                             .cu_q_lens = ends.data(),
                                             .num_seqs = batch};
  const std::int64_t row = kv_heads * size;
  const auto attend = [&] {
    cpu_backend::paged_attention<T>(s, q.data(), {keys.get(), page * row, row, size},
                                    {values.get(), page * row, row, size}, out.data());
  };
  const auto copy_all = [&] {
    constexpr std::int64_t chunk = 1 << 18;
    const std::int64_t chunks = elements / chunk;
    cpu_backend::parallel_for(2 * chunks, [&](std::int64_t i) {
      const T* const from = (i < chunks ? keys.get() : values.get()) + i % chunks * chunk;
      std::memcpy(copy.get() + i * chunk, from, chunk * sizeof(T));
    });
  };
  const std::vector<double> seconds = bench::best_seconds_of({attend, copy_all}, batch > 8 ? 7 : 15);
  const double bytes = 2e-9 * static_cast<double>(elements) * sizeof(T);
  const std::string name = fmt::format("{} B{} S{} N{} K{} H{}", dtype, batch, context, heads, kv_heads, size);
  bench::report("paged_attention", name, "tokamax", bytes / seconds[0], "GB/s");
  bench::report("paged_attention", name, "copy", bytes / seconds[1], "GB/s");
}

int main() {
  for (const auto& [heads, kv_heads, size] : {std::array<std::int64_t, 3>{32, 8, 128}, {16, 16, 64}, {32, 4, 128}})
    for (const std::int64_t batch : {1, 8, 32}) {
      measure<float>("f32", batch, 4096, heads, kv_heads, size);
      measure<tokamax::bfloat16>("bf16", batch, 4096, heads, kv_heads, size);
    }
}
