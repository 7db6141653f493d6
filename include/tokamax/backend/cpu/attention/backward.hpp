// tokamax/backend/cpu/attention/backward.hpp: the cotangents of attention, in pieces of some keys of one head.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/attention/attention.cpp
#pragma once

#include <tokamax/backend/cpu/attention/softmax.hpp>  // attention_kernels
#include <tokamax/backend/cpu/attention/terms.hpp>    // modify_score_row
#include <tokamax/backend/cpu/vector/threads.hpp>     // parallel_for, scratch

#include <atomic>  // atomic, atomic_ref
#include <limits>  // numeric_limits
#include <thread>  // yield

namespace tokamax::cpu_backend::detail {

/// How the backward pass is cut, and the sizes of its pieces in floats. Scores are [queries, keys] with keys in the lanes.
/// In this layout they are the second operand of the sums over queries, dv^T = dout^T p and dk^T = q^T ds.
struct backward_blocks {
  std::int64_t queries, keys;                       // of a block of scores
  std::int64_t key_blocks;                          // of one piece of work
  std::int64_t head_rows;                           // lanes of a panel of q^T and dout^T
  std::int64_t head_steps, query_steps, key_steps;  // packed steps of sums over H, over queries and over keys
  std::int64_t query_columns, query_lanes, key_columns, key_lanes, scores, part, turned, key_sums, query_sums;

  backward_blocks(const attention_shape& s, const microkernel_set& kernels) noexcept
      : queries(even_part(s.queries, 168, kernels.rows)),
        keys(even_part(s.keys, 128, panel_lanes)),
        key_blocks(std::max<std::int64_t>(1, parts_of(parts_of(s.keys, keys), pieces(s, keys)))),
        head_rows(even_height(kernels, s.head_size)),
        head_steps(steps_of(kernels, s.head_size)),
        query_steps(steps_of(kernels, queries)),
        key_steps(steps_of(kernels, keys)),
        query_columns(up_to(queries, kernels.rows) * head_steps),  // q, dout: [H, queries]
        query_lanes(up_to(s.head_size, head_rows) * query_steps),  // q^T, dout^T: [queries, H]
        key_columns(keys * head_steps),                            // k, v: [H, keys]
        key_lanes(up_to(s.head_size, panel_lanes) * key_steps),    // k: [keys, H]
        scores(keys * query_steps),                                // p or ds: [queries, keys]
        part(keys * kernels.rows),                                 // the same for the rows of a tile
        turned(kernels.rows * key_steps),                          // ds: [keys, rows of a tile]
        key_sums(s.head_size * keys),                              // dk^T or dv^T: [H, keys]
        query_sums(queries * s.head_size) {}                       // dq: [queries, H]

  // The number of pieces of a head: each has so few keys that they stay in the caches, and if there are few heads there
  // are at least eight pieces in all.
  static constexpr std::int64_t pieces(const attention_shape& s, std::int64_t keys) noexcept {
    const std::int64_t wanted = parts_of(8, std::max<std::int64_t>(1, s.batch * s.kv_heads));
    return std::max(
        {std::int64_t{1}, parts_of(s.keys * s.head_size, 131072), std::min(parts_of(s.keys, keys), wanted)});
  }
};

struct attention_backward_scratch;

/// The operands and results of the backward pass.
struct attention_cotangents {
  const attention_shape& s;
  const attention_kernels& machine;
  const backward_blocks& blocks;
  heads_view<const void> query, key, value, out;
  const float *lse, *correction;
  heads_view<const void> dout;
  heads_view<void> dquery, dkey, dvalue;
};

/// The scratch memory of one piece of work.
struct backward_pieces {
  float *keys, *values, *key_lanes, *sum_k, *sum_v;  // of each block of keys
  float *queries, *douts, *query_lanes, *dout_lanes, *sum_q, *log_sum, *correction, *delta;
  float *p, *ds, *part_p, *part_ds, *turned, *rows;
  float* blind;  // dv of each key from the queries that see no key; null if no query can

  static std::int64_t floats(const attention_shape& s, const backward_blocks& z, bool in_place) noexcept {
    return z.key_blocks * (2 * z.key_columns + z.key_lanes + 2 * z.key_sums) + 2 * z.query_columns + 2 * z.query_lanes +
           z.query_sums + 3 * z.queries + 2 * z.scores + (in_place ? 0 : 2 * z.part) + z.turned +
           panel_lanes * s.head_size + 20 * 16 + (s.modified() ? s.head_size : 0);
  }
  backward_pieces(const attention_shape& s, const backward_blocks& z, bool in_place) {
    scratch_pieces from{scratch<attention_backward_scratch>(floats(s, z, in_place))};
    keys = from.take(z.key_blocks * z.key_columns);
    values = from.take(z.key_blocks * z.key_columns);
    key_lanes = from.take(z.key_blocks * z.key_lanes);
    sum_k = from.take(z.key_blocks * z.key_sums);
    sum_v = from.take(z.key_blocks * z.key_sums);
    queries = from.take(z.query_columns);
    douts = from.take(z.query_columns);
    query_lanes = from.take(z.query_lanes);
    dout_lanes = from.take(z.query_lanes);
    sum_q = from.take(z.query_sums);
    log_sum = from.take(z.queries);
    correction = from.take(z.queries);
    delta = from.take(z.queries);
    p = from.take(z.scores);
    ds = from.take(z.scores);
    part_p = in_place ? nullptr : from.take(z.part);
    part_ds = in_place ? nullptr : from.take(z.part);
    turned = from.take(z.turned);
    rows = from.take(panel_lanes * s.head_size);
    blind = s.modified() ? from.take(s.head_size) : nullptr;
  }
};

/// Packs block i of the keys and of the values, which begins with key k, for the products with queries and with ds.
inline void pack_backward_keys(const attention_cotangents& c, const backward_pieces& at, std::int64_t b,
                               std::int64_t kv, std::int64_t i, std::int64_t k) noexcept {
  const microkernel_set& kernels = c.machine.tiles;
  const std::int64_t keys = std::min(c.blocks.keys, c.s.keys - k), h = c.s.head_size;
  pack_panels(kernels, operand::b, at.keys + i * c.blocks.key_columns, panel_lanes, keys, h, c.key.at(b, k, kv),
              c.key.bfloat16, c.key.time_stride, 1);
  pack_panels(kernels, operand::b, at.values + i * c.blocks.key_columns, panel_lanes, keys, h, c.value.at(b, k, kv),
              c.value.bfloat16, c.value.time_stride, 1);
  pack_panels(kernels, operand::b, at.key_lanes + i * c.blocks.key_lanes, panel_lanes, h, keys, c.key.at(b, k, kv),
              c.key.bfloat16, 1, c.key.time_stride);
}

/// Packs panels of the queries from q on and of the cotangent of their result.
inline void pack_backward_queries(const attention_cotangents& c, const backward_pieces& at, std::int64_t b,
                                  std::int64_t n, std::int64_t q, std::int64_t queries) noexcept {
  const microkernel_set& kernels = c.machine.tiles;
  const std::int64_t h = c.s.head_size, mr = kernels.rows;
  const void *const from_q = c.query.at(b, q, n), *const from_d = c.dout.at(b, q, n);
  pack_panels(kernels, operand::a, at.queries, mr, queries, h, from_q, c.query.bfloat16, c.query.time_stride, 1);
  pack_panels(kernels, operand::a, at.douts, mr, queries, h, from_d, c.dout.bfloat16, c.dout.time_stride, 1);
  pack_panels(kernels, operand::a, at.query_lanes, c.blocks.head_rows, h, queries, from_q, c.query.bfloat16, 1,
              c.query.time_stride);
  pack_panels(kernels, operand::a, at.dout_lanes, c.blocks.head_rows, h, queries, from_d, c.dout.bfloat16, 1,
              c.dout.time_stride);
}

/// Computes the logarithms of the sums of the queries from q on, and sum_h dout * out.
inline void read_backward_rows(const attention_cotangents& c, const backward_pieces& at, std::int64_t b, std::int64_t n,
                               std::int64_t q, std::int64_t queries) noexcept {
  const std::int64_t h = c.s.head_size;
  for (std::int64_t i = 0; i < queries; ++i) {
    const float* const d = read_row(c.dout.at(b, q + i, n), c.dout.bfloat16, h, at.rows);
    const float* const o = read_row(c.out.at(b, q + i, n), c.out.bfloat16, h, at.rows + h);
    const std::int64_t row = (b * c.s.heads + n) * c.s.queries + q + i;
    at.log_sum[i] = c.lse[row] * log2_e;
    at.correction[i] = c.correction[row];
    at.delta[i] = sum_row(h, [=](std::int64_t j, auto lanes) { return lanes(d + j) * lanes(o + j); });
    if (at.blind == nullptr || !(c.lse[row] <= hidden_score)) continue;
    at.log_sum[i] = -hidden_score, at.correction[i] = 0;  // no weights; write_keys adds those to all keys
    write_row(at.blind, false, h, d, c.correction[row], true);
  }
}

/// Adds the contributions of block i of the keys, which begins with key k, and of `queries` queries from q on to each
/// other's cotangents.
///
/// The first loop takes the queries a tile high at a time: p = softmax(q k^T), ds = p * (dout v^T - delta) and dq += ds k.
/// The rows of p and ds are then still in the first-level cache. The second loop adds the sums over all queries of the
/// block, dv^T += dout^T p and dk^T += q^T ds, a panel of keys at a time. Where tiles read B in place, rows of p and ds are
/// written straight to the panels of the second loop, and otherwise they pass through `part_p` and `part_ds`.
inline void backward_block(const attention_cotangents& c, const backward_pieces& at, std::int64_t b, std::int64_t n,
                           std::int64_t i, std::int64_t k, std::int64_t q, std::int64_t queries,
                           tile_mode query_mode) noexcept {
  const attention_shape& s = c.s;
  const backward_blocks& z = c.blocks;
  const microkernel_set& kernels = c.machine.tiles;
  const std::int64_t mr = kernels.rows, h = s.head_size, lanes = panel_lanes;
  const std::int64_t keys = std::min(z.keys, s.keys - k), steps = steps_of(kernels, queries);
  const std::int64_t key_steps = steps_of(kernels, keys);  // as the panels of this block were packed
  const bool in_place = kernels.b_in_place, modified = s.modified();
  const std::int64_t ahead = s.ahead();
  const std::int64_t stride = lanes * steps;  // between panels of p and ds
  // The rows of the tiles in which queries see a key begin at `row_begin` and end before `row_end`.
  std::int64_t row_begin = 0, row_end = queries;
  if (modified) {
    const auto blind = [&](std::int64_t r) {
      return visible_pairs(s, {b, n, q + r, std::min(mr, queries - r), k, keys}) == visible::none;
    };
    while (row_begin < row_end && blind(row_begin)) row_begin += mr;
    while (row_begin < row_end && blind((row_end - 1) / mr * mr)) row_end = (row_end - 1) / mr * mr;
  }
  const auto first_row = [&](std::int64_t key) {  // the first row of the tiles in which queries see this key
    const std::int64_t query = std::max<std::int64_t>(0, k + key - q - ahead);
    return query < queries ? std::max(row_begin, query / mr * mr) : queries;
  };
  for (std::int64_t r = first_row(0); r < row_end; r += mr) {
    const std::int64_t rows = std::min(mr, queries - r), first = q + r - k + ahead;
    const std::int64_t seen = std::min(keys, first + rows);
    float *const p = in_place ? at.p + r * lanes : at.part_p, *const ds = in_place ? at.ds + r * lanes : at.part_ds;
    const std::int64_t apart = in_place ? stride : mr * lanes;
    // p receives the scores q k^T, and ds the products dout v^T, for some rows and all keys that they see.
    for (std::int64_t j = 0; j < seen; j += lanes) {
      const std::int64_t some = up_to(std::min(lanes, keys - j), 16), panel = i * z.key_columns + j * z.head_steps;
      multiply_panels(kernels, rows, some, z.head_steps, {at.queries + r * z.head_steps, mr, 0},
                      {at.keys + panel, lanes, 0}, p + j / lanes * apart, lanes, tile_mode::assign);
      multiply_panels(kernels, rows, some, z.head_steps, {at.douts + r * z.head_steps, mr, 0},
                      {at.values + panel, lanes, 0}, ds + j / lanes * apart, lanes, tile_mode::assign);
      for (std::int64_t y = 0; y < rows && modified; ++y) {
        const std::int64_t row = j / lanes * apart + y * lanes;
        modify_score_row(s, b, n, q + r + y, k + j, keys - j, p + row, ds + row, at.delta[r + y]);
      }
    }
    const std::int64_t step = r / kernels.terms, row_steps = steps_of(kernels, rows);
    const float scale = (modified ? 1.0f : s.scale) * log2_e;
    c.machine.score_cotangents({parts_of(seen, lanes), rows, apart, std::min(first, keys), keys, scale}, p, ds,
                               {at.log_sum + r, at.correction + r, at.delta + r},
                               {at.p + step * lanes, at.ds + step * lanes, stride, at.turned, mr});
    for (std::int64_t j = 0; j < seen && !in_place; j += lanes) {
      const std::int64_t panel = j / lanes * apart, to = j / lanes * stride + step * lanes;
      if (c.machine.makes_panels) {
        const std::int64_t filled = parts_of(rows, kernels.terms);
        std::fill_n(at.p + to + filled * lanes, (row_steps - filled) * lanes, 0.0f);
        std::fill_n(at.ds + to + filled * lanes, (row_steps - filled) * lanes, 0.0f);
      } else {
        pack_panels(kernels, operand::b, at.p + to, lanes, lanes, rows, p + panel, false, 1, lanes);
        pack_panels(kernels, operand::b, at.ds + to, lanes, lanes, rows, ds + panel, false, 1, lanes);
      }
    }
    // dq [rows, H] += ds k
    const std::int64_t seen_steps = steps_of(kernels, seen);
    const float* const b_keys = at.key_lanes + i * z.key_lanes;
    if (c.machine.by_lane != nullptr) {
      for (std::int64_t j = 0; j < h; j += lanes) {
        c.machine.by_lane[rows](seen_steps, in_place ? ds : at.turned, in_place ? apart : 16 * mr,
                                b_keys + j * key_steps, at.sum_q + r * h + j, h, std::min(lanes, h - j), query_mode);
      }
      continue;
    }
    for (std::int64_t j = 0; j < seen && !c.machine.makes_panels; j += lanes) {
      pack_panels(kernels, operand::a, at.turned + j / kernels.terms * mr, mr, rows, std::min(lanes, seen - j),
                  ds + j / lanes * apart, false, lanes, 1);
    }
    multiply_panels(kernels, rows, h, seen_steps, {at.turned, mr, 0}, {b_keys, lanes, lanes * key_steps},
                    at.sum_q + r * h, h, query_mode);
  }
  // dv^T and dk^T [H, keys] += sums over the queries that see a panel of keys
  const std::int64_t end = steps_of(kernels, row_end);
  for (std::int64_t j = 0; j < keys; j += lanes) {
    if (first_row(j) >= row_end) break;
    const std::int64_t step = first_row(j) / kernels.terms, stride_a = z.head_rows * steps;
    const std::int64_t columns = std::min(lanes, keys - j), panel = j / lanes * stride + step * lanes;
    multiply_panels(kernels, h, columns, end - step, {at.dout_lanes + step * z.head_rows, z.head_rows, stride_a},
                    {at.p + panel, lanes, 0}, at.sum_v + i * z.key_sums + j, z.keys, tile_mode::add);
    multiply_panels(kernels, h, columns, end - step, {at.query_lanes + step * z.head_rows, z.head_rows, stride_a},
                    {at.ds + panel, lanes, 0}, at.sum_k + i * z.key_sums + j, z.keys, tile_mode::add);
  }
}

/// Writes the cotangents of block i of the keys, which begins with key k, when all queries have contributed.
inline void write_keys(const attention_cotangents& c, const backward_pieces& at, std::int64_t b, std::int64_t kv,
                       std::int64_t i, std::int64_t k) noexcept {
  const std::int64_t h = c.s.head_size, size = c.blocks.keys;
  for (std::int64_t j = 0; j < std::min(size, c.s.keys - k); ++j) {
    const std::int64_t row = j % panel_lanes;
    if (row == 0) turn_block(at.rows, h, at.sum_k + i * c.blocks.key_sums + j, size);
    write_row(c.dkey.at(b, k + j, kv), c.dkey.bfloat16, h, at.rows + row * h, c.s.scale, false);
  }
  for (std::int64_t j = 0; j < std::min(size, c.s.keys - k); ++j) {
    const std::int64_t row = j % panel_lanes;
    if (row == 0) turn_block(at.rows, h, at.sum_v + i * c.blocks.key_sums + j, size);
    if (at.blind != nullptr) write_row(at.rows + row * h, false, h, at.blind, 1.0f, true);
    write_row(c.dvalue.at(b, k + j, kv), c.dvalue.bfloat16, h, at.rows + row * h, 1.0f, false);
  }
}

/// How many blocks of queries a piece of work has finished. The next piece waits for this number.
using backward_progress = std::atomic_ref<std::int64_t>;

/// One piece of work: the keys from block `first` on, for all query heads of a key head. No other piece writes their dkey
/// and dvalue. Several pieces add to dquery, and the order of these sums must be fixed: before a piece adds to a block of
/// dquery, it waits for `before`, the progress of the piece with the preceding keys. `done` is its own progress.
inline void backward_piece(const attention_cotangents& c, std::int64_t b, std::int64_t kv, std::int64_t first,
                           std::int64_t* before, std::int64_t* done) {
  const attention_shape& s = c.s;
  const backward_blocks& z = c.blocks;
  const std::int64_t h = s.head_size, group = s.heads / s.kv_heads, query_blocks = parts_of(s.queries, z.queries);
  const std::int64_t k0 = first * z.keys, count = std::min(z.key_blocks, parts_of(s.keys - k0, z.keys));
  const backward_pieces at(s, z, c.machine.tiles.b_in_place);
  for (std::int64_t i = 0; i < count; ++i) pack_backward_keys(c, at, b, kv, i, k0 + i * z.keys);
  std::fill_n(at.sum_k, count * z.key_sums, 0.0f);
  std::fill_n(at.sum_v, count * z.key_sums, 0.0f);
  if (at.blind != nullptr) std::fill_n(at.blind, h, 0.0f);
  for (std::int64_t g = 0; g < group; ++g) {
    // The last queries come first, because they see the most keys. So no piece waits for long.
    for (std::int64_t i = 0; i < query_blocks; ++i) {
      const std::int64_t q = (query_blocks - 1 - i) * z.queries, queries = std::min(z.queries, s.queries - q);
      const std::int64_t n = kv * group + g, key_end = s.key_end(q + queries - 1);
      if (at.blind == nullptr && s.causal && q + queries <= k0) break;
      read_backward_rows(c, at, b, n, q, queries);
      bool packed = false;
      const bool zero = count == 0 || at.blind != nullptr || (s.causal && q < k0);  // not all of them see a key
      if (zero) std::fill_n(at.sum_q, queries * h, 0.0f);
      for (std::int64_t x = 0, k = k0; x < count && k < key_end; ++x, k += z.keys) {
        const std::int64_t keys = std::min(z.keys, s.keys - k);
        if (visible_pairs(s, {b, n, q, queries, k, keys}) == visible::none) continue;
        if (!packed) pack_backward_queries(c, at, b, n, q, queries);
        packed = true;
        backward_block(c, at, b, n, x, k, q, queries,
                       x > 0 || at.blind != nullptr ? tile_mode::add : tile_mode::assign);
      }
      const std::int64_t turn = g * query_blocks + i;
      while (before != nullptr && backward_progress(*before).load(std::memory_order_acquire) <= turn)
        std::this_thread::yield();
      for (std::int64_t j = 0; j < queries; ++j)
        write_row(c.dquery.at(b, q + j, n), c.dquery.bfloat16, h, at.sum_q + j * h, s.scale, first > 0);
      backward_progress(*done).store(turn + 1, std::memory_order_release);
    }
  }
  for (std::int64_t i = 0; i < count; ++i) write_keys(c, at, b, kv, i, k0 + i * z.keys);
}

struct backward_progress_scratch;
struct backward_dquery_scratch;

/// Runs all pieces of all key heads. Pieces are numbered with the first keys of all heads first, so that a piece waits
/// for one that began long before.
inline void attention_backward(attention_cotangents c) {
  const attention_shape& s = c.s;
  const std::int64_t heads = s.batch * s.kv_heads, key_blocks = parts_of(s.keys, c.blocks.keys);
  const std::int64_t pieces = std::max<std::int64_t>(1, parts_of(key_blocks, c.blocks.key_blocks));
  const heads_view<void> result = c.dquery;
  const std::int64_t row = s.heads * s.head_size;
  if (pieces > 1 && result.bfloat16)  // the sums of several pieces must not be rounded in between
    c.dquery = {scratch<backward_dquery_scratch>(s.batch * s.queries * row), s.queries * row, row, s.head_size};
  // progress of piece p of head i at [p * heads + i]
  auto* const done = scratch<backward_progress_scratch, std::int64_t>(heads * pieces);
  std::fill_n(done, heads * pieces, 0);
  std::atomic<std::int64_t> next = 0;
  parallel_for(heads * pieces, [&](std::int64_t own) {
    const std::int64_t i = pieces > 1 ? next++ : own;  // in this order, a piece begins after those for which it waits
    const tile_scope tiles(c.machine.tiles);
    try {
      backward_piece(c, i % heads / s.kv_heads, i % s.kv_heads, i / heads * c.blocks.key_blocks,
                     i < heads ? nullptr : done + i - heads, done + i);
    } catch (...) {  // std::bad_alloc: release the pieces that wait for this one
      backward_progress(done[i]).store(std::numeric_limits<std::int64_t>::max(), std::memory_order_release);
      throw;
    }
  });
  if (c.dquery.data == result.data) return;
  parallel_for(s.batch * s.queries, [&](std::int64_t i) {
    const std::int64_t b = i / s.queries, t = i % s.queries;
    for (std::int64_t n = 0; n < s.heads; ++n)
      write_row(result.at(b, t, n), true, s.head_size, static_cast<const float*>(c.dquery.at(b, t, n)), 1.0f, false);
  });
}

}  // namespace tokamax::cpu_backend::detail
