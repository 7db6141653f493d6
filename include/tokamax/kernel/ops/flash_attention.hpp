// tokamax/kernel/ops/flash_attention.hpp: attention in blocks whose scores never leave fast memory, and its gradients.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
// umbrella: no (programs that use this kernel include it)
#pragma once

#include <tokamax/kernel/ops/matmul.hpp>             // blocks_of
#include <tokamax/lax/reduce.hpp>                    // max, sum
#include <tokamax/lax/shapes/transpose.hpp>          // swapaxes
#include <tokamax/transforms/custom/custom_vjp.hpp>  // custom_vjp

namespace tokamax::kernel_ops {

/// How attention is cut, and what it sees.
struct flash_attention_options {
  std::int64_t queries = 128, keys = 256;  ///< of a step, at most
  bool causal = false;                     ///< query t sees the keys up to t, and blocks of others are left out
  float scale = 0;                         ///< of the scores; 0: 1 / sqrt(D)
};

namespace detail {

/// What the three kernels of attention share.
struct flash_blocks {
  std::int64_t heads, t, s, d, bq, bk;
  bool causal;
  float scale;

  constexpr flash_blocks(const array& q, const array& k, const flash_attention_options& o, location l)
      : heads(q.extent(0)),
        t(q.extent(1)),
        s(k.extent(1)),
        d(q.extent(2)),
        bq(std::min(o.queries, t)),
        bk(std::min(o.keys, s)),
        causal(o.causal),
        scale(o.scale != 0 ? o.scale : 1 / root(static_cast<float>(q.extent(2)))) {
    if ((bq > 0 && t % bq != 0) || (bk > 0 && s % bk != 0))
      reject(q.trace(), l, "flash_attention: block", message() << bq << " queries, " << bk << " keys",
             message("divisors of ") << t << " and " << s);
  }
  /// The root of an extent by Newton's method: std::sqrt is no constant expression in clang 19.
  static constexpr float root(float x) {
    double y = x;
    for (int i = 0; i < 40; ++i) y = (y + x / y) / 2;
    return static_cast<float>(y);
  }
  /// Runs visit(scores) on the scores [bq, bk] of a step, unless it sees none of them. Only blocks on the diagonal have a mask.
  template <class Visit>
  constexpr void on_scores(const kernel_program& p, int query_axis, const ref& q, const ref& k,
                           const Visit& visit) const {
    const auto rows = static_cast<std::int32_t>(bq), columns = static_cast<std::int32_t>(bk);
    const array row = p.program_id(query_axis) * rows, column = p.program_id(3 - query_axis) * columns;
    const auto scores = [&](bool masked) {
      array x = tokamax::matmul(q.get() * scale, swapaxes(k.get(), 0, 1), {.preferred_element_type = f32});
      if (masked) x = where(iota(i32, {bq, bk}, 1) <= row - column + iota(i32, {bq, 1}, 0), x, -1e30f);
      visit(x);
    };
    if (!causal) return scores(false);
    p.when(column + columns <= row + 1, [&] { scores(false); });
    p.when(logical_and(column + columns > row + 1, column < row + rows), [&] { scores(true); });
  }
  /// Blocks of queries or keys, with `n` columns; the grid axis 1 or 2 numbers them.
  constexpr block_spec of_queries(int axis, std::int64_t n) const {
    return {{squeezed, bq, n}, {0, axis, first_block}};
  }
  constexpr block_spec of_keys(int axis, std::int64_t n) const { return {{squeezed, bk, n}, {0, axis, first_block}}; }
  constexpr shape grid(bool queries_first) const {
    const std::int64_t i = blocks_of(t, bq), j = blocks_of(s, bk);
    return queries_first ? shape{heads, i, j} : shape{heads, j, i};
  }
};

/// The result [H, T, D] and the logarithms of the normalisers [H, T, 1]. The largest score of each row so far, the sum of the
/// exponentials and the sum of values are in scratch memory.
constexpr std::array<array, 2> flash_forward(const array& q, const array& k, const array& v, const flash_blocks& b) {
  const auto body = [=](const auto& p, const auto& qr, const auto& kr, const auto& vr, const auto& out, const auto& lse,
                        const auto& most, const auto& sums, const auto& values) {
    const reduce_options along{.axis = {1}, .keepdims = true};
    p.when(p.program_id(2) == 0, [&] {
      most.set(-1e30f);
      sums.set(0.0f);
      values.set(0.0f);
    });
    b.on_scores(p, 1, qr, kr, [&](const array& x) {
      const array m = maximum(most.get(), max(x, along)), e = exp(x - m), kept = exp(most.get() - m);
      sums.set(sums.get() * kept + sum(e, along));
      values.set(values.get() * kept +
                 tokamax::matmul(astype(e, vr.dtype()), vr.get(), {.preferred_element_type = f32}));
      most.set(m);
    });
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] {
      out.set(astype(values.get() / sums.get(), out.dtype()));
      lse.set(most.get() + log(sums.get()));
    });
  };
  kernel_scratch column{{f32, false, {b.bq, 1}}};  // gcc 12 rejects const records of shapes while compiling
  using enum dimension_semantics;
  return kernel_call<2>(
      body, {.grid = b.grid(true),
             .in = {b.of_queries(1, b.d), b.of_keys(2, b.d), b.of_keys(2, b.d)},
             .out = {{q.type(), b.of_queries(1, b.d)}, {{f32, false, {b.heads, b.t, 1}}, b.of_queries(1, 1)}},
             .scratch = {column, column, {{f32, false, {b.bq, b.d}}}},
             .semantics = {parallel, parallel}})(q, k, v);
}

/// The gradient of the queries: sums over blocks of keys. With p = exp(s - lse) and ds = p (do v^T - delta) it is scale ds k.
constexpr array flash_queries(const arrays& in, const flash_blocks& b) {  // q, k, v, do, lse, delta
  const auto body = [=](const auto& p, const auto& qr, const auto& kr, const auto& vr, const auto& ct, const auto& lse,
                        const auto& delta, const auto& out, const auto& sums) {
    p.when(p.program_id(2) == 0, [&] { sums.set(0.0f); });
    b.on_scores(p, 1, qr, kr, [&](const array& x) {
      const array dp = tokamax::matmul(ct.get(), swapaxes(vr.get(), 0, 1), {.preferred_element_type = f32});
      const array ds = exp(x - lse.get()) * (dp - delta.get()) * b.scale;
      sums += tokamax::matmul(astype(ds, kr.dtype()), kr.get(), {.preferred_element_type = f32});
    });
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] { out.set(astype(sums.get(), out.dtype())); });
  };
  block_spec queries = b.of_queries(1, b.d), keys = b.of_keys(2, b.d), column = b.of_queries(1, 1);
  using enum dimension_semantics;
  return kernel_call(body, {.grid = b.grid(true),
                            .in = {queries, keys, keys, queries, column, column},
                            .out = {{in[0].type(), queries}},
                            .scratch = {{{f32, false, {b.bq, b.d}}}},
                            .semantics = {parallel, parallel}})(in[0], in[1], in[2], in[3], in[4], in[5]);
}
/// The gradients of keys and values: sums over blocks of queries, dk = scale ds^T q and dv = p^T do.
constexpr std::array<array, 2> flash_keys(const arrays& in, const flash_blocks& b) {
  const auto body = [=](const auto& p, const auto& qr, const auto& kr, const auto& vr, const auto& ct, const auto& lse,
                        const auto& delta, const auto& dk, const auto& dv, const auto& ks, const auto& vs) {
    p.when(p.program_id(2) == 0, [&] {
      ks.set(0.0f);
      vs.set(0.0f);
    });
    b.on_scores(p, 2, qr, kr, [&](const array& x) {
      const array e = exp(x - lse.get());
      const array dp = tokamax::matmul(ct.get(), swapaxes(vr.get(), 0, 1), {.preferred_element_type = f32});
      const auto add = [&](const auto& to, const array& left, const array& right) {
        to += tokamax::matmul(swapaxes(astype(left, right.dtype()), 0, 1), right, {.preferred_element_type = f32});
      };
      add(vs, e, ct.get());
      add(ks, e * (dp - delta.get()) * b.scale, qr.get());
    });
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] {
      dk.set(astype(ks.get(), dk.dtype()));
      dv.set(astype(vs.get(), dv.dtype()));
    });
  };
  block_spec queries = b.of_queries(2, b.d), keys = b.of_keys(1, b.d), column = b.of_queries(2, 1);
  kernel_scratch sums{{f32, false, {b.bk, b.d}}};
  using enum dimension_semantics;
  return kernel_call<2>(body, {.grid = b.grid(false),
                               .in = {queries, keys, keys, queries, column, column},
                               .out = {{in[1].type(), keys}, {in[2].type(), keys}},
                               .scratch = {sums, sums},
                               .semantics = {parallel, parallel}})(in[0], in[1], in[2], in[3], in[4], in[5]);
}

}  // namespace detail

/// softmax(scale q k^T) v for each head. Its gradients are two kernels, which compute the scores again.
///
/// shapes  q [H, T, D], k and v [H, S, D] -> [H, T, D]; blocks tile T and S. A batch is heads too
/// dtypes  f32, bf16 or f16; sums and exponentials are f32
/// errors  "flash_attention: block"; those of kernel_call and of matmul
/// source  Dao 2023, arXiv:2307.08691, algorithms 1 and 2
/// see     dot_product_attention
constexpr array flash_attention(const array& q, const array& k, const array& v, const flash_attention_options& o = {},
                                source_line l = source_line::current()) {
  const auto blocks = [o, l](const array& a, const array& b) { return detail::flash_blocks(a, b, o, l); };
  return custom_vjp(
      [=](const array& a, const array& b, const array& c) { return detail::flash_forward(a, b, c, blocks(a, b))[0]; },
      [=](const array& a, const array& b, const array& c) {
        const auto [out, lse] = detail::flash_forward(a, b, c, blocks(a, b));
        return std::pair{out, std::tuple{a, b, c, out, lse}};
      },
      [=](const std::tuple<array, array, array, array, array>& kept, const array& ct) {
        const auto& [a, b, c, out, lse] = kept;
        const array delta = sum(astype(ct, f32) * astype(out, f32), {.axis = {2}, .keepdims = true});
        const arrays in{a, b, c, ct, lse, delta};
        const auto [dk, dv] = detail::flash_keys(in, blocks(a, b));
        return std::tuple{detail::flash_queries(in, blocks(a, b)), dk, dv};
      })(q, k, v);
}

}  // namespace tokamax::kernel_ops
