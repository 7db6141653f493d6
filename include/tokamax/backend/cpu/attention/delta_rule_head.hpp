// tokamax/backend/cpu/attention/delta_rule_head.hpp: the gated delta rule for some tokens of one head, in one or in chunks.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/gated_delta_rule/op.cpp
#pragma once

#include <tokamax/backend/cpu/attention/blocks.hpp>   // scratch_pieces
#include <tokamax/backend/cpu/gemm/gemm.hpp>          // gemm
#include <tokamax/backend/cpu/vector/elementary.hpp>  // exp
#include <tokamax/backend/cpu/vector/rows.hpp>        // for_vectors, sum_row

namespace tokamax::cpu_backend {

/// The sizes of a call, and where its sequences are.
struct delta_rule_shape {
  std::int64_t tokens, key_heads, heads, key_size, value_size;
  std::int64_t sequences, slot_count;
  float scale;
  /// Of each sequence: its first token, its number of tokens, the slot that it reads and the one that it writes, or -1. Null:
  /// sequences of the same length have the slots in order.
  const std::int32_t *first = nullptr, *length = nullptr, *from = nullptr, *to = nullptr;

  std::int64_t state_size() const noexcept { return key_size * value_size; }
};

/// Dense operands [T, H, D], [T, H, D], [T, N, E], [T, N], [T, N], and the result [T, N, E].
struct delta_rule_operands {
  const float *q, *k, *v, *g, *beta;
  float* out;
};

namespace detail {

struct delta_rule_scratch;

/// e^x of one number, with the bits of the vectors.
inline float exp_of(float x) noexcept { return reduce_max(exp(f32v(x))); }

/// One head: S [D, E] is read from one place and written to another or the same one.
class delta_rule_head {
 public:
  static constexpr std::int64_t chunk = 64;  ///< tokens in a chunk, at most
  static constexpr std::int64_t block = 16;  ///< rows of a triangle that are solved one by one

  delta_rule_head(const delta_rule_shape& s, const delta_rule_operands& x, std::int64_t head)
      : s_(s), x_(x), head_(head), key_(head / (s.heads / s.key_heads)), d_(s.key_size), e_(s.value_size) {}

  /// Computes n tokens from token t on. Many finite ones take a chunk if the state is too large for the first-level cache: it is
  /// faster to take steps with a small one. Others take a step each, so that NaN and infinities do not reach the tokens before
  /// them.
  void run(std::int64_t t, std::int64_t n, const float* from, float* to) {
    while (n > 0) {
      const std::int64_t some = std::min(n, chunk);
      if (some >= 8 && d_ >= 8 && e_ >= 8 && d_ * e_ >= 8192 && is_finite(t, some, from)) {
        in_one(t, some, from, to);
      } else {
        for (std::int64_t i = 0; i < some; ++i, from = to) step(t + i, from, to);
      }
      t += some, n -= some, from = to;
    }
  }

 private:
  const float* q(std::int64_t t) const noexcept { return x_.q + (t * s_.key_heads + key_) * d_; }
  const float* k(std::int64_t t) const noexcept { return x_.k + (t * s_.key_heads + key_) * d_; }
  const float* v(std::int64_t t) const noexcept { return x_.v + (t * s_.heads + head_) * e_; }
  float* out(std::int64_t t) const noexcept { return x_.out + (t * s_.heads + head_) * e_; }
  float g(std::int64_t t) const noexcept { return x_.g[t * s_.heads + head_]; }
  float beta(std::int64_t t) const noexcept { return x_.beta[t * s_.heads + head_]; }

  /// Zero if all numbers of a row are finite, and NaN if not.
  static float nothing(const float* row, std::int64_t n) noexcept {
    return sum_row(n, [=](std::int64_t j, auto lanes) { return lanes(row + j) * f32v(0.0f); });
  }
  bool is_finite(std::int64_t t, std::int64_t n, const float* state) const noexcept {
    float sum = nothing(state, d_ * e_);
    for (std::int64_t i = t; i < t + n; ++i)
      sum += nothing(q(i), d_) + nothing(k(i), d_) + nothing(v(i), e_) + (g(i) + beta(i)) * 0.0f;
    return sum == 0.0f;
  }

  /// Some vectors of columns of S for one token: first all of them are multiplied with k and q, then they are updated.
  template <int Vectors, class Lanes>
  [[gnu::always_inline]] void columns(std::int64_t t, std::int64_t e, Lanes lanes, float decay, float product,
                                      const float* from, float* to) const noexcept {
    const float *const keys = k(t), *const queries = q(t);
    const f32v forget(decay);
    f32v seen[Vectors], found[Vectors];
#pragma GCC unroll 4
    for (int i = 0; i < Vectors; ++i) seen[i] = found[i] = f32v(0.0f);
    for (std::int64_t d = 0; d < d_; ++d) {
      const f32v by_key(keys[d]), by_query(queries[d]);
#pragma GCC unroll 4
      for (int i = 0; i < Vectors; ++i) {
        const f32v x = lanes(from + d * e_ + e + i * width);
        seen[i] = fma(x, by_key, seen[i]);
        found[i] = fma(x, by_query, found[i]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < Vectors; ++i) {
      seen[i] = f32v(beta(t)) * (lanes(v(t) + e + i * width) - forget * seen[i]);  // u
      lanes.put(out(t) + e + i * width, f32v(s_.scale) * fma(f32v(product), seen[i], forget * found[i]));
    }
    for (std::int64_t d = 0; d < d_; ++d) {
      const f32v by_key(keys[d]);
#pragma GCC unroll 4
      for (int i = 0; i < Vectors; ++i) {
        const std::int64_t at = d * e_ + e + i * width;
        lanes.put(to + at, fma(by_key, seen[i], forget * lanes(from + at)));
      }
    }
  }

  void step(std::int64_t t, const float* from, float* to) const noexcept {
    const float decay = exp_of(g(t));
    const float *const keys = k(t), *const queries = q(t);
    const float product = sum_row(d_, [=](std::int64_t j, auto lanes) { return lanes(keys + j) * lanes(queries + j); });
    std::int64_t e = 0;
    for (; e + 4 * width <= e_; e += 4 * width) columns<4>(t, e, whole_vector{}, decay, product, from, to);
    for (; e + width <= e_; e += width) columns<1>(t, e, whole_vector{}, decay, product, from, to);
    if (e < e_) columns<1>(t, e, partial_vector{e_ - e}, decay, product, from, to);
  }

  /// to[j] = by * row[j]
  static void scaled(float* to, const float* row, float by, std::int64_t n) noexcept {
    for_vectors(n, [=](std::int64_t j, auto lanes) { lanes.put(to + j, f32v(by) * lanes(row + j)); });
  }

  /// What tokens are to each other: row i of `lower` becomes -beta_i exp(G_i - G_j) k_i . k_j for j < i, and that of `scores`
  /// scale exp(G_i - G_j) q_i . k_j for j <= i, both 0 elsewhere. `apart` becomes G_n - G_j, summed without cancellation, and
  /// `since` becomes exp(G_i).
  void decay_pairs(std::int64_t t, std::int64_t n, float* lower, float* scores, float* apart,
                   float* since) const noexcept {
    std::fill_n(apart, chunk, 0.0f);
    float total = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const float more = g(t + i);
      since[i] = exp_of(total += more);
      float *const a = lower + i * chunk, *const b = scores + i * chunk;
      for (std::int64_t j = 0; j < up_to(n, width); j += width) {
        const mask before = first_lanes(i - j), seen = first_lanes(i + 1 - j);
        const f32v sum = load(apart + j) + select(before, f32v(more), f32v(0.0f)), decay = exp(sum);
        store(apart + j, sum);
        store(a + j, select(before, f32v(-beta(t + i)) * decay * load(a + j), f32v(0.0f)));
        store(b + j, select(seen, f32v(s_.scale) * decay * load(b + j), f32v(0.0f)));
      }
    }
  }

  /// Solves u_i = u_i + sum over j < i of lower_ij u_j, a block of rows after the other.
  void solve(std::int64_t n, const float* lower, float* u) const noexcept {
    for (std::int64_t b = 0; b < n; b += block) {
      const std::int64_t end = std::min(n, b + block);
      if (b > 0) gemm(end - b, e_, b, {lower + b * chunk, chunk, 1}, {u, e_, 1}, u + b * e_, e_, gemm_mode::accumulate);
      for_vectors(e_, [=, this](std::int64_t e, auto lanes) {
        for (std::int64_t i = b + 1; i < end; ++i) {
          f32v sum = lanes(u + i * e_ + e), other(0.0f);
          std::int64_t j = b;
          for (; j + 2 <= i; j += 2) {
            sum = fma(f32v(lower[i * chunk + j]), lanes(u + j * e_ + e), sum);
            other = fma(f32v(lower[i * chunk + j + 1]), lanes(u + (j + 1) * e_ + e), other);
          }
          if (j < i) sum = fma(f32v(lower[i * chunk + j]), lanes(u + j * e_ + e), sum);
          lanes.put(u + i * e_ + e, sum + other);
        }
      });
    }
  }

  /// A chunk of n tokens by products, as detail::delta_rule_chunk has them.
  void in_one(std::int64_t t, std::int64_t n, const float* from, float* to) {
    scratch_pieces pieces{scratch<delta_rule_scratch>(chunk * (d_ + e_ + 2 * chunk + 2) + 6 * 16)};
    float* const rows = pieces.take(chunk * d_);  // keys or queries, each with a factor
    float* const u = pieces.take(chunk * e_);     // [C, E]
    float* const lower = pieces.take(chunk * chunk);
    float* const scores = pieces.take(chunk * chunk);
    float* const apart = pieces.take(chunk);
    float* const since = pieces.take(chunk);
    const std::int64_t key_row = s_.key_heads * d_, out_row = s_.heads * e_;
    const matrix_view state{from, e_, 1}, transposed{k(t), 1, key_row};
    gemm(n, n, d_, {k(t), key_row, 1}, transposed, lower, chunk);
    gemm(n, n, d_, {q(t), key_row, 1}, transposed, scores, chunk);
    decay_pairs(t, n, lower, scores, apart, since);
    for (std::int64_t i = 0; i < n; ++i) scaled(rows + i * d_, k(t + i), since[i], d_);
    gemm(n, e_, d_, {rows, d_, 1}, state, u, e_);
    for (std::int64_t i = 0; i < n; ++i) {
      const float* const value = v(t + i);
      const float by = beta(t + i);
      float* const row = u + i * e_;
      for_vectors(
          e_, [=](std::int64_t j, auto lanes) { lanes.put(row + j, f32v(by) * (lanes(value + j) - lanes(row + j))); });
    }
    solve(n, lower, u);
    for (std::int64_t i = 0; i < n; ++i) scaled(rows + i * d_, q(t + i), since[i] * s_.scale, d_);
    gemm(n, e_, d_, {rows, d_, 1}, state, out(t), out_row);
    gemm(n, e_, n, {scores, chunk, 1}, {u, e_, 1}, out(t), out_row, gemm_mode::accumulate);
    for (std::int64_t j = 0; j < n; ++j) scaled(rows + j * d_, k(t + j), exp_of(apart[j]), d_);
    scaled(to, from, since[n - 1], d_ * e_);
    gemm(d_, e_, n, {rows, 1, d_}, {u, e_, 1}, to, e_, gemm_mode::accumulate);
  }

  const delta_rule_shape& s_;
  const delta_rule_operands& x_;
  std::int64_t head_, key_, d_, e_;
};

}  // namespace detail
}  // namespace tokamax::cpu_backend
