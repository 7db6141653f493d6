// tokamax/backend/cpu/attention/paged_blocks.hpp: attention of many queries to keys and values in pages, by blocked products.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/paged.cpp
#pragma once

#include <tokamax/backend/cpu/attention/forward.hpp>       // attention_chunk
#include <tokamax/backend/cpu/attention/paged_groups.hpp>  // paged_group
#include <tokamax/backend/cpu/attention/row_products.hpp>  // widened
#include <tokamax/backend/cpu/attention/row_task.hpp>      // partial_rows

#include <cstring>      // memcpy
#include <type_traits>  // is_same_v

namespace tokamax::cpu_backend::detail {

/// `count` keys and values of one sequence and key head, from key `first` on, and where the unfinished results go. A block of
/// them becomes panels by way of dense rows, because a page has few rows and any number of other heads between them.
template <class T>
struct paged_block_operands {
  const paged_attention_shape& s;
  const attention_shape& shape;  // of the queries of one key head
  const microkernel_set& kernels;
  const forward_blocks& blocks;
  const pages_view &keys, &values;
  std::int64_t sequence, kv, first, count;
  float* rows;  // [blocks.keys, H + h]
  partial_rows to;

  /// Bits of bfloat16 stay as they are, because the panels take them.
  static bool stays(const pages_view& from) noexcept { return std::is_same_v<T, bfloat16> && from.scales == nullptr; }
  /// Copies n rows of `size` numbers from key k on.
  void gather(const pages_view& from, std::int64_t k, std::int64_t n, std::int64_t size,
              float* to_rows) const noexcept {
    const std::int32_t* const table = s.page_indices + sequence * s.columns;
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t page = table[(k + j) / s.page_size], slot = (k + j) % s.page_size;
      const T* const row =
          static_cast<const T*>(from.data) + page * from.page_stride + slot * from.slot_stride + kv * from.head_stride;
      if (stays(from)) {
        std::memcpy(reinterpret_cast<std::uint16_t*>(to_rows) + j * size, row, static_cast<std::size_t>(size) * 2);
        continue;
      }
      const f32v factor(from.scales == nullptr ? 1.0f : from.scales[(page * s.page_size + slot) * s.kv_heads + kv]);
      float* const copy = to_rows + j * size;
      std::int64_t i = 0;
      for (; i + width <= size; i += width) store(copy + i, widened(row + i) * factor);
      if (i < size) store_partial(copy + i, widened(row + i, size - i) * factor, size - i);
    }
  }

  void pack(std::int64_t, std::int64_t, std::int64_t k, float* packed) const {
    const std::int64_t n = std::min(blocks.keys, count - k), values_at = n * s.head_size;
    gather(keys, first + k, n, s.head_size, rows);
    gather(values, first + k, n, s.value_size, rows + values_at);
    blocks.pack(shape, kernels, {rows, stays(keys), s.head_size}, {rows + values_at, stays(values), s.value_size}, n,
                packed);
  }
  const float* value_row(std::int64_t, std::int64_t, std::int64_t k, float* copy) const noexcept {
    gather(values, first + k, 1, s.value_size, rows);
    return read_row(rows, stays(values), s.value_size, copy);
  }

  void finish(const finished_queries& f) const noexcept {
    for (std::int64_t j = 0; j < f.queries; ++j) {
      const bool nothing = f.total[j] == 0 || sees_nothing(f.highest[j], f.total[j]);
      to.highest[f.q + j] = nothing ? minus_infinity : f.highest[j];
      to.total[f.q + j] = nothing ? 0.0f : f.total[j];
      float* const sum = to.sums + (f.q + j) * up_to(s.value_size, width);
      if (nothing)
        std::fill_n(sum, s.value_size, 0.0f);
      else
        std::copy_n(f.rows + j * s.value_size, s.value_size, sum);
    }
  }
};

struct paged_block_scratch;

/// The keys [k0, k1) of a group for one key head. The queries of all tokens of the group for this head become the queries of
/// one head, each with its own range of keys.
template <class T>
void attend_to_part(const paged_attention_shape& s, const paged_group& g, std::int64_t kv, const float* q,
                    const pages_view& keys, const pages_view& values, std::int64_t k0, std::int64_t k1,
                    const partial_rows& to, gemm_precision precision) {
  const attention_kernels machine = attention_kernels_for(best_gemm_machine(), precision);
  const std::int64_t each = s.queries(), queries = g.tokens * each, h = s.head_size;
  attention_shape shape{.batch = 1,
                        .queries = queries,
                        .keys = k1 - k0,
                        .heads = 1,
                        .kv_heads = 1,
                        .head_size = h,
                        .scale = s.scale,
                        .causal = false,
                        .soft_cap = s.soft_cap,
                        .value_size = s.value_size};
  const forward_blocks blocks(shape, machine.tiles);
  const std::int64_t gathered = blocks.keys * (h + s.value_size);
  scratch_pieces pieces{scratch<paged_block_scratch>(queries * (h + 2) + gathered + 3 * 16)};
  float *const mine = pieces.take(queries * h), *const rows = pieces.take(gathered);
  auto* const ranges = reinterpret_cast<std::int32_t*>(pieces.take(2 * queries));
  bool all = true;  // does every query see every key?
  for (std::int64_t i = 0; i < queries; ++i) {
    const std::int64_t token = g.token + i / each;
    std::copy_n(q + (token * s.heads + kv * each + i % each) * h, h, mine + i * h);
    const std::int64_t first = std::clamp(s.first_key(g.sequence, token), k0, k1) - k0;
    const std::int64_t end = std::clamp(s.key_end(g.sequence, token), k0, k1) - k0;
    ranges[2 * i] = static_cast<std::int32_t>(first), ranges[2 * i + 1] = static_cast<std::int32_t>(end);
    all = all && first == 0 && end == k1 - k0;
  }
  if (!all) shape.range_count = 1, shape.ranges = {ranges, 0, 0, 2, 1};
  const tile_scope tiles(machine.tiles);
  const paged_block_operands<T> operands{s,  shape, machine.tiles, blocks, keys, values, g.sequence,
                                         kv, k0,    k1 - k0,       rows,   to};
  for (std::int64_t i = 0; i < queries; i += forward_blocks::chunk)
    attention_chunk(shape, machine, blocks, {mine, 0, h, 0}, operands, 0, 0, i, nullptr);
}

}  // namespace tokamax::cpu_backend::detail
