// tokamax/ops/causal_conv1d_sums.hpp: the sums of causal_conv1d over windows of tokens, with gradients that need no padding.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/ops/causal_conv1d_sums.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>      // slice_in_dim, pad
#include <tokamax/lax/reduce.hpp>              // reduce_sum
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/lax/shapes/transpose.hpp>    // transpose

namespace tokamax {

namespace detail {

/// The weights with a row for each place of the window, [K, C]. The rows of short windows are copied to lie dense in memory, so
/// that loops over channels read them side by side.
constexpr array conv1d_places(const array& weights) {
  constexpr std::int64_t most_copied = 16;
  if (weights.extent(1) > most_copied) return transpose(weights);
  arrays rows;
  for (std::int64_t m = 0; m < weights.extent(1); ++m) rows.push_back(transpose(slice_in_dim(weights, m, m + 1, 1)));
  return concatenate(rows, 0);
}
/// The weights of one place of the window, which broadcast over [..., T, C].
constexpr array conv1d_weight(const array& places, std::int64_t place, dtype type) {
  return astype(squeeze(slice_in_dim(places, place, place + 1, 0), 0), type);
}
/// y[..., t, c] = sum over m < K of places[m, c] * x[..., t + m, c] for t < n; `reversed` begins with the last place.
constexpr array conv1d_windows(const array& x, const array& places, std::int64_t n, dtype sums, bool reversed = false) {
  const std::int64_t count = places.extent(0);
  const int time = x.rank() - 2;
  array y;
  for (std::int64_t m = 0; m < count; ++m) {
    const array term = astype(slice_in_dim(x, m, add_extent(m, n), time), sums) *
                       conv1d_weight(places, reversed ? count - 1 - m : m, sums);
    y = m == 0 ? term : array(y + term);
  }
  return y;
}
/// x with zeros before and after it in time.
constexpr array conv1d_padded(const array& x, std::int64_t before, std::int64_t after) {
  shape low, high;
  for (int i = 0; i < x.rank(); ++i) low.push_back(0), high.push_back(0);
  low[x.rank() - 2] = before, high[x.rank() - 2] = after;
  return pad(x, array(0.0, {x.dtype(), false, {}}), low, high);
}
constexpr array conv1d_part(const array& x, std::int64_t from, std::int64_t to) {
  return slice_in_dim(x, from, to, x.rank() - 2);
}
/// The state and as many tokens, in the dtype of sums: what the first K - 1 sums are of.
constexpr array conv1d_start(const array& state, const array& x, dtype sums) {
  const std::int64_t kept = state.extent(-2);
  return concatenate({astype(state, sums), astype(conv1d_part(x, 0, kept), sums)}, x.rank() - 2);
}

}  // namespace detail

/// The sums of the first K - 1 tokens, which see the state, and those of the others:
///
///   y[..., t, c] = sum over m of weights[c, m] * all[..., t + m, c] with all = the state, then x
///
/// This is one op because its gradients are such sums too: that of x needs no padded parts which are added up.
///
/// shapes  state [..., K - 1, C], x [..., T, C] with T >= 2 K - 2, weights [C, K], K > 1 -> [..., K - 1, C], [..., T - K + 1, C]
/// dtypes  any floats; the sums are f32, f64 for f64
inline constexpr op causal_conv1d_sums_p{
    .name = "causal_conv1d_sums",
    .precision = {.kernels_in_f32 = true},
    .infer_all = [](const call& c) -> types {
      const array &state = c[0], &x = c[1], &w = c[2];
      const std::int64_t kept = w.rank() == 2 ? w.extent(1) - 1 : 0;
      shape head = x.shape(), tail = x.shape();
      const int time = x.rank() - 2;
      bool fit =
          kept > 0 && time >= 0 && is_floating(x.dtype()) && is_floating(w.dtype()) && is_floating(state.dtype());
      fit = fit && !is_dyn(x.extent(time)) && x.extent(time) >= 2 * kept && w.extent(0) == x.extent(-1);
      if (fit) head[time] = kept, tail[time] -= kept;
      if (!fit || state.shape() != head)
        c.fail("causal_conv1d_sums: operands", message(state.type()) << ", " << x.type() << ", " << w.type(),
               "floats [..,K-1,C], [..,T,C], [C,K] with T >= 2 K - 2");
      const dtype sums = carrying(x.dtype());
      return {{sums, false, head}, {sums, false, tail}};
    },
    .compose = [](const call& c) -> arrays {
      const array places = detail::conv1d_places(c[2]);
      const dtype sums = carrying(c[1].dtype());
      const std::int64_t kept = c[0].extent(-2);
      return {detail::conv1d_windows(detail::conv1d_start(c[0], c[1], sums), places, kept, sums),
              detail::conv1d_windows(c[1], places, c[1].extent(-2) - kept, sums)};
    },
    .vjp = [](const call& c) -> arrays {
      using namespace detail;
      const array &state = c[0], &x = c[1], &w = c[2], places = conv1d_places(w);
      const dtype sums = carrying(x.dtype());
      const std::int64_t kept = state.extent(-2), rest = x.extent(-2) - kept;
      const int time = x.rank() - 2;
      const auto cotangent = [&](int k) {
        return c.cotangents[k].exists() ? c.cotangents[k] : zeros(c.outputs[k].shape(), sums);
      };
      const array head = cotangent(0), tail = cotangent(1);
      const auto reversed = [&](const array& g, std::int64_t n) { return conv1d_windows(g, places, n, sums, true); };
      arrays parts{reversed(concatenate({head, conv1d_part(tail, 0, kept)}, time), kept)};
      if (rest > kept) parts.push_back(reversed(tail, rest - kept));
      parts.push_back(reversed(conv1d_padded(conv1d_part(tail, rest - kept, rest), 0, kept), kept));
      for (array& part : parts) part = astype(part, x.dtype());
      const array start = conv1d_start(state, x, sums);
      axes tokens;
      for (int i = 0; i <= time; ++i) tokens.push_back(i);
      arrays rows;
      for (std::int64_t m = 0; m <= kept; ++m)
        rows.push_back(reduce_sum(head * conv1d_part(start, m, m + kept), tokens) +
                       reduce_sum(tail * astype(conv1d_part(x, m, m + rest), sums), tokens));
      return {astype(reversed(conv1d_padded(head, kept, 0), kept), state.dtype()), concatenate(parts, time),
              astype(stack(rows, 1), w.dtype())};
    },
    .kernels = kernels_of<causal_conv1d_sums_p>,
};

}  // namespace tokamax
