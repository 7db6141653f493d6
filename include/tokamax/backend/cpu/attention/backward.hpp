// tokamax/backend/cpu/attention/backward.hpp: the cotangents of attention, in pieces of some keys of one head.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/attention/attention.cpp
#pragma once

#include <tokamax/backend/cpu/attention/bias_cotangent.hpp>  // head_chains, bias_cotangent
#include <tokamax/backend/cpu/attention/finite_rows.hpp>     // finite_rows
#include <tokamax/backend/cpu/attention/seen_tiles.hpp>      // seen_tiles
#include <tokamax/backend/cpu/attention/softmax.hpp>         // attention_kernels
#include <tokamax/backend/cpu/attention/terms.hpp>           // modify_score_row
#include <tokamax/backend/cpu/vector/threads.hpp>            // parallel_for, scratch

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
  std::int64_t query_columns, query_lanes, key_columns, key_lanes, scores, part, turned, key_sums, query_sums, tiles;

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
        query_sums(queries * s.head_size),                         // dq: [queries, H]
        tiles(s.modified() ? parts_of(queries, kernels.rows) * seen_tiles::most_panels : 0) {}

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
  attention_more_cotangents more = {};
};

/// The scratch memory of one piece of work.
struct backward_pieces {
  float *keys, *values, *key_lanes, *sum_k, *sum_v;  // of each block of keys
  float *queries, *douts, *query_lanes, *dout_lanes, *sum_q, *log_sum, *correction, *delta;
  float *p, *ds, *part_p, *part_ds, *turned, *rows;
  float* blind;   // dv of each key from the queries that see no key; null if no query can
  visible* seen;  // of each tile of a block

  static std::int64_t floats(const attention_shape& s, const backward_blocks& z, bool in_place) noexcept {
    return z.key_blocks * (2 * z.key_columns + z.key_lanes + 2 * z.key_sums) + 2 * z.query_columns + 2 * z.query_lanes +
           z.query_sums + 3 * z.queries + 2 * z.scores + (in_place ? 0 : 2 * z.part) + z.turned + z.tiles +
           panel_lanes * s.head_size + 21 * 16 + (s.modified() ? s.head_size : 0);
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
    static_assert(sizeof(visible) == sizeof(float));
    seen = reinterpret_cast<visible*>(from.take(z.tiles));
  }
};

/// Packs block i of the keys and of the values, which begins with key k, for the products with queries and with ds.
inline void pack_backward_keys(const attention_cotangents& c, const backward_pieces& at, std::int64_t b,
                               std::int64_t kv, std::int64_t i, std::int64_t k) {
  const microkernel_set& kernels = c.machine.tiles;
  const std::int64_t keys = std::min(c.blocks.keys, c.s.keys - k), h = c.s.head_size;
  pack_panels(kernels, operand::b, at.keys + i * c.blocks.key_columns, panel_lanes, keys, h, c.key.at(b, k, kv),
              c.key.bfloat16, c.key.time_stride, 1);
  pack_panels(kernels, operand::b, at.values + i * c.blocks.key_columns, panel_lanes, keys, h, c.value.at(b, k, kv),
              c.value.bfloat16, c.value.time_stride, 1);
  const finite_rows finite({c.key.at(b, k, kv), c.key.bfloat16, c.key.time_stride}, keys, h, hides_pairs(c.s));
  pack_panels(kernels, operand::b, at.key_lanes + i * c.blocks.key_lanes, panel_lanes, h, keys, finite.data,
              finite.bfloat16, 1, finite.stride);
}

/// Packs panels of the queries from q on and of the cotangent of their result. Are cotangents that are not finite missing where
/// they are summed over queries?
inline bool pack_backward_queries(const attention_cotangents& c, const backward_pieces& at, std::int64_t b,
                                  std::int64_t n, std::int64_t q, std::int64_t queries) {
  const microkernel_set& kernels = c.machine.tiles;
  const std::int64_t h = c.s.head_size, mr = kernels.rows;
  const number_rows from_q{c.query.at(b, q, n), c.query.bfloat16, c.query.time_stride};
  const number_rows from_d{c.dout.at(b, q, n), c.dout.bfloat16, c.dout.time_stride};
  pack_panels(kernels, operand::a, at.queries, mr, queries, h, from_q.data, from_q.bfloat16, from_q.stride, 1);
  pack_panels(kernels, operand::a, at.douts, mr, queries, h, from_d.data, from_d.bfloat16, from_d.stride, 1);
  const auto pack_lanes = [&](const number_rows& from, float* to) {
    const finite_rows finite(from, queries, h, hides_pairs(c.s));
    pack_panels(kernels, operand::a, to, c.blocks.head_rows, h, queries, finite.data, finite.bfloat16, 1,
                finite.stride);
    return finite.changed;
  };
  pack_lanes(from_q, at.query_lanes);  // the cotangents of their scores are NaN
  return pack_lanes(from_d, at.dout_lanes);
}

/// Adds the cotangents of results that are not finite to those of the values [H, keys] that their queries see.
inline void add_missing_cotangents(const attention_cotangents& c, const backward_pieces& at, const pair_block& block,
                                   std::int64_t i) noexcept {
  float* const sums = at.sum_v + i * c.blocks.key_sums;
  for (std::int64_t y = 0; y < block.queries; ++y) {
    const float* const d = read_row(c.dout.at(block.b, block.q + y, block.n), c.dout.bfloat16, c.s.head_size, at.rows);
    for (std::int64_t x = 0; x < c.s.head_size; ++x) {
      if (std::isfinite(d[x])) continue;
      for (std::int64_t j = 0; j < block.keys; ++j)
        if (sees_pair(c.s, {block.b, block.n, block.q + y, 1, block.k + j, 1})) sums[x * c.blocks.keys + j] += d[x];
    }
  }
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
    if (c.more.dlse != nullptr) at.delta[i] -= c.more.dlse[row];
    if (at.blind == nullptr || !(c.lse[row] <= hidden_score)) continue;
    at.log_sum[i] = -hidden_score, at.correction[i] = 0;  // no weights; write_keys adds those to all keys
    write_row(at.blind, false, h, d, c.correction[row], true);
  }
}

/// The scores q k^T and the products dout v^T of the tiles of `panels` whose first query is row r of the block, changed as the
/// shape says. True if the scores have been multiplied by their scale.
inline bool backward_scores(const attention_cotangents& c, const backward_pieces& at, const pair_block& block,
                            std::int64_t i, std::int64_t r, const seen_tiles& tiles, const seen_tiles::range& panels,
                            float* p, float* ds, std::int64_t apart) noexcept {
  const attention_shape& s = c.s;
  const backward_blocks& z = c.blocks;
  const microkernel_set& kernels = c.machine.tiles;
  const std::int64_t mr = kernels.rows, lanes = panel_lanes, rows = std::min(mr, block.queries - r);
  const bool modified = s.modified() && (s.soft_cap != 0 || s.bias.data != nullptr || !tiles.whole(r, panels));
  for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
    const std::int64_t j = panel * lanes, some = up_to(std::min(lanes, block.keys - j), 16), row = panel * apart;
    if (modified && tiles.at(r, panel) == visible::none) {
      for (std::int64_t y = 0; y < rows; ++y) {
        std::fill_n(p + row + y * lanes, lanes, hidden_score);
        std::fill_n(ds + row + y * lanes, lanes, at.delta[r + y]);
      }
      continue;
    }
    const std::int64_t keys = i * z.key_columns + j * z.head_steps;
    multiply_panels(kernels, rows, some, z.head_steps, {at.queries + r * z.head_steps, mr, 0},
                    {at.keys + keys, lanes, 0}, p + row, lanes, tile_mode::assign);
    multiply_panels(kernels, rows, some, z.head_steps, {at.douts + r * z.head_steps, mr, 0},
                    {at.values + keys, lanes, 0}, ds + row, lanes, tile_mode::assign);
    for (std::int64_t y = 0; y < rows && modified; ++y)
      modify_score_row(s, {block.b, block.n, block.q + r + y, 1, block.k + j, std::min(lanes, block.keys - j)},
                       tiles.at(r, panel), p + row + y * lanes, ds + row + y * lanes, at.delta[r + y]);
  }
  return modified;
}

/// Adds the contributions of block i of the keys and of a block of queries to each other's cotangents.
///
/// The first loop takes the queries a tile high at a time: p = softmax(q k^T), ds = p * (dout v^T - delta) and dq += ds k.
/// The rows of p and ds are then still in the first-level cache. The second loop adds the sums over all queries of the
/// block, dv^T += dout^T p and dk^T += q^T ds, a panel of keys at a time. Where tiles read B in place, rows of p and ds are
/// written straight to the panels of the second loop, and otherwise they pass through `part_p` and `part_ds`.
inline void backward_block(const attention_cotangents& c, const backward_pieces& at, const pair_block& block,
                           std::int64_t i, tile_mode query_mode) noexcept {
  const attention_shape& s = c.s;
  const backward_blocks& z = c.blocks;
  const microkernel_set& kernels = c.machine.tiles;
  const std::int64_t mr = kernels.rows, h = s.head_size, lanes = panel_lanes, queries = block.queries;
  const std::int64_t keys = block.keys, steps = steps_of(kernels, queries);
  const std::int64_t key_steps = steps_of(kernels, keys);  // as the panels of this block were packed
  const bool in_place = kernels.b_in_place;
  const std::int64_t stride = lanes * steps;  // between panels of p and ds
  const seen_tiles tiles(s, block, mr, at.seen);
  for (std::int64_t r = tiles.rows().begin; r < tiles.rows().end; r += mr) {
    const seen_tiles::range panels = tiles.panels_of(r);
    if (panels.begin == panels.end) continue;
    const std::int64_t rows = std::min(mr, queries - r), k0 = panels.begin * lanes;
    const std::int64_t first = block.q + r - block.k + s.ahead();
    const std::int64_t seen = std::min({keys, first + rows, panels.end * lanes}) - k0;  // from key k0 of the block on
    const std::int64_t apart = in_place ? stride : mr * lanes;
    float *p = in_place ? at.p + r * lanes : at.part_p, *ds = in_place ? at.ds + r * lanes : at.part_ds;
    const bool scaled = backward_scores(c, at, block, i, r, tiles, panels, p, ds, apart);
    p += panels.begin * apart, ds += panels.begin * apart;
    const std::int64_t to_rows = panels.begin * stride + r / kernels.terms * lanes, row_steps = steps_of(kernels, rows);
    float* const turned = at.turned + k0 / kernels.terms * mr;
    c.machine.score_cotangents(
        {parts_of(seen, lanes), rows, apart, std::min(first, keys) - k0, keys - k0, (scaled ? 1.0f : s.scale) * log2_e},
        p, ds, {at.log_sum + r, at.correction + r, at.delta + r},
        {at.p + to_rows, at.ds + to_rows, stride, turned, mr, c.more.dbias != nullptr});
    if (c.more.dbias != nullptr)
      add_bias_cotangents(s, c.more.dbias, {block.b, block.n, block.q + r, rows, block.k + k0, seen}, ds, apart);
    for (std::int64_t j = 0; j < seen && !in_place; j += lanes) {
      const std::int64_t panel = j / lanes * apart, to = to_rows + j / lanes * stride;
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
    const float* const b_keys = at.key_lanes + i * z.key_lanes + k0 / kernels.terms * lanes;
    if (c.machine.by_lane != nullptr) {
      for (std::int64_t j = 0; j < h; j += lanes) {
        c.machine.by_lane[rows](seen_steps, in_place ? ds : turned, in_place ? apart : 16 * mr, b_keys + j * key_steps,
                                at.sum_q + r * h + j, h, std::min(lanes, h - j), query_mode);
      }
      continue;
    }
    for (std::int64_t j = 0; j < seen && !c.machine.makes_panels; j += lanes) {
      pack_panels(kernels, operand::a, turned + j / kernels.terms * mr, mr, rows, std::min(lanes, seen - j),
                  ds + j / lanes * apart, false, lanes, 1);
    }
    multiply_panels(kernels, rows, h, seen_steps, {turned, mr, 0}, {b_keys, lanes, lanes * key_steps}, at.sum_q + r * h,
                    h, query_mode);
  }
  // dv^T and dk^T [H, keys] += sums over the queries that see a panel of keys
  for (std::int64_t j = 0; j < keys; j += lanes) {
    const seen_tiles::range seen = tiles.rows_of(j / lanes);
    if (seen.begin >= seen.end) continue;
    const std::int64_t step = seen.begin / kernels.terms, end = steps_of(kernels, seen.end);
    const std::int64_t columns = std::min(lanes, keys - j), panel = j / lanes * stride + step * lanes;
    const std::int64_t stride_a = z.head_rows * steps;
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
      bool packed = false, lacks = false;
      const bool zero = count == 0 || at.blind != nullptr || (s.causal && q < k0);  // not all of them see a key
      if (zero) std::fill_n(at.sum_q, queries * h, 0.0f);
      for (std::int64_t x = 0, k = k0; x < count && k < key_end; ++x, k += z.keys) {
        const pair_block block{b, n, q, queries, k, std::min(z.keys, s.keys - k)};
        if (visible_pairs(s, block) == visible::none) continue;
        if (!packed) lacks = pack_backward_queries(c, at, b, n, q, queries);
        packed = true;
        backward_block(c, at, block, x, x > 0 || at.blind != nullptr ? tile_mode::add : tile_mode::assign);
        if (lacks) add_missing_cotangents(c, at, block, x);
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
  const head_chains chains(s, c.more.dbias != nullptr, pieces, bias_cotangent::size_of(s));
  const bias_cotangent of_bias(s, c.more.dbias, chains, pieces);
  const heads_view<void> result = c.dquery;
  const std::int64_t row = s.heads * s.head_size;
  if (pieces > 1 && result.bfloat16)  // the sums of several pieces must not be rounded in between
    c.dquery = {scratch<backward_dquery_scratch>(s.batch * s.queries * row), s.queries * row, row, s.head_size};
  // progress of piece p of head i at [p * heads + i]
  auto* const done = scratch<backward_progress_scratch, std::int64_t>(heads * pieces);
  std::fill_n(done, heads * pieces, 0);
  std::atomic<std::int64_t> next = 0;
  parallel_for(chains.tasks() * pieces, [&](std::int64_t own) {
    const std::int64_t i = pieces > 1 ? next++ : own;  // in this order, a piece begins after those for which it waits
    const std::int64_t task = i % chains.tasks(), piece = i / chains.tasks();
    const tile_scope tiles(c.machine.tiles);
    attention_cotangents mine = c;
    mine.more.dbias = of_bias.of(task, piece);
    try {
      chains.for_heads(task, [&](std::int64_t head) {
        std::int64_t* const own_progress = done + piece * heads + head;
        backward_piece(mine, head / s.kv_heads, head % s.kv_heads, piece * c.blocks.key_blocks,
                       piece == 0 ? nullptr : own_progress - heads, own_progress);
      });
    } catch (...) {  // std::bad_alloc: release the pieces that wait for these
      chains.for_heads(task, [&](std::int64_t head) {
        backward_progress(done[piece * heads + head])
            .store(std::numeric_limits<std::int64_t>::max(), std::memory_order_release);
      });
      throw;
    }
  });
  of_bias.finish();
  if (c.dquery.data == result.data) return;
  parallel_for(s.batch * s.queries, [&](std::int64_t i) {
    const std::int64_t b = i / s.queries, t = i % s.queries;
    for (std::int64_t n = 0; n < s.heads; ++n)
      write_row(result.at(b, t, n), true, s.head_size, static_cast<const float*>(c.dquery.at(b, t, n)), 1.0f, false);
  });
}

}  // namespace tokamax::cpu_backend::detail
