// tokamax/backend/cpu/attention.hpp: scaled dot-product attention and its cotangents without the matrix of scores.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (kernels include it, and are compiled once)
#pragma once

#include <tokamax/backend/cpu/gemm_microkernel.hpp>  // gemm_kernels
#include <tokamax/backend/cpu/rows.hpp>              // for_vectors, sum_row
#include <tokamax/backend/cpu/threads.hpp>           // parallel_for_dynamic, scratch

#include <algorithm>  // min, max, fill_n
#include <cmath>      // log
#include <cstdint>    // int64_t
#include <limits>     // infinity

namespace tokamax::simd {

/// Element (b, t, n, h) is data[b * batch_stride + t * time_stride + n * head_stride + h].
template <class T>
struct heads_view {
  T* data;
  std::int64_t batch_stride, time_stride, head_stride;

  T* at(std::int64_t b, std::int64_t t, std::int64_t n) const noexcept {
    return data + b * batch_stride + t * time_stride + n * head_stride;
  }
};

struct attention_shape {
  std::int64_t batch;      ///< B
  std::int64_t queries;    ///< T
  std::int64_t keys;       ///< S
  std::int64_t heads;      ///< N, of the queries
  std::int64_t kv_heads;   ///< K, divides N; head n reads key head n / (N / K)
  std::int64_t head_size;  ///< H
  float scale;             ///< usually 1 / sqrt(H)
  bool causal;             ///< query i sees the keys j <= i
};

namespace detail {

inline constexpr std::int64_t query_chunk = 256;  // queries that share a packed block of K and V

inline constexpr std::int64_t query_block = 32;  // columns of a score block; wider ones waste more above the diagonal

// Rows of a score block: even parts of S in whole tiles of 14 rows, at most 10 of them. A function of S alone, since it
// fixes the order of the sums.
constexpr std::int64_t key_block_of(std::int64_t keys) noexcept {
  const std::int64_t parts = std::max<std::int64_t>(1, (keys + 139) / 140);
  return std::max<std::int64_t>(14, ((keys + parts - 1) / parts + 13) / 14 * 14);
}

// c [rows, cols] from packed panels; panels of A are a_panel apart and hold a_step floats for each step of k.
inline void multiply_panels(const gemm_kernels& kernels, std::int64_t rows, std::int64_t cols, std::int64_t k,
                            const float* a, std::int64_t a_panel, std::int64_t a_step, const float* b, float* c,
                            std::int64_t ldc, tile_mode mode, std::int64_t b_steps) noexcept {
  const std::int64_t mr = kernels.rows, nr = kernels.columns;
  for (std::int64_t j = 0; j < cols; j += nr) {
    for (std::int64_t i = 0; i < rows; i += mr) {
      kernels.tile[std::min(mr, rows - i)](k, a + i / mr * a_panel, a_step, b + j * b_steps, nr, c + i * ldc + j, ldc,
                                           std::min(nr, cols - j), mode);
    }
  }
}

// Panels of `lanes_padded` lanes each, [panel][step][lane].
inline void pack_panels(const gemm_kernels& kernels, float* packed, std::int64_t lanes_padded, std::int64_t lanes,
                        std::int64_t steps, const float* from, std::int64_t lane_stride,
                        std::int64_t step_stride) noexcept {
  for (std::int64_t l = 0; l < lanes; l += lanes_padded) {
    kernels.pack(packed + l * steps, lanes_padded, std::min(lanes_padded, lanes - l), steps, from + l * lane_stride,
                 lane_stride, step_stride);
  }
}

constexpr std::int64_t up_to(std::int64_t n, std::int64_t multiple) noexcept {
  return (n + multiple - 1) / multiple * multiple;
}

// Hands out pieces of one scratch allocation, each on its own cache line.
struct scratch_pieces {
  float* next;
  float* take(std::int64_t floats) noexcept {
    float* const piece = next;
    next += up_to(floats, 16);
    return piece;
  }
};

// Turns a score block [keys, query_block] of queries q.. and keys k.. into probabilities, column by column: the
// queries lie in the lanes, so that neither maximum nor sum crosses lanes. Updates highest and total (length
// query_block) and leaves in `shrink` the factor for what was summed before.
inline void softmax_block(float* scores, std::int64_t keys, std::int64_t columns, std::int64_t q, std::int64_t k,
                          bool masked, float scale, float* highest, float* total, float* shrink) noexcept {
  const f32v scales(scale), nothing(-std::numeric_limits<float>::infinity());
  for (std::int64_t c = 0; c < columns; c += width) {
    const i32v query = iota() + i32v(static_cast<std::int32_t>(q + c - k));
    const f32v old = load(highest + c);
    f32v most = old;
    for (std::int64_t j = 0; j < keys; ++j) {
      f32v s = load(scores + j * query_block + c) * scales;
      if (masked) s = select(to_mask(query < i32v(static_cast<std::int32_t>(j))), nothing, s);
      if (masked) store(scores + j * query_block + c, s);
      most = max(most, s);
    }
    const f32v factor = masked ? f32v(1.0f) : scales;
    f32v sum0(0.0f), sum1(0.0f);
    std::int64_t j = 0;
    for (; j + 2 <= keys; j += 2) {
      float* const at = scores + j * query_block + c;
      const f32v p0 = exp_nonpositive(load(at) * factor - most);
      const f32v p1 = exp_nonpositive(load(at + query_block) * factor - most);
      sum0 = sum0 + p0;
      sum1 = sum1 + p1;
      store(at, p0);
      store(at + query_block, p1);
    }
    if (j < keys) {
      const f32v p = exp_nonpositive(load(scores + j * query_block + c) * factor - most);
      sum0 = sum0 + p;
      store(scores + j * query_block + c, p);
    }
    const f32v before = exp_nonpositive(old - most);
    store(shrink + c, before);
    store(highest + c, most);
    store(total + c, fma(load(total + c), before, sum0 + sum1));
  }
}

struct attention_scratch;

// One chunk of queries of one head.
inline void attention_chunk(const attention_shape& s, const gemm_kernels& kernels, heads_view<const float> query,
                            heads_view<const float> key, heads_view<const float> value, heads_view<float> out,
                            float* lse, std::int64_t b, std::int64_t n, std::int64_t q0) noexcept {
  const std::int64_t mr = kernels.rows, nr = kernels.columns, h = s.head_size;
  const std::int64_t kv = n / (s.heads / s.kv_heads);
  const std::int64_t q1 = std::min(s.queries, q0 + query_chunk);
  const std::int64_t key_block = key_block_of(s.keys);
  const std::int64_t wide_queries = up_to(query_block, nr), wide_head = up_to(h, nr);
  const std::int64_t most_keys = up_to(key_block, mr);
  scratch_pieces pieces{scratch<attention_scratch>(query_chunk / query_block * wide_queries * h + query_chunk * h +
                                                   most_keys * h + wide_head * key_block + key_block * query_block +
                                                   2 * query_chunk + query_block + 128)};
  float* const packed_q = pieces.take(query_chunk / query_block * wide_queries * h);  // [block][H, queries]
  float* const sums = pieces.take(query_chunk * h);                                   // [queries, H]
  float* const packed_k = pieces.take(most_keys * h);                                 // [H, keys]
  float* const packed_v = pieces.take(wide_head * key_block);                         // [keys, H]
  float* const scores = pieces.take(key_block * query_block);                         // [keys, queries]
  float* const highest = pieces.take(query_chunk);
  float* const total = pieces.take(query_chunk);
  float* const shrink = pieces.take(query_block);

  std::fill_n(highest, query_chunk, -std::numeric_limits<float>::infinity());
  std::fill_n(total, query_chunk, 0.0f);
  for (std::int64_t q = q0; q < q1; q += query_block) {
    pack_panels(kernels, packed_q + (q - q0) / query_block * wide_queries * h, nr, std::min(query_block, q1 - q), h,
                query.at(b, q, n), query.time_stride, 1);
  }
  const std::int64_t key_end = s.causal ? std::min(s.keys, q1) : s.keys;
  if (key_end == 0) std::fill_n(sums, query_chunk * h, 0.0f);
  for (std::int64_t k = 0; k < key_end; k += key_block) {
    const std::int64_t keys = std::min(key_block, key_end - k);
    pack_panels(kernels, packed_k, mr, keys, h, key.at(b, k, kv), key.time_stride, 1);
    pack_panels(kernels, packed_v, nr, h, keys, value.at(b, k, kv), 1, value.time_stride);
    for (std::int64_t q = q0; q < q1; q += query_block) {
      const std::int64_t queries = std::min(query_block, q1 - q);
      if (s.causal && k > q + queries - 1) continue;
      const std::int64_t seen = s.causal ? std::min(keys, q + queries - k) : keys;
      const std::int64_t columns = up_to(queries, width);
      float* const mine = sums + (q - q0) * h;
      multiply_panels(kernels, seen, columns, h, packed_k, mr * h, mr,
                      packed_q + (q - q0) / query_block * wide_queries * h, scores, query_block, tile_mode::assign, h);
      softmax_block(scores, seen, columns, q, k, s.causal && k + seen - 1 > q, s.scale, highest + (q - q0),
                    total + (q - q0), shrink);
      if (k > 0) {
        for (std::int64_t i = 0; i < queries; ++i) {
          if (shrink[i] == 1.0f) continue;
          const f32v factor(shrink[i]);
          for_vectors(
              h, [=](std::int64_t j, auto lanes) { lanes.put(mine + i * h + j, lanes(mine + i * h + j) * factor); });
        }
      }
      // the probabilities are read in place: their queries are contiguous, as the lanes of A must be
      multiply_panels(kernels, queries, h, seen, scores, mr, query_block, packed_v, mine, h,
                      k > 0 ? tile_mode::add : tile_mode::assign, keys);
    }
  }
  for (std::int64_t q = q0; q < q1; ++q) {
    const float sum = total[q - q0];
    const f32v factor(sum == 0.0f ? 0.0f : 1.0f / sum);
    const float* const from = sums + (q - q0) * h;
    float* const to = out.at(b, q, n);
    for_vectors(h, [=](std::int64_t j, auto lanes) { lanes.put(to + j, lanes(from + j) * factor); });
    if (lse != nullptr) lse[(b * s.heads + n) * s.queries + q] = highest[q - q0] + std::log(sum);
  }
}

struct attention_backward_scratch;

// All query heads of one key head: the only writer of their dquery and of its dkey and dvalue.
inline void attention_backward_head(const attention_shape& s, const gemm_kernels& kernels,
                                    heads_view<const float> query, heads_view<const float> key,
                                    heads_view<const float> value, heads_view<const float> out, const float* lse,
                                    heads_view<const float> dout, heads_view<float> dquery, heads_view<float> dkey,
                                    heads_view<float> dvalue, std::int64_t b, std::int64_t kv) noexcept {
  const std::int64_t mr = kernels.rows, nr = kernels.columns, h = s.head_size;
  const std::int64_t key_block = key_block_of(s.keys);
  const std::int64_t group = s.heads / s.kv_heads, blocks = (s.queries + query_block - 1) / query_block;
  const std::int64_t wide_queries = up_to(query_block, nr), wide_head = up_to(h, nr);
  const std::int64_t most_keys = up_to(key_block, mr), block_size = key_block * query_block;
  scratch_pieces pieces{scratch<attention_backward_scratch>(
      2 * blocks * (wide_queries * h + wide_head * query_block) + 2 * most_keys * h + wide_head * key_block +
      2 * block_size + most_keys * query_block + 2 * key_block * h + 2 * blocks * query_block + 256)};
  float* const columns_q = pieces.take(blocks * wide_queries * h);      // [block][H, queries]
  float* const columns_d = pieces.take(blocks * wide_queries * h);      // dout, the same
  float* const rows_q = pieces.take(blocks * wide_head * query_block);  // [block][queries, H]
  float* const rows_d = pieces.take(blocks * wide_head * query_block);  // dout, the same
  float* const columns_k = pieces.take(most_keys * h);                  // [H, keys]
  float* const columns_v = pieces.take(most_keys * h);                  // [H, keys]
  float* const rows_k = pieces.take(wide_head * key_block);             // [keys, H]
  float* const p = pieces.take(block_size);                             // probabilities [keys, queries]
  float* const ds = pieces.take(block_size);                            // cotangent of the scores [keys, queries]
  float* const turned = pieces.take(most_keys * query_block);           // p or ds as [queries, keys]
  float* const sum_k = pieces.take(key_block * h);                      // dkey [keys, H]
  float* const sum_v = pieces.take(key_block * h);                      // dvalue [keys, H]
  float* const logs = pieces.take(blocks * query_block);                // lse, zero behind the end
  float* const delta = pieces.take(blocks * query_block);               // sum_h dout * out

  for (std::int64_t g = 0; g < group; ++g) {
    const std::int64_t n = kv * group + g;
    std::fill_n(logs, blocks * query_block, 0.0f);
    std::fill_n(delta, blocks * query_block, 0.0f);
    for (std::int64_t q = 0; q < s.queries; ++q) {
      const float *d = dout.at(b, q, n), *o = out.at(b, q, n);
      logs[q] = lse[(b * s.heads + n) * s.queries + q];
      delta[q] = sum_row(h, [=](std::int64_t j, auto lanes) { return lanes(d + j) * lanes(o + j); });
    }
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::int64_t q = i * query_block, queries = std::min(query_block, s.queries - q);
      const float *from_q = query.at(b, q, n), *from_d = dout.at(b, q, n);
      pack_panels(kernels, columns_q + i * wide_queries * h, nr, queries, h, from_q, query.time_stride, 1);
      pack_panels(kernels, columns_d + i * wide_queries * h, nr, queries, h, from_d, dout.time_stride, 1);
      pack_panels(kernels, rows_q + i * wide_head * query_block, nr, h, queries, from_q, 1, query.time_stride);
      pack_panels(kernels, rows_d + i * wide_head * query_block, nr, h, queries, from_d, 1, dout.time_stride);
      if (s.keys == 0)
        for (std::int64_t t = q; t < q + queries; ++t) std::fill_n(dquery.at(b, t, n), h, 0.0f);
    }
    for (std::int64_t k = 0; k < s.keys; k += key_block) {
      const std::int64_t keys = std::min(key_block, s.keys - k);
      const float *from_k = key.at(b, k, kv), *from_v = value.at(b, k, kv);
      pack_panels(kernels, columns_k, mr, keys, h, from_k, key.time_stride, 1);
      pack_panels(kernels, columns_v, mr, keys, h, from_v, value.time_stride, 1);
      pack_panels(kernels, rows_k, nr, h, keys, from_k, 1, key.time_stride);
      std::fill_n(sum_k, keys * h, 0.0f);
      std::fill_n(sum_v, keys * h, 0.0f);
      for (std::int64_t i = s.causal ? k / query_block : 0; i < blocks; ++i) {
        const std::int64_t q = i * query_block, queries = std::min(query_block, s.queries - q);
        const std::int64_t seen = s.causal ? std::min(keys, q + queries - k) : keys;
        const std::int64_t columns = up_to(queries, width);
        if (seen <= 0) continue;
        multiply_panels(kernels, seen, columns, h, columns_k, mr * h, mr, columns_q + i * wide_queries * h, p,
                        query_block, tile_mode::assign, h);
        multiply_panels(kernels, seen, columns, h, columns_v, mr * h, mr, columns_d + i * wide_queries * h, ds,
                        query_block, tile_mode::assign, h);
        const bool masked = s.causal && k + seen - 1 > q;
        const f32v scale(s.scale), zero(0.0f);
        for (std::int64_t j = 0; j < seen; ++j) {
          for (std::int64_t c = 0; c < columns; c += width) {
            float *const at_p = p + j * query_block + c, *const at_ds = ds + j * query_block + c;
            f32v e = exp_nonpositive(min(load(at_p) * scale - load(logs + q + c), f32v(1.0f)));
            if (masked) {
              const i32v behind = iota() + i32v(static_cast<std::int32_t>(q + c - k - j));
              e = select(to_mask(behind < i32v(0)), zero, e);
            }
            store(at_p, e);
            store(at_ds, e * (load(at_ds) - load(delta + q + c)) * scale);
          }
        }
        // dvalue += p^T dout, dkey += ds^T query, dquery (+)= ds key
        pack_panels(kernels, turned, mr, seen, queries, p, query_block, 1);
        multiply_panels(kernels, seen, h, queries, turned, mr * queries, mr, rows_d + i * wide_head * query_block,
                        sum_v, h, tile_mode::add, queries);
        pack_panels(kernels, turned, mr, seen, queries, ds, query_block, 1);
        multiply_panels(kernels, seen, h, queries, turned, mr * queries, mr, rows_q + i * wide_head * query_block,
                        sum_k, h, tile_mode::add, queries);
        multiply_panels(kernels, queries, h, seen, ds, mr, query_block, rows_k, dquery.at(b, q, n), dquery.time_stride,
                        k > 0 ? tile_mode::add : tile_mode::assign, keys);
      }
      for (std::int64_t j = 0; j < keys; ++j) {
        float *const to_k = dkey.at(b, k + j, kv), *const to_v = dvalue.at(b, k + j, kv);
        for_vectors(h, [=](std::int64_t c, auto lanes) {
          const f32v gk = lanes(sum_k + j * h + c), gv = lanes(sum_v + j * h + c);
          lanes.put(to_k + c, g > 0 ? lanes(to_k + c) + gk : gk);
          lanes.put(to_v + c, g > 0 ? lanes(to_v + c) + gv : gv);
        });
      }
    }
  }
}
}  // namespace detail

/// Scaled dot-product attention, one block of scores at a time.
///
///   out = softmax(scale * query key^T, masked to j <= i when causal) value,  lse = log of the sum of exponentials
///
/// shapes  query, out [B, T, N, H], key, value [B, S, K, H], lse [B, N, T] dense or null
/// dtypes  f32
/// memory  O(H) for each query; no matrix of scores
/// source  Dao 2023, arXiv:2307.08691, algorithm 1; semantics of jax.nn.dot_product_attention (S = 0 gives zeros)
inline void attention(const attention_shape& s, heads_view<const float> query, heads_view<const float> key,
                      heads_view<const float> value, heads_view<float> out, float* lse) noexcept {
  const gemm_kernels& kernels = gemm_kernels_for(best_gemm_machine());
  const std::int64_t chunks = (s.queries + detail::query_chunk - 1) / detail::query_chunk;
  // the last chunks of a causal head cost most: they come first
  parallel_for_dynamic(s.batch * s.heads * chunks, [&](std::int64_t i) {
    const std::int64_t head = i % (s.batch * s.heads), chunk = chunks - 1 - i / (s.batch * s.heads);
    detail::attention_chunk(s, kernels, query, key, value, out, lse, head / s.heads, head % s.heads,
                            chunk * detail::query_chunk);
  });
}

/// Cotangents of attention from its result and lse; the probabilities are computed again.
///
/// shapes  as attention; dquery like query, dkey and dvalue like key; none may overlap an input
/// dtypes  f32
/// memory  O(T H) for each thread; in parallel over batch and key heads
/// source  Dao 2023, arXiv:2307.08691, algorithm 2
inline void attention_backward(const attention_shape& s, heads_view<const float> query, heads_view<const float> key,
                               heads_view<const float> value, heads_view<const float> out, const float* lse,
                               heads_view<const float> dout, heads_view<float> dquery, heads_view<float> dkey,
                               heads_view<float> dvalue) noexcept {
  const gemm_kernels& kernels = gemm_kernels_for(best_gemm_machine());
  parallel_for_dynamic(s.batch * s.kv_heads, [&](std::int64_t i) {
    detail::attention_backward_head(s, kernels, query, key, value, out, lse, dout, dquery, dkey, dvalue, i / s.kv_heads,
                                    i % s.kv_heads);
  });
}

}  // namespace tokamax::simd
