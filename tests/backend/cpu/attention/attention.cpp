// tests/backend/cpu/attention/attention.cpp: attention and its cotangents against double loops, grouped heads, any lengths.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/attention/attention.hpp>
#include <tokamax/backend/cpu/gemm/pack/pairs.hpp>
#include <tokamax/base/bfloat16.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;
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
std::vector<cpu_backend::gemm_machine> machines() {
  std::vector<cpu_backend::gemm_machine> all{cpu_backend::gemm_machine::portable};
  for (const auto m : {cpu_backend::gemm_machine::avx2, cpu_backend::gemm_machine::avx512})
    if (m <= cpu_backend::best_gemm_machine()) all.push_back(m);
  return all;
}
std::vector<cpu_backend::bfloat16_unit> units(cpu_backend::gemm_machine machine) {
  std::vector<cpu_backend::bfloat16_unit> all{cpu_backend::bfloat16_unit::none};
  if (machine == cpu_backend::gemm_machine::avx512)
    for (const auto u : {cpu_backend::bfloat16_unit::avx512, cpu_backend::bfloat16_unit::amx})
      if (u <= cpu_backend::best_bfloat16_unit()) all.push_back(u);
  return all;
}

results reference(const cpu_backend::attention_shape& s, const floats& q, const floats& k, const floats& v,
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
auto dense(T* data, std::int64_t length, std::int64_t heads, std::int64_t size) {
  using element = std::conditional_t<std::is_const_v<T>, const void, void>;
  return cpu_backend::heads_view<element>{data, length * heads * size, heads * size, size, sizeof(T) == 2};
}

}  // namespace

namespace {

using half = std::uint16_t;
using halves = std::vector<half>;

halves rounded(const floats& x) {
  halves y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::bit_cast<half>(tokamax::bfloat16(x[i]));
  return y;
}
floats widened(const halves& x) {
  floats y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = static_cast<float>(std::bit_cast<tokamax::bfloat16>(x[i]));
  return y;
}

struct attention_inputs {
  floats q, k, v, dout;
  explicit attention_inputs(const cpu_backend::attention_shape& s) {
    const std::int64_t cells = s.batch * s.queries * s.heads * s.head_size;
    const std::int64_t kv = s.batch * s.keys * s.kv_heads * s.head_size;
    q = random_floats(cells, 1), k = random_floats(kv, 2), v = random_floats(kv, 3), dout = random_floats(cells, 4);
  }
};

// All results; T is the type of the operands, R that of the results.
template <class R, class T>
std::pair<std::vector<std::vector<R>>, floats> attend(const cpu_backend::attention_shape& s,
                                                      const cpu_backend::detail::attention_kernels& machine,
                                                      const std::vector<T>& q, const std::vector<T>& k,
                                                      const std::vector<T>& v, const std::vector<T>& dout) {
  R nothing{};
  if constexpr (sizeof(R) == 2)
    nothing = 0x7fc0;  // NaN
  else
    nothing = NAN;
  std::vector<R> out(q.size(), nothing), dq(out), dk(k.size(), nothing), dv(dk);
  floats lse(static_cast<std::size_t>(s.batch * s.heads * s.queries), NAN), correction = lse;
  const auto per_query = [&](auto* p) { return dense(p, s.queries, s.heads, s.head_size); };
  const auto per_key = [&](auto* p) { return dense(p, s.keys, s.kv_heads, s.head_size); };
  const auto qv = per_query(q.data()), kv = per_key(k.data()), vv = per_key(v.data());
  cpu_backend::detail::attention_forward(s, machine, qv, kv, vv, per_query(out.data()),
                                         {lse.data(), correction.data()});
  const cpu_backend::detail::backward_blocks blocks(s, machine.tiles);
  cpu_backend::detail::attention_backward({s, machine, blocks, qv, kv, vv, per_query(std::as_const(out).data()),
                                           lse.data(), correction.data(), per_query(dout.data()), per_query(dq.data()),
                                           per_key(dk.data()), per_key(dv.data())});
  return {{out, dq, dk, dv}, lse};
}

struct tolerances {
  double out, lse, gradients;
};

void check_close(const cpu_backend::attention_shape& s, const std::vector<floats>& got, const floats& lse,
                 const results& e, const tolerances& t) {
  CAPTURE(s.batch, s.queries, s.keys, s.heads, s.kv_heads, s.head_size, s.causal);
  CHECK(distance(got[0], e.out) < t.out);
  if (s.keys > 0) CHECK(distance(lse, e.lse) < t.lse);
  if (s.keys > 1) CHECK(distance(got[1], e.dq) < t.gradients);
  if (s.keys > 1) CHECK(distance(got[2], e.dk) < t.gradients);
  CHECK(distance(got[3], e.dv) < t.gradients);
}

const cpu_backend::attention_shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1.0f, false},      {2, 5, 5, 2, 2, 8, 0.35f, true},      {1, 64, 64, 2, 1, 64, 0.125f, true},
    {2, 130, 130, 3, 3, 40, 0.2f, true},  {1, 127, 300, 4, 2, 33, 0.2f, false}, {1, 300, 127, 2, 2, 16, 0.25f, true},
    {1, 70, 400, 2, 2, 16, 0.25f, true},  {1, 1, 260, 4, 1, 64, 0.125f, false}, {1, 600, 600, 1, 1, 7, 0.4f, true},
    {3, 17, 0, 2, 2, 4, 0.5f, false},     {0, 3, 3, 1, 1, 4, 0.5f, true},       {1, 65, 126, 2, 2, 100, 0.1f, true},
    {1, 523, 523, 2, 1, 128, 0.1f, true}, {1, 97, 641, 1, 1, 128, 0.1f, false}, {1, 67, 131, 1, 1, 9, -0.3f, false},
    {1, 1100, 1100, 2, 1, 16, 0.2f, true}};

}  // namespace

TEST_CASE("attention: forward and backward against double loops") {
  for (const auto& s : shapes) {
    const attention_inputs in(s);
    const results e = reference(s, in.q, in.k, in.v, in.dout);
    for (const auto machine : machines()) {
      std::vector<floats> first;
      for (const int threads : {1, 2, 3}) {
        cpu_backend::set_num_threads(threads);
        const auto [got, lse] =
            attend<float>(s, cpu_backend::detail::attention_kernels_for(machine, cpu_backend::gemm_precision::f32),
                          in.q, in.k, in.v, in.dout);
        CAPTURE(static_cast<int>(machine), threads);
        check_close(s, got, lse, e, {4e-6, 4e-6, 2e-5});
        if (threads > 1) CHECK(got == first);
        first = got;
      }
    }
    cpu_backend::set_num_threads(0);
  }
}

TEST_CASE("attention: products in bfloat16 against double loops on rounded operands") {
  for (const auto& s : shapes) {
    const attention_inputs in(s);
    const halves q = rounded(in.q), k = rounded(in.k), v = rounded(in.v), dout = rounded(in.dout);
    const results e = reference(s, widened(q), widened(k), widened(v), widened(dout));
    for (const auto machine : machines()) {
      for (const auto unit : units(machine)) {
        const auto kernels =
            cpu_backend::detail::attention_kernels_for(machine, cpu_backend::gemm_precision::bfloat16, unit);
        CAPTURE(static_cast<int>(machine), static_cast<int>(unit));
        const auto [from_floats, lse] = attend<float>(s, kernels, in.q, in.k, in.v, in.dout);
        check_close(s, from_floats, lse, e, {1e-2, 2e-5, 2e-2});
        std::vector<halves> first;
        for (const int threads : {1, 2, 3}) {
          cpu_backend::set_num_threads(threads);
          const auto [got, l] = attend<half>(s, kernels, q, k, v, dout);
          CAPTURE(threads);
          check_close(s, {widened(got[0]), widened(got[1]), widened(got[2]), widened(got[3])}, l, e,
                      {1e-2, 2e-5, 2e-2});
          if (threads > 1) CHECK(got == first);
          first = got;
        }
        cpu_backend::set_num_threads(0);
      }
    }
  }
}

#if defined(__x86_64__)
namespace {

// What a matrix unit computes on panels as it lays them out, in plain loops.
template <int Rows>
void plain_tile(const cpu_backend::tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  const auto value = [](const float* pair, int which) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(*pair) >> (16 * which) << 16);
  };
  for (std::int64_t r = 0; r < Rows; ++r) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t p = 0; p < k; ++p)
        for (const int which : {0, 1})
          sum += value(a + p / 16 * 16 * a_step + r * a_row + p % 16, which) * value(b + p * b_step + j, which);
      c[r * ldc + j] = mode == cpu_backend::tile_mode::add ? c[r * ldc + j] + sum : sum;
    }
  }
}

}  // namespace

TEST_CASE("attention: the layout of a matrix unit") {
  if (cpu_backend::best_bfloat16_unit() == cpu_backend::bfloat16_unit::none) return;  // nothing packs pairs
  cpu_backend::microkernel_set unit = cpu_backend::microkernels_for(
      cpu_backend::gemm_machine::avx512, cpu_backend::gemm_precision::bfloat16, cpu_backend::bfloat16_unit::avx512);
  unit.rows = 32;
  unit.unit = 16;
  unit.pack_a = cpu_backend::detail::pack_pairs_by_lane<float>;
  unit.pack_a_bfloat16 = cpu_backend::detail::pack_pairs_by_lane<std::uint16_t>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((unit.tile[I + 1] = plain_tile<static_cast<int>(I) + 1>), ...);
  }(std::make_index_sequence<32>());
  const cpu_backend::detail::attention_kernels machine = cpu_backend::detail::attention_kernels_of(unit);
  for (const auto& s : shapes) {
    const attention_inputs in(s);
    const halves q = rounded(in.q), k = rounded(in.k), v = rounded(in.v), dout = rounded(in.dout);
    const results e = reference(s, widened(q), widened(k), widened(v), widened(dout));
    const auto [got, lse] = attend<float>(s, machine, in.q, in.k, in.v, in.dout);
    check_close(s, got, lse, e, {1e-2, 2e-5, 2e-2});
  }
}
#endif

TEST_CASE("attention: memory grows with the lengths, not with their product") {
  using cpu_backend::detail::backward_blocks, cpu_backend::detail::backward_pieces, cpu_backend::detail::forward_blocks;
  for (const auto precision : {cpu_backend::gemm_precision::f32, cpu_backend::gemm_precision::bfloat16}) {
    const auto machine = cpu_backend::detail::attention_kernels_for(cpu_backend::best_gemm_machine(), precision);
    const auto shape = [](std::int64_t length) {
      return cpu_backend::attention_shape{1, length, length, 4, 2, 64, 0.125f, true};
    };
    const auto own = [&](const cpu_backend::attention_shape& s) {
      const bool in_place = machine.tiles.b_in_place;
      return forward_blocks(s, machine.tiles).own(s) +
             backward_pieces::floats(s, backward_blocks(s, machine.tiles), in_place);
    };
    const auto shared = [&](const cpu_backend::attention_shape& s) {
      return forward_blocks(s, machine.tiles).shared(s);
    };
    CHECK(own(shape(1 << 18)) <= 2 * own(shape(1 << 12)));
    CHECK(shared(shape(1 << 18)) <= 3 * shape(1 << 18).keys * 2 * 64);  // k and v in about their own size
    CHECK(shared({1, 100, 100, 2, 2, 64, 0.125f, true}) == 0);
  }
}

TEST_CASE("attention: NaN in a query or in a key that it sees is NaN in its result, and nowhere else") {
  const cpu_backend::attention_shape s{1, 300, 300, 1, 1, 8, 0.3f, true};
  for (const auto precision : {cpu_backend::gemm_precision::f32, cpu_backend::gemm_precision::bfloat16}) {
    const auto machine = cpu_backend::detail::attention_kernels_for(cpu_backend::best_gemm_machine(), precision);
    const auto rows_of_nan = [&](const attention_inputs& in) {
      std::vector<std::int64_t> rows;
      const floats out = attend<float>(s, machine, in.q, in.k, in.v, in.dout).first[0];
      for (std::int64_t t = 0; t < s.queries; ++t) {
        const auto first = out.begin() + t * s.head_size;
        const auto count = std::count_if(first, first + s.head_size, [](float x) { return std::isnan(x); });
        CHECK((count == 0 || count == s.head_size));
        if (count > 0) rows.push_back(t);
      }
      return rows;
    };
    attention_inputs in(s);
    CHECK(rows_of_nan(in).empty());
    in.q[57 * 8 + 3] = NAN;
    CHECK(rows_of_nan(in) == std::vector<std::int64_t>{57});
    in = attention_inputs(s);
    in.k[297 * 8 + 3] = NAN;
    CHECK(rows_of_nan(in) == std::vector<std::int64_t>{297, 298, 299});
    in = attention_inputs(s);
    in.k[298 * 8] = INFINITY;  // infinite scores, of either sign: inf - inf, or a weight of zero
    for (const std::int64_t row : rows_of_nan(in)) CHECK(row >= 298);
  }
}

TEST_CASE("attention: strides of a fused projection and of heads-first arrays") {
  const cpu_backend::attention_shape s{2, 37, 37, 3, 3, 20, 0.2f, true};
  const std::int64_t row = 3 * s.heads * s.head_size;  // [B, T, 3, N, H]
  const floats qkv = random_floats(s.batch * s.queries * row, 5);
  const auto part = [&](std::int64_t i) {
    return cpu_backend::heads_view<const void>{qkv.data() + i * s.heads * s.head_size, s.queries * row, row,
                                               s.head_size};
  };
  const std::int64_t cells = s.batch * s.queries * s.heads * s.head_size;
  floats fused(static_cast<std::size_t>(cells)), apart = fused;
  const cpu_backend::heads_view<void> heads_first{fused.data(), s.heads * s.queries * s.head_size, s.head_size,
                                                  s.queries * s.head_size};
  cpu_backend::attention(s, part(0), part(1), part(2), heads_first, {});
  floats copies[3];
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t t = 0; t < s.batch * s.queries; ++t)
      for (std::int64_t j = 0; j < s.heads * s.head_size; ++j)
        copies[i].push_back(qkv[static_cast<std::size_t>(t * row + i * s.heads * s.head_size + j)]);
  cpu_backend::attention(s, dense<const float>(copies[0].data(), s.queries, s.heads, s.head_size),
                         dense<const float>(copies[1].data(), s.keys, s.heads, s.head_size),
                         dense<const float>(copies[2].data(), s.keys, s.heads, s.head_size),
                         dense(apart.data(), s.queries, s.heads, s.head_size), {});
  const auto other = dense(apart.data(), s.queries, s.heads, s.head_size);
  bool same = true;
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t t = 0; t < s.queries; ++t)
      for (std::int64_t n = 0; n < s.heads; ++n)
        for (std::int64_t i = 0; i < s.head_size; ++i)
          same = same && static_cast<float*>(heads_first.at(b, t, n))[i] == static_cast<float*>(other.at(b, t, n))[i];
  CHECK(same);
}
