// tests/support/attention_loops.hpp: dot_product_attention and its gradients as loops over doubles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/ops/attention/options.hpp>

#include "support/reference.hpp"

#include <cmath>
#include <functional>

namespace tokamax::test {

/// The element of x at `at`; x has fewer axes, or extents of 1, where it repeats.
inline double broadcast_element(const value& x, std::initializer_list<std::int64_t> at) {
  std::size_t i = 0;
  int axis = x.rank() - static_cast<int>(at.size());
  for (const std::int64_t k : at) {
    if (axis >= 0)
      i = i * static_cast<std::size_t>(x.extent(axis)) + static_cast<std::size_t>(x.extent(axis) == 1 ? 0 : k);
    ++axis;
  }
  return x.data[i];
}

/// Which keys queries see by an attention_mask, pair by pair.
struct mask_loops {
  attention_mask from;
  value bool_mask, q_start, q_end, k_start, k_end, q_segments, k_segments;
  std::vector<mask_loops> alternatives;

  mask_loops() = default;
  explicit mask_loops(const attention_mask& m) : from(m) {
    const auto read = [](value& to, const array& x) { to = x.exists() ? to_value(x) : value{}; };
    read(bool_mask, m.bool_mask), read(q_start, m.q_start), read(q_end, m.q_end), read(k_start, m.k_start);
    read(k_end, m.k_end), read(q_segments, m.q_segments), read(k_segments, m.k_segments);
    for (const attention_mask& other : m.alternatives) alternatives.emplace_back(other);
  }
  /// Query t and key s of head n are at the positions i and j.
  bool sees(std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t s, double i, double j) const {
    if (part_sees(b, n, t, s, i, j)) return true;
    for (const mask_loops& other : alternatives)
      if (other.sees(b, n, t, s, i, j)) return true;
    return false;
  }

 private:
  bool part_sees(std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t s, double i, double j) const {
    if (from.is_causal && j > i) return false;
    if (!bool_mask.data.empty() && broadcast_element(bool_mask, {b, n, t, s}) == 0) return false;
    if (!q_start.data.empty() && i < broadcast_element(q_start, {b, n, s})) return false;
    if (!q_end.data.empty() && i >= broadcast_element(q_end, {b, n, s})) return false;
    if (!k_start.data.empty() && j < broadcast_element(k_start, {b, n, t})) return false;
    if (!k_end.data.empty() && j >= broadcast_element(k_end, {b, n, t})) return false;
    if (from.window.left >= 0 && j < i - static_cast<double>(from.window.left)) return false;
    if (from.window.right >= 0 && j > i + static_cast<double>(from.window.right)) return false;
    for (const std::int64_t c : from.chunks)
      if (std::floor(i / static_cast<double>(c)) != std::floor(j / static_cast<double>(c))) return false;
    return q_segments.data.empty() || broadcast_element(q_segments, {b, t}) == broadcast_element(k_segments, {b, s});
  }
};

/// The operands q [B, T, N, H], k [B, S, K, H], v [B, S, K, h] and the cotangent of the result, and the results.
struct attention_loops {
  value q, k, v, ct;
  value out, max, denominator, dq, dk, dv, dbias, dsinks;

  void run(const attention_options& o) {
    const std::int64_t keys = k.extent(1), heads = q.extent(2);
    const dtype type = q.type.dtype;
    out = zeros_of({type, false, {q.extent(0), q.extent(1), heads, v.extent(3)}});
    max = denominator = zeros_of({type, false, {q.extent(0), heads, q.extent(1)}});
    dq = zeros_of(q.type), dk = zeros_of(k.type), dv = zeros_of(v.type);
    if (o.bias.exists()) bias_ = to_value(o.bias), dbias = zeros_of(bias_.type);
    if (o.sinks.exists()) sinks_ = to_value(o.sinks), dsinks = zeros_of(sinks_.type);
    const auto read = [](value& to, const array& from) { to = from.exists() ? to_value(from) : value{}; };
    mask_ = mask_loops(o.mask), read(keep_, o.dropout_mask);
    read(q_lengths_, o.query_seq_lengths), read(k_lengths_, o.key_value_seq_lengths);
    read(q_at_, o.q_indices), read(k_at_, o.k_indices);
    scale_ = o.scale == 0 ? 1 / std::sqrt(static_cast<double>(q.extent(3))) : o.scale;
    for (std::int64_t b = 0; b < q.extent(0); ++b)
      for (std::int64_t n = 0; n < heads; ++n)
        for (std::int64_t t = 0; t < q.extent(1); ++t) row(o, b, n, t, keys);
  }

 private:
  value bias_, sinks_, keep_, q_lengths_, k_lengths_, q_at_, k_at_;
  mask_loops mask_;
  double scale_ = 1;

  static double& at(value& x, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return x.data[static_cast<std::size_t>(((a * x.extent(1) + b) * x.extent(2) + c) * x.extent(3) + d)];
  }
  static double position(const value& x, std::int64_t b, std::int64_t i) {
    return x.data.empty() ? static_cast<double>(i) : broadcast_element(x, {b, i});
  }
  bool sees(const attention_options& o, std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t s) const {
    const double i = position(q_at_, b, t), j = position(k_at_, b, s);
    const auto& window = o.local_window_size;
    if ((o.is_causal && j > i) || !mask_.sees(b, n, t, s, i, j)) return false;
    if (!k_lengths_.data.empty() && j >= broadcast_element(k_lengths_, {b})) return false;
    if (window.left >= 0 && j < i - static_cast<double>(window.left)) return false;
    return !(window.right >= 0 && j > i + static_cast<double>(window.right));
  }

  void row(const attention_options& o, std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t keys) {
    const std::int64_t kv = n / (q.extent(2) / k.extent(2)), size = q.extent(3), width = v.extent(3);
    const auto count = static_cast<std::size_t>(keys);
    std::vector<double> s(count), slope(count, 1.0), e(count), dp(count);
    double top = -std::numeric_limits<double>::infinity(), total = 0, dot = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const auto key = static_cast<std::int64_t>(j);
      for (std::int64_t i = 0; i < size; ++i) s[j] += at(q, b, t, n, i) * at(k, b, key, kv, i);
      s[j] *= scale_;
      if (!bias_.data.empty()) s[j] += broadcast_element(bias_, {b, n, t, key});
      if (o.logits_soft_cap > 0) {
        const double y = std::tanh(s[j] / o.logits_soft_cap);
        s[j] = y * o.logits_soft_cap;
        slope[j] = 1 - y * y;
      }
      if (!sees(o, b, n, t, key)) s[j] = -2e38, slope[j] = 0;
      top = std::fmax(top, s[j]);
    }
    if (!sinks_.data.empty()) top = std::fmax(top, sinks_.data[static_cast<std::size_t>(n)]);
    for (std::size_t j = 0; j < count; ++j) total += e[j] = std::exp(s[j] - top);
    double sink = 0;
    if (!sinks_.data.empty()) total += sink = std::exp(sinks_.data[static_cast<std::size_t>(n)] - top);
    const auto place = static_cast<std::size_t>((b * q.extent(2) + n) * q.extent(1) + t);
    max.data[place] = top, denominator.data[place] = total;
    const bool zero = !q_lengths_.data.empty() && position(q_at_, b, t) >= broadcast_element(q_lengths_, {b});
    if (zero) return;
    const double divisor = o.normalize_output ? total : 1;
    for (std::size_t j = 0; j < count; ++j) {
      const auto key = static_cast<std::int64_t>(j);
      e[j] /= divisor;
      double kept = 1;
      if (!keep_.data.empty()) kept = broadcast_element(keep_, {b, n, t, key}) / (1 - o.dropout_rate);
      for (std::int64_t i = 0; i < width; ++i) {
        at(out, b, t, n, i) += e[j] * kept * at(v, b, key, kv, i);
        at(dv, b, key, kv, i) += e[j] * kept * at(ct, b, t, n, i);
        dp[j] += kept * at(ct, b, t, n, i) * at(v, b, key, kv, i);
      }
      dot += e[j] * dp[j];
    }
    if (!o.normalize_output) dot = 0;  // the highest score is a constant
    if (!sinks_.data.empty()) dsinks.data[static_cast<std::size_t>(n)] -= sink / divisor * dot;
    for (std::size_t j = 0; j < count; ++j) {
      const auto key = static_cast<std::int64_t>(j);
      const double ds = e[j] * (dp[j] - dot) * slope[j];
      for (std::int64_t i = 0; i < size; ++i) {
        at(dq, b, t, n, i) += ds * scale_ * at(k, b, key, kv, i);
        at(dk, b, key, kv, i) += ds * scale_ * at(q, b, t, n, i);
      }
      if (bias_.data.empty()) continue;
      const auto index = [this](int axis, std::int64_t i) { return bias_.extent(axis) == 1 ? 0 : i; };
      at(dbias, index(0, b), index(1, n), index(2, t), index(3, key)) += ds;
    }
  }
};

}  // namespace tokamax::test
