// tokamax/backend/cpu/attention/forward.hpp: attention of some queries of one head, a block of keys at a time.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/attention/attention.cpp
#pragma once

#include <tokamax/backend/cpu/attention/finite_rows.hpp>  // finite_rows
#include <tokamax/backend/cpu/attention/softmax.hpp>      // attention_kernels
#include <tokamax/backend/cpu/attention/terms.hpp>        // modify_scores
#include <tokamax/backend/cpu/vector/threads.hpp>         // parallel_for, scratch

namespace tokamax::cpu_backend::detail {

/// How attention is cut, and the sizes of its pieces in floats. Products are [keys, queries] and [H, queries], with queries
/// in the lanes. In this layout the scores of a block are the second operand of the product with the values.
struct forward_blocks {
  static constexpr std::int64_t queries = panel_lanes;  // of a block of scores
  static constexpr std::int64_t chunk = 256;            // queries of one piece of work

  std::int64_t keys;        // of a block of scores: at most 140, so that its panels and scores stay in the caches
  std::int64_t value_rows;  // lanes of a panel of values
  std::int64_t head_steps, key_steps;  // packed steps of a sum over H, and over the keys of a block
  std::int64_t packed_keys, packed_values, packed_queries, scores, sums;

  forward_blocks(const attention_shape& s, const microkernel_set& kernels) noexcept
      : keys(even_part(s.keys, 140, kernels.rows)),
        value_rows(even_height(kernels, s.values())),
        head_steps(steps_of(kernels, s.head_size)),
        key_steps(steps_of(kernels, keys)),
        packed_keys(up_to(keys, kernels.rows) * head_steps),       // [H, keys]
        packed_values(up_to(s.values(), value_rows) * key_steps),  // [keys, h]
        packed_queries(queries * head_steps),                      // [H, queries]
        scores(std::max(keys, key_steps) * queries),               // [keys, queries]
        sums(s.values() * queries) {}                              // [h, queries]

  /// The panels of one block: its keys, its values, and whether values that are not finite are missing there.
  std::int64_t block() const noexcept { return packed_keys + packed_values + 16; }
  bool lacks_values(const float* packed) const noexcept { return packed[packed_keys + packed_values] != 0; }

  /// Fills the panels of one block from the rows of its keys and values.
  void pack(const attention_shape& s, const microkernel_set& kernels, const number_rows& keys_from,
            const number_rows& values_from, std::int64_t count, float* packed) const {
    pack_panels(kernels, operand::a, packed, kernels.rows, count, s.head_size, keys_from.data, keys_from.bfloat16,
                keys_from.stride, 1);
    const finite_rows finite(values_from, count, s.values(), hides_pairs(s));
    pack_panels(kernels, operand::a, packed + packed_keys, value_rows, s.values(), count, finite.data, finite.bfloat16,
                1, finite.stride);
    packed[packed_keys + packed_values] = finite.changed ? 1.0f : 0.0f;
  }

  /// The scratch memory of one thread for a chunk. It covers all pieces that attention_chunk takes, and 256 floats are for
  /// their alignment.
  std::int64_t own(const attention_shape& s) const noexcept {
    const std::int64_t parts = parts_of(std::min(s.queries, chunk), queries);
    return parts * (packed_queries + sums + 2 * queries) + queries + 2 * scores + block() + queries * s.values() + 256 +
           term_panels::floats(s, keys) + (s.modified() ? 2 * s.values() + 96 : 0);
  }
  /// The memory for panels of all keys, which several chunks share. A single chunk packs its own.
  std::int64_t shared(const attention_shape& s) const noexcept {
    const bool several = parts_of(s.queries, chunk) * (s.heads / s.kv_heads) > 1;
    return several ? s.batch * s.kv_heads * parts_of(s.keys, keys) * block() : 0;
  }
};

struct attention_scratch;

/// The normalisers of some queries, from their highest scores (to base 2) and the sums of powers. The backward pass converts
/// lse to base 2 again; the correction is chosen so that it then gets exactly these sums.
inline void finish_normalisers(std::int64_t queries, const float* highest, float* sums, const attention_normalisers& to,
                               std::int64_t first) noexcept {
  for (std::int64_t c = 0; c < queries; c += width) {
    const f32v most = load(highest + c), all = load(sums + c), log_all = log(all);
    const f32v lse = fma(most, f32v(1.0f / log2_e), log_all);
    const f32v lost = fma(log_all, f32v(log2_e), most - lse * f32v(log2_e));
    const f32v correction = select(abs(lse) < f32v(std::numeric_limits<float>::infinity()),
                                   power_of_two(min(f32v(127.0f), f32v(0.0f) - lost)), f32v(1.0f));
    store(sums + c, select(all == f32v(0.0f), f32v(0.0f), f32v(1.0f) / all));
    if (to.lse == nullptr) continue;
    const std::int64_t some = std::min(width, queries - c);
    if (some == width) {
      store(to.lse + first + c, lse);
      store(to.correction + first + c, correction);
    } else {
      store_partial(to.lse + first + c, lse, some);
      store_partial(to.correction + first + c, correction, some);
    }
  }
}

/// Finished queries of a chunk: `queries` from q on of head n, whose unfinished results, before the division by `total`, are the
/// rows [queries, h]. The highest scores are to base 2. `means` has room for two rows.
struct finished_queries {
  std::int64_t b, n, q, queries;
  const float* rows;
  const float* highest;
  float *total, *means;
};

/// Where dense attention has its values, and where its results go.
struct dense_results {
  const attention_shape& s;
  const heads_view<const void>& value;
  const heads_view<void>& out;
  const attention_normalisers& normaliser;

  void finish(const finished_queries& f) const noexcept {
    const std::int64_t h = s.values(), first = (f.b * s.heads + f.n) * s.queries + f.q;
    bool nothing[forward_blocks::queries] = {};
    for (std::int64_t j = 0; j < f.queries && s.modified(); ++j) nothing[j] = sees_nothing(f.highest[j], f.total[j]);
    finish_normalisers(f.queries, f.highest, f.total, normaliser, first);
    for (std::int64_t j = 0; j < f.queries; ++j)
      write_row(out.at(f.b, f.q + j, f.n), out.bfloat16, h, f.rows + j * h, f.total[j], false);
    if (s.keys == 0 || std::none_of(nothing, nothing + f.queries, [](bool x) { return x; })) return;
    float *const mean = f.means, *const copy = f.means + up_to(h, 16);
    mean_of_values(s, value, f.b, f.n / (s.heads / s.kv_heads), mean, copy);
    for (std::int64_t j = 0; j < f.queries; ++j) {
      if (!nothing[j]) continue;
      write_row(out.at(f.b, f.q + j, f.n), out.bfloat16, h, mean, 1.0f, false);
      if (normaliser.lse == nullptr) continue;
      normaliser.lse[first + j] = hidden_lse, normaliser.correction[first + j] = 1.0f / static_cast<float>(s.keys);
    }
  }
};

/// Where dense attention has its keys, too, as attention_chunk reads them.
struct dense_operands : dense_results {
  const microkernel_set& kernels;
  const forward_blocks& blocks;
  const heads_view<const void>& key;

  /// Panels of the keys and the values from key k on.
  void pack(std::int64_t b, std::int64_t kv, std::int64_t k, float* packed) const {
    blocks.pack(s, kernels, {key.at(b, k, kv), key.bfloat16, key.time_stride},
                {value.at(b, k, kv), value.bfloat16, value.time_stride}, std::min(blocks.keys, s.keys - k), packed);
  }
  const float* value_row(std::int64_t b, std::int64_t kv, std::int64_t k, float* copy) const noexcept {
    return read_row(value.at(b, k, kv), value.bfloat16, s.values(), copy);
  }
};

/// Adds the values that are not finite, which the panels of a block lack, to the sums [h, queries] of the queries that see them.
/// What their weights are does not matter.
template <class Operands>
void add_missing_values(const attention_shape& s, const Operands& operands, const pair_block& at, float* row,
                        float* sums) noexcept {
  for (std::int64_t j = 0; j < at.keys; ++j) {
    const float* const from = operands.value_row(at.b, at.n / (s.heads / s.kv_heads), at.k + j, row);
    for (std::int64_t i = 0; i < s.values(); ++i) {
      if (std::isfinite(from[i])) continue;
      for (std::int64_t c = 0; c < at.queries; ++c)
        if (sees_pair(s, {at.b, at.n, at.q + c, 1, at.k + j, 1})) sums[i * forward_blocks::queries + c] += from[i];
    }
  }
}

/// Computes the queries from q0 on of head n. `operands` packs blocks of keys, and takes results. `packed` has the panels of all
/// blocks of keys, or is null.
///
/// The outer loop goes over blocks of keys, so that a block is packed once for all queries of the chunk. The inner loop
/// goes over groups of 32 queries. For each group the running maximum, the sum of powers and the unfinished result stay in
/// scratch memory. When a block raises the maximum, the earlier sums are multiplied by `shrink`; the last step divides.
template <class Operands>
void attention_chunk(const attention_shape& s, const attention_kernels& machine, const forward_blocks& blocks,
                     const heads_view<const void>& query, const Operands& operands, std::int64_t b, std::int64_t n,
                     std::int64_t q0, const float* packed) {
  const microkernel_set& kernels = machine.tiles;
  const std::int64_t h = s.head_size, v = s.values(), kv = n / (s.heads / s.kv_heads), wide = forward_blocks::queries;
  const std::int64_t q1 = std::min(s.queries, q0 + forward_blocks::chunk), parts = parts_of(q1 - q0, wide);
  scratch_pieces pieces{scratch<attention_scratch>(blocks.own(s))};
  float* const packed_q = pieces.take(parts * blocks.packed_queries);
  float* const sums = pieces.take(parts * blocks.sums);
  float* const scores = pieces.take(blocks.scores);
  const bool ready =
      machine.makes_panels || kernels.b_in_place;  // are probabilities an operand as the softmax leaves them?
  float* const panel = ready ? scores : pieces.take(blocks.scores);
  float* const own = pieces.take(blocks.block());
  float* const rows = pieces.take(wide * v);         // [queries, h]: a finished result
  float* const highest = pieces.take(parts * wide);  // of the scores so far, to base 2
  float* const total = pieces.take(parts * wide);    // of the powers so far
  float* const shrink = pieces.take(wide);
  const bool modified = s.modified();
  const term_panels terms(s, blocks.keys, pieces);
  const bool only_hides = s.soft_cap == 0 && s.bias.data == nullptr;  // are scores that are seen as they were?
  float* const means = pieces.take(modified ? 2 * up_to(v, 16) : 0);
  bool begun[forward_blocks::chunk / forward_blocks::queries] = {};  // has a group seen a block of keys?

  std::fill_n(highest, parts * wide, -std::numeric_limits<float>::infinity());
  std::fill_n(total, parts * wide, 0.0f);
  for (std::int64_t i = 0, q = q0; q < q1; ++i, q += wide) {
    pack_panels(kernels, operand::b, packed_q + i * blocks.packed_queries, wide, std::min(wide, q1 - q), h,
                query.at(b, q, n), query.bfloat16, query.time_stride, 1);
  }
  // Blocks begin at multiples of their size, also behind a window, so that all chunks can share their panels.
  const std::int64_t key_end = s.key_end(q1 - 1), key_begin = s.first_key(q0) / blocks.keys * blocks.keys;
  for (std::int64_t k = key_begin; k < key_end; k += blocks.keys) {
    const float* const block = packed != nullptr ? packed + k / blocks.keys * blocks.block() : own;
    bool unpacked = packed == nullptr;
    const std::int64_t keys = std::min(blocks.keys, s.keys - k), steps = steps_of(kernels, keys);
    const panels a_keys{block, kernels.rows, kernels.rows * blocks.head_steps};
    const panels a_values{block + blocks.packed_keys, blocks.value_rows, blocks.value_rows * steps};
    for (std::int64_t i = 0, q = q0; q < q1; ++i, q += wide) {
      const std::int64_t queries = std::min(wide, q1 - q);
      const std::int64_t seen = std::min(keys, s.key_end(q + queries - 1) - k);
      if (seen <= 0) continue;
      const visible pairs = modified ? visible_pairs(s, {b, n, q, queries, k, seen}) : visible::all;
      if (pairs == visible::none) continue;
      if (unpacked) operands.pack(b, kv, k, own);
      unpacked = false;
      const bool changed = modified && !(only_hides && pairs == visible::all);
      const std::int64_t columns = up_to(queries, 16), seen_steps = steps_of(kernels, seen);
      float* const mine = sums + i * blocks.sums;
      // scores [keys, queries] = key query^T
      multiply_panels(kernels, seen, columns, blocks.head_steps, a_keys,
                      {packed_q + i * blocks.packed_queries, wide, 0}, scores, wide, tile_mode::assign);
      if (changed) {
        read_terms(s, b, n, q, queries, k, seen, terms);
        modify_scores(s, scores, b, n, q, queries, k, seen, terms);
      }
      machine.softmax(scores, seen, queries, q - k, !modified && s.causal && k + seen - 1 > q,
                      (changed ? 1.0f : s.scale) * log2_e, highest + i * wide, total + i * wide, shrink);
      if (!ready) kernels.pack({panel, wide, wide, seen, scores, 1, wide});
      const std::int64_t filled = parts_of(seen, kernels.terms);
      std::fill_n(panel + filled * wide, (seen_steps - filled) * wide, 0.0f);
      // Most blocks leave all maxima as they are, and then the sums need no pass over memory.
      if (begun[i] && std::any_of(shrink, shrink + queries, [](float factor) { return factor != 1.0f; })) {
        for (std::int64_t c = 0; c < columns; c += width) {
          const f32v factor = load(shrink + c);
          for (std::int64_t j = 0; j < v; ++j) store(mine + j * wide + c, load(mine + j * wide + c) * factor);
        }
      }
      // sums [h, queries] += value^T probabilities
      multiply_panels(kernels, v, columns, seen_steps, a_values, {panel, wide, 0}, mine, wide,
                      begun[i] ? tile_mode::add : tile_mode::assign);
      begun[i] = true;
      if (blocks.lacks_values(block)) add_missing_values(s, operands, {b, n, q, queries, k, seen}, rows, mine);
    }
  }
  for (std::int64_t i = 0, q = q0; q < q1; ++i, q += wide) {
    if (!begun[i]) std::fill_n(sums + i * blocks.sums, blocks.sums, 0.0f);
    turn_block(rows, v, sums + i * blocks.sums, wide);
    operands.finish({b, n, q, std::min(wide, q1 - q), rows, highest + i * wide, total + i * wide, means});
  }
}

struct attention_packed_scratch;

/// Runs all chunks of all heads. If several chunks share a key head, panels of all keys are made before, also in parallel.
inline void attention_forward(const attention_shape& s, const attention_kernels& machine,
                              const heads_view<const void>& query, const heads_view<const void>& key,
                              const heads_view<const void>& value, const heads_view<void>& out,
                              const attention_normalisers& normaliser) {
  const forward_blocks blocks(s, machine.tiles);
  const std::int64_t chunks = parts_of(s.queries, forward_blocks::chunk), key_blocks = parts_of(s.keys, blocks.keys);
  const std::int64_t heads = s.batch * s.heads, shared = blocks.shared(s);
  const dense_operands operands{{s, value, out, normaliser}, machine.tiles, blocks, key};
  float* packed = nullptr;
  if (shared > 0) {
    packed = scratch<attention_packed_scratch>(shared);
    parallel_for(s.batch * s.kv_heads * key_blocks, [&](std::int64_t i) {
      const std::int64_t head = i / key_blocks;
      operands.pack(head / s.kv_heads, head % s.kv_heads, i % key_blocks * blocks.keys, packed + i * blocks.block());
    });
  }
  // The last chunks of a causal head take longest. They come first, so that the last tasks are short.
  parallel_for(heads * chunks, [&](std::int64_t i) {
    const tile_scope tiles(machine.tiles);
    const std::int64_t b = i / chunks / s.heads, n = i / chunks % s.heads, chunk = chunks - 1 - i % chunks;
    const std::int64_t head = b * s.kv_heads + n / (s.heads / s.kv_heads);
    attention_chunk(s, machine, blocks, query, operands, b, n, chunk * forward_blocks::chunk,
                    packed == nullptr ? nullptr : packed + head * key_blocks * blocks.block());
  });
}

}  // namespace tokamax::cpu_backend::detail
