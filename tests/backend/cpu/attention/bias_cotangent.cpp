// tests/backend/cpu/attention/bias_cotangent.cpp: the cotangents of biases of any extents, on each machine, against double loops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/attention/attention.hpp>
#include <tokamax/base/bfloat16.hpp>

#include <cmath>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;
using cpu_backend::attention_shape;
using cpu_backend::heads_view;
using floats = std::vector<float>;
using doubles = std::vector<double>;

namespace {

std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }

floats random_floats(std::int64_t n, std::uint32_t seed) {
  floats x(count(n));
  for (float& v : x) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(static_cast<int>(seed >> 26) - 32) / 32.0f;  // exact in bfloat16
  }
  return x;
}

/// Extents [B, N, T, S] of a bias, each of them whole or 1.
struct bias_of {
  std::int64_t strides[4] = {0, 0, 0, 0}, size = 1;
  bias_of(const attention_shape& s, int whole) {
    const std::int64_t extents[] = {s.batch, s.heads, s.queries, s.keys};
    for (int i = 3; i >= 0; --i) {
      if ((whole >> i & 1) == 0 || extents[i] == 1) continue;
      strides[i] = size;
      size *= extents[i];
    }
  }
  std::size_t at(std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t j) const {
    return count(b * strides[0] + n * strides[1] + t * strides[2] + j * strides[3]);
  }
  cpu_backend::pairs_view<float> view(const floats& x) const {
    return {x.data(), strides[0], strides[1], strides[2], strides[3]};
  }
};

struct problem {
  attention_shape s;
  floats q, k, v, dout, dlse, bias;
  bias_of layout;

  problem(const attention_shape& shape, int whole) : s(shape), layout(shape, whole) {
    const std::int64_t cells = s.batch * s.queries * s.heads * s.head_size,
                       kv = s.batch * s.keys * s.kv_heads * s.head_size;
    q = random_floats(cells, 1), k = random_floats(kv, 2), v = random_floats(kv, 3), dout = random_floats(cells, 4);
    dlse = random_floats(s.batch * s.heads * s.queries, 5), bias = random_floats(layout.size, 6);
    s.bias = layout.view(bias);
  }

  doubles expected() const {
    doubles sums(bias.size());
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t n = 0; n < s.heads; ++n)
        for (std::int64_t t = 0; t < s.queries; ++t) row(sums, b, n, t);
    return sums;
  }
  /// {dbias, dquery} by the kernels.
  template <class T>
  std::pair<floats, floats> found(const cpu_backend::detail::attention_kernels& machine) const {
    const auto as = [](const floats& x) { return std::vector<T>(x.begin(), x.end()); };
    const std::vector<T> qs = as(q), ks = as(k), vs = as(v), ds = as(dout);
    std::vector<T> out(q.size()), dk(k.size()), dv(k.size());
    floats dq(q.size()), dbias(bias.size(), NAN), lse(dlse.size()), correction(dlse.size());
    const auto view = [&](auto* p, std::int64_t length, std::int64_t heads) {
      using element = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(p)>>, const void, void>;
      return heads_view<element>{p, length * heads * s.head_size, heads * s.head_size, s.head_size, sizeof(*p) == 2};
    };
    const auto per_query = [&](auto* p) { return view(p, s.queries, s.heads); };
    const auto per_key = [&](auto* p) { return view(p, s.keys, s.kv_heads); };
    cpu_backend::detail::attention_forward(s, machine, per_query(qs.data()), per_key(ks.data()), per_key(vs.data()),
                                           per_query(out.data()), {lse.data(), correction.data()});
    const cpu_backend::detail::backward_blocks blocks(s, machine.tiles);
    cpu_backend::detail::attention_backward({s,
                                             machine,
                                             blocks,
                                             per_query(qs.data()),
                                             per_key(ks.data()),
                                             per_key(vs.data()),
                                             per_query(std::as_const(out).data()),
                                             lse.data(),
                                             correction.data(),
                                             per_query(ds.data()),
                                             per_query(dq.data()),
                                             per_key(dk.data()),
                                             per_key(dv.data()),
                                             {dlse.data(), dbias.data()}});
    return {dbias, dq};
  }

 private:
  double product(const floats& x, std::int64_t i, const floats& y, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t h = 0; h < s.head_size; ++h)
      sum += static_cast<double>(x[count(i + h)]) * static_cast<double>(y[count(j + h)]);
    return sum;
  }
  /// Adds softmax * (dp - sum softmax dp + dlse) * slope of the cap.
  void row(doubles& sums, std::int64_t b, std::int64_t n, std::int64_t t) const {
    const std::int64_t kv = n / (s.heads / s.kv_heads), at = ((b * s.queries + t) * s.heads + n) * s.head_size;
    const std::int64_t end = s.key_end(t), begin = s.first_key(t);
    doubles p(count(s.keys)), dp(p), slope(p.size(), 1.0);
    double total = 0, dot = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      const std::int64_t key = ((b * s.keys + j) * s.kv_heads + kv) * s.head_size;
      double x =
          product(q, at, k, key) * static_cast<double>(s.scale) + static_cast<double>(bias[layout.at(b, n, t, j)]);
      if (s.soft_cap != 0) {
        const double cap = static_cast<double>(s.soft_cap), y = std::tanh(x / cap);
        x = cap * y, slope[count(j)] = 1 - y * y;
      }
      p[count(j)] = std::exp(x), dp[count(j)] = product(dout, at, v, key);
      total += p[count(j)];
    }
    for (std::int64_t j = begin; j < end; ++j) dot += p[count(j)] / total * dp[count(j)];
    dot -= static_cast<double>(dlse[count((b * s.heads + n) * s.queries + t)]);
    for (std::int64_t j = begin; j < end; ++j)
      sums[layout.at(b, n, t, j)] += p[count(j)] / total * (dp[count(j)] - dot) * slope[count(j)];
  }
};

double distance(const floats& a, const doubles& b) {
  double most = 0, size = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::isnan(a[i]) ? 1e300 : std::fmax(most, std::fabs(static_cast<double>(a[i]) - b[i]));
    size = std::fmax(size, std::fabs(b[i]));
  }
  return most / size;
}

using cpu_backend::gemm_machine, cpu_backend::gemm_precision, cpu_backend::bfloat16_unit;

/// Several pieces of keys, groups of heads, entries of a batch; chains of several of these.
std::vector<attention_shape> shapes() {
  attention_shape grouped{2, 37, 150, 4, 2, 12, 0.3f, true}, capped{3, 9, 40, 2, 2, 8, 0.5f, false};
  attention_shape window{1, 190, 190, 2, 1, 16, 0.2f, true};
  capped.soft_cap = 1.5f, window.left = 20;
  return {grouped, capped, window, {40, 3, 5, 1, 1, 4, 0.5f, false}, {2, 5, 300, 3, 3, 8, 0.4f, false}};
}

}  // namespace

TEST_CASE("the cotangents of biases of any extents are those of double loops, with the same bits for any threads") {
  for (const attention_shape& s : shapes()) {
    for (int whole = 0; whole < 16; ++whole) {
      const problem x(s, whole);
      const doubles e = x.expected();
      CAPTURE(s.batch, s.queries, s.keys, s.heads, whole);
      for (const auto machine : {gemm_machine::portable, gemm_machine::avx2, gemm_machine::avx512}) {
        if (machine > cpu_backend::best_gemm_machine()) continue;
        const auto exact = cpu_backend::detail::attention_kernels_for(machine, gemm_precision::f32);
        const auto narrow = cpu_backend::detail::attention_kernels_for(
            machine, gemm_precision::bfloat16,
            machine == gemm_machine::avx512 ? cpu_backend::best_bfloat16_unit() : bfloat16_unit::none);
        CAPTURE(static_cast<int>(machine));
        const auto first = x.found<float>(exact), rounded = x.found<tokamax::bfloat16>(narrow);
        CHECK(distance(first.first, e) < 5e-6);
        CHECK(distance(rounded.first, e) < 3e-2);
        cpu_backend::set_num_threads(3);
        CHECK(x.found<float>(exact) == first);
        CHECK(x.found<tokamax::bfloat16>(narrow) == rounded);
        cpu_backend::set_num_threads(0);
      }
    }
  }
}

TEST_CASE("the cotangent of a bias without queries, keys or entries is zero") {
  for (const attention_shape& s : {attention_shape{2, 0, 3, 2, 1, 4, 1.0f, false},
                                   {2, 3, 0, 2, 1, 4, 1.0f, false},
                                   {0, 3, 3, 2, 1, 4, 1.0f, false}}) {
    for (int whole = 0; whole < 16; ++whole) {
      const problem x(s, whole);
      const auto machine =
          cpu_backend::detail::attention_kernels_for(cpu_backend::best_gemm_machine(), gemm_precision::f32);
      for (const float e : x.found<float>(machine).first) CHECK(e == 0);
    }
  }
}

TEST_CASE("heads that share a bias are in one order for each chain, and every head is in one chain") {
  using cpu_backend::detail::head_chains;
  for (const attention_shape& s : shapes()) {
    for (int whole = 0; whole < 4; ++whole) {
      for (const std::int64_t pieces : {1, 2, 40}) {
        const problem x(s, whole | 12);
        const head_chains chains(x.s, true, pieces, x.layout.size);
        std::vector<int> seen(count(s.batch * s.kv_heads));
        for (std::int64_t task = 0; task < chains.tasks(); ++task)
          chains.for_heads(task, [&](std::int64_t head) { ++seen[count(head)]; });
        CHECK(seen == std::vector<int>(seen.size(), 1));
      }
    }
  }
  const problem large({64, 1, 1, 1, 1, 1, 1.0f, false}, 0);
  CHECK(head_chains(large.s, true, 1, 1).chains() == 32);
  CHECK(head_chains(large.s, true, 1, 1 << 23).chains() == 2);  // sums take 64 MB or less
  CHECK(head_chains(large.s, true, 1, 1 << 25).chains() == 1);
}
