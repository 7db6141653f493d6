// tests/backend/cpu/attention.cpp: attention and its cotangents against double loops, grouped heads, any lengths.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/attention.hpp>

#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace simd = tokamax::simd;
using floats = std::vector<float>;
using doubles = std::vector<double>;

namespace {

floats random_floats(std::int64_t n, std::uint32_t seed) {
  floats x(static_cast<std::size_t>(n));
  for (float& v : x) {
    seed = seed * 1664525u + 1013904223u;
    v = (static_cast<float>(seed >> 8) / 8388608.0f - 1.0f) * 2.0f;
  }
  return x;
}

double distance(const floats& a, const doubles& b) {
  double most = 0, size = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::isnan(a[i]) ? 1e300 : std::max(most, std::fabs(static_cast<double>(a[i]) - b[i]));
    size = std::max(size, std::fabs(b[i]));
  }
  return most / size;
}

struct results {
  doubles out, lse, dq, dk, dv;
};

// Dense [B, T, N, H].
results reference(const simd::attention_shape& s, const floats& q, const floats& k, const floats& v,
                  const floats& dout) {
  const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t n, std::int64_t length, std::int64_t heads) {
    return static_cast<std::size_t>(((b * length + t) * heads + n) * s.head_size);
  };
  const auto h = static_cast<std::size_t>(s.head_size);
  results r{doubles(q.size()), doubles(static_cast<std::size_t>(s.batch * s.heads * s.queries)), doubles(q.size()),
            doubles(k.size()), doubles(k.size())};
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t n = 0; n < s.heads; ++n) {
      const std::int64_t kv = n / (s.heads / s.kv_heads);
      for (std::int64_t t = 0; t < s.queries; ++t) {
        const std::int64_t seen = s.causal ? std::min(s.keys, t + 1) : s.keys;
        doubles p(static_cast<std::size_t>(seen)), dp(p.size());
        const std::size_t qa = at(b, t, n, s.queries, s.heads);
        double sum = 0, dot = 0;
        for (std::int64_t j = 0; j < seen; ++j) {
          const std::size_t ka = at(b, j, kv, s.keys, s.kv_heads);
          double score = 0, d = 0;
          for (std::size_t i = 0; i < h; ++i) {
            score += static_cast<double>(q[qa + i]) * static_cast<double>(k[ka + i]);
            d += static_cast<double>(dout[qa + i]) * static_cast<double>(v[ka + i]);
          }
          p[static_cast<std::size_t>(j)] = std::exp(score * static_cast<double>(s.scale));
          dp[static_cast<std::size_t>(j)] = d;
          sum += p[static_cast<std::size_t>(j)];
        }
        r.lse[static_cast<std::size_t>((b * s.heads + n) * s.queries + t)] = std::log(sum);
        for (std::size_t j = 0; j < p.size(); ++j) {
          p[j] /= sum;
          dot += p[j] * dp[j];
        }
        for (std::size_t j = 0; j < p.size(); ++j) {
          const std::size_t ka = at(b, static_cast<std::int64_t>(j), kv, s.keys, s.kv_heads);
          const double ds = p[j] * (dp[j] - dot) * static_cast<double>(s.scale);
          for (std::size_t i = 0; i < h; ++i) {
            r.out[qa + i] += p[j] * static_cast<double>(v[ka + i]);
            r.dq[qa + i] += ds * static_cast<double>(k[ka + i]);
            r.dk[ka + i] += ds * static_cast<double>(q[qa + i]);
            r.dv[ka + i] += p[j] * static_cast<double>(dout[qa + i]);
          }
        }
      }
    }
  }
  return r;
}

template <class T>
simd::heads_view<T> dense(T* data, std::int64_t length, std::int64_t heads, std::int64_t size) {
  return {data, length * heads * size, heads * size, size};
}

}  // namespace

TEST_CASE("attention: forward and backward against double loops") {
  const simd::attention_shape cases[] = {
      {1, 1, 1, 1, 1, 1, 1.0f, false},     {2, 5, 5, 2, 2, 8, 0.35f, true},      {1, 64, 64, 2, 1, 64, 0.125f, true},
      {2, 130, 130, 3, 3, 40, 0.2f, true}, {1, 127, 300, 4, 2, 33, 0.2f, false}, {1, 300, 127, 2, 2, 16, 0.25f, true},
      {1, 70, 400, 2, 2, 16, 0.25f, true}, {1, 1, 260, 4, 1, 64, 0.125f, false}, {1, 600, 600, 1, 1, 7, 0.4f, true},
      {3, 17, 0, 2, 2, 4, 0.5f, false},    {0, 3, 3, 1, 1, 4, 0.5f, true},       {1, 65, 126, 2, 2, 100, 0.1f, true}};
  for (const auto& s : cases) {
    const std::int64_t cells = s.batch * s.queries * s.heads * s.head_size;
    const std::int64_t kv = s.batch * s.keys * s.kv_heads * s.head_size;
    const floats q = random_floats(cells, 1), k = random_floats(kv, 2), v = random_floats(kv, 3);
    const floats dout = random_floats(cells, 4);
    const results e = reference(s, q, k, v, dout);
    floats first;
    for (const int threads : {1, 2, 3}) {
      simd::set_num_threads(threads);
      floats out(q.size(), NAN), lse(e.lse.size()), dq(q.size(), NAN), dk(k.size(), NAN), dv(k.size(), NAN);
      const auto qv = dense<const float>(q.data(), s.queries, s.heads, s.head_size);
      const auto kv_view = dense<const float>(k.data(), s.keys, s.kv_heads, s.head_size);
      const auto vv = dense<const float>(v.data(), s.keys, s.kv_heads, s.head_size);
      simd::attention(s, qv, kv_view, vv, dense(out.data(), s.queries, s.heads, s.head_size), lse.data());
      simd::attention_backward(s, qv, kv_view, vv, dense<const float>(out.data(), s.queries, s.heads, s.head_size),
                               lse.data(), dense<const float>(dout.data(), s.queries, s.heads, s.head_size),
                               dense(dq.data(), s.queries, s.heads, s.head_size),
                               dense(dk.data(), s.keys, s.kv_heads, s.head_size),
                               dense(dv.data(), s.keys, s.kv_heads, s.head_size));
      CAPTURE(s.queries, s.keys, s.heads, s.head_size, s.causal, threads);
      CHECK(distance(out, e.out) < 4e-6);
      if (s.keys > 0) CHECK(distance(lse, e.lse) < 4e-6);
      if (s.keys > 1) CHECK(distance(dq, e.dq) < 2e-5);
      if (s.keys > 1) CHECK(distance(dk, e.dk) < 2e-5);
      CHECK(distance(dv, e.dv) < 2e-5);
      floats all = out;
      for (const floats* x : {&dq, &dk, &dv}) all.insert(all.end(), x->begin(), x->end());
      if (threads > 1) CHECK(all == first);
      first = all;
    }
    simd::set_num_threads(0);
  }
}

TEST_CASE("attention: strides of a fused projection and of heads-first arrays") {
  const simd::attention_shape s{2, 37, 37, 3, 3, 20, 0.2f, true};
  const std::int64_t row = 3 * s.heads * s.head_size;  // [B, T, 3, N, H]
  const floats qkv = random_floats(s.batch * s.queries * row, 5);
  const auto part = [&](std::int64_t i) {
    return simd::heads_view<const float>{qkv.data() + i * s.heads * s.head_size, s.queries * row, row, s.head_size};
  };
  const std::int64_t cells = s.batch * s.queries * s.heads * s.head_size;
  floats fused(static_cast<std::size_t>(cells)), apart = fused;
  const simd::heads_view<float> heads_first{fused.data(), s.heads * s.queries * s.head_size, s.head_size,
                                            s.queries * s.head_size};
  simd::attention(s, part(0), part(1), part(2), heads_first, nullptr);
  floats copies[3];
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t t = 0; t < s.batch * s.queries; ++t)
      for (std::int64_t j = 0; j < s.heads * s.head_size; ++j)
        copies[i].push_back(qkv[static_cast<std::size_t>(t * row + i * s.heads * s.head_size + j)]);
  simd::attention(s, dense<const float>(copies[0].data(), s.queries, s.heads, s.head_size),
                  dense<const float>(copies[1].data(), s.keys, s.heads, s.head_size),
                  dense<const float>(copies[2].data(), s.keys, s.heads, s.head_size),
                  dense(apart.data(), s.queries, s.heads, s.head_size), nullptr);
  const auto other = dense(apart.data(), s.queries, s.heads, s.head_size);
  bool same = true;
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t t = 0; t < s.queries; ++t)
      for (std::int64_t n = 0; n < s.heads; ++n)
        for (std::int64_t i = 0; i < s.head_size; ++i)
          same = same && heads_first.at(b, t, n)[i] == other.at(b, t, n)[i];
  CHECK(same);
}
